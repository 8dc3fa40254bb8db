"""Our programs as a clusterset runs them: one controller, and one DNS server per cluster behind its CoreDNS.

They run inside the lab's network as users that have the rights of the README and no other. The id of a cluster
is its name in the lab.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from tests.lab.addresses import HOST
from tests.lab.cluster import Cluster
from tests.lab.clusters import Clusters
from tests.lab.kubectl import Kubectl
from tests.lab.mcs import MCS, eventually
from tests.lab.namespace import CommandError
from tests.lab.processes import LabProcess
from tests.lab.rights import USERS, roles_of_the_readme

_CONTROLLER_METRICS = f"{HOST}:5500"


class Clusterset:
    """`mcs controller` and `mcs dns` until the block ends: `async with Clusterset(clusters) as clusterset:`.

    The block begins when all of them are ready. Raises LabError when one ends by itself.
    """

    def __init__(self, clusters: Clusters) -> None:
        self.clusters = clusters
        kubeconfig = ("--kubeconfig", str(clusters.inner_kubeconfig("controller")))
        members = (f"--cluster={cluster.name}" for cluster in clusters)
        self.controller = self._process(
            "mcs-controller", "controller", *kubeconfig, *members, "--metrics-listen", _CONTROLLER_METRICS
        )
        self.dns = {cluster.name: self._dns(cluster) for cluster in clusters}

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.TaskGroup() as grants:
                for cluster in self.clusters:
                    grants.create_task(_grant(cluster.kubectl), name=f"rights in {cluster.name}")
            for process in (self.controller, *self.dns.values()):
                await process.start()
            await self._wait_until_ready(self.controller, _CONTROLLER_METRICS)
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

    async def _end(self) -> None:
        for process in (self.controller, *self.dns.values()):
            await process.stop()

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

    async def _wait_until_ready(self, process: LabProcess, metrics: str) -> None:
        async def is_ready() -> bool:
            process.check_running()
            try:
                await self.clusters.namespace.run("curl", "-sf", f"http://{metrics}/readyz")
            except CommandError:
                return False
            return True

        await eventually(f"{process.name} is ready", is_ready, seconds=60, every=0.2)


def _dns_metrics(cluster: Cluster) -> str:
    return f"{HOST}:{5501 + cluster.addresses.index}"


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
        for role, user in USERS.items()
    )
    await kubectl("apply", "--server-side", "-f", "-", stdin=roles_of_the_readme() + "".join(bindings))
