"""Pod ranges of members that overlap: in a flat network, an address must mean one pod.

What members use is read from their nodes (`spec.podCIDRs`). Where nodes tell none, as with some network plugins, or may
not be read, nothing is known and nothing is said.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network

from msgspec import Struct

from mcs.model.names import ClusterId
from mcs.model.registration import Node

_Network = IPv4Network | IPv6Network


class Overlap(Struct, frozen=True, order=True):
    """Two members of which pod ranges overlap, with the first ranges that do."""

    cluster: ClusterId
    range: str
    other: ClusterId
    other_range: str

    @property
    def reversed(self) -> "Overlap":
        """The same, said of the other one."""
        return Overlap(self.other, self.other_range, self.cluster, self.range)


def pod_ranges(node: Node) -> tuple[str, ...]:
    """The pod ranges of a node, CIDRs; none where it does not tell them."""
    spec = node.spec
    return spec.pod_cidrs or ((spec.pod_cidr,) if spec.pod_cidr else ())


def overlaps(ranges: Mapping[ClusterId, Iterable[str]]) -> tuple[Overlap, ...]:
    """One for each two members that overlap, sorted. What is no CIDR counts for nothing."""
    placed = sorted(
        (
            (network, text, cluster)
            for cluster, texts in ranges.items()
            for text in set(texts)
            if (network := _network(text)) is not None
        ),
        key=lambda each: (each[0].version, int(each[0].network_address), each[0].prefixlen, each[2], each[1]),
    )
    found: dict[frozenset[ClusterId], Overlap] = {}
    # Of two CIDRs that overlap one holds the other, so in this order those that hold the next one form a stack.
    holding: list[tuple[_Network, str, ClusterId]] = []
    for network, text, cluster in placed:
        while holding and not _holds(holding[-1][0], network):
            holding.pop()
        for _, other_text, other in holding:
            if other != cluster:
                overlap = Overlap(cluster, text, other, other_text)
                found.setdefault(
                    frozenset({cluster, other}), overlap if cluster < other else overlap.reversed
                )
        holding.append((network, text, cluster))
    return tuple(sorted(found.values()))


def overlap_message(overlap: Overlap) -> str:
    """What is wrong, said of the first member, and what to do."""
    return (
        f'Pod range {overlap.range} overlaps {overlap.other_range} of cluster "{overlap.other}": an address there may '
        "mean a pod in either; give each member of the clusterset pod ranges of its own."
    )


@lru_cache(maxsize=1 << 16)
def _network(text: str) -> _Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def _holds(outer: _Network, inner: _Network) -> bool:
    return outer.version == inner.version and inner.network_address in outer
