"""A services controller for two clusters whose caches are filled by hand: east exports web, west imports it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from mcs.controllers.clusters import REFLECTED, Work
from mcs.controllers.services import ServicesController
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ImportCluster, ServiceExport, ServiceImport, ServiceImportStatus
from mcs.model.names import ClusterId, ServiceKey, derived_service_name
from mcs.model.policy import DEFAULT_POLICY, Policy
from mcs.model.services import Namespace, Service
from mcs.model.slices import IPV4, EndpointSlice
from mcs.runtime.fleet import Fleet, Member
from mcs.runtime.queue import WorkQueue
from mcs.testing.virtual_time import run_virtual

EAST, WEST = ClusterId("east"), ClusterId("west")
WEB = ServiceKey("shop", "web")
PLACE = ServiceKey("shop", derived_service_name(WEB))
SLICE = ServiceKey("shop", "web-1")


def metadata(key: ServiceKey, version: int = 1, uid: str = "u", **labels: str) -> ObjectMeta:
    return ObjectMeta(
        name=key.name, namespace=key.namespace, uid=uid, resource_version=str(version), labels=labels
    )


def slice_(key: ServiceKey = SLICE, version: int = 1) -> EndpointSlice:
    return EndpointSlice(
        metadata=replace(metadata(key, version), labels={"kubernetes.io/service-name": "web"}),
        address_type=IPV4,
    )


class Here:
    """Two clusters; east exports web, west imports it. `done` empties the queues."""

    def __init__(self, policy: Policy = DEFAULT_POLICY) -> None:
        members: list[Member[Work]] = [Member(each, never, REFLECTED) for each in (EAST, WEST)]
        self.fleet = Fleet(members)
        self.controller = ServicesController(
            self.fleet, lambda: datetime(2026, 1, 1, tzinfo=UTC), policy=policy
        )
        contents: dict[ClusterId, dict[str, list[Any]]] = {
            EAST: {
                "namespaces": [Namespace(metadata=metadata(ServiceKey("", "shop")))],
                "services": [Service(metadata=metadata(WEB))],
                "endpointslices": [slice_()],
                "serviceexports": [ServiceExport(metadata=metadata(WEB))],
            },
            WEST: {
                "namespaces": [Namespace(metadata=metadata(ServiceKey("", "shop")))],
                "serviceimports": [
                    ServiceImport(
                        metadata=metadata(WEB),
                        status=ServiceImportStatus(clusters=(ImportCluster(cluster=EAST),)),
                    )
                ],
            },
        }
        for cluster, member in self.fleet.members.items():
            for plural, cache in member.caches.items():
                cache.replace(contents[cluster].get(plural, []))
        self.done()

    def cache(self, cluster: ClusterId, plural: str) -> Any:
        return self.fleet.members[cluster].caches[plural]

    def done(self) -> None:
        for member in self.fleet.members.values():
            member.queue = WorkQueue()

    async def work(self) -> set[tuple[ClusterId, str]]:
        """The work that waits, as (cluster, what it is about and of which service)."""
        found = set()
        for cluster, member in self.fleet.members.items():
            while len(member.queue):
                found.add((cluster, str(await member.queue.get())))
        return found


def never() -> Any:
    raise NotImplementedError


EVERYWHERE = {(EAST, "service shop/web"), (WEST, "service shop/web")}


def touched(change: Callable[[Here], None]) -> set[tuple[ClusterId, str]]:
    """The work that a change makes."""

    async def run() -> set[tuple[ClusterId, str]]:
        here = Here()
        change(here)
        return await here.work()

    return run_virtual(run())
