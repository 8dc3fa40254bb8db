"""Members that come and go while services are worked on: what is planned anew, and what may be deleted."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mcs.controllers.clusters import REFLECTED, Work
from mcs.model.actions import Delete
from mcs.model.multicluster import ServiceExport
from mcs.model.names import EXPORT_TO_ANNOTATION, ClusterId, ServiceKey
from mcs.model.services import Namespace, Service
from mcs.runtime.fleet import Member
from mcs.services.plan import plan_target
from mcs.testing.virtual_time import run_virtual
from tests.unit.controllers.two_clusters import EAST, EVERYWHERE, WEB, WEST, Here, metadata, never


@pytest.mark.parametrize(
    ("has_left", "seen", "planned"),
    [(False, ["west"], set[str]()), (True, ["east", "west"], {"serviceimports"})],
    ids=["vanished", "left"],
)
def test_what_came_from_a_member_goes_only_when_it_has_left(
    has_left: bool, seen: list[str], planned: set[str]
) -> None:
    async def run() -> None:
        here = Here()
        ours = {"app.kubernetes.io/managed-by": "mcs-controller"}
        held = here.cache(WEST, "serviceimports").get(WEB)
        here.cache(WEST, "serviceimports").put(
            replace(
                held,
                metadata=replace(metadata(WEB, 2), labels=ours),
            )
        )
        here.done()
        here.fleet.disengage(EAST, has_left=has_left)
        assert await here.work() == {(WEST, "service shop/web")}
        observed = here.controller.observe_target(WEST, WEB)
        assert (observed.exporters, sorted(observed.seen)) == ((), seen)
        deletes = [each for each in plan_target(observed) if isinstance(each, Delete)]
        assert {str(each.resource) for each in deletes} == planned

    run_virtual(run())


def test_a_member_that_comes_later_is_worked_for_once_it_is_seen() -> None:
    north = ClusterId("north")

    async def run() -> None:
        here = Here()
        newcomer: Member[Work] = Member(north, never, REFLECTED)
        here.fleet.engage(newcomer)
        assert await here.work() == set()
        for plural, cache in newcomer.caches.items():
            cache.replace(
                [Namespace(metadata=metadata(ServiceKey("", "shop")))] if plural == "namespaces" else []
            )
        newcomer._tell_synced()
        assert await here.work() == {(north, "service shop/web")}
        here.done()
        here.cache(EAST, "services").put(Service(metadata=metadata(WEB, 2, "v")))
        assert await here.work() == EVERYWHERE | {(north, "service shop/web")}
        here.fleet.disengage(north)
        here.done()
        newcomer.caches["serviceexports"].put(ServiceExport(metadata=metadata(WEB)))
        assert await here.work() == set()
        await here.controller.reconcile(north, Work("service", WEB))

    run_virtual(run())


@pytest.mark.parametrize("named", ["north", "south"])
def test_an_export_that_names_a_cluster_is_told_when_that_becomes_a_member_or_is_one_no_more(
    named: str,
) -> None:
    async def run() -> None:
        here = Here()
        export = ServiceExport(metadata=replace(metadata(WEB, 2), annotations={EXPORT_TO_ANNOTATION: named}))
        here.cache(EAST, "serviceexports").put(export)
        here.done()
        touched = {(EAST, "service shop/web")} if named == "north" else set()
        here.fleet.engage(Member(ClusterId("north"), never, REFLECTED))
        assert await here.work() == touched
        here.done()
        here.fleet.disengage(ClusterId("north"))
        assert await here.work() == touched

    run_virtual(run())
