"""Mode `kubefed` against the tables of KubeFed's own planner tests, its documentation and more, row by row."""

from __future__ import annotations

import pytest

from mcs.federation.division import divide
from mcs.federation.replicas import Divided, DivisionError, tie_rank
from mcs.model.names import ClusterId
from mcs.testing.divisions import counts, division, in_order

# number | total | preferences | clusters | current | capacity | rebalance | plan, by cluster | overflow | key
# U: KubeFed's planner tests; D: its documentation and its tests on clusters; X: computed.
VECTORS = """
U1  | 50     | * w1                              | A B C     |             |           | no  | 16 17 17       |
U2  | 50     | * w1                              | A B       |             |           | no  | 25 25          |
U3  | 1      | * w1                              | A B       |             |           | no  | 0 1            |
U4  | 1      | * w1                              | A B C D   |             |           | no  | 0 0 0 1        |
U5  | 50     | * w0 min2                         | A B C     |             |           | no  | 2 2 2          |
U6  | 50     | * w0 min20                        | A B C     |             |           | no  | 10 20 20       |
U7  | 50     | * w0 min20, A w1 min100           | A B C     |             |           | no  | 50 0 0         |
U8  | 50     | * w1 min10 max12                  | A B C     |             |           | no  | 12 12 12       |
U9  | 50     | * w1 max2                         | A B C     |             |           | no  | 2 2 2          |
U10 | 50     | * w0 max2                         | A B C     |             |           | no  | 0 0 0          |
U11 | 60     | A w1, B w2                        | A B C     |             |           | no  | 20 40 0        |
U12 | 50     | A w10000, B w1                    | A B C     |             |           | no  | 50 0 0         |
U13 | 50     | A w10000, B w1                    | B C       |             |           | no  | 50 0           |
U14 | 50     | A w10000 max10, B w1, C w1        | A B C     |             |           | no  | 10 20 20       |
U15 | 50     | A w10000 max10, B w1, C w1 max10  | A B C     |             |           | no  | 10 30 10       |
U16 | 71     | A w10000 max10, B w1, C w1 max21, D w1 max10       | A B C D   | | | no | 10 30 21 10    |
U17 | 91     | A w10000 max10, B w1, C w1 max21, D w1 max10, E w1 | A B C D E | | | no | 10 25 21 10 25 |
U18 | 50     | * w1                              | A B C     | C=30        |           | no  | 10 10 30       |
U19 | 50     | * w1                              | A B       | A=30        |           | no  | 30 20          |
U20 | 15     | * w1                              | A B       | A=0 B=8     |           | no  | 7 8            |
U21 | 15     | * w1                              | A B       | A=4 B=8     |           | no  | 7 8            |
U22 | 500000 | * w1                              | A B       | A=300000    |           | no  | 300000 200000  |
U23 | 50     | * w1                              | A B       | A=10 B=70   |           | no  | 0 50           |
U24 | 1      | * w1                              | A B       | A=30        |           | no  | 1 0            |
U25 | 50     | * w1                              | A B       | A=10 B=20   |           | no  | 25 25          |
U26 | 50     | * w1                              | A B C     |             | C=10      | yes | 20 20 10       | C=7
U27 | 50     | A w10000, B w1                    | B C       |             | B=10      | yes | 10 0           | B=40
U28 | 60     | A w1, B w2                        | A B C     |             | B=10      | yes | 50 10 0        | B=30
U29 | 71     | A w10000 max10, B w1, C w1 max21, D w1 max10 | A B C D |    | C=10 | yes | 10 41 10 10    | C=11
U30 | 60     | A w1, B w1                    | A B C     |             | A=10 B=10 | no  | 10 10 0        | A=20 B=20
U31 | 60     | A w1, B w5                        | A B C     |             | B=10      | no  | 50 10 0        |
U32 | 50     | * w0 min20                        | A B C     |             | B=10      | no  | 20 10 20       |
U33 | 60     | * w1 min20                        | A B       |             | B=10      | yes | 50 10          | B=15
U34 | 1      | * w1                              | A         |             |           | no  | 1              |
U35 | 1      | * w1                              |           |             |           | no  |                |
U36 | 15     | * w1                              | A B       | A=1 B=8     |           | no  | 7 8            |
U37 | 15     | * w1                              | A B       | A=5 B=8     |           | no  | 7 8            |
U38 | 15     | * w1                              | A B       | A=6 B=8     |           | no  | 7 8            |
U39 | 15     | * w1                              | A B       | A=7 B=8     |           | no  | 7 8            |
U40 | 50     | * w1                              | A B       | A=10        |           | no  | 25 25          |
D1  | 9      |                                   | A B C     |             |           | no  | 3 3 3          |
D2  | 9      | A w1, B w2                        | A B C     |             |           | no  | 3 6 0          |
D3  | 9      | A w1 min4 max6, B w2 min4 max8    | A B C     |             |           | no  | 4 5 0          |
D4  | 4      | * w1                              | A B       |             |           | no  | 2 2            |
D5  | 6      | A w2, B w1                        | A B       |             |           | no  | 4 2            |
D6  | 6      | A w2 min3, B w1 min3              | A B       |             |           | no  | 3 3            |
D7  | 6      | * w1                              | A         |             |           | no  | 6              |
D8  | 10     | c1 w2 min2, c2 w3 min4            | c1 c2     |             |           | no  | 3 7            |
X1  | 10     | * w1                              | cluster1 cluster2 cluster3 | | | no  | 2 4 4 |
X2  | 10     | * w1                          | cluster1 cluster2 cluster3 | | | no  | 4 2 4 | | test-ns/test-deployment
X3  | 1      | * w1                              | cluster1 cluster2 cluster3 | | | no  | 0 1 0 | | ns/app
X4  | 7      | cluster1 w3, cluster2 w2, cluster3 w1 | cluster1 cluster2 cluster3 | | | no | 4 3 0 | | demo/web
X5  | 12     | * w1, A w0 min3                   | A B C     |             |           | no  | 3 4 5          |
X6  | 10     | * w1, A w5 max0                   | A B C     |             |           | no  | 0 5 5          |
X7  | 10     | A w1 min5 max3, B w1              | A B       |             |           | no  | 3 7            |
X8  | 10     | * w1                              | A B       |             | A=0       | no  | 0 10           |
X9  | 10     | * w1                              | A B       |             | A=0       | yes | 0 10           | A=5
X10 | 20     | * w1                              | A B       |             | A=4       | yes | 4 16           | A=6
X11 | 20     | * w1                              | A B       |             | A=4 B=4   | no  | 4 4            | A=6 B=6
X12 | 9      | * w1                              | A B       | A=3 B=3     |           | no  | 4 5            |
X13 | 9      | * w1                              | A B C     | A=4 B=5 C=0 |           | no  | 4 5 0          |
X14 | 9      | * w1                              | A B C     | A=4 B=5 C=0 |           | yes | 3 3 3          |
X15 | 12     | * w1                              | A B C     | A=5 B=4 C=0 |           | no  | 5 4 3          |
X16 | 30     | * w1                              | A B C     | A=5 B=4 C=0 |           | no  | 10 10 10       |
X17 | 6      | * w1                              | A B C     | A=5 B=4 C=0 |           | no  | 2 4 0          |
X18 | 9      | A w1, B w2                        | A B       | A=5 B=4     |           | no  | 5 4            |
X19 | 9      | A w1, B w2                        | A B       | A=5 B=4     |           | yes | 3 6            |
X20 | 0      | * w1                              | A B       |             |           | no  | 0 0            |
X21 | 10     | * w1                              |           |             |           | no  |                |
"""


