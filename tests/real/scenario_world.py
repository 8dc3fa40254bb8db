"""The world of a scenario on real API servers: our programs, the wall clock, and clusters emptied afterwards.

What only the sandbox can do is left to the sandbox: whether a scenario can run here is decided by its own YAML.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from mcs.model.resources import (
    CLUSTER_PROPERTIES,
    ENDPOINT_SLICES,
    EVENTS,
    NAMESPACES,
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
    Resource,
)
from tests.lab.control_planes import ControlPlanes
from tests.scenarios.api import Api
from tests.scenarios.objects import Json
from tests.scenarios.world import Programs

LONGEST_WAIT = 1.5
"""Seconds. Creation times count in whole seconds, so less would not tell two exports' ages apart."""

_EMPTIED: tuple[Resource[Any], ...] = (
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
    ENDPOINT_SLICES,
    EVENTS,
    CLUSTER_PROPERTIES,
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

    async def written(self) -> object:
        """Version of every object that we or a scenario may write."""
        return {
            (name, obj["metadata"]["uid"]): obj["metadata"]["resourceVersion"]
            for name, api in self.apis.items()
            for resource in _EMPTIED
            for obj in await api.list(resource)
        }

    async def pass_time(self, seconds: float) -> None:
        """Wait so long, but not longer than matters for the order of events."""
        await asyncio.sleep(min(seconds, LONGEST_WAIT))

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
            case unknown:
                raise ValueError(unknown)


@asynccontextmanager
async def running_real_world(planes: ControlPlanes, clusters: Sequence[str]) -> AsyncIterator[RealWorld]:
    """A DNS server for each cluster; the controller is started by the scenario. The clusters are left empty."""
    world = RealWorld(planes, clusters)
    try:
        for name in clusters:
            await world.start_dns(name)
        yield world
    finally:
        await world.stop_all()
        async with asyncio.TaskGroup() as tasks:
            for name in clusters:
                if planes[name].process.pid is None:
                    await planes[name].start()
                tasks.create_task(_empty(world.apis[name]), name=f"empty {name}")


def api_of(planes: ControlPlanes, name: str) -> Api:
    """One control plane as its administrator sees it."""
    plane = planes[name]
    return Api(plane.url, plane.tokens["admin"], ssl.create_default_context(cafile=str(plane.ca_file)))


async def _empty(api: Api) -> None:
    for resource in _EMPTIED:
        for obj in await api.list(resource):
            meta = obj["metadata"]
            if (meta.get("namespace"), meta["name"]) != ("default", "kubernetes"):
                await api.delete(resource, meta.get("namespace", ""), meta["name"])
    for obj in await api.list(NAMESPACES):
        if obj["metadata"]["name"] not in _OF_KUBERNETES:
            await _end_namespace(api, obj)


async def _end_namespace(api: Api, namespace: Json) -> None:
    """Delete a namespace that is empty, and finish it as kube-controller-manager would."""
    name = namespace["metadata"]["name"]
    await api.delete(NAMESPACES, "", name)
    await api.finalize_namespace(name)
