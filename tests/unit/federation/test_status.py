"""What a federated object tells of its clusters, and when its status is written at all."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mcs.federation.status import Told, desired_status, percent_converged, summed, workload_counts
from mcs.model import federated
from mcs.model.federated import FederatedClusterStatus, FederatedStatus, WorkloadCounts

THEN, NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"
NOTHING = FederatedStatus()


def counts(wanted: int, ready: int, updated: int, available: int) -> WorkloadCounts:
    return WorkloadCounts(wanted=wanted, ready=ready, updated=updated, available=available)


def cluster(name: str, status: str = "", **more: Any) -> FederatedClusterStatus:
    return FederatedClusterStatus(name=name, status=status, **more)


def told(*clusters: FederatedClusterStatus, now: str = NOW, **more: Any) -> Told:
    return Told(clusters=clusters, now=now, **more)


def condition(status: FederatedStatus) -> tuple[str, ...]:
    (found,) = status.conditions
    return (found.type, found.status, found.reason, found.last_transition_time, found.last_update_time)


def test_the_words_are_those_of_kubefed() -> None:
    assert federated.PROPAGATION_REASONS == (
        "CheckClusters",
        "ClusterRetrievalFailed",
        "ComputePlacementFailed",
        "NamespaceNotFederated",
    )
    words = """
        WaitingForRemoval ClusterNotReady CachedRetrievalFailed ComputeResourceFailed ApplyOverridesFailed
        CreationFailed UpdateFailed DeletionFailed LabelRemovalFailed RetrievalFailed AlreadyExists
        FieldRetentionFailed VersionRetrievalFailed ClientRetrievalFailed ManagedLabelFalse CreationTimedOut
        UpdateTimedOut DeletionTimedOut LabelRemovalTimedOut
    """

    constants = {
        value for name, value in vars(federated).items() if name.isupper() and isinstance(value, str)
    }
    assert set(re.findall("[A-Za-z]+", words)) <= constants


def test_where_all_is_well_the_condition_is_true_and_has_no_reason() -> None:
    found = desired_status(NOTHING, told(cluster("c2"), cluster("c1"), generation=3))
    assert condition(found) == ("Propagation", "True", "", NOW, NOW)
    assert [each.name for each in found.clusters] == ["c1", "c2"]
    assert (found.observed_generation, found.percent_converged, found.workload) == (3, 100, None)


def test_one_cluster_that_is_not_makes_it_false() -> None:
    found = desired_status(NOTHING, told(cluster("c1"), cluster("c2", "UpdateFailed", message="422: no")))
    assert condition(found) == ("Propagation", "False", "CheckClusters", NOW, NOW)
    assert found.conditions[0].message == "1 of 2 clusters: c2 UpdateFailed"
    assert found.clusters[1].message == "422: no"


def test_many_clusters_are_counted_not_named() -> None:
    bad = [cluster(f"c{number}", "ClusterNotReady") for number in range(5)]
    message = desired_status(NOTHING, told(*bad)).conditions[0].message
    assert message == (
        "5 of 5 clusters: c0 ClusterNotReady, c1 ClusterNotReady, c2 ClusterNotReady and 2 more"
    )


def test_a_reason_of_the_whole_goes_before_those_of_clusters() -> None:
    given = told(cluster("c1", "UpdateFailed"), reason="ComputePlacementFailed", message="no such operator")
    found = desired_status(NOTHING, given)
    assert condition(found)[1:3] == ("False", "ComputePlacementFailed")
    assert found.conditions[0].message == "no such operator"
    assert desired_status(NOTHING, told(reason="NamespaceNotFederated")).conditions[0].message == ""


def test_a_status_that_tells_it_already_is_the_same_value() -> None:
    first = desired_status(NOTHING, told(cluster("c1"), cluster("c2", "ClusterNotReady"), generation=3))
    again = told(cluster("c2", "ClusterNotReady"), cluster("c1"), generation=3, now=LATER)
    assert desired_status(first, again) is first


@pytest.mark.parametrize(
    ("case", "news", "transition", "update"),
    [
        ("another generation", told(cluster("c1"), generation=4, now=LATER), NOW, LATER),
        ("another cluster", told(cluster("c1"), cluster("c2"), generation=3, now=LATER), NOW, LATER),
        ("another status", told(cluster("c1", "UpdateFailed"), generation=3, now=LATER), LATER, LATER),
        (
            "another reason",
            told(cluster("c1"), reason="ClusterRetrievalFailed", generation=3, now=LATER),
            LATER,
            LATER,
        ),
        (
            "another count",
            told(cluster("c1", workload=counts(1, 0, 0, 0)), generation=3, now=LATER),
            NOW,
            LATER,
        ),
    ],
)
def test_times_move_with_what_they_are_of(case: str, news: Told, transition: str, update: str) -> None:
    first = desired_status(NOTHING, told(cluster("c1"), generation=3))
    assert condition(desired_status(first, news))[3:] == (transition, update), case


def test_pods_of_all_clusters_are_summed() -> None:
    found = desired_status(
        NOTHING,
        told(
            cluster("c1", workload=counts(6, 5, 4, 3)),
            cluster("c2", workload=counts(4, 4, 4, 4)),
            cluster("c3"),
        ),
    )
    assert found.workload == counts(10, 9, 8, 7)
    assert summed([None]) is None


@pytest.mark.parametrize(
    ("clusters", "percent"),
    [
        ([], None),
        ([cluster("c1")], 100),
        ([cluster("c1"), cluster("c2", "ClusterNotReady")], 50),
        ([cluster("c1", "UpdateFailed", workload=counts(1, 1, 1, 1))], 0),
        ([cluster("c1", workload=counts(0, 0, 0, 0))], 100),
        ([cluster("c1", workload=counts(4, 4, 1, 4))], 25),
        ([cluster("c1", workload=counts(4, 4, 4, 3))], 75),
        ([cluster("c1", workload=counts(4, 9, 9, 9))], 100),
        ([cluster("c1", workload=counts(1000, 1000, 1000, 999))], 99),
        ([cluster(f"c{n}", workload=counts(3, 3, 3, 3)) for n in range(3)], 100),
        ([cluster("c1", workload=counts(3, 3, 3, 1))] * 3, 33),
    ],
)
def test_how_far_all_clusters_are(clusters: list[FederatedClusterStatus], percent: int | None) -> None:
    assert percent_converged(clusters) == percent


def document(spec: Any, status: Any, generation: int = 2) -> dict[str, Any]:
    return {"metadata": {"generation": generation}, "spec": spec, "status": status}


SEEN = {"observedGeneration": 2}


@pytest.mark.parametrize(
    ("kind", "object_", "expected"),
    [
        (
            "Deployment",
            document(
                {"replicas": 5},
                {
                    **SEEN,
                    "replicas": 6,
                    "readyReplicas": 4,
                    "updatedReplicas": 3,
                    "availableReplicas": 2,
                },
            ),
            counts(5, 4, 3, 2),
        ),
        ("Deployment", document({}, SEEN), counts(1, 0, 0, 0)),
        (
            "Deployment",
            document({"replicas": 5}, {"observedGeneration": 1, "readyReplicas": 5}),
            counts(5, 0, 0, 0),
        ),
        ("Deployment", document({"replicas": 0}, SEEN), counts(0, 0, 0, 0)),
        (
            "ReplicaSet",
            document({"replicas": 5}, {**SEEN, "replicas": 5, "readyReplicas": 4, "availableReplicas": 3}),
            counts(5, 4, 5, 3),
        ),
        (
            "StatefulSet",
            document({"replicas": 3}, {**SEEN, "readyReplicas": 3, "updatedReplicas": 1, "availableReplicas": 2}),
            counts(3, 3, 1, 2),
        ),
        (
            "DaemonSet",
            document(
                {},
                {
                    **SEEN,
                    "desiredNumberScheduled": 4,
                    "numberReady": 3,
                    "updatedNumberScheduled": 2,
                    "numberAvailable": 1,
                },
            ),
            counts(4, 3, 2, 1),
        ),
        (
            "Job",
            document({"completions": 5, "parallelism": 2}, {"active": 2, "ready": 1, "succeeded": 2}),
            counts(5, 3, 4, 2),
        ),
        ("Job", document({"parallelism": 3}, {"active": 3}), counts(3, 0, 3, 0)),
        ("Job", document({}, {"succeeded": 1}), counts(1, 1, 1, 1)),
        ("ConfigMap", document({}, {}), None),
        ("Deployment", document("x", ["y"]), counts(1, 0, 0, 0)),
        ("Deployment", document({"replicas": "many"}, {**SEEN, "readyReplicas": -1}), counts(1, 0, 0, 0)),
    ],
)  # fmt: skip
def test_what_an_object_tells_of_its_pods(
    kind: str, object_: dict[str, Any], expected: WorkloadCounts | None
) -> None:
    assert workload_counts(kind, object_) == expected