def vectors() -> list[object]:
    rows = [[cell.strip() for cell in f"{line} | |".split("|")] for line in VECTORS.strip().splitlines()]
    return [pytest.param(row[1:10], id=row[0]) for row in rows]


@pytest.mark.parametrize("cells", vectors())
def test_replicas_are_divided_as_kubefed_divides_them(cells: list[str]) -> None:
    total, preferences, clusters, current, capacity, rebalance, plan, overflow, key = cells
    asked = division(
        int(total),
        preferences,
        clusters,
        current=current,
        capacity=capacity,
        rebalance="always" if rebalance == "yes" else "never",
        mode="kubefed",
        key=key,
    )
    divided = divide(asked)
    assert divided.plan == in_order(clusters, plan)
    assert divided.overflow == counts(overflow)


@pytest.mark.parametrize(
    ("cluster", "key", "value"),
    [
        ("A", "", 0x50C5D5E),
        ("E", "", 0x50C5D5A),
        ("cluster1", "test-ns/test-deployment", 0x5DD5175F),
        ("cluster2", "test-ns/test-deployment", 0xA22371C6),
        ("cluster3", "test-ns/test-deployment", 0x9CF023D5),
    ],
)
def test_ties_are_decided_by_the_hash_that_kubefed_takes(cluster: str, key: str, value: int) -> None:
    assert tie_rank(ClusterId(cluster), key) == (value, cluster)


