"""What the two forms of a ReplicaSchedulingPreference ask for, and how what they ask for is divided."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from mcs.federation.division import divide
from mcs.federation.replicas import DivisionError
from mcs.federation.scheduling_preference import Finding, read_scheduling_preference
from mcs.model.names import ClusterId
from mcs.testing.divisions import counts

WITH_OVERRIDES: dict[str, Any] = yaml.safe_load("""
targetTemplate: {spec: {replicas: 10}}
overrides:
- {clusterName: cluster-aws, spec: {replicas: 6}}
- {clusterName: cluster-azure, spec: {replicas: 4}}
totalReplicas: 10
""")
ALL = "cluster-aws cluster-azure cluster-gcp"


@pytest.mark.parametrize(
    ("case", "clusters", "current", "capacity", "plan"),
    [
        ("as listed", ALL, "", "", "cluster-aws=6 cluster-azure=4 cluster-gcp=0"),
        ("azure is lost", "cluster-aws", "cluster-aws=6", "", "cluster-aws=10"),
        (
            "and back",
            "cluster-aws cluster-azure",
            "cluster-aws=10",
            "",
            "cluster-aws=6 cluster-azure=4",
        ),
        (
            "only 2 fit into azure",
            "cluster-aws cluster-azure",
            "",
            "cluster-azure=2",
            "cluster-aws=8 cluster-azure=2",
        ),
        ("a cluster that is not listed has no part", "cluster-gcp", "", "", "cluster-gcp=0"),
    ],
)
def test_overrides_are_weights_and_a_lost_or_full_cluster_leaves_its_part_to_the_others(
    case: str, clusters: str, current: str, capacity: str, plan: str
) -> None:
    preference = read_scheduling_preference(WITH_OVERRIDES)
    names = [ClusterId(each) for each in clusters.split()]
    divided = divide(preference.division("my-namespace/my-app", names, counts(current), counts(capacity)))
    assert divided.plan == counts(plan), case
    assert divided.overflow == {}
    assert preference.target_kind == "FederatedDeployment"
    assert preference.finding is None


@pytest.mark.parametrize(
    ("case", "changed", "total"),
    [
        ("the total wins", {"totalReplicas": 12}, 12),
        ("over the template too", {"totalReplicas": 5, "targetTemplate": {"spec": {"replicas": 10}}}, 5),
        (
            "without a total the template counts",
            {"totalReplicas": None, "targetTemplate": {"spec": {"replicas": 20}}},
            20,
        ),
    ],
)
def test_a_total_that_differs_from_the_overrides_wins_and_is_told(
    case: str, changed: dict[str, object], total: int
) -> None:
    preference = read_scheduling_preference(WITH_OVERRIDES | changed)
    assert preference.total == total, case
    assert preference.finding == Finding(
        "OverridesDifferFromTotal",
        f"The overrides add up to 10 (6 for cluster-aws, 4 for cluster-azure), the total is {total}: {total} replicas "
        "are divided in the proportion of the overrides. Make the two equal if that is not what is meant.",
    )


def test_without_total_and_template_the_overrides_count() -> None:
    preference = read_scheduling_preference({"overrides": WITH_OVERRIDES["overrides"]})
    assert (preference.total, preference.finding) == (10, None)


@pytest.mark.parametrize(
    ("clusters", "rebalance", "plan"),
    [
        (None, False, "A=5 B=4 C=0"),
        ({}, True, "A=3 B=3 C=3"),
        ({"A": {"weight": 1}, "B": {"weight": 2}}, True, "A=3 B=6 C=0"),
        ({"A": {"minReplicas": 7}, "*": {"weight": 1, "maxReplicas": 1}}, True, "A=7 B=1 C=1"),
    ],
)
def test_the_form_with_clusters_is_divided_as_kubefed_divides_it(
    clusters: dict[str, object] | None, rebalance: bool, plan: str
) -> None:
    spec = {"targetKind": "FederatedReplicaSet", "totalReplicas": 9, "rebalance": rebalance}
    if clusters is not None:
        spec["clusters"] = clusters
    preference = read_scheduling_preference(spec)
    asked = preference.division("", [ClusterId(each) for each in "ABC"], counts("A=5 B=4"), {})
    assert divide(asked).plan == counts(plan)
    assert (preference.mode, preference.target_kind) == ("kubefed", "FederatedReplicaSet")


@pytest.mark.parametrize(
    ("clusters", "rebalance", "plan"),
    [
        (None, False, "A=5 B=4 C=0"),
        ({}, True, "A=3 B=3 C=3"),
        ({"A": {"weight": 2}, "B": {"weight": 1}, "C": {"weight": 1}}, False, "A=5 B=4 C=0"),
        ({"A": {"minReplicas": 1}, "*": {"weight": 1, "maxReplicas": 3}}, True, "A=1 B=3 C=3"),
    ],
)
def test_it_is_divided_fairly_where_that_is_asked_for(
    clusters: dict[str, object] | None, rebalance: bool, plan: str
) -> None:
    spec = {"totalReplicas": 9, "rebalance": rebalance, "mode": "fair"}
    preference = read_scheduling_preference(spec if clusters is None else spec | {"clusters": clusters})
    asked = preference.division("", [ClusterId(each) for each in "ABC"], counts("A=5 B=4"), {})
    assert divide(asked).plan == counts(plan)
    assert preference.mode == "fair"


def test_the_selector_is_intersected_with_where_that_is_asked_for() -> None:
    said = {"totalReplicas": 9, "intersectWithClusterSelector": True}
    assert read_scheduling_preference(said).intersects_with_selector
    assert not read_scheduling_preference(WITH_OVERRIDES).intersects_with_selector


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "spec.totalReplicas is missing; write how many"),
        (
            {"totalReplicas": "9"},
            "spec cannot be read: Expected `int | null`, got `str` - at `spec.totalReplicas`",
        ),
        (
            WITH_OVERRIDES | {"clusters": {}},
            "spec has both clusters and overrides or targetTemplate; write one",
        ),
        (WITH_OVERRIDES | {"overrides": []}, "spec.overrides is empty; list each cluster"),
        (
            WITH_OVERRIDES | {"mode": "kubefed"},
            "spec.mode kubefed does not go with overrides; remove it, or write clusters",
        ),
        (
            {"totalReplicas": 9, "mode": "unfair"},
            "Invalid enum value 'unfair' - at `spec.mode`",
        ),
        (
            {"overrides": [{"clusterName": "a", "spec": {}}]},
            "Object missing required field `replicas` - at `spec.overrides[0].spec`",
        ),
        (
            {"overrides": [{"clusterName": "a", "spec": {"replicas": each}} for each in (1, 2)]},
            "spec.overrides lists a more than once; write one number",
        ),
        (
            {"totalReplicas": 3, "overrides": [{"clusterName": "a", "spec": {"replicas": 0}}]},
            "spec.overrides gives no cluster any of the 3 replicas; write a number above 0",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_write(spec: dict[str, object], said: str) -> None:
    with pytest.raises(DivisionError) as refused:
        read_scheduling_preference(spec)
    assert said in str(refused.value)
