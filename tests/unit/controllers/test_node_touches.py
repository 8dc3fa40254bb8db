"""Nodes make work only when the zones of a cluster change, and only for services that mind."""

from __future__ import annotations

from typing import Any

from mcs.controllers.clusters import REFLECTED, ClusterCaches, Work
from mcs.controllers.services import ServicesController
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ServiceExport
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.preference import TRAFFIC_ANNOTATION
from mcs.model.registration import ZONE_LABEL, Node
from mcs.runtime.fleet import Fleet, Member
from mcs.runtime.queue import WorkQueue
from mcs.services.observed import NodeZones
from mcs.testing.builders import START
from mcs.testing.virtual_time import run_virtual

EAST, WEST = ClusterId("east"), ClusterId("west")


def node(name: str, zone: str = "", version: int = 1) -> Node:
    labels = {ZONE_LABEL: zone} if zone else {}
    return Node(metadata=ObjectMeta(name=name, resource_version=str(version), labels=labels))


def exported(name: str, traffic: str | None = None) -> ServiceExport:
    annotations = {TRAFFIC_ANNOTATION: traffic} if traffic else {}
    return ServiceExport(
        metadata=ObjectMeta(name=name, namespace="shop", resource_version="1", annotations=annotations)
    )


class Here:
    """Two clusters; east exports web, which prefers, and db, which does not; its node is in zone a."""

    def __init__(self) -> None:
        members: list[Member[Work]] = [Member(each, _never, REFLECTED) for each in (EAST, WEST)]
        self.fleet = Fleet(members)
        self.controller = ServicesController(self.fleet, lambda: START)
        contents: dict[str, list[Any]] = {
            "serviceexports": [exported("web", "local"), exported("db")],
            "nodes": [node("n1", "a")],
        }
        for cluster, member in self.fleet.members.items():
            for plural, cache in member.caches.items():
                cache.replace(contents.get(plural, []) if cluster == EAST else [])
        self.nodes = self.fleet.members[EAST].caches["nodes"]
        # The first change says what the zones are.
        self.nodes.put(node("n2", "a"))

    async def work(self) -> list[tuple[ClusterId, str]]:
        found = []
        for cluster, member in self.fleet.members.items():
            while len(member.queue):
                found.append((cluster, str(await member.queue.get())))
            member.queue = WorkQueue()
        return found


def _never() -> Any:
    raise NotImplementedError


def test_only_other_zones_make_work_for_services_with_a_preference_in_that_cluster() -> None:
    async def run() -> None:
        here = Here()
        await here.work()
        here.nodes.put(node("n1", "a", version=2))
        here.nodes.put(node("n3", "a"))
        here.nodes.discard(ServiceKey("", "n3"), "9")
        assert await here.work() == []
        for change in (node("n3", "b"), node("n1", "b", version=3), node("n2", "", version=2)):
            here.nodes.put(change)
            expected = [] if change.metadata.name == "n1" else [(EAST, "service shop/web")]
            assert await here.work() == expected, change
        here.nodes.discard(ServiceKey("", "n2"), "9")
        assert await here.work() == [(EAST, "service shop/web")]

    run_virtual(run())


def test_zones_are_known_when_the_nodes_are() -> None:
    member: Member[Work] = Member(EAST, _never, REFLECTED)
    nodes, caches = member.caches["nodes"], ClusterCaches.of(member.caches)
    nodes.put(node("n1", "b"))
    assert caches.zones() is None
    nodes.replace([node("n1", "b"), node("n2", "a")])
    assert caches.zones() == NodeZones(("a", "b"))
    nodes.put(node("n9"))
    assert caches.zones() == NodeZones(("a", "b"), has_nodes_without=True)
