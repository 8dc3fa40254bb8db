"""Mode `fair`: who gets how many, why, and what it refuses."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mcs.federation.division import divide
from mcs.federation.replicas import REASONS, Division, DivisionError
from mcs.testing.divisions import counts, division, in_order

AB, ABC = "A B", "A B C"


@pytest.mark.parametrize(
    ("total", "votes", "plan"),
    [
        (9, "1 2", "3 6"),
        (9, "1 3", "2 7"),
        (12, "18 12 6", "6 4 2"),
        (12, "20 12 6", "6 4 2"),
        (12, "6 12 6", "3 6 3"),
        (8, "100000 80000 30000 20000", "3 3 1 1"),
        (4, "1200 900 400", "2 1 1"),
        (7, "3 2 1", "4 2 1"),
        (13, "1 2", "4 9"),
    ],
)
def test_static_weights_divide_as_karmada_divides_them_where_there_is_no_tie(
    total: int, votes: str, plan: str
) -> None:
    clusters = " ".join("ABCD"[: len(votes.split())])
    weights = ", ".join(f"{each} w{vote}" for each, vote in zip(clusters.split(), votes.split(), strict=True))
    for rebalance in ("always", "never", "gradual"):
        divided = divide(division(total, weights, clusters, rebalance=rebalance))
        assert divided.plan == in_order(clusters, plan), rebalance


@pytest.mark.parametrize(
    ("case", "asked", "plan"),
    [
        ("nobody loses for another's sake", division(9, "* w1", ABC, current="A=4 B=5"), "4 5 0"),
        ("a new replica goes where fewest are", division(12, "* w1", ABC, current="A=5 B=4"), "5 4 3"),
        ("enough new ones even all out", division(30, "* w1", ABC, current="A=5 B=4"), "10 10 10"),
        ("whoever has most loses first", division(6, "* w1", ABC, current="A=5 B=4"), "3 3 0"),
        ("KubeFed gives 0 50 here", division(50, "* w1", AB, current="A=10 B=70"), "10 40"),
        ("much to one, the rest is even", division(50, "* w1", ABC, current="C=30"), "10 10 30"),
        ("a new weight moves nothing", division(9, "A w1, B w2", AB, current="A=5 B=4"), "5 4"),
        ("a maximum forces a move", division(9, "A w1 max3, B w1", AB, current="A=5 B=4"), "3 6"),
        ("a capacity forces one too", division(9, "* w1", AB, current="A=5 B=4", capacity="A=3"), "3 6"),
        ("a minimum is stronger than what runs", division(9, "* w1, B w1 min3", AB, current="A=9"), "6 3"),
        (
            "minima that the total does not cover stay where they run",
            division(5, "* w1 min5", AB, current="A=5"),
            "5 0",
        ),
        ("nothing is added to a weight of 0", division(9, "A w0, B w1", AB, current="A=3"), "3 6"),
        ("a weight of 0 loses first", division(9, "A w0, B w1", AB, current="A=8 B=8"), "1 8"),
        (
            "weights of 0 lose in proportion",
            division(6, "* w0, C w1", ABC, current="A=8 B=4 C=3"),
            "2 1 3",
        ),
    ],
)
def test_without_rebalance_only_the_difference_is_divided(case: str, asked: Division, plan: str) -> None:
    assert divide(asked).plan == in_order(" ".join(asked.clusters), plan), case


@pytest.mark.parametrize(
    ("case", "asked", "plan"),
    [
        ("a cluster that is back is filled again", division(9, "* w1", ABC, current="A=4 B=5"), "3 3 3"),
        ("a minimum is part of the share", division(10, "A w2 min2, B w3 min4", AB), "4 6"),
        ("a minimum above the share", division(13, "* w1, A w0 min3", ABC), "3 5 5"),
        ("minima and a maximum", division(9, "A w1 min4 max6, B w2 min4 max8", ABC), "4 5 0"),
        ("a maximum of none", division(10, "* w1, A w5 max0", ABC), "0 5 5"),
        ("minima that the total does not cover", division(6, "A w2 min5, B w1 min5", AB), "4 2"),
        ("minima of weight 0 that it does not cover", division(6, "* w0 min4, B w0 min8", AB), "2 4"),
        ("full clusters one after the other", division(60, "* w1 max9, B w1 max20, C w1", ABC), "9 20 31"),
        ("what is full and what is low at once", division(20, "A w8 max4, B w1 min6, C w4", ABC), "4 6 10"),
        ("no weight, no replica", division(10, "A w0, B w0", AB), "0 0"),
        ("no total, no replica", division(0, "* w1 min3", AB), "0 0"),
    ],
)
def test_with_rebalance_weights_are_filled_between_the_limits(case: str, asked: Division, plan: str) -> None:
    assert divide(replace(asked, rebalance="always")).plan == in_order(" ".join(asked.clusters), plan), case


@pytest.mark.parametrize(
    ("case", "asked", "overflow"),
    [
        ("there is room elsewhere", division(10, "* w1", AB, capacity="A=0"), ""),
        ("what has no place, by weight", division(20, "* w1", AB, capacity="A=4 B=6"), "A=6 B=4"),
        ("no more than the maximum", division(20, "A w1 max6, B w1", AB, capacity="A=4 B=6"), "A=2 B=8"),
        ("a maximum alone asks for nothing", division(20, "* w1 max6", AB, capacity="A=4 B=9"), "A=2"),
        ("a minimum of weight 0", division(20, "A w0 min9, B w1 max8", AB, capacity="A=4"), "A=5"),
        ("minima first", division(10, "A w1 min6, B w9", AB, capacity="A=3 B=3"), "A=3 B=1"),
    ],
)
def test_full_clusters_are_asked_for_what_has_no_place(case: str, asked: Division, overflow: str) -> None:
    divided = divide(asked)
    assert divided.overflow == counts(overflow), case
    assert divided.unplaced == asked.total - sum(divided.plan.values())


def test_gradual_rebalance_moves_so_many_and_then_rests() -> None:
    now, seen = "A=9 B=0 C=0", []
    for _ in range(5):
        plan = divide(division(9, "* w1", ABC, current=now, rebalance="gradual", moves=2)).plan
        seen.append(" ".join(str(plan[each]) for each in sorted(plan)))
        now = " ".join(f"{cluster}={count}" for cluster, count in plan.items())
    assert seen == ["7 1 1", "5 2 2", "3 3 3", "3 3 3", "3 3 3"]


def test_gradual_rebalance_gives_new_replicas_at_once_and_moves_none_of_0() -> None:
    asked = division(12, "* w1", ABC, current="A=9", rebalance="gradual", moves=0)
    assert divide(asked).plan in (in_order(ABC, "9 1 2"), in_order(ABC, "9 2 1"))


def test_ties_differ_from_one_workload_to_the_next() -> None:
    plans = [
        tuple(divide(division(10, "* w1", ABC, key=f"shop/{name}")).plan.values())
        for name in ("web", "api", "cart", "login", "search", "stock")
    ]
    assert {sorted(each)[2] for each in plans} == {4}
    assert len(set(plans)) == 3


@pytest.mark.parametrize(
    ("case", "asked", "reasons"),
    [
        (
            "limits and shares",
            division(71, "A w9 max10, B w1, C w1 max21", "A B C D", capacity="C=10"),
            "MaxReplicas Weight Capacity NoPreference",
        ),
        ("minima", division(9, "A w1 min5, B w9, C w0", ABC), "MinReplicas Weight ZeroWeight"),
        ("minima not covered", division(6, "A w2 min5, B w1 min5", AB), "TotalReplicas TotalReplicas"),
        (
            "a minimum beyond the capacity",
            division(9, "A w1 min5, B w1", AB, capacity="A=3"),
            "Capacity Weight",
        ),
        (
            "what runs stays",
            division(10, "* w1", ABC, current="A=8"),
            "CurrentReplicas Weight Weight",
        ),
        (
            "nothing is left for a cluster that comes back",
            division(9, "* w1", ABC, current="A=4 B=5"),
            "CurrentReplicas CurrentReplicas TotalReplicas",
        ),
        ("more runs than fits", division(9, "* w1", AB, current="A=9", capacity="A=4"), "Capacity Weight"),
        (
            "a weight of 0 that loses",
            division(9, "A w0, B w1", AB, current="A=8 B=8"),
            "ZeroWeight CurrentReplicas",
        ),
        (
            "on the way",
            division(9, "* w1", ABC, current="A=5 B=3 C=1", rebalance="gradual"),
            "GradualRebalance Weight GradualRebalance",
        ),
    ],
)
def test_each_number_has_a_reason(case: str, asked: Division, reasons: str) -> None:
    divided = divide(asked)
    assert " ".join(divided.reasons[each] for each in sorted(divided.reasons)) == reasons, case
    assert set(reasons.split()) <= REASONS.keys()


def test_the_rounds_tell_each_share_and_what_capped_it() -> None:
    asked = division(26, "A w8 max4, B w1 min6, * w4", "A B C D", capacity="C=5 D=6", rebalance="always")
    told = [
        (each.step, each.amount, [(s.cluster, s.share, s.capped_by, s.replicas) for s in each.shares])
        for each in divide(asked, with_rounds=True).rounds
    ]
    assert told == [
        ("min", 6, [("B", 6, None, 6)]),
        (
            "weight",
            26,
            [
                ("A", pytest.approx(8 * 26 / 17), "MaxReplicas", 4),
                ("B", pytest.approx(26 / 17), None, 6),
                ("C", pytest.approx(4 * 26 / 17), "Capacity", 5),
                ("D", pytest.approx(4 * 26 / 17), "Capacity", 6),
            ],
        ),
        ("weight", 11, [("B", 11, None, 11)]),
    ]


def test_the_rounds_tell_of_clusters_that_are_full_before_those_of_weight_0_get_any() -> None:
    divided = divide(division(2, "east min2, west min1 w1", "east west"), with_rounds=True)
    told = {share.cluster: share.replicas for each in divided.rounds for share in each.shares}
    assert told == divided.plan == {"east": 1, "west": 1}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            division(9, "* w1, A w1 min5 max3", AB),
            "minReplicas of A is 5 and its maxReplicas 3; write a minimum that is not above the maximum",
        ),
        (division(-1, "* w1", AB), "total is -1; write 0 or more"),
        (division(9, "* w1", AB, moves=-1), "moves is -1; write 0 or more"),
        (division(9, "* w1", AB, capacity="B=-2"), "capacity of B is -2; write 0 or more"),
        (division(9, "* w1", AB, current="A=-2"), "current of A is -2; write 0 or more"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_write(asked: Division, said: str) -> None:
    with pytest.raises(DivisionError) as refused:
        divide(asked)
    assert str(refused.value) == said
