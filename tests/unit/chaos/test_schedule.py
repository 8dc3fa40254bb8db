"""A storm is drawn from its seed, has every kind of fault, and leaves everything mended."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from tests.real.chaos.schedule import Kind, schedule

VICTIMS = {kind: ("one", "two") if kind.name.startswith("ANSWER") else (kind.name,) for kind in Kind}
SEEDS = [str(number) for number in range(20)]


def test_the_same_seed_draws_the_same_storm_and_another_seed_another() -> None:
    assert schedule("a", 180, VICTIMS) == schedule("a", 180, VICTIMS)
    assert schedule("a", 180, VICTIMS) != schedule("b", 180, VICTIMS)


@pytest.mark.parametrize("seed", SEEDS)
def test_three_minutes_have_every_kind_and_none_far_more_often_than_another(seed: str) -> None:
    counts = Counter(fault.kind for fault in schedule(seed, 180, VICTIMS))
    assert set(counts) == set(Kind)
    assert max(counts.values()) <= 3 + min(counts.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_no_victim_bears_two_faults_at_once_and_all_are_mended_at_the_end(seed: str) -> None:
    faults = schedule(seed, 60, VICTIMS)
    assert max(fault.end for fault in faults) <= 60
    for first, second in combinations(faults, 2):
        assert first.victim != second.victim or first.end < second.at
    assert list(faults) == sorted(faults, key=lambda fault: fault.at)


def test_what_can_happen_to_nobody_does_not_happen() -> None:
    faults = schedule("a", 60, {Kind.KILL_DNS: ("dns west",), Kind.KILL_ETCD: ()})
    assert {(fault.kind, fault.victim) for fault in faults} == {(Kind.KILL_DNS, "dns west")}
    assert schedule("a", 60, {}) == ()
