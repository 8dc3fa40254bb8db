"""How long 200 federated Deployments take to be in 10 clusters, next to a bare concurrent write of the same objects.

The sandbox API servers of all clusters are one process, that which propagates is this one. Both ways begin with
clusters that are connected and watched, and end when the caches of this process hold every object. Then, with the
federation, it is measured when every status tells so. The bare write has as many requests under way in a cluster.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from mcs.controllers.federation.picture import SyncSettings
from mcs.controllers.federation.synced_type import SyncedType
from mcs.controllers.processes import client_opener, utc_now
from mcs.federation.overrides import NotMade
from mcs.federation.template import member_object
from mcs.kube.client import Client
from mcs.model.federated import (
    MANAGED,
    MANAGED_LABEL,
    FederatedObject,
    FederatedSpec,
    federated_resource,
    target_resource,
)
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.resources import Resource
from mcs.runtime.cache import Cache
from mcs.runtime.demand import Reflected
from mcs.runtime.fleet import WORKERS, Fleet, Member
from mcs.web.requests import RequestCounts
from tests.bench.figures import Figure, ratio_figure
from tests.bench.fleet_size import serving
from tests.e2e.federated_world import DEPLOYMENTS, TYPE_NAMESPACES, GivenClusters, definition
from tests.e2e.test_federated_sync import deployment
from tests.scenarios.world import CUSTOM_RESOURCE_DEFINITIONS

OBJECTS, CLUSTERS = 200, 10
FEDERATED, BARE = "team-0", "team-1"
"""The namespaces of the two ways, which every cluster has."""
LONGEST = 240.0

Opener = Callable[[str], Callable[[], AbstractAsyncContextManager[Client]]]

TARGET = target_resource(DEPLOYMENTS)
NAMES = [f"web-{number}" for number in range(OBJECTS)]
MEMBERS = [ClusterId(f"member-{number}") for number in range(1, CLUSTERS + 1)]
HOST = "member-0"


def _federated(name: str) -> dict[str, Any]:
    resource = federated_resource(DEPLOYMENTS)
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"namespace": FEDERATED, "name": name},
        "spec": {"template": deployment(), "placement": {"clusterSelector": {}}},
    }


def _bare(name: str, cluster: ClusterId) -> dict[str, Any]:
    """What the federation writes into the cluster, but in the other namespace."""
    of = FederatedObject(
        metadata=ObjectMeta(namespace=BARE, name=name), spec=FederatedSpec(template=deployment())
    )
    made = member_object(of, TARGET, cluster)
    assert not isinstance(made, NotMade)
    return made


async def _at_most(limit: int, works: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Do all of these, so many at a time."""
    waiting = iter(list(works))

    async def work() -> None:
        for each in waiting:
            await each

    await asyncio.gather(*(work() for _ in range(limit)))


async def _until(holds: Callable[[], bool]) -> float:
    async with asyncio.timeout(LONGEST):
        while not holds():  # noqa: ASYNC110 - what is waited for is any of thousands of objects
            await asyncio.sleep(0.01)
    return time.perf_counter()


def _are_in(caches: Sequence[Cache[Any]], namespace: str) -> Callable[[], bool]:
    return lambda: all(sum(each.key.namespace == namespace for each in cache) == OBJECTS for cache in caches)


class Bench:
    """The servers, and the two ways."""

    def __init__(self, kubeconfig: Path) -> None:
        counts = RequestCounts()
        self._opener: Opener = lambda name: client_opener(name, [kubeconfig], name, counts)

    async def prepare(self) -> None:
        """The kinds in the host, and its namespace federated."""
        async with self._opener(HOST)() as client:
            for config in (DEPLOYMENTS, TYPE_NAMESPACES):
                await client.apply_document(CUSTOM_RESOURCE_DEFINITIONS, definition(config))
            gate = federated_resource(TYPE_NAMESPACES)
            await client.apply_document(
                gate,
                {
                    "apiVersion": gate.api_version,
                    "kind": gate.kind,
                    "metadata": {"namespace": FEDERATED, "name": FEDERATED},
                    "spec": {"placement": {"clusterSelector": {}}},
                },
            )

    async def propagated(self) -> tuple[float, float]:
        """Seconds until everything is everywhere, and until every status tells so."""
        clusters = GivenClusters(self._opener)
        for name in MEMBERS:
            clusters.register(name)
        type_ = SyncedType(DEPLOYMENTS, SyncSettings(), self._opener(HOST), clusters, utc_now)
        task = asyncio.create_task(type_.run())
        try:
            await _until(lambda: type_.host.is_seen and type_.fleet.seen == frozenset(MEMBERS))
            caches = [type_.fleet.members[each].caches[TARGET.plural] for each in MEMBERS]
            resource: Resource[Any] = federated_resource(DEPLOYMENTS)
            async with self._opener(HOST)() as client:
                began = time.perf_counter()
                await _at_most(WORKERS, (client.apply_document(resource, _federated(name)) for name in NAMES))
                there = await _until(_are_in(caches, FEDERATED))
                told = await _until(
                    lambda: (
                        sum(each.status.percent_converged is not None for each in type_.federated) == OBJECTS
                    )
                )
            return there - began, told - began
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def written(self) -> float:
        """Seconds until the same objects are in the other namespace of every cluster, written by nobody but us."""
        selector = f"{MANAGED_LABEL}={MANAGED}"
        members: list[Member[Any]] = [
            Member(each, self._opener(each), [Reflected(TARGET, label_selector=selector)]) for each in MEMBERS
        ]
        fleet = Fleet(members)
        task = asyncio.create_task(fleet.run(None))
        try:
            await _until(lambda: fleet.seen == frozenset(MEMBERS))
            async with AsyncExitStack() as stack:
                clients = {each: await stack.enter_async_context(self._opener(each)()) for each in MEMBERS}
                began = time.perf_counter()
                await asyncio.gather(*(_write(client, cluster) for cluster, client in clients.items()))
                return await _until(_are_in([each.caches[TARGET.plural] for each in members], BARE)) - began
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _write(client: Client, cluster: ClusterId) -> None:
    await _at_most(WORKERS, (client.apply_document(TARGET, _bare(name, cluster)) for name in NAMES))


async def measure() -> Sequence[Figure]:
    """Both ways, twice; what the bare write leaves would be let go by the federation, so that one comes last."""
    figures: list[Figure] = []
    for number in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            kubeconfig = Path(folder) / "kubeconfig"
            async with serving(CLUSTERS + 1, kubeconfig):
                bench = Bench(kubeconfig)
                await bench.prepare()
                there, told = await bench.propagated()
                bare = await bench.written()
        what = f"run {number}: {OBJECTS} federated Deployments in {CLUSTERS} clusters"
        figures.append(ratio_figure(f"{what}, all there / bare write", there, "s", bare))
        figures.append(ratio_figure(f"{what}, all told / bare write", told, "s", bare))
    return figures
