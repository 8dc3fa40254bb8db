"""What a federated object is to ask for by its ReplicaSchedulingPreference, and what that tells as its status."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from mcs.federation.capacity import Capacity, Full
from mcs.federation.preference_plan import (
    ObservedPreference,
    Problem,
    SeenCluster,
    plan_preference,
    with_problem,
)
from mcs.federation.scheduling_preference import read_scheduling_preference
from mcs.model.names import ClusterId
from mcs.testing.divisions import counts
from tests.unit.federation.preferences_as_text import (
    FOUNDING,
    LATER,
    NINE_TO_ALL,
    NOW,
    asks,
    conditions,
    federated,
    plan,
    plans,
    reasons,
    rsp,
    seen,
)


@pytest.mark.parametrize(
    ("case", "asked", "clusters", "asks_for", "plan_", "why"),
    [
        ("new", "", "aws=- azure=-", "aws=6 azure=4", "aws=6 azure=4", "aws=Weight azure=Weight"),
        (
            "as planned",
            "aws=6 azure=4",
            "aws=6 azure=4",
            "aws=6 azure=4",
            "aws=6 azure=4",
            "aws=Weight azure=Weight",
        ),
        (
            "azure is not ready for a while",
            "aws=6 azure=4",
            "aws=6 azure=4:NotReady",
            "aws=6 azure=4",
            "aws=6 azure=4",
            "aws=Weight azure=NotReady",
        ),
        (
            "azure is lost: what it was asked for is left, and planned elsewhere",
            "aws=6 azure=4",
            "aws=6 azure=4:Lost",
            "aws=10 azure=4",
            "aws=10 azure=0",
            "aws=Weight azure=Lost",
        ),
        (
            "azure is back: nothing is deleted before it is planned with again",
            "aws=10 azure=4",
            "aws=10 azure=4:Returned",
            "aws=10 azure=4",
            "aws=10 azure=0",
            "aws=Weight azure=Returned",
        ),
        (
            "after the hold-down, as its replicas still run",
            "aws=10 azure=4",
            "aws=10 azure=4",
            "aws=6 azure=4",
            "aws=6 azure=4",
            "aws=Weight azure=Weight",
        ),
        (
            "after the hold-down, as they have to start: aws keeps as many as are missing",
            "aws=10 azure=4",
            "aws=10 azure=1",
            "aws=9 azure=4",
            "aws=6 azure=4",
            "aws=Weight azure=Weight",
        ),
        (
            "what was taken from aws already is not given back while it goes",
            "aws=6 azure=4",
            "aws=10 azure=1",
            "aws=6 azure=4",
            "aws=6 azure=4",
            "aws=Weight azure=Weight",
        ),
        (
            "azure is not ready while aws still has some of its replicas",
            "aws=9 azure=4",
            "aws=9 azure=1:NotReady",
            "aws=9 azure=4",
            "aws=6 azure=4",
            "aws=Weight azure=NotReady",
        ),
        (
            "a lost cluster that was never asked for anything is not asked now",
            "aws=10",
            "aws=10 azure=-:Lost",
            "aws=10",
            "aws=10 azure=0",
            "aws=Weight azure=Lost",
        ),
        (
            "a new cluster that was never probed",
            "",
            "aws=- azure=-:NotProbed",
            "aws=10 azure=0",
            "aws=10 azure=0",
            "aws=Weight azure=NotProbed",
        ),
        (
            "cordoned: it keeps what it has",
            "aws=8 azure=2",
            "aws=8 azure=2:Cordoned",
            "aws=8 azure=2",
            "aws=8 azure=2",
            "aws=Weight azure=Cordoned",
        ),
        (
            "cordoned, and it has too many",
            "aws=5 azure=5",
            "aws=5 azure=5:Cordoned",
            "aws=6 azure=5",
            "aws=6 azure=4",
            "aws=Weight azure=Cordoned",
        ),
        (
            "drained: it keeps what is ready until as much is ready elsewhere",
            "aws=6 azure=4",
            "aws=6 azure=4:Drained",
            "aws=10 azure=4",
            "aws=10 azure=0",
            "aws=Weight azure=Drained",
        ),
        (
            "drained, and some are ready elsewhere",
            "aws=10 azure=4",
            "aws=9 azure=4:Drained",
            "aws=10 azure=1",
            "aws=10 azure=0",
            "aws=Weight azure=Drained",
        ),
        (
            "drained, and all are ready elsewhere",
            "aws=10 azure=1",
            "aws=10 azure=1:Drained",
            "aws=10 azure=0",
            "aws=10 azure=0",
            "aws=Weight azure=Drained",
        ),
        (
            "drained, and nothing was ever there",
            "aws=10",
            "aws=10 azure=-:Drained",
            "aws=10",
            "aws=10 azure=0",
            "aws=Weight azure=Drained",
        ),
        (
            "a third cluster is not listed",
            "aws=6 azure=4 gcp=3",
            "aws=6 azure=4 gcp=3",
            "aws=6 azure=4",
            "aws=6 azure=4",
            "aws=Weight azure=Weight",
        ),
        (
            "a listed cluster is not registered",
            "",
            "aws=-",
            "aws=10",
            "aws=10 azure=0",
            "aws=Weight azure=NotRegistered",
        ),
    ],
)
def test_the_form_with_overrides_over_time(
    case: str, asked: str, clusters: str, asks_for: str, plan_: str, why: str
) -> None:
    planned = plan(FOUNDING, asked, clusters)
    assert asks(planned) == counts(asks_for), case
    assert plans(planned) == counts(plan_), case
    assert reasons(planned) == why, case
    assert conditions(planned) == "Planned=True:Planned AllPlaced=True:AllPlaced"
    assert (planned.status.total_replicas, planned.status.unplaced_replicas) == (10, 0)


def _with_capacity(clusters: str, capacity: str) -> dict[ClusterId, SeenCluster]:
    bounds = counts(capacity)
    return {name: replace(each, capacity=Capacity(bounds.get(name))) for name, each in seen(clusters).items()}


def test_what_does_not_fit_into_one_cluster_goes_to_the_other() -> None:
    planned = plan(FOUNDING, "aws=6 azure=4", _with_capacity("aws=6 azure=2", "aws=50 azure=2"))
    assert asks(planned) == counts("aws=8 azure=2")
    assert reasons(planned) == "aws=Weight azure=Capacity"
    told = {each.name: (each.capacity, each.message) for each in planned.status.clusters}
    assert told == {
        "aws": (None, "its share by weight"),
        "azure": (2, "as many as fit; its share would be more"),
    }


def test_what_fits_nowhere_is_asked_for_all_the_same_and_told_as_unplaced() -> None:
    planned = plan(FOUNDING, "", _with_capacity("aws=- azure=-", "aws=3 azure=2"))
    assert plans(planned) == counts("aws=3 azure=2")
    assert sum(asks(planned).values()) == 10
    assert planned.status.unplaced_replicas == 5
    assert {each.name: each.overflow for each in planned.status.clusters} == counts("aws=3 azure=2")
    assert conditions(planned) == "Planned=True:Planned AllPlaced=False:NoRoom"
    assert planned.status.conditions[1].message.startswith("5 of 10 replicas have no place: ")


def test_a_cordoned_cluster_that_is_full_gets_no_overflow_either() -> None:
    clusters = _with_capacity("aws=3 azure=2:Cordoned", "aws=3 azure=2")
    planned = plan(FOUNDING, "aws=3 azure=2", clusters)
    assert asks(planned) == counts("aws=8 azure=2")


def test_a_total_that_is_not_the_sum_wins_and_is_told() -> None:
    planned = plan(FOUNDING.replace("totalReplicas: 10", "totalReplicas: 5"), "", "aws=- azure=-")
    assert asks(planned) == counts("aws=3 azure=2")
    assert conditions(planned).endswith("Consistent=False:OverridesDifferFromTotal")


@pytest.mark.parametrize(
    ("case", "spec", "asked", "clusters", "asks_for"),
    [
        ("every ready cluster", NINE_TO_ALL, "", "A=- B=- C=-", "A=3 B=3 C=3"),
        ("one is lost", NINE_TO_ALL, "A=3 B=3 C=3", "A=3 B=3 C=3:Lost", "A=4 B=5 C=3"),
        ("and back: without rebalance nothing moves", NINE_TO_ALL, "A=4 B=5 C=3", "A=4 B=5 C=0", "A=4 B=5 C=0"),
        ("with it", NINE_TO_ALL + "\nrebalance: true", "A=4 B=5 C=3", "A=4 B=5 C=0", "A=3 B=3 C=3"),
        (
            "a candidate that nothing names is placed with 0",
            "totalReplicas: 9\nclusters: {A: {weight: 1}, B: {weight: 2}}",
            "",
            "A=- B=- C=-",
            "A=3 B=6 C=0",
        ),
        ("not ready for a while", NINE_TO_ALL, "A=3 B=3 C=3", "A=3 B=3 C=3:NotReady", "A=3 B=3 C=3"),
        ("cordoned", "totalReplicas: 30", "A=3 B=3 C=3", "A=3 B=3 C=3:Cordoned", "A=13 B=14 C=3"),
        (
            "a minimum is nothing new either",
            "totalReplicas: 5\nclusters: {A: {minReplicas: 5}, B: {weight: 1}}",
            "A=2",
            "A=2:Cordoned B=-",
            "A=2 B=3",
        ),
        (
            "two are drained, and as many stay as are missing, in both together",
            NINE_TO_ALL,
            "A=3 B=3 C=3",
            "A=3:Drained B=3:Drained C=5",
            "A=3 B=1 C=9",
        ),
        ("drained: not before others are ready", NINE_TO_ALL, "A=3 B=3 C=3", "A=3 B=3 C=3:Drained", "A=4 B=5 C=3"),
    ],
)  # fmt: skip
def test_the_form_of_kubefed_over_time(
    case: str, spec: str, asked: str, clusters: str, asks_for: str
) -> None:
    assert asks(plan(spec, asked, clusters)) == counts(asks_for), case


CASES = [
    (FOUNDING, "", "aws=- azure=-"),
    (FOUNDING, "aws=6 azure=4", "aws=6 azure=4:Lost"),
    (FOUNDING, "aws=10 azure=4", "aws=10 azure=1"),
    (FOUNDING, "aws=6 azure=4", "aws=6 azure=4:Drained"),
    (FOUNDING, "aws=5 azure=5", "aws=5 azure=5:Cordoned"),
    (FOUNDING, "aws=2 azure=2", "aws=2 azure=2:NotReady"),
    (NINE_TO_ALL, "", "A=- B=- C=-"),
    (NINE_TO_ALL, "A=3 B=3 C=3", "A=3 B=3 C=3:Lost"),
    (NINE_TO_ALL, "A=3 B=3 C=3", "A=3 B=3 C=3:Drained"),
]


@pytest.mark.parametrize(("spec", "asked", "clusters"), CASES)
def test_planning_on_its_own_result_changes_nothing(spec: str, asked: str, clusters: str) -> None:
    first = plan(spec, asked, clusters)
    assert first.spec is not None
    written = replace(federated(asked), spec=first.spec)
    present = replace(rsp(spec), status=first.status)
    again = plan_preference(
        ObservedPreference(
            object=present,
            preference=read_scheduling_preference(present.spec),
            federated=written,
            clusters=seen(clusters),
        ),
        LATER,
    )
    assert again == first


def test_a_cluster_that_a_selector_placed_keeps_what_runs_there_while_it_is_not_ready() -> None:
    selected = federated(placement={"clusterSelector": {}})
    assert asks(plan(FOUNDING, selected, "aws=6 azure=3:NotReady")) == counts("aws=7 azure=3")


def test_the_selector_narrows_the_candidates_where_that_is_asked_for() -> None:
    spec = "totalReplicas: 6\nintersectWithClusterSelector: true\nclusters: {A: {weight: 1}, B: {weight: 1}}"
    planned = plan(spec, "", "A=- B=-", selected="B")
    assert asks(planned) == counts("B=6")
    assert reasons(planned) == "A=NotSelected B=Weight"


@pytest.mark.parametrize(
    ("case", "clusters", "selected", "reason"),
    [
        ("all are lost", "aws=1:Lost azure=1:Lost", None, "NoClusters"),
        ("none is registered", "", None, "NoClusters"),
        ("none is named", "gcp=-", None, "NoClusters"),
        ("none is selected", "aws=- azure=-", "", "NoClusterFits"),
    ],
)
def test_without_a_candidate_the_last_plan_stays(
    case: str, clusters: str, selected: str | None, reason: str
) -> None:
    before = replace(rsp(FOUNDING), status=plan(FOUNDING, "", "aws=- azure=-").status)
    planned = plan(FOUNDING, "aws=6 azure=4", clusters, selected, present=before)
    assert planned.spec is None, case
    assert planned.status.clusters == before.status.clusters
    assert conditions(planned) == f"Planned=False:{reason} AllPlaced=True:AllPlaced"
    assert (
        "stays in force" in planned.status.conditions[0].message
        or "name one" in planned.status.conditions[0].message
    )


def test_what_waiting_replicas_told_is_remembered_in_the_status() -> None:
    full = Full(2, NOW - timedelta(minutes=1))
    clusters = seen("aws=6 azure=2")
    clusters[ClusterId("azure")] = replace(clusters[ClusterId("azure")], capacity=Capacity(2, full))
    told = plan(FOUNDING, "aws=8 azure=2", clusters).status.clusters[1]
    assert told.full is not None
    assert (told.full.replicas, told.full.since) == (2, "2026-01-01T11:59:00Z")


def test_the_time_of_a_condition_is_that_of_its_last_change() -> None:
    first = replace(rsp(FOUNDING), status=with_problem(rsp(FOUNDING), Problem("Other", "…"), LATER))
    assert [each.last_transition_time for each in first.status.conditions] == ["2026-01-01T12:05:00Z"]
    still = with_problem(first, Problem("Another", "…"), LATER + timedelta(minutes=1))
    assert [each.last_transition_time for each in still.conditions] == ["2026-01-01T12:05:00Z"]
    well = plan(FOUNDING, "", "aws=- azure=-", present=first).status
    assert [each.last_transition_time for each in well.conditions] == ["2026-01-01T12:00:00Z"] * 2


def test_messages_tell_what_is_left_and_what_stays_for_now() -> None:
    lost = plan(FOUNDING, "aws=6 azure=4", "aws=6 azure=4:Lost").status.clusters[1].message
    assert lost == "is as it is; the 4 that it was asked for are left as they are"
    drained = plan(FOUNDING, "aws=6 azure=4", "aws=7 azure=4:Drained").status.clusters[1].message
    assert drained == "is as it is; 3 more stay until as many are ready elsewhere"
