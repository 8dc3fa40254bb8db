"""In which stage a drain is, and what it waits for."""

from __future__ import annotations

from typing import Any

import pytest

from mcs.federation.draining import (
    DrainedService,
    DrainedWorkload,
    ObservedDrain,
    Stage,
    decide_drain,
)
from mcs.model.names import ClusterId, ServiceKey

WEB, DB = ServiceKey("shop", "web"), ServiceKey("shop", "db")
EAST, WEST = ClusterId("east"), ClusterId("west")


def web(elsewhere: int = 2, *shown: ClusterId, west: int | None = None) -> DrainedService:
    seen = {EAST: elsewhere, WEST: elsewhere if west is None else west}
    return DrainedService(key=WEB, wanted=2, elsewhere=seen, shown=frozenset(shown))


def workload(name: str = "web", wanted: int = 2, ready: int = 2, here: int = 3) -> DrainedWorkload:
    return DrainedWorkload(name=name, wanted=wanted, ready=ready, here=here)


def drain(*services: DrainedService, of: tuple[DrainedWorkload, ...] = (), **told: Any) -> Any:
    return decide_drain(ObservedDrain(services=services, workloads=of, longest_ttl=5, **told))


@pytest.mark.parametrize(
    ("case", "services", "workloads", "unseen_for", "stage", "message", "due"),
    [
        (
            "fewer replicas are ready elsewhere than are planned",
            [web(2, EAST)],
            [workload(ready=1)],
            None,
            Stage.RAISING,
            "Others are made ready to stand in: web has 1 of 2 replicas ready elsewhere.",
            None,
        ),
        (
            "it is not planned yet how many are to be elsewhere",
            [],
            [DrainedWorkload(name="web", wanted=0, ready=0, here=3, are_planned=False)],
            60.0,
            Stage.RAISING,
            "Others are made ready to stand in: web is still to be planned without this cluster.",
            None,
        ),
        (
            "one importer does not show them all yet",
            [web(2, EAST, WEST, west=1)],
            [workload()],
            None,
            Stage.RAISING,
            "Others are made ready to stand in: shop/web is short of endpoints in west.",
            None,
        ),
        (
            "all show them, and one of them those that go, too",
            [web(3, WEST)],
            [workload()],
            None,
            Stage.WITHDRAWING,
            "Endpoints are still shown in west.",
            None,
        ),
        (
            "none shows those that go, not for long",
            [web()],
            [workload()],
            3.5,
            Stage.EXPIRING,
            "Resolvers may give earlier answers for 5 s.",
            1.5,
        ),
        (
            "none has shown them for the longest TTL",
            [web()],
            [workload()],
            5.0,
            Stage.REMOVING,
            "Nobody is told of these replicas any more: web.",
            None,
        ),
        (
            "there is nobody to show anything to",
            [],
            [workload()],
            5.0,
            Stage.REMOVING,
            "Nobody is told of these replicas any more: web.",
            None,
        ),
        (
            "one elsewhere fails when some are removed already: the others stay, and are shown again",
            [web(1)],
            [workload(ready=1, here=1)],
            60.0,
            Stage.RAISING,
            "Others are made ready to stand in: web has 1 of 2 replicas ready elsewhere, "
            "shop/web is short of endpoints in east, west.",
            None,
        ),
        (
            "nothing is left, whatever becomes of others",
            [web(0)],
            [workload(ready=0, here=0)],
            60.0,
            Stage.DRAINED,
            "No endpoint and no replica is left that another cluster has in its place.",
            None,
        ),
        (
            "no replica is left, an endpoint is still shown",
            [web(2, EAST)],
            [workload(here=0)],
            None,
            Stage.WITHDRAWING,
            "Endpoints are still shown in east.",
            None,
        ),
    ],
)
def test_the_stage_follows_from_what_is_seen(
    case: str,
    services: list[DrainedService],
    workloads: list[DrainedWorkload],
    unseen_for: float | None,
    stage: Stage,
    message: str,
    due: float | None,
) -> None:
    found = drain(*services, of=tuple(workloads), unseen_for=unseen_for)
    assert (found.stage, found.message, found.due) == (stage, message, due), case


def test_a_service_that_no_other_cluster_could_answer_for_stays_and_is_told_of() -> None:
    only = DrainedService(key=DB, wanted=0, elsewhere={EAST: 0}, shown=frozenset({EAST, WEST}))
    database = workload("db", wanted=0, ready=0, here=1)
    found = drain(web(2), only, of=(workload(here=0), database), unseen_for=9.0)
    assert found.stage is Stage.DRAINED
    assert found.only_here == (DB,)
    assert found.message.endswith(" Only this cluster has shop/db: what they run on stays.")


def test_the_replicas_behind_it_stay() -> None:
    only = DrainedService(key=DB, wanted=0, elsewhere={EAST: 0}, shown=frozenset({EAST, WEST}))
    database = DrainedWorkload(name="db", wanted=2, ready=0, here=1, is_kept=True)
    assert drain(only, of=(database,)).stage is Stage.DRAINED


def test_an_importer_of_which_nothing_is_known_holds_up_nobody() -> None:
    found = drain(DrainedService(key=WEB, wanted=2, elsewhere={EAST: 2}), of=(workload(),), unseen_for=5.0)
    assert found.stage is Stage.REMOVING


def test_a_message_names_few() -> None:
    found = drain(of=tuple(workload(f"web-{number}", ready=0) for number in range(9)))
    assert found.message.endswith("web-2 has 0 of 2 replicas ready elsewhere and 6 more.")


@pytest.mark.parametrize(
    ("stage", "is_withdrawn", "is_removed"),
    [
        (Stage.RAISING, False, False),
        (Stage.WITHDRAWING, True, False),
        (Stage.EXPIRING, True, False),
        (Stage.REMOVING, True, True),
        (Stage.DRAINED, True, True),
    ],
)
def test_endpoints_are_withdrawn_before_replicas_are_removed(
    stage: Stage, is_withdrawn: bool, is_removed: bool
) -> None:
    here = {Stage.RAISING: 0, Stage.DRAINED: 2}.get(stage, 2)
    shown = (EAST,) if stage is Stage.WITHDRAWING else ()
    unseen = None if shown else 0.0 if stage is Stage.EXPIRING else 9.0
    found = drain(web(here, *shown), of=(workload(here=int(stage is not Stage.DRAINED)),), unseen_for=unseen)
    assert found.stage is stage
    assert (found.is_withdrawn, found.is_removed) == (is_withdrawn, is_removed)
