"""What is seen of a drain: replicas that are planned and ready elsewhere, and what each importer shows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from mcs.controllers.clusters import REFLECTED, Work
from mcs.controllers.federation.drains import LONGEST_TTL, PERIOD, DrainController
from mcs.federation.draining import Stage
from mcs.model.federated import FederatedObject, FederatedSpec
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ServiceImport
from mcs.model.names import SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL, ClusterId, ServiceKey
from mcs.model.scheduling import PreferenceClusterStatus, PreferenceStatus
from mcs.model.slices import IPV6, EndpointSlice
from mcs.model.targets import TargetObject
from mcs.runtime.cache import Cache
from mcs.runtime.fleet import Fleet, Member, Reachability
from mcs.testing.builders import WEB, endpoint, export, service, slice_
from mcs.testing.virtual_time import run_virtual

EAST, NORTH, WEST = (ClusterId(each) for each in ("east", "north", "west"))
LABELS = {"app": "web"}
_versions = count(1)


class Reached(Member[Work]):
    """A member that is reachable, or not, as is told."""

    state = Reachability.REACHABLE

    @property
    def reachability(self) -> Reachability:
        return self.state


class Type:
    """A type of which web is federated."""

    def __init__(self) -> None:
        template = {"spec": {"template": {"metadata": {"labels": LABELS}}}}
        self.federated: Cache[FederatedObject] = Cache()
        self.federated.replace([FederatedObject(metadata=_named(WEB), spec=FederatedSpec(template=template))])
        self.objects: dict[ClusterId, Cache[TargetObject]] = {each: Cache() for each in (EAST, NORTH, WEST)}

    def present(self, cluster: ClusterId) -> Cache[TargetObject] | None:
        return self.objects.get(cluster)

    def has(self, cluster: ClusterId, replicas: int, ready: int) -> bool:
        document = {"spec": {"replicas": replicas}, "status": {"readyReplicas": ready}}
        self.objects[cluster].replace([TargetObject(metadata=_named(WEB), document=document)])
        return True


class World:
    """East is drained; web runs in east and west, both of which export it, and all three import it."""

    def __init__(self) -> None:
        self.members = {each: Reached(each, _never, REFLECTED) for each in (EAST, NORTH, WEST)}
        self.type = Type()
        self.drained = {EAST}
        self.is_known = True
        self.followed: set[ClusterId] = set()
        self.plan: PreferenceStatus | None = _plan("Draining", east=0, west=3)
        self.changes = 0
        selecting = service(WEB)
        selecting = replace(selecting, spec=replace(selecting.spec, selector=LABELS))
        for cluster, member in self.members.items():
            for cache in member.caches.values():
                cache.replace([])
            member.caches["serviceimports"].replace([ServiceImport(metadata=_named(WEB))])
            if cluster is not NORTH:
                member.caches["services"].replace([selecting])
                member.caches["serviceexports"].replace([export(WEB)])
        self.type.has(EAST, 3, 3)
        self.type.has(WEST, 3, 3)
        for each in self.members:
            self.shows(each, east=3, west=3)
        self.controller = DrainController(
            Fleet(list(self.members.values())),
            lambda: self.drained,
            lambda: [self.type],  # type: ignore[list-item]
            lambda _, key: self.plan if key == WEB else None,
            lambda cluster, _: cluster in self.followed,
            lambda: self.is_known,
            self._changed,
        )

    def _changed(self) -> None:
        self.changes += 1

    # Each of these is true, so that several make a change.

    def shows(self, importer: ClusterId, *, both_families: bool = False, **ready: int) -> bool:
        mirrors = [_mirror(importer, source, number) for source, number in ready.items()]
        if both_families:
            mirrors += [
                replace(each, address_type=IPV6, metadata=replace(each.metadata, name=f"{each.key.name}-6"))
                for each in mirrors
            ]
        self.members[importer].caches["endpointslices"].replace(mirrors)
        return True

    def loses(self, cluster: ClusterId) -> bool:
        self.members[cluster].state = Reachability.UNREACHABLE
        return True

    def planned(self, plan: PreferenceStatus | None) -> bool:
        self.plan = plan
        return True

    def exports(self, cluster: ClusterId) -> bool:
        self.members[cluster].caches["serviceexports"].replace([export(WEB)])
        return True

    def imports_nothing(self, cluster: ClusterId) -> bool:
        self.members[cluster].caches["serviceimports"].replace([])
        return True

    def follows(self, cluster: ClusterId) -> bool:
        self.followed.add(cluster)
        return True

    def drains(self, cluster: ClusterId) -> bool:
        self.drained.add(cluster)
        return True

    def stage(self) -> Stage:
        return self.controller.drains[EAST].stage


def _never() -> Any:
    raise NotImplementedError


def _named(key: ServiceKey) -> ObjectMeta:
    """Each time of another version, as a cache takes no other for news."""
    return ObjectMeta(name=key.name, namespace=key.namespace, uid="u", resource_version=str(next(_versions)))


def _mirror(importer: ClusterId, source: str, ready: int) -> EndpointSlice:
    addresses = [endpoint(f"10.0.0.{number}", ready=number < ready) for number in range(4)]
    found = slice_(f"{importer}-{source}", *addresses)
    labels = {SERVICE_NAME_LABEL: WEB.name, SOURCE_CLUSTER_LABEL: source}
    return replace(found, metadata=replace(_named(found.key), labels=labels))


def _plan(reason: str, **replicas: int) -> PreferenceStatus:
    clusters = tuple(
        PreferenceClusterStatus(
            name=ClusterId(name), replicas=count, reason=reason if name == "east" else "Share"
        )
        for name, count in sorted(replicas.items())
    )
    return PreferenceStatus(total_replicas=sum(replicas.values()), clusters=clusters)


def drained(story: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        world = World()
        running = asyncio.create_task(world.controller.run())
        await asyncio.sleep(PERIOD / 2)
        await story(world)
        running.cancel()

    run_virtual(main())


def test_a_drain_goes_its_way_and_waits_for_each_stage() -> None:
    async def story(world: World) -> None:
        world.plan = _plan("Share", east=3, west=3)
        await asyncio.sleep(PERIOD)
        assert world.stage() is Stage.RAISING
        assert "still to be planned" in world.controller.drains[EAST].message
        world.plan = _plan("Draining", east=0, west=4)
        await asyncio.sleep(PERIOD)
        assert "has 3 of 4 replicas ready" in world.controller.drains[EAST].message
        world.type.has(WEST, 4, 4)
        await asyncio.sleep(PERIOD)
        assert "short of endpoints in east, north, west" in world.controller.drains[EAST].message
        assert world.controller.is_withdrawn(EAST) is False
        for each in world.members:
            world.shows(each, east=3, west=4)
        await asyncio.sleep(PERIOD)
        assert world.stage() is Stage.WITHDRAWING
        assert world.controller.is_withdrawn(EAST) is True
        for each in world.members:
            world.shows(each, east=0, west=4)
        await asyncio.sleep(LONGEST_TTL - PERIOD)
        assert world.stage() is Stage.EXPIRING
        assert not world.controller.is_removed(EAST, WEB)
        await asyncio.sleep(2 * PERIOD)
        assert world.stage() is Stage.REMOVING
        assert world.controller.is_removed(EAST, WEB)
        world.type.has(EAST, 0, 0)
        await asyncio.sleep(PERIOD)
        assert world.stage() is Stage.DRAINED
        world.drained = set()
        await asyncio.sleep(PERIOD)
        assert world.controller.drains == {}

    drained(story)


def test_each_change_of_a_drain_is_told_once() -> None:
    async def story(world: World) -> None:
        told = world.changes
        assert told == 1
        await asyncio.sleep(10 * PERIOD)
        assert world.changes == told
        world.drained = set()
        await asyncio.sleep(PERIOD)
        assert world.changes == told + 1

    drained(story)


def test_what_is_shown_again_has_its_whole_ttl() -> None:
    async def story(world: World) -> None:
        world.plan = _plan("Draining", east=0, west=3)
        for each in world.members:
            world.shows(each, west=3)
        await asyncio.sleep(LONGEST_TTL - PERIOD)
        world.shows(NORTH, east=1, west=3)
        await asyncio.sleep(PERIOD)
        assert world.stage() is Stage.WITHDRAWING
        world.shows(NORTH, west=3)
        await asyncio.sleep(LONGEST_TTL - PERIOD)
        assert world.stage() is Stage.EXPIRING

    drained(story)


def test_nothing_is_decided_before_all_that_is_federated_is_known() -> None:
    async def story(world: World) -> None:
        world.is_known = False
        world.controller.drains = {}
        await asyncio.sleep(3 * PERIOD)
        assert world.controller.is_withdrawn(EAST) is None
        assert not world.controller.is_removed(EAST, WEB)

    drained(story)


@pytest.mark.parametrize(
    ("case", "change", "stage"),
    [
        ("all stand in", lambda world: None, Stage.WITHDRAWING),
        (
            "an importer that cannot be reached shows too few",
            lambda world: (
                world.shows(NORTH, east=1),
                world.loses(NORTH),
            ),
            Stage.WITHDRAWING,
        ),
        ("one that can be reached does", lambda world: world.shows(NORTH, east=1), Stage.RAISING),
        (
            "who does not import it need not show it",
            lambda world: (
                world.shows(NORTH),
                world.imports_nothing(NORTH),
            ),
            Stage.WITHDRAWING,
        ),
        (
            "who stands in is drained, too",
            lambda world: world.drains(WEST),
            Stage.DRAINED,
        ),
        (
            "it is planned where nobody exports it yet, but will",
            lambda world: (
                world.planned(_plan("Draining", east=0, north=3)),
                world.type.has(NORTH, 3, 3),
                world.follows(NORTH),
                *(world.shows(each, east=3, north=3) for each in (EAST, NORTH, WEST)),
            ),
            Stage.WITHDRAWING,
        ),
        (
            "it is not planned yet where others stand in",
            lambda world: world.planned(_plan("Weight", east=3, north=0)),
            Stage.RAISING,
        ),
        (
            "endpoints with addresses of both families are not two",
            lambda world: (
                world.planned(_plan("Draining", east=0, west=4)),
                world.type.has(WEST, 4, 4),
                *(world.shows(each, both_families=True, east=2, west=2) for each in (EAST, NORTH, WEST)),
            ),
            Stage.RAISING,
        ),
        (
            "importers show those of another that is drained only",
            lambda world: (
                world.drains(WEST),
                world.planned(_plan("Draining", east=0, north=3, west=0)),
                world.type.has(NORTH, 3, 3),
                world.exports(NORTH),
            ),
            Stage.RAISING,
        ),
        (
            "no preference plans it, and others show an endpoint",
            lambda world: (world.planned(None), world.shows(NORTH, east=3, west=1)),
            Stage.WITHDRAWING,
        ),
        (
            "it is planned where nobody exports it: only east has the service",
            lambda world: (
                world.planned(_plan("Draining", east=0, north=3)),
                world.type.has(NORTH, 3, 3),
            ),
            Stage.DRAINED,
        ),
    ],
)
def test_who_must_stand_in(case: str, change: Callable[[World], Any], stage: Stage) -> None:
    async def story(world: World) -> None:
        change(world)
        await asyncio.sleep(PERIOD + LONGEST_TTL)
        assert world.stage() is stage, (case, world.controller.drains[EAST].message)

    drained(story)


def test_what_only_the_drained_cluster_has_is_told() -> None:
    async def story(world: World) -> None:
        world.plan = None
        for each in world.members:
            world.shows(each, east=3)
        await asyncio.sleep(PERIOD)
        assert world.controller.drains[EAST].only_here == (WEB,)
        world.plan = _plan("Draining", east=0, north=3)
        await asyncio.sleep(PERIOD)
        assert world.controller.drains[EAST].is_removed
        assert not world.controller.is_removed(EAST, WEB)
        assert world.controller.is_removed(EAST, ServiceKey("demo", "other"))

    drained(story)
