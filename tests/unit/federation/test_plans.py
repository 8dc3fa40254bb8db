"""The plan of everything: what each object is in each cluster, and how little a change makes anew."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mcs.federation.placement import NotPlaced, Placed, Registered, chosen
from mcs.federation.planned import ObjectPlan
from mcs.federation.plans import plan_all
from mcs.federation.snapshot import Snapshot
from mcs.model.federated import Placement
from mcs.model.names import ClusterId
from mcs.testing.federated_sets import (
    CONFIG_MAP,
    Document,
    asking,
    by_overrides,
    deployment,
    federated,
    key,
    namespace,
    preference,
    snapshot,
)

ASIA = ClusterId("asia")
THREE = "eu env=prod, us env=prod, asia env=dev"
SHOP = namespace("shop")
WEB = key("shop/web")


def shown(plan: ObjectPlan) -> str:
    """As `asia eu=3 us=2+1`: clusters with replicas and overflow, where there are any."""
    words = []
    for cluster in plan.placed:
        there = plan.in_cluster(cluster)
        number = "" if there.replicas is None else f"={there.replicas}"
        words.append(f"{cluster}{number}" + (f"+{there.overflow}" if there.overflow else ""))
    return " ".join(words)


def planned(set_: Snapshot) -> str:
    (plan,) = [plan for each, plan in plan_all(set_).plans.items() if each.name == "web"]
    return shown(plan)


def without(set_: Snapshot, cluster: str) -> Snapshot:
    lost = {
        name: replace(each, is_ready=False) if name == cluster else each
        for name, each in set_.clusters.items()
    }
    return replace(set_, clusters=lost)


@pytest.mark.parametrize(
    ("clusters", "documents", "expected"),
    [
        pytest.param(
            THREE,
            [deployment("shop/web", "eu us", 3)],
            "eu=3 us=3",
            id="a list, with the template's replicas",
        ),
        pytest.param(THREE, [deployment("shop/web", "env=prod", 3)], "eu=3 us=3", id="a selector"),
        pytest.param(
            THREE,
            [
                deployment(
                    "shop/web",
                    "*",
                    3,
                    overrides=[
                        {"clusterName": "us", "clusterOverrides": [{"path": "/spec/replicas", "value": 7}]},
                        {"clusterName": "eu", "clusterOverrides": [{"path": "/spec/paused", "value": True}]},
                    ],
                )
            ],
            "asia=3 eu=3 us=7",
            id="an override of one cluster's replicas",
        ),
        pytest.param(
            "eu down, us",
            [deployment("shop/web", "eu us")],
            "eu=1 us=1",
            id="placement looks at no readiness",
        ),
        pytest.param(
            THREE,
            [deployment("shop/web", ""), preference("shop/web", 9, "* w1")],
            "asia=3 eu=3 us=3",
            id="replicas are divided by KubeFed's planner",
        ),
        pytest.param(
            "eu down, us, asia",
            [deployment("shop/web", ""), preference("shop/web", 9, "* w1")],
            "asia=4 us=5",
            id="among those that are ready",
        ),
        pytest.param(
            THREE,
            [
                deployment("shop/web", "env=prod"),
                preference("shop/web", 9, "eu w2, us w1", intersectWithClusterSelector=True),
            ],
            "eu=6 us=3",
            id="and selected, where that is asked for",
        ),
        pytest.param(
            THREE,
            [deployment("shop/web", ""), preference("shop/web", 4, "eu w1")],
            "asia=0 eu=4 us=0",
            id="in KubeFed's form who is not named is placed with 0",
        ),
        pytest.param(
            THREE,
            [deployment("shop/web", ""), by_overrides("shop/web", "eu=6 us=4")],
            "eu=6 us=4",
            id="in the other form who is not named is not placed",
        ),
        pytest.param(
            THREE,
            [deployment("shop/web", ""), preference("shop/web", 9, "* w1", capacity="us=1", rebalance=True)],
            "asia=4 eu=4 us=1+2",
            id="a full cluster is asked for more",
        ),
        pytest.param(
            "eu, us cordoned",
            [deployment("shop/web", "", **asking("us=2")), preference("shop/web", 9, "* w1", current="us=2")],
            "eu=7 us=2",
            id="a cordoned cluster keeps what it has and gets no more",
        ),
        pytest.param(
            "eu, us cordoned",
            [
                deployment("shop/web", "", **asking("us=5")),
                preference("shop/web", 9, "eu w1, us w1 max3", current="us=5"),
            ],
            "eu=6 us=3",
            id="but for its own maximum",
        ),
        pytest.param(
            "eu, us cordoned",
            [
                deployment("shop/web", "", **asking("us=2")),
                preference("shop/web", 9, "eu w1, us w1 max4", current="us=2"),
            ],
            "eu=7 us=2",
            id="and a higher maximum gives it no more",
        ),
        pytest.param(
            "eu, us NoSchedule",
            [deployment("shop/web", ""), preference("shop/web", 9, "* w1 min3")],
            "eu=9 us=0",
            id="so does one with a taint",
        ),
        pytest.param(
            "eu, us NoSchedule",
            [
                deployment("shop/web", ""),
                preference("shop/web", 9, "* w1", tolerations=[{"operator": "Exists"}]),
            ],
            "eu=5 us=4",
            id="unless that is tolerated",
        ),
        pytest.param(
            "eu, us NoExecute, asia drained",
            [deployment("shop/web", ""), preference("shop/web", 9, "* w1")],
            "eu=9",
            id="a cluster that is emptied has no part",
        ),
        pytest.param(
            "eu down, us down, asia",
            [
                deployment("shop/web", "", **asking("eu=3 us=3 asia=3")),
                preference("shop/web", 9, "* w1", current="eu=3 us=3 asia=3"),
            ],
            "asia=3 eu=3 us=3",
            id="when more than half are away nothing moves",
        ),
        pytest.param(
            "eu, us cordoned", [deployment("shop/web", "*")], "eu=1 us=1", id="placement looks at no cordon"
        ),
        pytest.param(
            "eu, us, asia",
            [namespace("part", "us"), deployment("part/web", ""), preference("part/web", 9, "* w1")],
            "us=3",
            id="as in KubeFed the namespace counts only with the selector",
        ),
        pytest.param(
            "eu drained",
            [deployment("shop/web", "eu", 3), preference("shop/web", 9, "* w1")],
            "eu=3",
            id="without a candidate all stays as it is written",
        ),
        pytest.param(
            THREE,
            [deployment("shop/web", "eu", 3), preference("shop/web", -9, "* w1")],
            "eu=3",
            id="with a wrong preference too",
        ),
    ],
)
def test_where_and_with_how_many_replicas(clusters: str, documents: list[Document], expected: str) -> None:
    assert planned(snapshot(clusters, SHOP, *documents)) == expected


@pytest.mark.parametrize(
    ("documents", "expected", "problem"),
    [
        pytest.param([], "", "namespace shop has no FederatedNamespace", id="no federated namespace"),
        pytest.param([namespace("shop", "us")], "us", "", id="the namespace goes to one of them"),
        pytest.param(
            [
                {
                    "apiVersion": "core.kubefed.io/v1beta1",
                    "kind": "KubeFedConfig",
                    "metadata": {"name": "kubefed"},
                    "spec": {"scope": "Namespaced"},
                }
            ],
            "eu us",
            "",
            id="a control plane of one namespace needs none",
        ),
        pytest.param(
            [namespace("shop", "eu") | {"metadata": {"namespace": "shop", "name": "other"}}],
            "",
            "namespace shop has no FederatedNamespace",
            id="one of another name is none",
        ),
    ],
)
def test_the_namespace_around_an_object_is_a_gate(
    documents: list[Document], expected: str, problem: str
) -> None:
    set_ = snapshot("eu, us", federated("shop/web", "eu us"), *documents)
    plan = plan_all(set_).plans[key("shop/web", CONFIG_MAP)]
    assert (shown(plan), plan.problem.split(", ")[0]) == (expected, problem)


def test_replicas_that_come_to_nothing_are_told() -> None:
    set_ = snapshot(
        "eu, us, asia", namespace("shop", "us"), deployment("shop/web", ""), preference("shop/web", 9, "* w1")
    )
    plan = plan_all(set_).plans[WEB]
    assert (plan.unplaced, plan.problem) == (
        6,
        "6 replicas are given to clusters that the namespace does not go to, where they come to nothing (asia, eu); "
        "set intersectWithClusterSelector, or place the FederatedNamespace there",
    )


def test_a_federated_namespace_that_belongs_to_each_cluster_is_placed_nowhere_and_is_a_gate_all_the_same() -> (
    None
):
    set_ = snapshot("eu, us", namespace("default", "us"), federated("default/web", "*"))
    plans = plan_all(set_).plans
    assert shown(plans[key("default/web", CONFIG_MAP)]) == "us"
    own = plans[key("default/default", "FederatedNamespace")]
    assert (own.placed, own.problem) == (
        (),
        "namespace default belongs to each cluster alone; it is never created, changed or deleted there",
    )


def test_a_plan_that_a_change_does_not_touch_is_the_very_same_value() -> None:
    set_ = snapshot(
        THREE,
        SHOP,
        federated("shop/settings", "*"),
        deployment("shop/web", "*"),
        preference("shop/web", 9, "* w1"),
        deployment("shop/api", ""),
        by_overrides("shop/api", "eu=6 us=4"),
        deployment("shop/prod", "env=prod"),
        preference("shop/prod", 4, "* w1", intersectWithClusterSelector=True),
    )
    before = plan_all(set_)
    assert before.planned_anew == tuple(before.plans)
    after = plan_all(without(set_, "asia"), before)
    assert after.planned_anew == (WEB,)
    assert all(after.plans[each] is before.plans[each] for each in after.plans if each != WEB)
    again = plan_all(set_, before)
    assert (again.planned_anew, again.plans) == ((), before.plans)


def test_an_object_that_says_otherwise_is_planned_anew_though_its_clusters_stay() -> None:
    before = plan_all(snapshot(THREE, SHOP, deployment("shop/web", "eu", 3)))
    after = plan_all(snapshot(THREE, SHOP, deployment("shop/web", "eu", 4)), before)
    assert (after.planned_anew, shown(after.plans[WEB])) == ((WEB,), "eu=4")


def test_a_cluster_whose_labels_change_touches_what_selects_it_or_did() -> None:
    set_ = snapshot(
        THREE,
        SHOP,
        federated("shop/a", "env=prod"),
        federated("shop/b", "eu asia"),
        federated("shop/c", "env=dev"),
    )
    before = plan_all(set_)
    relabelled = dict(set_.clusters)
    relabelled[ASIA] = replace(relabelled[ASIA], labels={"env": "prod"})
    after = plan_all(replace(set_, clusters=relabelled), before)
    assert [each.name for each in after.planned_anew] == ["a", "c"]
    assert shown(after.plans[key("shop/a", CONFIG_MAP)]) == "asia eu us"


def test_a_distinct_selector_is_evaluated_once_however_many_objects_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluated: list[Placement] = []

    def counted(placement: Placement, registered: Registered) -> Placed | NotPlaced:
        evaluated.append(placement)
        return chosen(placement, registered)

    monkeypatch.setattr("mcs.federation.sites.chosen", counted)
    many = [federated(f"shop/object-{number}", "env=prod") for number in range(50)]
    set_ = snapshot(THREE, SHOP, *many)
    before = plan_all(set_)
    assert len(evaluated) == 2, "the selector, and that of the namespace"
    plan_all(without(set_, "eu"), before)
    assert len(evaluated) == 2, "readiness plays no part in placement"
