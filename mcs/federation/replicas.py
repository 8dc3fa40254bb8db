"""The division of replicas among clusters as values: what is asked, what comes out, and the words for why.

How they are divided is left to `mcs.federation.kubefed_division` and `fair_division`; which of the two, to `division`.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from mcs.model.names import ClusterId

Mode = Literal["kubefed", "fair"]
"""KubeFed's planner, to the last replica; or the one that keeps to the total and moves no more than it must."""

Rebalance = Literal["never", "gradual", "always"]
"""Whether replicas that run leave a cluster only because others should have them. KubeFed's false and true are
`never` and `always`."""

Reason = Literal[
    "NoPreference",
    "Weight",
    "MinReplicas",
    "MaxReplicas",
    "Capacity",
    "CurrentReplicas",
    "ZeroWeight",
    "TotalReplicas",
    "GradualRebalance",
]

REASONS: Mapping[Reason, str] = {
    "NoPreference": "no preference names it, and there is none for *",
    "Weight": "its share by weight",
    "MinReplicas": "its minimum",
    "MaxReplicas": "its maximum; its share would be more",
    "Capacity": "as many as fit; its share would be more",
    "CurrentReplicas": "as many as run there; replicas are not moved",
    "ZeroWeight": "its weight is 0, so nothing is added to its minimum and what runs there",
    "TotalReplicas": "the total is used up by others",
    "GradualRebalance": "on its way to its share, a few replicas at a time",
}
"""What each reason says of a cluster's number, to be read after it."""

Step = Literal["min", "current", "weight", "gradual", "overflow"]
"""What replicas are given for: minima, what runs already, weights, moves towards them, and beyond the capacity."""

ANY_CLUSTER = "*"

_FNV_OFFSET, _FNV_PRIME, _32_BITS = 0x811C9DC5, 0x01000193, 0xFFFFFFFF


class DivisionError(ValueError):
    """What is asked contradicts itself; the message names the field and says what to write."""


class ClusterPreference(Struct, frozen=True, kw_only=True):
    """What one cluster should have of the total, as KubeFed's ReplicaSchedulingPreference says it.

    `max_replicas` None is without limit. A weight is relative to those of the other clusters.
    """

    min_replicas: int = 0
    max_replicas: int | None = None
    weight: int = 0


_EQUAL_WEIGHTS: Mapping[str, ClusterPreference] = {ANY_CLUSTER: ClusterPreference(weight=1)}


class Division(Struct, frozen=True, kw_only=True):
    """`total` replicas that are to be divided.

    `key` is `namespace/name` of the workload; with the name of a cluster it decides ties. `preferences` are those of
    clusters by name, and of all others under `*`; without any, all weigh the same. `clusters` are the candidates, in
    any order: those that are ready. `current` is how many replicas each has, `capacity` how many it can run at most,
    where that is known; neither is below 0. `moves` is how many replicas one division with gradual rebalance may move:
    whoever divides once an interval says 0 in between.
    """

    total: int
    clusters: Iterable[ClusterId]
    key: str = ""
    preferences: Mapping[str, ClusterPreference] = {}
    current: Mapping[ClusterId, int] = {}
    capacity: Mapping[ClusterId, int] = {}
    rebalance: Rebalance = "never"
    moves: int = 1
    mode: Mode = "kubefed"

    @property
    def candidates(self) -> list[ClusterId]:
        """The clusters, sorted by name, each once."""
        return sorted(set(self.clusters))

    def preference_of(self, cluster: ClusterId) -> ClusterPreference | None:
        """The cluster's own preference, else that of `*`; None when there is neither: it has no part."""
        preferences = self.preferences or _EQUAL_WEIGHTS
        return preferences.get(cluster, preferences.get(ANY_CLUSTER))


class Share(Struct, frozen=True, kw_only=True):
    """What one round computed for a cluster.

    `share` is before limits: in mode `kubefed` what the round adds, in mode `fair` what the cluster would have in all.
    `capped_by` is what made it less, or more. `replicas` is what the cluster is sure of after the round.
    """

    cluster: ClusterId
    share: float
    capped_by: Reason | None = None
    replicas: int


class Round(Struct, frozen=True, kw_only=True):
    """One round of a division. `amount` is how many replicas `shares` divide."""

    step: Step
    amount: int
    shares: tuple[Share, ...]


class Divided(Struct, frozen=True, kw_only=True):
    """How replicas are divided.

    `plan` and `reasons` have every candidate. `overflow` is what a full cluster is to be asked for besides, so that it
    starts there as soon as there is room; clusters without are left out. `unplaced` is how much of the total is not in
    `plan`. `rounds` tells how it came about, when that was asked for.
    """

    plan: Mapping[ClusterId, int]
    overflow: Mapping[ClusterId, int]
    reasons: Mapping[ClusterId, Reason]
    unplaced: int
    rounds: tuple[Round, ...] = ()


def tie_rank(cluster: ClusterId, key: str) -> tuple[int, str]:
    """Who comes first of clusters that are otherwise equal: the lowest; it differs from one workload to the next.

    FNV-1, 32 bits, of the names one after the other (KubeFed's planner); the name decides should two hashes be equal.
    """
    return _hashed(_hash_of(cluster), key), cluster


@lru_cache(maxsize=4096)
def _hash_of(cluster: ClusterId) -> int:
    """Kept, since the same clusters are asked about for one workload after the other."""
    return _hashed(_FNV_OFFSET, cluster)


def _hashed(value: int, text: str) -> int:
    for byte in text.encode(errors="surrogatepass"):
        value = (value * _FNV_PRIME & _32_BITS) ^ byte
    return value


def check(division: Division) -> None:
    """Raises DivisionError for what cannot be meant. As KubeFed, its mode takes a minimum above the maximum."""
    numbers = [("total", "", division.total), ("moves", "", division.moves)]
    for name, preference in division.preferences.items():
        numbers += (
            ("weight", name, preference.weight),
            ("minReplicas", name, preference.min_replicas),
            ("maxReplicas", name, preference.max_replicas or 0),
        )
    numbers += [("current", *pair) for pair in division.current.items()]
    numbers += [("capacity", *pair) for pair in division.capacity.items()]
    for what, name, number in numbers:
        if number < 0:
            raise DivisionError(f"{what}{name and f' of {name}'} is {number}; write 0 or more")
    if division.mode == "fair":
        for name, preference in division.preferences.items():
            if preference.max_replicas is not None and preference.min_replicas > preference.max_replicas:
                raise DivisionError(
                    f"minReplicas of {name} is {preference.min_replicas} and its maxReplicas "
                    f"{preference.max_replicas}; write a minimum that is not above the maximum"
                )
    elif division.rebalance == "gradual":
        raise DivisionError(
            "rebalance is gradual, which mode kubefed does not know; write never or always, or mode fair"
        )
