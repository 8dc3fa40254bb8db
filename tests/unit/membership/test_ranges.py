"""Which members have pod ranges that overlap."""

from ipaddress import ip_network
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcs.membership.ranges import Overlap, overlap_message, overlaps, pod_ranges
from mcs.model.names import ClusterId
from mcs.model.registration import Node, NodeSpec

EU, US, ASIA = ClusterId("eu"), ClusterId("us"), ClusterId("asia")


@pytest.mark.parametrize(
    ("case", "ranges", "found"),
    [
        ("nobody tells any", {EU: (), US: ()}, ()),
        ("one does", {EU: ("10.0.0.0/8",), US: ()}, ()),
        ("side by side", {EU: ("10.244.0.0/24",), US: ("10.244.1.0/24",)}, ()),
        (
            "the same",
            {EU: ("10.244.0.0/24",), US: ("10.244.0.0/24",)},
            ("eu 10.244.0.0/24 us 10.244.0.0/24",),
        ),
        (
            "one in the other",
            {EU: ("10.244.7.0/24",), US: ("10.244.0.0/16",)},
            ("eu 10.244.7.0/24 us 10.244.0.0/16",),
        ),
        (
            "the first of several",
            {EU: ("10.2.0.0/24", "10.1.0.0/24"), US: ("10.0.0.0/8",)},
            ("eu 10.1.0.0/24 us 10.0.0.0/8",),
        ),
        (
            "within one cluster it is its own affair",
            {EU: ("10.0.0.0/8", "10.1.0.0/16"), US: ("11.0.0.0/8",)},
            (),
        ),
        ("IPv6", {EU: ("fd00:1::/64",), US: ("fd00::/16",)}, ("eu fd00:1::/64 us fd00::/16",)),
        ("the families are apart", {EU: ("::/0",), US: ("10.0.0.0/8",)}, ()),
        ("what is no range counts for nothing", {EU: ("x", "10.0.0.0"), US: ("", "10.0.0.0/33")}, ()),
        (
            "host bits do not matter",
            {EU: ("10.0.0.9/24",), US: ("10.0.0.0/25",)},
            ("eu 10.0.0.9/24 us 10.0.0.0/25",),
        ),
        (
            "each two are told",
            {EU: ("10.0.0.0/24",), US: ("10.0.0.0/16",), ASIA: ("10.0.0.0/8",)},
            (
                "asia 10.0.0.0/8 eu 10.0.0.0/24",
                "asia 10.0.0.0/8 us 10.0.0.0/16",
                "eu 10.0.0.0/24 us 10.0.0.0/16",
            ),
        ),
    ],
)
def test_overlaps(case: str, ranges: dict[ClusterId, tuple[str, ...]], found: tuple[str, ...]) -> None:
    told = tuple(f"{each.cluster} {each.range} {each.other} {each.other_range}" for each in overlaps(ranges))
    assert told == found, case


RANGES = st.builds(
    lambda bits, address: f"{ip_network((address << 24, bits), strict=False)}",
    st.integers(0, 12),
    st.integers(0, 255),
)


@given(st.dictionaries(st.sampled_from([EU, US, ASIA]), st.sets(RANGES, max_size=6)))
def test_two_members_overlap_when_two_of_their_ranges_do(ranges: dict[ClusterId, set[str]]) -> None:
    found = overlaps(ranges)

    def do_overlap(one: ClusterId, two: ClusterId) -> bool:
        return any(ip_network(a).overlaps(ip_network(b)) for a in ranges[one] for b in ranges[two])

    assert sorted((each.cluster, each.other) for each in found) == [
        pair for pair in combinations(sorted(ranges), 2) if do_overlap(*pair)
    ]
    for each in found:
        assert each.range in ranges[each.cluster]
        assert each.other_range in ranges[each.other]
        assert ip_network(each.range).overlaps(ip_network(each.other_range))


def test_a_node_tells_both_its_ranges_or_its_only_one() -> None:
    both = NodeSpec(pod_cidr="10.0.0.0/24", pod_cidrs=("10.0.0.0/24", "fd00::/64"))
    assert pod_ranges(Node(spec=both)) == ("10.0.0.0/24", "fd00::/64")
    assert pod_ranges(Node(spec=NodeSpec(pod_cidr="10.0.0.0/24"))) == ("10.0.0.0/24",)
    assert pod_ranges(Node()) == ()


def test_the_message_names_the_other_and_what_to_do() -> None:
    message = overlap_message(Overlap(EU, "10.1.0.0/24", US, "10.0.0.0/8").reversed)
    assert message.startswith('Pod range 10.0.0.0/8 overlaps 10.1.0.0/24 of cluster "eu"')
    assert message.endswith("give each member of the clusterset pod ranges of its own.")
