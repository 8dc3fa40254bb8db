"""Types enabled on a real API server: it takes manifests of KubeFed, refuses wrong ones, and shows what they say."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
import yaml

from mcs.federation.federating import template_of
from mcs.federation.overrides import NotMade
from mcs.federation.template import member_object
from mcs.model.federated import FederatedObject, FederatedTypeConfig, federated_resource, target_resource
from mcs.model.names import ClusterId
from tests.lab.control_planes import ControlPlanes
from tests.lab.kubectl import Kubectl, KubectlError, kubectl_binary
from tests.real.joined import SYSTEM, mcs

WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.test}
spec:
  group: example.test
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {replicas: {type: integer, format: int32}, size: {type: string}}
"""

DEPLOYMENT = """
apiVersion: types.kubefed.io/v1beta1
kind: FederatedDeployment
metadata: {name: web, namespace: books}
spec:
  template:
    metadata: {labels: {app: nginx}}
    spec:
      replicas: 3
      selector: {matchLabels: {app: nginx}}
      template:
        metadata: {labels: {app: nginx}}
        spec: {containers: [{image: nginx, name: nginx}]}
  placement:
    clusters: [{name: cluster2}, {name: cluster1}]
    clusterSelector: {matchLabels: {region: eu}, matchExpressions: [{key: tier, operator: In, values: [a, b]}]}
  retainReplicas: true
  overrides:
  - clusterName: cluster2
    clusterOverrides:
    - {path: /spec/replicas, value: 5}
    - {path: "/metadata/annotations", op: add, value: {foo: bar}}
    - {path: "/metadata/annotations/foo", op: remove}
    - {path: "/spec/paused", op: replace, value: null}
"""


OBJECTS = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: web, labels: {app: web}}, data: {a: b}}
- apiVersion: v1
  kind: Service
  metadata: {name: ported}
  spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}
- apiVersion: v1
  kind: Service
  metadata: {name: headless}
  spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: web}, imagePullSecrets: [{name: pull}]}
