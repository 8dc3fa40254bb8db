"""The world of a scenario on real API servers: our programs, the wall clock, and clusters emptied afterwards.

What only the sandbox can do is left to the sandbox: whether a scenario can run here is decided by its own YAML.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from mcs.model.resources import (
    CLUSTER_PROPERTIES,
    ENDPOINT_SLICES,
    EVENTS,
    NAMESPACES,
    NODES,
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
    Resource,
)
from tests.lab.control_planes import ControlPlane, ControlPlanes
from tests.scenarios.api import Api
from tests.scenarios.world import Programs, define

SETTLING = 5
"""A scenario that waits so many seconds waits for rest, not for time."""
APART = 1.1
"""Seconds. Creation times count in whole seconds, so less would not tell two exports' ages apart."""
REST = 0.5
"""Seconds without a write that count as rest."""
LONGEST_UNREST = 60.0

Versions = dict[str, Any]
_EMPTIED: tuple[Resource[Any], ...] = (
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
    ENDPOINT_SLICES,
    EVENTS,
    CLUSTER_PROPERTIES,
    NODES,
)
_OF_KUBERNETES = ("kube-system", "kube-public", "kube-node-lease", "default")


class RealWorld(Programs):
    """A world whose API servers are real control planes."""

    patience = 60.0

    def __init__(self, planes: ControlPlanes, clusters: Sequence[str]) -> None:
        super().__init__(
            {name: api_of(planes, name) for name in clusters},
            planes.kubeconfig(),
            clock=lambda: datetime.now(UTC),
        )
        self._planes = planes

    async def written(self) -> Versions:
        """Version of every object that we or a scenario may write, in the clusters whose servers run."""
        running = [name for name in self.apis if self._planes[name].process.pid is not None]
        found = await asyncio.gather(*(_versions(self.apis[name]) for name in running))
        return dict(zip(running, found, strict=True))

    async def pass_time(self, seconds: float) -> None:
        """Wait as long as matters for the order of events; if long is asked for, then until nothing is written too."""
        await asyncio.sleep(min(seconds, APART))
        if seconds < SETTLING:
            return
        async with asyncio.timeout(LONGEST_UNREST):
            before = None
            while (now := await self.written()) != before:
                before = now
                await asyncio.sleep(REST)

    async def order(self, name: str, what: str) -> None:
        """Stop or start the server, or break its watches by a restart."""
        plane = self._planes[name]
        match what:
            case "stop":
                await plane.kill()
            case "start":
                await plane.start()
            case "drop watches":
                await plane.restart()
            case "define":
                await define(self.apis[name])
            case unknown:
                raise ValueError(unknown)

    async def empty_namespace(self, cluster: str, name: str) -> None:
        """Do what kube-controller-manager does with a namespace that is being deleted, but not at once."""
        await asyncio.sleep(REST)
        await _end_namespace(self.apis[cluster], name)


async def _versions(api: Api) -> Versions:
    listed = await asyncio.gather(*(api.list(resource) for resource in _EMPTIED))
    return {
        obj["metadata"]["uid"]: obj["metadata"]["resourceVersion"] for objects in listed for obj in objects
    }


@asynccontextmanager
async def running_real_world(planes: ControlPlanes, clusters: Sequence[str]) -> AsyncIterator[RealWorld]:
    """A DNS server for each cluster; the controller is started by the scenario. The clusters are left empty."""
    world = RealWorld(planes, clusters)
    async with AsyncExitStack() as stack:
        for api in world.apis.values():
            await stack.enter_async_context(api)
        try:
            for name in clusters:
                await world.start_dns(name)
            yield world
        finally:
            await world.stop_all()
            async with asyncio.TaskGroup() as tasks:
                for name in clusters:
                    tasks.create_task(_leave_empty(planes[name], world.apis[name]), name=f"empty {name}")


def api_of(planes: ControlPlanes, name: str) -> Api:
    """One control plane as its administrator sees it."""
    plane = planes[name]
    return Api(plane.url, plane.tokens["admin"], ssl.create_default_context(cafile=str(plane.ca_file)))


async def _leave_empty(plane: ControlPlane, api: Api) -> None:
    if plane.process.pid is None:
        await plane.start()
    for obj in await api.list(NAMESPACES):
        name = obj["metadata"]["name"]
        if name not in _OF_KUBERNETES:
            await api.delete(NAMESPACES, "", name)
            await _end_namespace(api, name)
    for resource in _EMPTIED:
        for meta in [obj["metadata"] for obj in await api.list(resource)]:
            if (meta.get("namespace"), meta["name"]) != ("default", "kubernetes"):
                await api.delete(resource, meta.get("namespace", ""), meta["name"])


async def _end_namespace(api: Api, name: str) -> None:
    """Empty a namespace that is being deleted and finish it, as kube-controller-manager would."""
    namespaced = [resource for resource in _EMPTIED if resource.namespaced]
    await asyncio.gather(*(api.delete_all(resource, name) for resource in namespaced))
    await api.finalize_namespace(name)
