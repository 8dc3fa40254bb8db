"""What a federated object is to ask for by its ReplicaSchedulingPreference, and what that tells as its status."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from mcs.federation.capacity import Capacity, Full
from mcs.federation.fail_over import Standing, Stands
from mcs.federation.preference_plan import (
    ObservedPreference,
    PlannedPreference,
    Problem,
    SeenCluster,
    plan_preference,
    with_problem,
)
from mcs.federation.replica_overrides import changes_of, replicas_asked
from mcs.federation.scheduling_preference import read_scheduling_preference
from mcs.model.federated import FederatedObject
from mcs.model.names import ClusterId
from mcs.model.scheduling import ReplicaSchedulingPreference
from mcs.testing.divisions import counts

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)

FOUNDING = """
targetTemplate: {spec: {replicas: 10}}
overrides:
- {clusterName: aws, spec: {replicas: 6}}
- {clusterName: azure, spec: {replicas: 4}}
totalReplicas: 10
"""
NINE_TO_ALL = "totalReplicas: 9"


def rsp(spec: str, generation: int = 1) -> ReplicaSchedulingPreference:
    document = {
        "metadata": {"name": "app", "namespace": "shop", "generation": generation},
        "spec": yaml.safe_load(spec),
    }
    return msgspec.convert(document, ReplicaSchedulingPreference)


def federated(asked: str = "", **spec: Any) -> FederatedObject:
    """The object with the numbers that it asks for, as `aws=6 azure=4`; nothing is listed without any."""
    numbers = counts(asked)
    written = {
        "template": {"spec": {"replicas": 1}},
        "placement": {"clusters": [{"name": name} for name in numbers]} if numbers else {},
        "overrides": [
            {"clusterName": name, "clusterOverrides": [{"path": "/spec/replicas", "value": number}]}
            for name, number in numbers.items()
        ],
        **spec,
    }
    metadata = {"name": "app", "namespace": "shop", "resourceVersion": "7"}
    return msgspec.convert({"metadata": metadata, "spec": written}, FederatedObject)


def seen(text: str) -> dict[ClusterId, SeenCluster]:
    """`aws=6 azure=4:Lost gcp=-:Cordoned` with what is ready, - where nothing is seen, and how the cluster stands."""
    clusters = {}
    for each in text.split():
        name, _, told = each.partition("=")
        ready, _, standing = told.partition(":")
        stands = Stands(_standing(standing), "is as it is" if standing else "")
        number = None if ready in ("", "-") else int(ready)
        clusters[ClusterId(name)] = SeenCluster(stands=stands, ready=number, wanted=number or 0)
    return clusters


def _standing(text: str) -> Standing:
    standing: Standing = msgspec.convert(text or "Ready", Standing)
    return standing


def plan(
    spec: str,
    asked: str | FederatedObject,
    clusters: str | Mapping[ClusterId, SeenCluster],
    selected: str | None = None,
    present: ReplicaSchedulingPreference | None = None,
) -> PlannedPreference:
    object_ = present or rsp(spec)
    return plan_preference(
        ObservedPreference(
            object=object_,
            preference=read_scheduling_preference(object_.spec),
            federated=asked if isinstance(asked, FederatedObject) else federated(asked),
            clusters=seen(clusters) if isinstance(clusters, str) else clusters,
            selected=None if selected is None else [ClusterId(each) for each in selected.split()],
        ),
        NOW,
    )


def asks(planned: PlannedPreference) -> dict[ClusterId, int]:
    """What the federated object asks for, each cluster of its placement once."""
    assert planned.spec is not None
    numbers = replicas_asked(FederatedObject(spec=planned.spec))
    assert planned.spec.placement.clusters is not None
    assert [each.name for each in planned.spec.placement.clusters] == sorted(numbers)
    return numbers


def plans(planned: PlannedPreference) -> dict[ClusterId, int]:
    return {each.name: each.replicas for each in planned.status.clusters}


def reasons(planned: PlannedPreference) -> str:
    return " ".join(f"{each.name}={each.reason}" for each in planned.status.clusters)


def conditions(planned: PlannedPreference) -> str:
    return " ".join(f"{each.type}={each.status}:{each.reason}" for each in planned.status.conditions)


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


def test_what_others_wrote_into_the_object_stays() -> None:
    """KubeFed's form: the clusters of the result, a replicas override each, everything else as it was."""
    image = {"path": "/spec/template/spec/containers/0/image", "value": "app:2"}
    selector = {"matchLabels": {"tier": "gold"}}
    written = federated(
        placement={"clusterSelector": selector, "clusters": [{"name": "gone"}]},
        overrides=[
            {
                "clusterName": "B",
                "clusterOverrides": [{"path": "/spec/replicas", "op": "add", "value": 1}, image],
            },
            {"clusterName": "gone", "clusterOverrides": [{"path": "/spec/replicas", "value": 5}]},
            {"clusterName": "other", "clusterOverrides": [{"path": "/spec/replicas", "value": 5}, image]},
        ],
        retainReplicas=False,
    )
    planned = plan("totalReplicas: 4", written, "A=- B=-")
    assert planned.spec is not None
    replicas = {"path": "/spec/replicas", "value": 2}
    assert changes_of(written, planned.spec) == {
        "metadata": {"resourceVersion": "7"},
        "spec": {
            "placement": {"clusters": [{"name": "A"}, {"name": "B"}]},
            "overrides": [
                {"clusterName": "B", "clusterOverrides": [replicas, image]},
                {"clusterName": "other", "clusterOverrides": [image]},
                {"clusterName": "A", "clusterOverrides": [replicas]},
            ],
        },
    }
    assert planned.spec.placement.cluster_selector == written.spec.placement.cluster_selector


