"""Why an object is where it is: the rule for each cluster that it is not in, and the rounds for its replicas."""

from __future__ import annotations

import pytest

from mcs.federation.explanation import RULES, explain
from mcs.federation.replicas import ClusterPreference
from mcs.federation.snapshot import ObjectKey, Snapshot
from mcs.testing.federated_sets import (
    CONFIG_MAP,
    Document,
    by_overrides,
    deployment,
    federated,
    key,
    namespace,
    preference,
    snapshot,
)

SHOP = namespace("shop")
WEB, SETTINGS = key("shop/web"), key("shop/settings", CONFIG_MAP)


def rules(set_: Snapshot, object_: ObjectKey) -> dict[str, str]:
    return {each.cluster: each.rule for each in explain(set_, object_).clusters}


@pytest.mark.parametrize(
    ("clusters", "documents", "object_", "expected"),
    [
        pytest.param(
            "eu, us", [federated("shop/settings", "eu")], SETTINGS, {"eu": "", "us": "NotListed"}, id="a list"
        ),
        pytest.param(
            "eu, us",
            [federated("shop/settings", "none")],
            SETTINGS,
            dict.fromkeys(("eu", "us"), "NotListed"),
            id="an empty list",
        ),
        pytest.param(
            "eu a=b, us",
            [federated("shop/settings", "a=b")],
            SETTINGS,
            {"eu": "", "us": "NotSelected"},
            id="a selector",
        ),
        pytest.param(
            "eu", [federated("shop/settings", "")], SETTINGS, {"eu": "NoPlacement"}, id="no placement"
        ),
        pytest.param(
            "eu",
            [
                federated(
                    "shop/settings",
                    "",
                    placement={"clusterSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}},
                )
            ],
            SETTINGS,
            {"eu": "PlacementFailed"},
            id="a selector that is none",
        ),
        pytest.param(
            "eu",
            [federated("else/x", "eu")],
            key("else/x", CONFIG_MAP),
            {"eu": "NamespaceNotFederated"},
            id="no federated namespace",
        ),
        pytest.param(
            "eu, us",
            [namespace("part", "us"), federated("part/x", "*")],
            key("part/x", CONFIG_MAP),
            {"eu": "NamespaceNotPlaced", "us": ""},
            id="the namespace is not there",
        ),
        pytest.param(
            "eu",
            [namespace("kube-system")],
            key("kube-system/kube-system", "FederatedNamespace"),
            {"eu": "ProtectedNamespace"},
            id="a namespace of the cluster's own",
        ),
        pytest.param(
            "eu",
            [federated("shop/other", "*", "FederatedNamespace")],
            key("shop/other", "FederatedNamespace"),
            {"eu": "InvalidName"},
            id="a federated namespace of another name",
        ),
        pytest.param(
            "eu, us down, asia cordoned, moon drained, mars NoExecute",
            [deployment("shop/web", ""), preference("shop/web", 3, "* w1")],
            WEB,
            {"eu": "", "us": "NotReady", "asia": "", "moon": "Drained", "mars": "Evicted"},
            id="clusters that have no part in the division",
        ),
        pytest.param(
            "eu, asia, us down",
            [deployment("shop/web", ""), by_overrides("shop/web", "eu=6")],
            WEB,
            {"eu": "", "asia": "NoPreference", "us": "NoPreference"},
            id="a cluster that is away and has no preference either",
        ),
        pytest.param(
            "eu a=b, us",
            [
                deployment(
                    "shop/web",
                    "",
                    placement={"clusters": [{"name": "us"}], "clusterSelector": {"matchLabels": {"a": "b"}}},
                ),
                preference("shop/web", 3, "* w1", intersectWithClusterSelector=True),
            ],
            WEB,
            {"eu": "", "us": "NotSelected"},
            id="the selector counts for the division although there is a list",
        ),
        pytest.param(
            "eu, us, asia",
            [namespace("part", "eu us"), deployment("part/web", ""), by_overrides("part/web", "us=6 asia=4")],
            key("part/web"),
            {"asia": "NamespaceNotPlaced", "eu": "NoPreference", "us": ""},
            id="a cluster without a preference",
        ),
        pytest.param(
            "eu a=b, us",
            [
                deployment("shop/web", "a=b"),
                preference("shop/web", 3, "* w1", intersectWithClusterSelector=True),
            ],
            WEB,
            {"eu": "", "us": "NotSelected"},
            id="a cluster that the selector of the object leaves out",
        ),
        pytest.param(
            "eu drained, us drained",
            [deployment("shop/web", "us"), preference("shop/web", 3, "* w1")],
            WEB,
            {"eu": "NotListed", "us": ""},
            id="with nobody to divide among, the object's own placement",
        ),
    ],
)
def test_each_cluster_has_the_first_rule_that_keeps_the_object_out(
    clusters: str, documents: list[Document], object_: ObjectKey, expected: dict[str, str]
) -> None:
    found = rules(snapshot(clusters, SHOP, *documents), object_)
    assert found == expected
    assert set(found.values()) <= RULES.keys()


def test_what_part_a_cluster_takes_is_told_before_the_reason_of_its_number() -> None:
    set_ = snapshot("eu, us cordoned", SHOP, deployment("shop/web", ""), preference("shop/web", 3, "* w1"))
    eu, us = explain(set_, WEB).clusters
    assert (eu.standing, eu.why) == ("Ready", "its share by weight")
    assert (us.standing, us.replicas) == ("Cordoned", 0)
    assert us.why == "it is cordoned, and gets nothing new; its maximum; its share would be more"


def test_the_division_is_told_round_by_round_with_what_bound_each_cluster() -> None:
    set_ = snapshot(
        "eu, us, asia",
        SHOP,
        deployment("shop/web", ""),
        preference("shop/web", 20, "eu w1 max5, * w1", capacity="us=4", current="us=4", rebalance=True),
    )
    found = explain(set_, WEB)
    assert found.division is not None
    told = [
        (
            each.step,
            each.amount,
            [(one.cluster, one.share, one.capped_by, one.replicas) for one in each.shares],
        )
        for each in found.division.rounds
    ]
    assert told == [
        ("weight", 20, [("eu", 7, "MaxReplicas", 5), ("us", 7, "Capacity", 4), ("asia", 7, None, 7)]),
        ("weight", 4, [("asia", 4, None, 11)]),
    ]
    numbers = {each.cluster: (each.replicas, each.overflow, each.reason) for each in found.clusters}
    assert numbers == {"asia": (11, 0, "Weight"), "eu": (5, 0, "MaxReplicas"), "us": (4, 3, "Capacity")}
    _, eu, us = found.clusters
    assert (us.capacity, us.current) == (4, 4)
    assert eu.preference == ClusterPreference(weight=1, max_replicas=5)


def test_the_notes_name_what_has_no_effect() -> None:
    object_ = deployment(
        "shop/web", "eu moon", overrides=[{"clusterName": "mars", "clusterOverrides": []}]
    ) | {"metadata": {"namespace": "shop", "name": "web", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    set_ = snapshot("eu, us", SHOP, object_, by_overrides("shop/web", "eu=6 venus=4", totalReplicas=5))
    assert explain(set_, WEB).notes == (
        "The overrides add up to 10 (6 for eu, 4 for venus), the total is 5: 5 replicas are divided in the proportion "
        "of the overrides. Make the two equal if that is not what is meant.",
        "it is being deleted: what it made is deleted in every cluster, wherever it is placed",
        "placement.clusters names what is not registered: moon",
        "overrides names what is not registered: mars",
        "the ReplicaSchedulingPreference names what is not registered: venus",
    )


def test_a_type_that_is_not_enabled_is_told() -> None:
    def config(propagation: str, kind: str = "Deployment") -> Document:
        target = {
            "group": "apps",
            "version": "v1",
            "kind": kind,
            "pluralName": "deployments",
            "scope": "Namespaced",
        }
        own = target | {"group": "types.kubefed.io", "version": "v1beta1", "kind": f"Federated{kind}"}
        return {
            "apiVersion": "core.kubefed.io/v1beta1",
            "kind": "FederatedTypeConfig",
            "metadata": {"name": "deployments.apps", "namespace": "kube-federation-system"},
            "spec": {"targetType": target, "federatedType": own, "propagation": propagation},
        }

    note = "no FederatedTypeConfig has FederatedDeployment with propagation Enabled, so nothing of it is propagated"
    for types, notes in (
        ([], ()),
        ([config("Enabled")], ()),
        ([config("Disabled")], (note,)),
        ([config("Enabled", "ReplicaSet")], (note,)),
    ):
        assert explain(snapshot("eu", SHOP, deployment("shop/web", "eu"), *types), WEB).notes == notes


def test_overrides_that_do_not_fit_are_told_of_their_cluster() -> None:
    overrides = [{"clusterName": "eu", "clusterOverrides": [{"op": "remove", "path": "/spec/nothing"}]}]
    set_ = snapshot("eu, us", SHOP, deployment("shop/web", "eu us", overrides=overrides))
    eu, us = explain(set_, WEB).clusters
    assert eu.why == 'cluster "eu": override[0] (remove "/spec/nothing"): there is nothing at /spec/nothing'
    assert (us.problem, us.why) == ("", "placed")


def test_that_a_cluster_is_away_is_told_of_what_is_placed_there_all_the_same() -> None:
    (eu,) = explain(snapshot("eu down", SHOP, federated("shop/settings", "eu")), SETTINGS).clusters
    assert (eu.rule, eu.why) == ("", "it is not ready; placement does not look at that")