- apiVersion: batch/v1
  kind: Job
  metadata: {name: once}
  spec: {template: {metadata: {labels: {app: once}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, annotations: {team: shop}}
  spec:
    replicas: 2
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec: {containers: [{name: c, image: i, args: [x], env: [{name: A, value: b}]}]}
- {apiVersion: example.test/v1, kind: Widget, metadata: {name: big}, spec: {size: big}}
"""


class Host:
    """A host cluster in which four types are enabled: two of Kubernetes, one of a definition, one of cluster scope."""

    TYPES = ("namespaces", "deployments.apps", "configmaps", "wd", "PriorityClass")

    def __init__(self, planes: ControlPlanes, folder: Path) -> None:
        self.kubeconfig = planes.kubeconfig()
        self.kubectl = Kubectl(kubectl_binary(), planes["host"].kubeconfig(), folder)
        self.member = Kubectl(kubectl_binary(), planes["member"].kubeconfig(), folder)

    async def mcs(self, *arguments: str) -> str:
        return await mcs(*arguments, kubeconfig=self.kubeconfig)

    async def prepare(self) -> None:
        for kubectl in (self.kubectl, self.member):
            await kubectl("apply", "-f", "-", stdin=WIDGETS)
            await kubectl("wait", "--for=condition=Established", "crd/widgets.example.test")
            await kubectl("create", "namespace", "shop")
        await self.kubectl("create", "namespace", "books")
        for each in self.TYPES:
            await self.mcs("enable", each, "--context", "member")

    async def versions(self) -> dict[str, str]:
        """What changes with every write, by object."""
        listed = await self.kubectl("get", "crd,ftc,clusterroles", "--all-namespaces", "-o", "json")
        return {
            f"{each['kind']} {each['metadata']['name']}": each["metadata"]["resourceVersion"]
            for each in json.loads(listed)["items"]
        }

    async def get(self, *what: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await self.kubectl("get", *what, "-o", "json"))
        return found


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Host]:
    async with ControlPlanes(("host", "member")) as planes:
        ready = Host(planes, tmp_path_factory.mktemp("host"))
        await ready.prepare()
        yield ready


async def test_types_are_enabled_by_the_names_that_discovery_tells_and_once(host: Host) -> None:
    found = await host.get("ftc", *SYSTEM)
    assert {
        each["metadata"]["name"]: (
            each["spec"]["federatedType"]["pluralName"],
            each["spec"]["federatedType"]["scope"],
        )
        for each in found["items"]
    } == {
        "namespaces": ("federatednamespaces", "Namespaced"),
        "deployments.apps": ("federateddeployments", "Namespaced"),
        "configmaps": ("federatedconfigmaps", "Namespaced"),
        "widgets.example.test": ("federatedwidgets", "Namespaced"),
        "priorityclasses.scheduling.k8s.io": ("federatedpriorityclasses", "Cluster"),
    }
    before = await host.versions()
    for each in host.TYPES:
        assert "is enabled already" in await host.mcs("enable", each, "--context", "member")
    assert await host.versions() == before


@pytest.mark.parametrize(
    ("kind", "retains"),
    [("federateddeployments", True), ("federatedwidgets", True), ("federatedconfigmaps", False)],
)
async def test_replicas_can_be_retained_where_the_schema_has_an_int32(
    kind: str, retains: bool, host: Host
) -> None:
    definition = await host.get("crd", f"{kind}.types.kubefed.io")
    (version,) = definition["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert ("retainReplicas" in spec) is retains


async def test_manifests_written_for_kubefed_are_taken_whole_by_a_strict_server(host: Host) -> None:
    await host.kubectl("apply", "--validate=strict", "-f", "-", stdin=DEPLOYMENT)
    written = yaml.safe_load(DEPLOYMENT)["spec"]
    # A null value is dropped by the server, and means the same.
    del written["overrides"][0]["clusterOverrides"][3]["value"]
    assert (await host.get("fdeploy", "web", "-n", "books"))["spec"] == written
    await host.kubectl(
        "apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-", stdin=DEPLOYMENT
    )


async def test_the_columns_and_the_explanation_are_there(host: Host) -> None:
    await host.kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    status = {
        "status": {
            "conditions": [{"type": "Propagation", "status": "False", "reason": "CheckClusters"}],
            "clusters": [
                {"name": "cluster1", "status": "UpdateFailed", "message": "403", "remoteStatus": {"x": 1}}
            ],
            "workload": {"wanted": 8, "ready": 3, "updated": 3, "available": 3},
            "percentConverged": 50,
        }
    }
    await host.kubectl(
        "patch",
        "fdeploy",
        "web",
        "-n",
        "books",
        "--subresource=status",
        "--type=merge",
        "-p",
        json.dumps(status),
    )
    kept = (await host.get("fdeploy", "web", "-n", "books"))["status"]
    assert kept == status["status"]
    heading, row = (await host.kubectl("get", "fdeploy", "-n", "books")).splitlines()
    assert heading.split() == ["NAME", "PROPAGATED", "REASON", "PERCENT", "WANTED", "READY", "AGE"]
    assert row.split()[:6] == ["web", "False", "CheckClusters", "50", "8", "3"]
    explained = await host.kubectl("explain", "federateddeployment.spec.overrides.clusterOverrides.op")
    assert "replace, if empty" in " ".join(explained.split())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("{op: move, path: /spec/replicas}", "Unsupported value"),
        ("{op: add, value: 1}", "path: Required value"),
        ("{path: /spec/replicas, valeu: 5}", "unknown field"),
    ],
    ids=["an operation that is no override", "without a path", "a field that is misspelt"],
)
async def test_a_wrong_override_is_refused_by_the_server(change: str, told: str, host: Host) -> None:
    wrong = DEPLOYMENT.replace("{path: /spec/replicas, value: 5}", change).replace("name: web", "name: wrong")
    with pytest.raises(KubectlError, match=told):
        await host.kubectl("apply", "--validate=strict", "-f", "-", stdin=wrong)


async def test_an_object_of_cluster_scope_is_taken_and_one_without_a_spec_is_not(host: Host) -> None:
    head = "apiVersion: types.kubefed.io/v1beta1\nkind: FederatedPriorityClass\nmetadata: {name: high}\n"
    await host.kubectl(
        "apply", "-f", "-", stdin=head + "spec: {template: {value: 9}, placement: {clusters: []}}"
    )
    assert (await host.get("federatedpriorityclass", "high"))["spec"]["placement"] == {"clusters": []}
    with pytest.raises(KubectlError, match="spec: Required value"):
        await host.kubectl("apply", "-f", "-", stdin=head.replace("high", "low"))


async def test_what_is_federated_makes_the_same_in_a_member_and_a_strict_server_takes_it(host: Host) -> None:
    await host.kubectl("apply", "-n", "shop", "-f", "-", stdin=OBJECTS)
    await host.mcs(
        "federate", "namespace", "shop", "--contents", "--enable-type", "--skip-api-resources", "secrets"
    )
    found = await host.get("ftc", *SYSTEM)
    seen = set()
    for config in (msgspec.convert(each, FederatedTypeConfig) for each in found["items"]):
        federated, target = federated_resource(config), target_resource(config)
        if not federated.namespaced:
            continue
        listed = await host.get(f"{federated.plural}.{federated.group}", "-n", "shop")
        for document in listed["items"]:
            wanted = member_object(msgspec.convert(document, FederatedObject), target, ClusterId("member"))
            assert not isinstance(wanted, NotMade)
            await host.member(
                "apply", "--server-side", "--validate=strict", "-f", "-", stdin=json.dumps(wanted)
            )
            name = wanted["metadata"]["name"]
            what = (f"{target.plural}.{target.group}" if target.group else target.plural, name)
            made = json.loads(await host.member("get", *what, "-n", "shop", "-o", "json"))
            assert template_of(made) == document["spec"]["template"]
            seen.add(f"{target.kind} {name}")
    assert seen == {
        "ConfigMap web", "Deployment web", "Job once", "Namespace shop", "Service headless", "Service ported",
        "ServiceAccount web", "Widget big",
    }  # fmt: skip
