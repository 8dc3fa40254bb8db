"""Laws of the division of replicas, for any total, preferences, candidates, current numbers and capacities."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from mcs.federation.division import divide
from mcs.federation.replicas import ClusterPreference, Divided, Division, Mode, Rebalance
from mcs.model.names import ClusterId

NAMES = [ClusterId(name) for name in ("east", "west", "north", "south", "cluster-1", "cluster-2")]
UNLIMITED = 10**9
KEYS = ["", "shop/web", "shop/api", "demo/web"]
FAIR: tuple[Rebalance, ...] = ("never", "gradual", "always")
KUBEFED: tuple[Rebalance, ...] = ("never", "always")


def numbers(most: int) -> SearchStrategy[int]:
    """Small ones, where limits meet, as often as large ones."""
    return st.integers(0, min(most, 9)) | st.integers(0, most)


def preferences(most: int) -> SearchStrategy[ClusterPreference]:
    def preference(least: int, more: int | None, weight: int) -> ClusterPreference:
        highest = None if more is None else least + more
        return ClusterPreference(min_replicas=least, max_replicas=highest, weight=weight)

    few = numbers(most)
    return st.builds(preference, st.just(0) | few, st.none() | few, st.integers(0, 3) | numbers(10_000))


class Member(NamedTuple):
    """A cluster with its own preference, what runs there and what fits there, each if there is any."""

    cluster: ClusterId
    preference: ClusterPreference | None
    current: int | None
    capacity: int | None


def members(
    sizes: tuple[int, int],
    preference: SearchStrategy[ClusterPreference],
    count: SearchStrategy[int],
    limited: bool,
) -> SearchStrategy[list[Member]]:
    capacity = st.none() | count if limited else st.none()
    one = st.builds(Member, st.sampled_from(NAMES), st.none() | preference, st.none() | count, capacity)
    return st.lists(one, min_size=sizes[0], max_size=sizes[1], unique_by=lambda each: each.cluster)


def divisions(
    mode: Mode = "fair",
    rebalances: Sequence[Rebalance] = FAIR,
    *,
    most: int = 1000,
    sizes: tuple[int, int] = (0, len(NAMES)),
    limited: bool = True,
) -> SearchStrategy[Division]:
    """Divisions of at most `most` replicas among so many clusters; without limits all have a weight."""
    count = numbers(most)
    preference = preferences(most) if limited else st.builds(ClusterPreference, weight=st.integers(1, 9))

    def asked(
        total: int, found: list[Member], others: ClusterPreference | None, said: tuple[str, Rebalance, int]
    ) -> Division:
        key, rebalance, moves = said
        own: dict[str, ClusterPreference] = {
            each.cluster: each.preference for each in found if each.preference is not None
        }
        return Division(
            total=total,
            clusters=[each.cluster for each in found],
            key=key,
            preferences=own if others is None else {"*": others} | own,
            current={each.cluster: each.current for each in found if each.current is not None},
            capacity={each.cluster: each.capacity for each in found if each.capacity is not None},
            rebalance=rebalance,
            moves=moves,
            mode=mode,
        )

    return st.builds(
        asked,
        count,
        members(sizes, preference, count, limited),
        st.none() | preference if limited else preference,
        st.tuples(st.sampled_from(KEYS), st.sampled_from(rebalances), st.integers(0, 5)),
    )


class Limits:
    """What holds for a cluster that has a part: how many it may have and should have at least, both within reason."""

    def __init__(self, asked: Division, cluster: ClusterId) -> None:
        preference = asked.preference_of(cluster)
        assert preference is not None
        self.allowed = UNLIMITED if preference.max_replicas is None else preference.max_replicas
        self.most = min(self.allowed, asked.capacity.get(cluster, UNLIMITED))
        self.least = min(preference.min_replicas, self.most)
        self.kept = min(asked.current.get(cluster, 0), self.most)
        self.weight = preference.weight


def limits(asked: Division) -> dict[ClusterId, Limits]:
    return {cluster: Limits(asked, cluster) for cluster in asked.candidates if asked.preference_of(cluster)}


def placed(divided: Divided) -> int:
    return sum(divided.plan.values())


@given(divisions())
def test_no_more_is_asked_for_than_the_total(asked: Division) -> None:
    divided = divide(asked)
    assert placed(divided) + sum(divided.overflow.values()) <= asked.total
    assert divided.unplaced == asked.total - placed(divided)


@given(divisions("kubefed", KUBEFED))
def test_as_kubefed_divides_no_more_is_planned_than_the_total(asked: Division) -> None:
    divided = divide(asked)
    assert divided.unplaced == asked.total - placed(divided) >= 0
    for cluster, limit in limits(asked).items():
        assert 0 <= divided.plan[cluster] <= limit.most


@given(divisions())
def test_each_number_is_within_its_limits_and_its_reason_says_what_forbids_the_minimum(
    asked: Division,
) -> None:
    divided = divide(asked)
    found = limits(asked)
    assert divided.plan.keys() == divided.reasons.keys() == set(asked.clusters)
    for cluster, number in divided.plan.items():
        preference = asked.preference_of(cluster)
        if preference is None:
            assert (number, divided.reasons[cluster]) == (0, "NoPreference")
            continue
        assert 0 <= number <= found[cluster].most
        if number < preference.min_replicas:
            assert divided.reasons[cluster] in ("Capacity", "TotalReplicas")
        if number < found[cluster].least:
            assert divided.unplaced == 0
            assert all(divided.plan[other] <= each.least for other, each in found.items())


@given(divisions())
def test_what_is_unplaced_has_no_place_and_is_asked_for_where_only_capacity_stands_in_the_way(
    asked: Division,
) -> None:
    divided = divide(asked)
    if divided.unplaced:
        for cluster, limit in limits(asked).items():
            assert limit.weight == 0 or divided.plan[cluster] == limit.most
    found = limits(asked)
    for cluster, more in divided.overflow.items():
        assert more > 0
        assert divided.plan[cluster] == asked.capacity[cluster]
        assert divided.plan[cluster] + more <= found[cluster].allowed
    if any(each.weight and each.most < each.allowed == UNLIMITED for each in found.values()):
        assert sum(divided.overflow.values()) == divided.unplaced


@given(st.data())
@pytest.mark.parametrize("mode", ["fair", "kubefed"])
def test_the_order_in_which_anything_is_named_means_nothing(mode: Mode, data: st.DataObject) -> None:
    asked = data.draw(divisions(mode, FAIR if mode == "fair" else KUBEFED))
    preferred = data.draw(st.permutations(list(asked.preferences)))
    running = data.draw(st.permutations(list(asked.current)))
    shuffled = replace(
        asked,
        clusters=data.draw(st.permutations(list(asked.clusters))),
        preferences={each: asked.preferences[each] for each in preferred},
        current={each: asked.current[each] for each in running},
    )
    assert repr(divide(shuffled, with_rounds=True)) == repr(divide(asked, with_rounds=True))


@given(divisions(rebalances=KUBEFED))
def test_dividing_the_plan_again_changes_nothing(asked: Division) -> None:
    divided = divide(asked)
    again = divide(replace(asked, current=divided.plan))
    assert (again.plan, again.overflow) == (divided.plan, divided.overflow)
    asked_for = {each: number + divided.overflow.get(each, 0) for each, number in divided.plan.items()}
    assert divide(replace(asked, current=asked_for)).plan == divided.plan


@given(divisions(rebalances=["gradual"]), st.integers(1, 5))
def test_gradual_rebalance_comes_to_the_plan_of_always_by_so_many_moves_at_a_time(
    asked: Division, moves: int
) -> None:
    goal = divide(replace(asked, rebalance="always")).plan
    plan = divide(replace(asked, moves=0)).plan
    assert plan == divide(replace(asked, rebalance="never")).plan
    while plan != goal:
        before, plan = plan, divide(replace(asked, current=plan, moves=moves)).plan
        moved = sum(max(0, before[each] - plan[each]) for each in plan)
        still = sum(max(0, before[each] - goal[each]) for each in plan)
        assert moved == min(moves, still) > 0
        for each, number in plan.items():
            assert min(before[each], goal[each]) <= number <= max(before[each], goal[each])
    assert divide(replace(asked, current=goal, moves=moves)).plan == goal


@given(divisions(rebalances=["never"]))
def test_without_rebalance_no_more_replicas_go_than_must(asked: Division) -> None:
    plan = divide(asked).plan
    found = limits(asked)
    lost = sum(max(0, each.kept - plan[cluster]) for cluster, each in found.items())
    running = sum(each.kept for each in found.values())
    lacking = sum(max(0, min(each.least, plan[cluster]) - each.kept) for cluster, each in found.items())
    assert lost == max(0, running + lacking - asked.total)
    if not any(each.least for each in found.values()):
        assert lost == max(0, running - asked.total)


@given(divisions(limited=False, rebalances=["always"]).filter(lambda asked: bool(asked.clusters)))
def test_without_limits_each_is_within_1_of_its_ideal_share(asked: Division) -> None:
    plan = divide(asked).plan
    weights = {cluster: each.weight for cluster, each in limits(asked).items()}
    for cluster, weight in weights.items():
        assert abs(plan[cluster] - Fraction(asked.total * weight, sum(weights.values()))) < 1
    nothing_runs = replace(asked, rebalance="never", current={})
    assert divide(nothing_runs).plan == plan


@given(divisions(rebalances=["always"]))
def test_with_rebalance_each_is_within_1_of_the_weights_filled_between_the_limits(asked: Division) -> None:
    plan = divide(asked).plan
    found = limits(asked)
    if asked.total < sum(each.least for each in found.values()):
        bounds = {cluster: (0, each.least, each.weight) for cluster, each in found.items() if each.weight}
    else:
        bounds = {
            cluster: (each.least, each.most if each.weight else each.least, each.weight)
            for cluster, each in found.items()
        }
    for cluster, ideal in filled(asked.total, bounds).items():
        assert abs(plan[cluster] - ideal) < 1


def filled(total: int, bounds: dict[ClusterId, tuple[int, int, int]]) -> dict[ClusterId, Fraction]:
    """The ideal: weights times one level within bounds. Up to the last level of a bound that is not too high all is
    known, and from there on it grows straight."""

    def at(level: Fraction) -> dict[ClusterId, Fraction]:
        return {
            cluster: max(Fraction(low), min(level * weight, Fraction(high)))
            for cluster, (low, high, weight) in bounds.items()
        }

    knees = {
        Fraction(bound, weight)
        for low, high, weight in bounds.values()
        for bound in (0, low, high)
        if weight and bound < UNLIMITED
    }
    last = max((knee for knee in knees if sum(at(knee).values()) <= total), default=Fraction(0))
    growing = sum(weight for low, high, weight in bounds.values() if low <= last * weight < high)
    return at(last + Fraction(total - sum(at(last).values()), growing)) if growing else at(last)


@given(divisions(most=8, sizes=(2, 3), rebalances=KUBEFED))
def test_a_search_of_all_plans_finds_none_that_is_better(asked: Division) -> None:
    """By the order of force: minima, then as many as possible, then no replica lost; and then the weights."""
    found = limits(asked)
    names = list(found)
    keeps = asked.rebalance == "never"

    def may_have(each: Limits) -> int:
        most = each.most if each.weight else max(each.least, each.kept if keeps else 0)
        return min(most, asked.total)

    def shortcomings(plan: tuple[int, ...]) -> tuple[int, int, int]:
        pairs = list(zip(plan, found.values(), strict=True))
        return (
            sum(max(0, each.least - number) for number, each in pairs),
            -sum(plan),
            sum(max(0, each.kept - number) for number, each in pairs) if keeps else 0,
        )

    plans = [
        plan
        for plan in product(*(range(may_have(each) + 1) for each in found.values()))
        if sum(plan) <= asked.total
    ]
    best = min(map(shortcomings, plans))
    good = {plan for plan in plans if shortcomings(plan) == best}
    divided = divide(asked).plan
    chosen = tuple(divided[each] for each in names)
    assert chosen in good
    for giver, taker in product(range(len(names)), repeat=2):
        other = list(chosen)
        other[giver] -= 1
        other[taker] += 1
        one, two = found[names[giver]].weight, found[names[taker]].weight
        if giver != taker and tuple(other) in good and one and two:
            assert (chosen[giver] - 1) * two < (chosen[taker] + 1) * one, (
                "a move would be nearer to the weights"
            )


@given(divisions() | divisions("kubefed", KUBEFED))
def test_the_rounds_lead_to_the_plan(asked: Division) -> None:
    divided = divide(asked, with_rounds=True)
    assert divide(asked) == replace(divided, rounds=())
    told = dict.fromkeys(divided.plan, 0)
    for each in divided.rounds:
        told.update((share.cluster, share.replicas) for share in each.shares)
    for cluster, number in divided.plan.items():
        assert told[cluster] == number + (divided.overflow.get(cluster, 0) if asked.mode == "fair" else 0)
