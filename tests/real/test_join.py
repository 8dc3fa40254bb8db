"""`mcs join` and `mcs leave` on real API servers: they take what is written, and grant just what it needs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.kube.packaged import definition_documents
from mcs.membership.access import HUB, READER
from mcs.membership.cluster_dns import dns_objects
from tests.lab.audit import Right, requests_of, rights_granted, rights_used
from tests.lab.binaries import built
from tests.lab.control_planes import ControlPlane, ControlPlanes, free_ports
from tests.lab.helm import Helm
from tests.lab.kubectl import Kubectl, KubectlError, kubectl_binary
from tests.lab.mcs import eventually, running
from tests.real.chart_roles import IMAGE
from tests.real.handwritten import WEB, exports_of
from tests.real.joined import SYSTEM, kubeconfig_of, mcs
from tests.real.test_chart_rights import NEVER_ASKED_FOR_HERE

IMAGE_NAME = "images.test/mcs:1"
COREFILE = ".:53 {\n    errors\n    forward . 10.0.0.1\n    reload\n}\n"
CORE_DNS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"namespace": "kube-system", "name": "coredns"},
    "data": {"Corefile": COREFILE},
}
USER = "system:serviceaccount:kube-federation-system:mcs-hub"


class Bare:
    """Two API servers without definitions, `host` and `bare`, of which both have a CoreDNS."""

    def __init__(self, planes: ControlPlanes, folder: Path) -> None:
        self.planes = planes
        self.kubeconfig = planes.kubeconfig()
        self.kubectl = {plane.name: Kubectl(kubectl_binary(), plane.kubeconfig(), folder) for plane in planes}

    def __getitem__(self, name: str) -> Kubectl:
        return self.kubectl[name]

    async def mcs(self, *arguments: str) -> str:
        return await mcs(*arguments, kubeconfig=self.kubeconfig)

    def plane(self, name: str) -> ControlPlane:
        return self.planes[name]

    async def finalized(self, name: str) -> None:
        """End the system namespace of a cluster beside which no controller of Kubernetes runs."""
        found = json.loads(await self[name]("get", "namespace", SYSTEM[1], "-o", "json"))
        found["spec"]["finalizers"] = []
        path = f"/api/v1/namespaces/{SYSTEM[1]}/finalize"
        await self[name]("replace", "--raw", path, "-f", "-", stdin=json.dumps(found))


@pytest.fixture
async def bare(tmp_path: Path) -> AsyncIterator[Bare]:
    async with bare_clusters(tmp_path) as running_clusters:
        yield running_clusters


@asynccontextmanager
async def bare_clusters(folder: Path) -> AsyncIterator[Bare]:
    async with ControlPlanes(("host", "bare"), audit=True) as planes:
        clusters = Bare(planes, folder)
        for kubectl in clusters.kubectl.values():
            await kubectl("apply", "-f", "-", stdin=json.dumps(CORE_DNS))
        yield clusters


async def everything(kubectl: Kubectl) -> set[str]:
    """What a cluster holds of the kinds that a join writes, by name."""
    kinds = (
        "namespaces,serviceaccounts,configmaps,services,deployments,roles,rolebindings,clusterroles,"
        "clusterrolebindings,clusterproperties"
    )
    try:
        listed = await kubectl("get", kinds, "--all-namespaces", "-o", "name")
    except KubectlError:
        listed = await kubectl("get", kinds.rpartition(",")[0], "--all-namespaces", "-o", "name")
    return set(listed.split())


async def test_a_bare_cluster_is_a_member_with_rights_that_suffice_and_of_which_none_is_left_unused(
    bare: Bare, tmp_path: Path
) -> None:
    before = await everything(bare["bare"])
    for name in ("host", "bare"):
        await bare.mcs("join", name, "--image", IMAGE_NAME, "--host-context", "host")
        await bare[name]("create", "namespace", "shop")
    in_shop = ("--namespace", "shop")
    await bare["bare"](
        "apply", *in_shop, "-f", "-", stdin=f"{WEB}---{exports_of('web', 'without-a-service')}"
    )
    arguments = ("--registry", "--host-context", "host", "--kubeconfig", str(bare.kubeconfig))
    metrics = f"127.0.0.1:{free_ports(1)[0]}"
    async with running("controller", "controller", *arguments, "--metrics-listen", metrics, folder=tmp_path):

        async def imported() -> bool:
            path = "jsonpath={.status.clusters[*].cluster}"
            found = await bare["host"]("get", "svcim", "web", *in_shop, "--ignore-not-found", "-o", path)
            return found == "bare"

        await eventually("the export of the newcomer is imported in the host", imported)
        events = ("get", "events", *in_shop, "-o", "name")
        await eventually("the export without a Service is told of", lambda: bare["bare"](*events))
        await bare["bare"]("delete", "svcex", "web", *in_shop)

        async def withdrawn() -> bool:
            return not await bare["host"]("get", "svcim,services,endpointslices", *in_shop, "-o", "name")

        await eventually("import, derived Service and mirror go with the export", withdrawn)
        used = set[Right]()
        for name in ("host", "bare"):
            requests = requests_of(USER, bare.plane(name).audit_log)
            assert [request for request in requests if request.response_status.code in (401, 403)] == []
            used |= rights_used(requests)
        assert set(rights_granted(HUB.rules)) - used == NEVER_ASKED_FOR_HERE

        await bare["bare"]("apply", *in_shop, "-f", "-", stdin=exports_of("web"))
        await eventually("it is exported again", imported)
        await bare.mcs("leave", "bare", "--host-context", "host")
        await eventually("what came from who has left goes", withdrawn)

        async def is_gone() -> bool:
            return not await bare["host"]("get", "kubefedcluster", "bare", *SYSTEM, "--ignore-not-found")

        await eventually("its registration goes when that is done", is_gone)
    await bare.finalized("bare")
    left = await everything(bare["bare"])
    assert left - before == {"namespace/shop", "service/web"}
    corefile = "jsonpath={.data.Corefile}"
    assert await bare["bare"]("get", "cm", "coredns", "-n", "kube-system", "-o", corefile) == COREFILE


async def test_the_token_of_a_member_gets_tokens_of_its_own_account_and_nothing_beyond_its_rules(
    bare: Bare, tmp_path: Path
) -> None:
    await bare.mcs("join", "bare", "--no-dns", "--host-context", "host", "--token-life", "2h")
    config = await kubeconfig_of(bare["host"], tmp_path / "members", "bare")
    member = Kubectl(kubectl_binary(), config, tmp_path)
    assert await member("create", "token", "mcs-hub", *SYSTEM, "--duration", "2h")
    await bare["bare"]("create", "serviceaccount", "other", *SYSTEM)
    for arguments in (
        ("create", "token", "other", *SYSTEM),
        ("create", "token", "default", "--namespace", "kube-system"),
        ("get", "secrets", *SYSTEM),
        ("create", "clusterrolebinding", "mine", "--clusterrole=cluster-admin", f"--user={USER}"),
        ("get", "pods", "--all-namespaces"),
    ):
        with pytest.raises(KubectlError, match="orbidden"):
            await member(*arguments)
    listed = await member("auth", "can-i", "--list")
    assert "*.*" not in listed


async def test_a_definition_is_never_downgraded_and_an_older_one_is_upgraded(bare: Bare) -> None:
    exports, imports = (each for each in definition_documents() if each["spec"]["group"].startswith("multi"))
    newer, older = json.loads(json.dumps(exports)), json.loads(json.dumps(imports))
    newer["metadata"]["labels"]["multicluster.x-k8s.io/crd-schema-revision"] = "7"
    older["metadata"]["labels"]["multicluster.x-k8s.io/release-version"] = "v0.1.0"
    older["spec"]["versions"] = [older["spec"]["versions"][0] | {"storage": True}]
    for each in (newer, older):
        await bare["bare"]("apply", "-f", "-", stdin=json.dumps(each))
    await bare["bare"]("wait", "--for=condition=Established", "crd", "--all")
    said = await bare.mcs("join", "bare", "--no-dns", "--host-context", "host")
    assert "serviceexports.multicluster.x-k8s.io is there already in a newer revision and was left" in said
    assert (
        "serviceimports.multicluster.x-k8s.io is there already in an older revision and was replaced" in said
    )
    found = json.loads(await bare["bare"]("get", "crd", "-o", "json"))["items"]
    labels = {
        each["metadata"]["name"]: each["metadata"]["labels"] for each in found if "labels" in each["metadata"]
    }
    assert labels[newer["metadata"]["name"]] == newer["metadata"]["labels"]
    assert labels[older["metadata"]["name"]] == imports["metadata"]["labels"]
    versions = {
        each["metadata"]["name"]: [version["name"] for version in each["spec"]["versions"]] for each in found
    }
    assert versions[older["metadata"]["name"]] == ["v1alpha1", "v1beta1"]


async def test_what_a_join_prints_in_a_dry_run_a_real_server_takes(bare: Bare) -> None:
    printed = await bare.mcs("join", "bare", "--image", IMAGE_NAME, "--host-context", "host", "--dry-run")
    assert "mcs-hub" not in str(await everything(bare["bare"]))
    kinds = [each["kind"] for each in yaml.safe_load_all(printed)]
    assert kinds[-2:] == ["ClusterProperty", "ClusterProperty"]
    assert kinds.index("Secret") < kinds.index("KubeFedCluster")
    await bare["bare"]("apply", "--server-side", "-f", "crds")
    await bare["bare"]("create", "namespace", SYSTEM[1])
    await bare["bare"](
        "apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-", stdin=printed
    )


async def test_a_role_for_federation_is_gathered_by_label_and_bound(bare: Bare) -> None:
    await bare.mcs("join", "bare", "--no-dns", "--federation", "--host-context", "host")
    found = json.loads(await bare["bare"]("get", "clusterrole", "mcs-hub-federation", "-o", "json"))
    (selector,) = found["aggregationRule"]["clusterRoleSelectors"]
    assert selector["matchLabels"] == {"mcs-controller/aggregate-to-federation": "true"}
    binding = json.loads(await bare["bare"]("get", "clusterrolebinding", "mcs-hub-federation", "-o", "json"))
    assert binding["subjects"][0]["name"] == "mcs-hub"


async def test_mcs_dns_is_installed_as_the_chart_installs_it(tmp_path: Path) -> None:
    rendered = await Helm(built("helm"), tmp_path).template("mcs", SYSTEM[1], IMAGE)
    of_dns = [each for each in rendered if each["metadata"]["labels"]["app.kubernetes.io/component"] == "dns"]
    (deployment,) = (each for each in of_dns if each["kind"] == "Deployment")
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    ours = [each.document for each in dns_objects(SYSTEM[1], image)]
    plain = [_without_helm(each) for each in (*of_dns, *ours)]
    by_name = [
        sorted(part, key=lambda each: (each["kind"], each["metadata"]["name"]))
        for part in (plain[: len(of_dns)], plain[len(of_dns) :])
    ]
    assert by_name[0] == by_name[1]


def _without_helm(value: Any) -> Any:
    """The same without the labels that say who installed it."""
    if isinstance(value, dict):
        helm = {
            "helm.sh/chart",
            "app.kubernetes.io/managed-by",
            "app.kubernetes.io/version",
            "app.kubernetes.io/instance",
        }
        return {key: _without_helm(each) for key, each in value.items() if key not in helm}
    return [_without_helm(each) for each in value] if isinstance(value, list) else value


async def test_the_reader_of_a_mesh_may_change_nothing(bare: Bare, tmp_path: Path) -> None:
    await bare.mcs("join", "host", "--mesh", "--no-dns", "--clusterset", "prod")
    await bare.mcs("join", "bare", "--mesh", "--cluster", "host", "--no-dns")
    config = await kubeconfig_of(bare["host"], tmp_path / "members", "bare")
    member = Kubectl(kubectl_binary(), config, tmp_path)
    in_default = ("--namespace", "default")
    assert "kubernetes" in await member("get", "services", "--all-namespaces", "-o", "name")
    for arguments in (
        ("label", "service", "kubernetes", "a=b", *in_default),
        ("delete", "service", "kubernetes", *in_default, "--wait=false"),
        ("create", "service", "clusterip", "web", "--tcp=80", *in_default),
        ("create", "token", "mcs-controller", *SYSTEM),
    ):
        with pytest.raises(KubectlError, match="orbidden"):
            await member(*arguments)
    granted = set(rights_granted(READER.rules))
    assert {right.verb for right in granted} == {"get", "list", "watch"}