@pytest.mark.parametrize(
    ("case", "divided", "reasons"),
    [
        (
            "limits, shares and who has no preference",
            divide(division(71, "A w9 max10, B w1, C w1 max21", "A B C D", capacity="C=10", mode="kubefed")),
            "MaxReplicas Weight Capacity NoPreference",
        ),
        (
            "minima, of which the last one is not covered, and a weight of 0",
            divide(division(5, "A w2 min3, B w1 min4, C w0", "A B C", mode="kubefed")),
            "MinReplicas TotalReplicas ZeroWeight",
        ),
        (
            "what runs stays where there is more than a share",
            divide(division(10, "* w1", "A B C", current="A=8", mode="kubefed")),
            "CurrentReplicas Weight Weight",
        ),
        (
            "nothing is left for a cluster that comes back",
            divide(division(9, "* w1", "A B C", current="A=4 B=5", mode="kubefed")),
            "CurrentReplicas CurrentReplicas TotalReplicas",
        ),
        (
            "more runs than fits",
            divide(division(9, "* w1", "A", current="A=9", capacity="A=4", mode="kubefed")),
            "Capacity",
        ),
    ],
)
def test_each_number_has_a_reason(case: str, divided: Divided, reasons: str) -> None:
    assert " ".join(divided.reasons[each] for each in sorted(divided.reasons)) == reasons, case


def test_the_rounds_tell_each_share_and_what_capped_it() -> None:
    asked = division(50, "* w1, A w1 min4", "A B C", current="B=20", capacity="C=10", mode="kubefed")
    divided = divide(asked, with_rounds=True)
    told = [
        (each.step, each.amount, [(s.cluster, s.share, s.capped_by, s.replicas) for s in each.shares])
        for each in divided.rounds
    ]
    assert told == [
        ("min", 50, [("A", 4, None, 4)]),
        ("current", 46, [("B", 20, None, 20)]),
        (
            "weight",
            26,
            [("C", 9, None, 9), ("B", 9, "CurrentReplicas", 20), ("A", 9, None, 13)],
        ),
        ("weight", 8, [("C", 3, "Capacity", 10), ("B", 3, "CurrentReplicas", 20), ("A", 3, None, 16)]),
        ("weight", 4, [("B", 2, "CurrentReplicas", 20), ("A", 2, None, 18)]),
        ("weight", 2, [("B", 1, "CurrentReplicas", 20), ("A", 1, None, 19)]),
        ("weight", 1, [("B", 1, "CurrentReplicas", 20), ("A", 1, None, 20)]),
    ]
    assert divided.plan == counts("A=20 B=20 C=10")


def test_gradual_rebalance_is_none_of_kubefed() -> None:
    with pytest.raises(DivisionError, match=r"gradual.*write never or always, or mode fair"):
        divide(division(9, "* w1", "A B", rebalance="gradual", mode="kubefed"))
