"""What the reader of KubeFed's user guide has: a host, members that joined, and our controller as a process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from mcs.membership.access import type_role
from tests.lab.binaries import built
from tests.lab.control_planes import ControlPlanes
from tests.lab.controller_manager import controller_manager
from tests.lab.helm import Helm
from tests.lab.kubectl import Kubectl, kubectl_binary
from tests.lab.mcs import running
from tests.real.chart_roles import ROLES, chosen
from tests.real.joined import SYSTEM, mcs

Json = dict[str, Any]
CRDS = Path(__file__).parents[2] / "crds"
MEMBERS = ("a", "b")
IN_SHOP = ("--namespace", "shop")
DELAYS = {
    "apiVersion": "core.kubefed.io/v1beta1",
    "kind": "KubeFedConfig",
    "metadata": {"name": "kubefed", "namespace": SYSTEM[1]},
    "spec": {"controllerDuration": {"unavailableDelay": "5s", "availableDelay": "3s"}},
}
"""A grace and a hold-down for tests."""


class Guide:
    """What the reader of the guide does, and what he sees."""

    def __init__(self, planes: ControlPlanes, folder: Path) -> None:
        self.planes = planes
        self.kubectl = {plane.name: Kubectl(kubectl_binary(), plane.kubeconfig(), folder) for plane in planes}
        self.host = self.kubectl["host"]
        self._folder = folder

    async def join(self, name: str) -> None:
        """Make a cluster a member that lets types be propagated, one by one."""
        where = ("--context", name, "--host-context", "host", "--no-dns", "--federation")
        await mcs("join", name, *where, kubeconfig=self.planes.kubeconfig())

    async def grant(self) -> Json:
        """Give our user in the host what the chart grants for federation; the role for all namespaces."""
        helm = Helm(built("helm"), self._folder)
        rendered = await helm.template("mcs", SYSTEM[1], ROLES["hub with federation"])
        role = chosen(rendered, "Role", "mcs-controller-registry")
        role["metadata"]["namespace"] = SYSTEM[1]
        everywhere = chosen(rendered, "ClusterRole", "mcs-controller-federation")
        await self.host("apply", "-f", "-", stdin=yaml.safe_dump_all([role, everywhere]))
        user = "--user=controller"
        await self.host(
            "create", "rolebinding", "registry", user, f"--role={role['metadata']['name']}", *SYSTEM
        )
        await self.host(
            "create", "clusterrolebinding", "federation", user, "--clusterrole=mcs-controller-federation"
        )
        return {"rules": [*role["rules"], *everywhere["rules"]]}

    async def enable(self, type_: str) -> None:
        """Apply the definition and the configuration that mcs enable prints."""
        kubeconfig = self.planes.kubeconfig()
        printed = await mcs("enable", type_, "--host-context", "host", "-o", "yaml", kubeconfig=kubeconfig)
        # The definition must be served before there is anything of it.
        await self.host("apply", "-f", "-", stdin=printed)

    async def allow(self, member: str, type_: str) -> None:
        """Let a type be propagated to a member."""
        plural, _, group = type_.partition(".")
        await self.kubectl[member]("apply", "-f", "-", stdin=json.dumps(type_role(group, plural).document))

    async def apply(self, kind: str, name: str, template: Json, **spec: Any) -> None:
        """kubectl apply a federated object; without a placement it goes everywhere."""
        document = {
            "apiVersion": "types.kubefed.io/v1beta1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"template": template, "placement": {"clusterSelector": {}}} | spec,
        }
        await self.host("apply", "-f", "-", stdin=json.dumps(document))

    async def get(self, cluster: str, *what: str) -> Json | None:
        """An object as it stands."""
        text = await self.kubectl[cluster]("get", *what, "--ignore-not-found", "-o", "json")
        return json.loads(text) if text.strip() else None

    async def status(self, what: str) -> dict[str, tuple[str, str]]:
        """Status and message of each cluster, as a federated object tells them."""
        found = await self.get("host", what, *IN_SHOP) or {}
        clusters = found.get("status", {}).get("clusters", ())
        return {each["name"]: (each.get("status", ""), each.get("message", "")) for each in clusters}

    async def replicas(self, cluster: str) -> tuple[int, int]:
        """How many replicas a Deployment is to have in a cluster, and how many Pods there are of it."""
        found = await self.get(cluster, "deployment/web", *IN_SHOP)
        if found is None:
            return (0, 0)
        pods = await self.get(cluster, "pods", *IN_SHOP, "-l", "app=web")
        return found["spec"]["replicas"], len(pods["items"] if pods else ())

    async def told(self, type_: str) -> str:
        """What a type configuration says of its propagation."""
        found = await self.get("host", f"federatedtypeconfig/{type_}", *SYSTEM) or {}
        return str(found.get("status", {}).get("propagationController", ""))


@asynccontextmanager
async def guided(folder: Path, members: Sequence[str] = MEMBERS) -> AsyncIterator[tuple[Guide, Json]]:
    """Members that have joined, with the controllers of Kubernetes, and ours in a process with the chart's rights."""
    async with ControlPlanes(("host", *members), audit=True) as planes, AsyncExitStack() as stack:
        guide = Guide(planes, folder)
        await guide.host("apply", "--server-side", "-f", str(CRDS))
        await guide.host("wait", "--for=condition=Established", "-f", str(CRDS), "--timeout=30s")
        for name in members:
            await stack.enter_async_context(controller_manager(planes, planes[name]))
            await guide.join(name)
        rights = await guide.grant()
        await guide.host("create", "namespace", "shop")
        kubeconfig = str(planes["host"].kubeconfig("controller"))
        command = ("controller", "--registry", "--federation", "--kubeconfig", kubeconfig)
        metrics = ("--metrics-listen", "127.0.0.1:0")
        await stack.enter_async_context(running("controller", *command, *metrics, folder=folder))
        yield guide, rights