def test_an_object_that_asks_for_it_in_other_words_is_not_written() -> None:
    written = federated(
        placement={"clusters": [{"name": "B"}, {"name": "A"}]},
        overrides=[
            {
                "clusterName": "B",
                "clusterOverrides": [{"path": "/spec/replicas", "op": "replace", "value": 2}],
            },
            {"clusterName": "empty", "clusterOverrides": []},
            {"clusterName": "A", "clusterOverrides": [{"path": "/spec/replicas", "value": 2}]},
        ],
    )
    assert plan("totalReplicas: 4", written, "A=- B=-").spec == written.spec


def test_what_is_no_number_or_of_a_cluster_that_is_not_listed_is_not_asked_for() -> None:
    written = federated(
        placement={"clusters": [{"name": "aws"}, {"name": "gcp"}]},
        overrides=[
            {"clusterName": "azure", "clusterOverrides": [{"path": "/spec/replicas", "value": 4}]},
            {"clusterName": "gcp", "clusterOverrides": [{"path": "/spec/replicas", "value": True}]},
        ],
    )
    assert replicas_asked(written) == {}
    assert asks(plan(FOUNDING, written, "aws=- azure=4:Lost")) == counts("aws=10")


def test_a_number_takes_the_place_of_any_other_operation_on_replicas() -> None:
    operations = [
        {"path": "/spec/replicas", "op": "remove", "value": 4},
        {"path": "/metadata/labels/a", "value": "b"},
        {"path": "/spec/replicas", "value": 4},
    ]
    written = federated(
        placement={"clusters": [{"name": "A"}]},
        overrides=[{"clusterName": "A", "clusterOverrides": operations}],
    )
    planned = plan("totalReplicas: 4", written, "A=-")
    assert planned.spec is not None
    (changed,) = changes_of(written, planned.spec)["spec"]["overrides"]
    assert changed["clusterOverrides"] == [operations[2], operations[1]]


def test_a_cluster_that_is_listed_twice_is_asked_once() -> None:
    override = {"path": "/spec/replicas", "value": 1}
    twice = federated(
        placement={"clusters": [{"name": "A"}, {"name": "A"}]},
        overrides=[{"clusterName": "A", "clusterOverrides": [override]}] * 2,
    )
    planned = plan("totalReplicas: 4", twice, "A=-")
    assert planned.spec is not None
    assert changes_of(twice, planned.spec)["spec"] == {
        "placement": {"clusters": [{"name": "A"}]},
        "overrides": [{"clusterName": "A", "clusterOverrides": [{"path": "/spec/replicas", "value": 4}]}],
    }


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
