"""Our programs as a clusterset runs them: the controllers of one shape, and a DNS server behind each CoreDNS.

They run inside the lab's network as users that have the rights of the README and no other. The id of a cluster
is its name in the lab.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Literal, Self

from tests.lab.addresses import HOST
from tests.lab.cluster import Cluster
from tests.lab.clusters import Clusters
from tests.lab.kubectl import Kubectl
from tests.lab.mcs import MCS, eventually
from tests.lab.namespace import CommandError
from tests.lab.processes import LabProcess
from tests.lab.rights import OTHER_ROLE, OTHER_USER, USERS, role_in_other_clusters, roles_of_the_readme

# One controller for all clusters, or one in each, which writes to its own alone and only reads the others.
Shape = Literal["hub", "mesh"]


class Clusterset:
    """`mcs controller` and `mcs dns` until the block ends: `async with Clusterset(clusters) as clusterset:`.

    It begins in the hub shape, when all of them are ready. Raises LabError when one ends by itself.
    """

    def __init__(self, clusters: Clusters) -> None:
        self.clusters = clusters
        self.shape: Shape = "hub"
        hub = ("--kubeconfig", str(clusters.inner_kubeconfig("controller")))
        self._controllers: Mapping[Shape, tuple[LabProcess, ...]] = {
            "hub": (self._controller("mcs-controller", _metrics(0), *hub),),
            "mesh": tuple(self._own_controller(cluster) for cluster in clusters),
        }
        self.dns = {cluster.name: self._dns(cluster) for cluster in clusters}

    @property
    def controllers(self) -> tuple[LabProcess, ...]:
        """The controllers of the present shape: one for all clusters, or one for each in their order."""
        return self._controllers[self.shape]

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.TaskGroup() as grants:
                for cluster in self.clusters:
                    grants.create_task(_grant(cluster.kubectl), name=f"rights in {cluster.name}")
            for process in (*self.controllers, *self.dns.values()):
                await process.start()
            await self._wait_for_controllers()
            for cluster in self.clusters:
                await self._wait_until_ready(self.dns[cluster.name], _dns_metrics(cluster))
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._end()

    async def change_shape(self, shape: Shape) -> None:
        """Stop the controllers and start those of another shape, ready when this returns; nothing else is done.

        Raises LabError when one of them ends by itself.
        """
        if shape == self.shape:
            return
        for process in self.controllers:
            await process.stop()
        self.shape = shape
        for process in self.controllers:
            await process.start()
        await self._wait_for_controllers()

    async def _end(self) -> None:
        for process in (*self.controllers, *self.dns.values()):
            await process.stop()

    def _own_controller(self, cluster: Cluster) -> LabProcess:
        kubeconfig = self.clusters.inner_kubeconfig_at_home(cluster, USERS["mcs-controller"], OTHER_USER)
        return self._controller(
            f"mcs-controller of {cluster.name}",
            _metrics(cluster.addresses.index),
            *("--kubeconfig", str(kubeconfig), "--targets", "self", "--self", cluster.name),
        )

    def _controller(self, name: str, metrics: str, *options: str) -> LabProcess:
        members = (f"--cluster={cluster.name}" for cluster in self.clusters)
        return self._process(name, "controller", *members, *options, "--metrics-listen", metrics)

    def _dns(self, cluster: Cluster) -> LabProcess:
        return self._process(
            f"mcs-dns of {cluster.name}",
            "dns",
            "--kubeconfig",
            str(cluster.inner_kubeconfig("dns")),
            "--listen",
            f"{HOST}:{cluster.addresses.clusterset_dns_port}",
            "--metrics-listen",
            _dns_metrics(cluster),
        )

    def _process(self, name: str, *arguments: str) -> LabProcess:
        command = self.clusters.namespace.inside(*MCS, *arguments)
        return LabProcess(name, command, self.clusters.folder / f"{name.replace(' ', '-')}.log")

    async def _wait_for_controllers(self) -> None:
        for index, process in enumerate(self.controllers):
            await self._wait_until_ready(process, _metrics(index))

    async def _wait_until_ready(self, process: LabProcess, metrics: str) -> None:
        async def is_ready() -> bool:
            process.check_running()
            try:
                await self.clusters.namespace.run("curl", "-sf", f"http://{metrics}/readyz")
            except CommandError:
                return False
            return True

        await eventually(f"{process.name} is ready", is_ready, seconds=60, every=0.2)


def _metrics(index: int) -> str:
    return f"{HOST}:{5500 + index}"


def _dns_metrics(cluster: Cluster) -> str:
    return f"{HOST}:{5600 + cluster.addresses.index}"


async def _grant(kubectl: Kubectl) -> None:
    bindings = (
        f"""
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {role}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {user}}}]
"""
        for role, user in {**USERS, OTHER_ROLE: OTHER_USER}.items()
    )
    roles = f"{roles_of_the_readme()}---\n{role_in_other_clusters()}"
    await kubectl("apply", "--server-side", "-f", "-", stdin=roles + "".join(bindings))
