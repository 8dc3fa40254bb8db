"""Several sandbox clusters side by side, with nodes, controllers, CRDs, the sample and one kubeconfig.

The controller and the DNS servers of this project are attached to it elsewhere; here a clusterset is what they
find: API servers they reach by kubeconfig contexts.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from types import TracebackType
from typing import Self

from mcs.kube.packaged import definition_documents
from mcs.sandbox.api import Api, WriteOptions
from mcs.sandbox.demo.manifests import apply_objects, sample_objects
from mcs.sandbox.http.server import ApiServer, kubeconfig
from mcs.sandbox.resources import NODES
from mcs.sandbox.rules.addresses import Network
from mcs.sandbox.workloads.nodes import node_objects
from mcs.sandbox.workloads.pods import Pace
from mcs.sandbox.workloads.simulator import Simulator

_KUBELET = WriteOptions(manager="kubelet")


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """What a cluster looks like before anybody uses it; of two ranges the default family comes first."""

    name: str
    service_ranges: tuple[Network, ...]
    pod_ranges: tuple[Network, ...]
    node_ranges: tuple[Network, ...]
    load_balancer_ranges: tuple[Network, ...]
    nodes: int = 3


def dual_stack(name: str, number: int) -> ClusterShape:
    """A cluster with both families; `number` (0 to 3) keeps its ranges apart from those of the others."""
    return ClusterShape(
        name,
        _networks(f"10.{96 + number}.0.0/16", f"fd00:10:{96 + number}::/112"),
        _networks(f"10.{244 + number}.0.0/16", f"fd00:10:{244 + number}::/48"),
        _networks(f"172.18.{number}.0/24", f"fd00:172:18:{number}::/64"),
        _networks(f"192.0.2.{64 * number}/26", f"2001:db8:{number}::/112"),
    )


def ipv4_only(name: str, number: int) -> ClusterShape:
    """As `dual_stack`, with the IPv4 half."""
    both = dual_stack(name, number)
    return ClusterShape(
        name,
        both.service_ranges[:1],
        both.pod_ranges[:1],
        both.node_ranges[:1],
        both.load_balancer_ranges[:1],
    )


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


SHAPES = (dual_stack("east", 0), dual_stack("west", 1), ipv4_only("south", 2))
"""The default set: an older, IPv4-only cluster takes part, as in real life."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """One running cluster; `context` is its name in the kubeconfig."""

    name: str
    context: str
    server: ApiServer

    @property
    def url(self) -> str:
        """Where its API server listens."""
        return self.server.url

    @property
    def api(self) -> Api:
        """The way in for controllers of the same process."""
        return self.server.api


class Clusterset:
    """`async with Clusterset(path) as clusterset` runs clusters until the block ends.

    On entry every server listens, the kubeconfig (mode 0600) is at `kubeconfig_path`, CRDs and sample are applied;
    workloads become ready after that.
    """

    def __init__(
        self,
        kubeconfig_path: Path,
        *,
        shapes: Sequence[ClusterShape] = SHAPES,
        with_sample: bool = True,
        pace: Pace | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.kubeconfig_path = kubeconfig_path
        self.clusters: tuple[Cluster, ...] = ()
        self._shapes = tuple(shapes)
        self._with_sample = with_sample
        self._pace = pace
        self._now = now
        self._stack = AsyncExitStack()

    def __getitem__(self, name: str) -> Cluster:
        """The cluster of that name; raises KeyError."""
        for cluster in self.clusters:
            if cluster.name == name:
                return cluster
        raise KeyError(name)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self.clusters = tuple([await self._started(shape, stack) for shape in self._shapes])
            write_private(self.kubeconfig_path, kubeconfig([cluster.server for cluster in self.clusters]))
            definitions = definition_documents()
            for cluster in self.clusters:
                sample = sample_objects(cluster.name) if self._with_sample else []
                await apply_objects(cluster.server, [*definitions, *sample])
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def _started(self, shape: ClusterShape, stack: AsyncExitStack) -> Cluster:
        server = ApiServer(shape.name, service_ranges=shape.service_ranges, now=self._now)
        _add_nodes(server.api, shape, self._now())
        await stack.enter_async_context(server)
        simulator = Simulator(server.api, load_balancer_ranges=shape.load_balancer_ranges, pace=self._pace)
        task = asyncio.create_task(simulator.run(), name=f"workloads of {shape.name}")
        # Not a TaskGroup, which would hand every error of the block to its caller in an ExceptionGroup.
        stack.push_async_callback(_stopped, task)
        return Cluster(shape.name, shape.name, server)


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()


def _add_nodes(api: Api, shape: ClusterShape, now: datetime) -> None:
    for node in node_objects(shape.name, shape.nodes, shape.pod_ranges, shape.node_ranges, now):
        created = api.create(NODES, node, options=_KUBELET)
        api.update_status(NODES, {**created, "status": node["status"]}, options=_KUBELET)


def write_private(path: Path, text: str) -> None:
    """Put the text at the path in one step, readable by its owner only; missing folders are made."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
