"""Laws of the plan of everything: made anew in part it is as made from scratch, and an explanation adds up to it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mcs.federation.capacity import Capacity
from mcs.federation.explanation import explain
from mcs.federation.placement import Placed, place
from mcs.federation.plans import plan_all
from mcs.federation.preference_plan import ObservedPreference, SeenCluster, plan_preference
from mcs.federation.snapshot import RegisteredCluster, Snapshot
from mcs.federation.what_if import Difference, Question, changed, difference, settled
from mcs.model.federated import Placement
from mcs.model.names import ClusterId
from mcs.model.scheduling import ReplicaSchedulingPreference
from mcs.testing.federated_sets import (
    Document,
    asking,
    by_overrides,
    deployment,
    federated,
    namespace,
    preference,
    snapshot,
)

K = TypeVar("K")
V = TypeVar("V")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("asia", "eu", "us", "us-2")
PLACES = st.sampled_from(["", "none", "*", "env=prod", "env=dev", "eu", "asia us moon", "env=prod zone=a"])
NUMBERS = st.integers(0, 12)
WORDS = st.sampled_from(["", "env=prod", "env=dev", "env=prod zone=a"])
STATES = st.sampled_from(
    ["", "", "ready", "down", "cordoned", "down cordoned", "drained", "NoSchedule", "NoExecute"]
)
CLUSTERS = st.tuples(*(st.builds(f"{name} {{}} {{}}".format, WORDS, STATES) for name in NAMES)).map(", ".join)
COUNTS = st.dictionaries(st.sampled_from(NAMES), NUMBERS, max_size=4).map(
    lambda counts: " ".join(f"{name}={number}" for name, number in counts.items())
)
PREFERENCES = st.dictionaries(
    st.sampled_from([*NAMES, "*", "moon"]),
    st.builds("w{} min{}{}".format, st.integers(0, 4), st.integers(0, 3), st.sampled_from(["", " max5"])),
    max_size=4,
).map(lambda found: ", ".join(f"{name} {words}" for name, words in found.items()))


@st.composite
def preferences(draw: st.DrawFn, name: str) -> Document:
    if draw(st.booleans()):
        numbers = draw(COUNTS.filter(bool))
        return by_overrides(name, numbers, totalReplicas=draw(NUMBERS))
    return preference(
        name,
        draw(NUMBERS),
        draw(PREFERENCES),
        current=draw(COUNTS),
        capacity=draw(COUNTS),
        rebalance=draw(st.booleans()),
        intersectWithClusterSelector=draw(st.booleans()),
        tolerations=[{"operator": "Exists"}] if draw(st.booleans()) else [],
    )


@st.composite
def objects(draw: st.DrawFn) -> list[Document]:
    """Objects, some divided, in a namespace that is federated and in one that may not be."""
    found = []
    for number in range(draw(st.integers(0, 5))):
        name = f"{draw(st.sampled_from(['shop', 'part']))}/web-{number}"
        if draw(st.booleans()):
            found.append(federated(name, draw(PLACES)))
            continue
        there = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=2))
        status = {"status": {"clusters": [{"name": each} for each in there]}} if there else {}
        overrides = asking(draw(COUNTS)) if draw(st.booleans()) else {}
        found.append(deployment(name, draw(PLACES), draw(NUMBERS), **overrides) | status)
        if draw(st.booleans()):
            found.append(draw(preferences(name)))
    return found


@st.composite
def sets(draw: st.DrawFn) -> Snapshot:
    part = draw(st.none() | PLACES)
    gates = [namespace("shop")] + ([] if part is None else [namespace("part", part)])
    return snapshot(draw(CLUSTERS), *gates, *draw(objects()))


@st.composite
def otherwise(draw: st.DrawFn, before: Snapshot) -> Snapshot:
    """The set after something has happened to some of its clusters, objects and preferences."""
    clusters = dict(before.clusters)
    for name in draw(st.lists(st.sampled_from([*NAMES, "new"]), max_size=2)):
        if draw(st.booleans()):
            clusters.pop(ClusterId(name), None)
        else:
            clusters |= snapshot(f"{name} {draw(WORDS)} {draw(STATES)}").clusters
    more = snapshot(
        "any", *draw(objects()), *([namespace("part", draw(PLACES))] if draw(st.booleans()) else [])
    )
    gone = draw(st.sets(st.sampled_from([*before.objects, None]), max_size=1))
    found = {**before.objects, **more.objects}
    return replace(
        before,
        clusters=dict(sorted(clusters.items())),
        objects={key: found[key] for key in sorted(found) if key not in gone},
        preferences={**before.preferences, **more.preferences},
    )


@given(st.data())
def test_made_anew_in_part_a_plan_is_as_made_from_scratch(data: st.DataObject) -> None:
    here = data.draw(sets())
    there = data.draw(otherwise(here))
    before = plan_all(here)
    after = plan_all(there, before)
    assert after.plans == plan_all(there).plans
    assert plan_all(here, after).plans == before.plans


@given(sets())
def test_a_question_that_changes_nothing_has_no_difference(set_: Snapshot) -> None:
    before = settled(set_)
    after = plan_all(changed(before.snapshot, Question()), before)
    assert after.planned_anew == ()
    found = difference(before, after)
    assert found == Difference(is_cut_off=found.is_cut_off)


@given(sets(), st.sampled_from(NAMES))
def test_a_lost_cluster_touches_only_objects_that_are_divided_among_clusters_of_which_it_is_one(
    set_: Snapshot, name: str
) -> None:
    before = settled(set_)
    after = plan_all(changed(before.snapshot, Question(down=[ClusterId(name)])), before)
    for key in after.planned_anew:
        here, there = before.grounds[key].candidates, after.grounds[key].candidates
        assert here is not None
        assert here != there
    for each in difference(before, after).objects:
        assert each.object_ in after.planned_anew


@given(sets())
def test_an_explanation_adds_up_to_the_plan(set_: Snapshot) -> None:
    plans = plan_all(set_).plans
    for key, plan in plans.items():
        explained = explain(set_, key)
        assert [each.cluster for each in explained.clusters if not each.rule] == list(plan.placed)
        for each in explained.clusters:
            there = plan.in_cluster(each.cluster)
            assert (each.replicas, each.overflow) == (there.replicas, there.overflow)
        if explained.division is None:
            continue
        sure = {
            share.cluster: share.replicas
            for round_ in explained.division.rounds
            if round_.step != "overflow"
            for share in round_.shares
        }
        planned = plan.replicas_by_cluster
        assert {name: sure.get(name, 0) for name in planned} == planned
        assert sum(planned.values()) + explained.division.unplaced == explained.division.total


@given(sets())
def test_the_controller_s_plan_of_a_preference_is_the_same(set_: Snapshot) -> None:
    plans = plan_all(set_)
    for key, plan in plans.plans.items():
        preferred = set_.preferences.get(key)
        if not plan.is_divided or preferred is None or preferred.asked is None:
            continue
        selector = Placement(cluster_selector=set_.objects[key].spec.placement.cluster_selector)
        selected = plans.sites.place(selector, set_.gate_of(key))
        assert isinstance(selected, Placed)
        clusters = {
            name: SeenCluster(
                stands=stands,
                ready=preferred.current.get(name),
                wanted=preferred.asked_of.get(name, 0),
                capacity=Capacity(preferred.capacity.get(name)),
            )
            for name, stands in plans.sites.stands(preferred.asked.tolerations).items()
        }
        observed = ObservedPreference(
            object=ReplicaSchedulingPreference(),
            preference=preferred.asked,
            federated=set_.objects[key],
            clusters=clusters,
            selected=selected.clusters if preferred.asked.intersects_with_selector else None,
        )
        status = plan_preference(observed, NOW).status
        told = {each.name: (each.replicas, each.overflow) for each in status.clusters}
        assert {name: told[name] for name in plan.placed} == {
            name: plan.in_cluster(name)[1:] for name in plan.placed
        }


@given(sets())
def test_what_nobody_divides_is_where_its_placement_says(set_: Snapshot) -> None:
    free = replace(
        set_, clusters={name: RegisteredCluster(labels=each.labels) for name, each in set_.clusters.items()}
    )
    registered = {name: each.labels for name, each in free.clusters.items()}
    for key, plan in plan_all(free).plans.items():
        if key not in free.preferences:
            placed = place(free.objects[key].spec.placement, registered, free.gate_of(key))
            assert isinstance(placed, Placed)
            assert plan.placed == placed.clusters


@given(sets(), st.randoms(use_true_random=False))
def test_the_order_of_manifests_is_of_no_account(set_: Snapshot, random: Random) -> None:
    def shuffled(mapping: Mapping[K, V]) -> dict[K, V]:
        items = list(mapping.items())
        random.shuffle(items)
        return dict(items)

    other = replace(
        set_,
        clusters=shuffled(set_.clusters),
        objects=shuffled(set_.objects),
        preferences=shuffled(set_.preferences),
    )
    assert plan_all(other).plans == plan_all(set_).plans
