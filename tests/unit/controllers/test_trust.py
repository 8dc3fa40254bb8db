"""What a member may not do costs the others nothing: neither work, nor lines of the log (F1, F4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from mcs.controllers.refusals import LOGGED_AT_MOST, PERIOD, Refusals
from mcs.model.multicluster import ServiceExport
from mcs.model.names import SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL, ClusterId, ServiceKey
from mcs.model.policy import Caps, MemberPolicy, Policy
from mcs.services.plan import plan_target
from mcs.testing.virtual_time import run_virtual
from tests.unit.controllers.two_clusters import EAST, EVERYWHERE, SLICE, WEB, WEST, Here, metadata, slice_

API = ServiceKey("shop", "api")
OWN = {(EAST, "service shop/web")}


def put(plural: str, obj: Any) -> Callable[[Here], None]:
    return lambda here: here.cache(EAST, plural).put(obj)


def changed(here: Here, plural: str, key: ServiceKey) -> Any:
    held = here.cache(EAST, plural).get(key)
    return replace(held, metadata=replace(held.metadata, resource_version="2", labels={"a": "b"}))


def touched(policy: Policy, change: Callable[[Here], None]) -> set[tuple[ClusterId, str]]:
    async def run() -> set[tuple[ClusterId, str]]:
        here = Here(policy)
        change(here)
        return await here.work()

    return run_virtual(run())


NOTHING = Policy(members={EAST: MemberPolicy(exports_from=frozenset())})
NO_ROOM = Policy(members={EAST: MemberPolicy(caps=Caps(exports=0))})


@pytest.mark.parametrize("policy", [NOTHING, NO_ROOM], ids=["denied", "no room"])
@pytest.mark.parametrize(
    ("case", "change"),
    [
        ("its Service changes", lambda here: put("services", changed(here, "services", WEB))(here)),
        ("its endpoints change", put("endpointslices", replace(slice_(SLICE, 2), endpoints=()))),
        (
            "the export itself does",
            put("serviceexports", replace(ServiceExport(metadata=metadata(WEB, 2, "new")))),
        ),
        ("the export goes", lambda here: here.cache(EAST, "serviceexports").discard(WEB, "3")),
    ],
)
def test_an_export_that_does_not_count_touches_its_own_cluster_only(
    policy: Policy, case: str, change: Callable[[Here], None]
) -> None:
    assert touched(policy, change) == OWN, case
    assert touched(Policy(), change) == EVERYWHERE, case


@pytest.mark.parametrize("policy", [NOTHING, NO_ROOM], ids=["denied", "no room"])
def test_what_becomes_known_of_an_export_that_does_not_count_touches_who_holds_something_of_it(
    policy: Policy,
) -> None:
    def known(here: Here) -> None:
        here.cache(EAST, "serviceexports").touch(WEB)

    def known_without_an_import(here: Here) -> None:
        here.cache(WEST, "serviceimports").replace([])
        here.done()
        known(here)

    def known_with_a_mirror(here: Here, source: str) -> None:
        labels = {SERVICE_NAME_LABEL: "web", SOURCE_CLUSTER_LABEL: source}
        mirror = slice_(ServiceKey("shop", "mirror"))
        here.cache(WEST, "endpointslices").put(
            replace(mirror, metadata=replace(mirror.metadata, labels=labels))
        )
        known_without_an_import(here)

    def malformed(here: Here) -> None:
        here.cache(WEST, "serviceimports").replace([])
        here.done()
        here.cache(EAST, "serviceexports").mark_malformed(WEB, "2")

    assert touched(policy, known) == EVERYWHERE
    assert touched(policy, known_without_an_import) == OWN
    assert touched(policy, partial(known_with_a_mirror, source=EAST)) == EVERYWHERE
    assert touched(policy, partial(known_with_a_mirror, source="north")) == OWN
    assert touched(Policy(), known_without_an_import) == EVERYWHERE
    assert touched(policy, malformed) == EVERYWHERE


def test_room_that_becomes_free_is_told_everywhere() -> None:
    policy = Policy(members={EAST: MemberPolicy(caps=Caps(exports=1))})

    async def run() -> None:
        here = Here(policy)
        put("serviceexports", ServiceExport(metadata=metadata(API)))(here)
        assert await here.work() == {(EAST, "service shop/api"), (WEST, "service shop/api"), *EVERYWHERE}
        assert [each.beyond for each in here.controller.observe_target(WEST, WEB).exporters] == ["exports"]
        here.done()
        here.cache(EAST, "serviceexports").discard(API, "3")
        assert await here.work() == {(EAST, "service shop/api"), (WEST, "service shop/api"), *EVERYWHERE}
        assert [each.beyond for each in here.controller.observe_target(WEST, WEB).exporters] == [None]

    run_virtual(run())


def test_a_namespace_into_which_a_member_imports_nothing_is_not_touched_deletes_included() -> None:
    policy = Policy(members={WEST: MemberPolicy(imports_into=frozenset())})

    async def run() -> None:
        here = Here(policy)
        here.cache(EAST, "serviceexports").discard(WEB, "3")
        held = here.cache(WEST, "serviceimports").get(WEB)
        ours = {"app.kubernetes.io/managed-by": "mcs-controller"}
        here.cache(WEST, "serviceimports").put(
            replace(held, metadata=replace(held.metadata, resource_version="2", labels=ours))
        )
        assert plan_target(here.controller.observe_target(WEST, WEB)) == ()

    run_virtual(run())


def test_a_refusal_is_logged_once_and_counted_while_it_lasts() -> None:
    async def run() -> None:
        refusals = Refusals()
        with capture_logs() as logs:
            for _ in range(3):
                refusals.note(EAST, WEB, frozenset({"NamespaceDenied"}), "why")
            refusals.note(EAST, WEB, frozenset({"NamespaceDenied", "TooManyExports"}), "why")
            assert refusals.counts(EAST) == {"NamespaceDenied": 1, "TooManyExports": 1}
            refusals.note(EAST, WEB, frozenset(), "")
            assert refusals.counts(EAST) == {}
        assert [each["reasons"] for each in logs] == [["NamespaceDenied"], ["TooManyExports"]]

    run_virtual(run())


def test_a_flood_of_refusals_is_not_logged_whole() -> None:
    async def run() -> None:
        refusals = Refusals()
        with capture_logs() as logs:
            for hour in range(2):
                for number in range(1000):
                    refusals.note(
                        EAST, ServiceKey("shop", f"web-{hour}-{number}"), frozenset({"TooManyExports"}), ""
                    )
                assert len(logs) == (hour + 1) * (LOGGED_AT_MOST + 1)
                refusals.note(WEST, ServiceKey("shop", f"web-{hour}"), frozenset({"TooManyExports"}), "")
                assert logs.pop()["cluster"] == WEST
                await asyncio.sleep(PERIOD)
        assert refusals.counts(EAST) == {"TooManyExports": 2000}

    run_virtual(run())
