"""Members from the registry, judged by real API servers: what these validate, and which rights it takes."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import yaml

from tests.lab.audit import Right, requests_of, rights_granted, rights_used
from tests.lab.binaries import built
from tests.lab.control_planes import ADMIN, ControlPlane, ControlPlanes
from tests.lab.helm import Helm
from tests.lab.kubectl import Kubectl, kubectl_binary
from tests.lab.mcs import eventually, running
from tests.real.chart_roles import IMAGE, chosen
from tests.real.handwritten import WEB, exports_of

SYSTEM = "kube-federation-system"
CRDS = Path(__file__).parents[2] / "crds"
# Asked for when a token that mcs join wrote comes to its end.
ONLY_FOR_TOKENS = {Right("patch", "", "secrets")}


class Hub:
    """The host cluster and its members, with kubectl for each."""

    def __init__(self, planes: ControlPlanes, folder: Path) -> None:
        self.planes = planes
        self.kubectl = {plane.name: Kubectl(kubectl_binary(), plane.kubeconfig(), folder) for plane in planes}

    async def prepare(self, role: Mapping[str, object]) -> None:
        """Definitions and namespaces everywhere, and in the host the role of the chart for our user there."""
        for kubectl in self.kubectl.values():
            await kubectl("apply", "--server-side", "-f", str(CRDS))
            await kubectl("wait", "--for=condition=Established", "-f", str(CRDS), "--timeout=30s")
            await kubectl("create", "namespace", "shop")
        hub = self.kubectl["hub"]
        await hub("create", "namespace", SYSTEM)
        await hub("apply", "-f", "-", stdin=yaml.safe_dump(role))
        binding = ("create", "rolebinding", "registry", "--user=controller", "--role=mcs-controller-registry")
        await hub(*binding, "--namespace", SYSTEM)

    async def register(self, name: str) -> None:
        """Register a member by a KubeFedCluster as it was written for KubeFed."""
        plane = self.planes[name]
        token = base64.b64encode(plane.tokens[ADMIN].encode()).decode()
        documents = [
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-token"}, "data": {"token": token}},
            {
                "apiVersion": "core.kubefed.io/v1beta1",
                "kind": "KubeFedCluster",
                "metadata": {"name": name},
                "spec": {
                    "apiEndpoint": plane.url,
                    "caBundle": base64.b64encode(plane.ca_file.read_bytes()).decode(),
                    "secretRef": {"name": f"{name}-token"},
                },
            },
        ]  # fmt: skip
        await self.kubectl["hub"](
            "apply", "--namespace", SYSTEM, "-f", "-", stdin=yaml.safe_dump_all(documents)
        )

    async def label_kubeconfig(self, name: str) -> None:
        """Leave the kubeconfig of a member in a labelled Secret."""
        text = contained(self.planes[name])
        metadata = {"name": f"{name}-kubeconfig", "labels": {"mcs-controller/kubeconfig": "true"}}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"value": text}}
        await self.kubectl["hub"]("apply", "--namespace", SYSTEM, "-f", "-", stdin=yaml.safe_dump(secret))

    async def is_ready(self, name: str) -> bool:
        path = "jsonpath={.status.conditions[?(@.type=='Ready')].status} {.status.kubernetesVersion}"
        of = (name, "--namespace", SYSTEM, "--ignore-not-found")
        told = await self.kubectl["hub"]("get", "kfc", *of, "-o", path)
        return told.startswith("True v1.")

    async def imported(self, name: str) -> dict[str, str]:
        """The uids of what a member holds that is ours, by kind and name."""
        ours = (
            "--selector",
            "app.kubernetes.io/managed-by=mcs-controller",
            "--namespace",
            "shop",
            "-o",
            "json",
        )
        found = json.loads(await self.kubectl[name]("get", "svcim,services,endpointslices", *ours))
        return {
            f"{each['kind']}/{each['metadata']['name']}": each["metadata"]["uid"] for each in found["items"]
        }

    async def lose(self, name: str) -> None:
        """Take a registration away without a leave, as a backup lacks it that was restored."""
        of = (name, "--namespace", SYSTEM)
        bare = ("--type=merge", "--patch", '{"metadata":{"finalizers":[]}}')
        await self.kubectl["hub"]("patch", "kfc", *of, *bare)
        await self.kubectl["hub"]("delete", "kfc", *of)


def contained(plane: ControlPlane) -> str:
    """A kubeconfig that refers to no file."""
    document = yaml.safe_load(plane.kubeconfig().read_text())
    cluster = document["clusters"][0]["cluster"]
    cluster.pop("certificate-authority", None)
    cluster["certificate-authority-data"] = base64.b64encode(plane.ca_file.read_bytes()).decode()
    return yaml.safe_dump(document)


async def test_members_come_go_and_are_lost_and_nothing_is_deleted_but_by_a_leave(tmp_path: Path) -> None:
    helm = Helm(built("helm"), tmp_path)
    values = IMAGE | {"controller": {"enabled": True, "registry": {"enabled": True}}}
    role = chosen(await helm.template("mcs", "mcs-system", values), "Role", "mcs-controller-registry")
    async with ControlPlanes(("hub", "a", "b"), audit=True) as planes:
        hub = Hub(planes, tmp_path)
        await hub.prepare(role)
        kubeconfig = str(planes["hub"].kubeconfig("controller"))
        metrics = ("--metrics-listen", "127.0.0.1:0")
        command = ("controller", "--registry", "--kubeconfig", kubeconfig, *metrics)
        exported = f"{WEB}---{exports_of('web')}"
        await hub.kubectl["a"]("apply", "--namespace", "shop", "-f", "-", stdin=exported)

        async def imports() -> bool:
            return bool(await hub.imported("b"))

        async with running("controller", *command, folder=tmp_path):
            await hub.register("a")
            await hub.label_kubeconfig("b")
            for name in "ab":
                await eventually(f"{name} is ready", partial(hub.is_ready, name))
            await eventually("the newcomer has the import", imports)
        before = await hub.imported("b")
        await hub.lose("a")
        async with running("controller", *command, folder=tmp_path) as process:

            async def is_told() -> bool:
                process.check_running()
                told = ("get", "events", "--namespace", SYSTEM, "-o", "jsonpath={.items[*].reason}")
                return "ClusterOrphaned" in await hub.kubectl["hub"](*told)

            await eventually("the orphan is told of", is_told)
            assert await hub.imported("b") == before
            await hub.register("a")
            await eventually("a is ready again", lambda: hub.is_ready("a"))
            assert await hub.imported("b") == before
            await hub.kubectl["hub"]("delete", "kfc", "a", "--namespace", SYSTEM, "--timeout=60s")
            assert await hub.imported("b") == {}
        requests = requests_of("controller", planes["hub"].audit_log)
        assert [each.request_uri for each in requests if each.response_status.code in (401, 403)] == []
        assert set(rights_granted(role["rules"])) - rights_used(requests) == ONLY_FOR_TOKENS
