"""What placements and preferences make of the clusters of a snapshot, each distinct one found once for all objects.

Time is left out: a cluster that is not ready counts as given up, as it will be once its grace is over and it is its
turn. Which plan follows for an object is decided in `plans`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from mcs.federation.fail_over import ObservedCluster, Stands, Terms, standings
from mcs.federation.placement import Gate, NotPlaced, Placed, Registered, chosen, within
from mcs.federation.planned import Clusters
from mcs.federation.replicas import ANY_CLUSTER
from mcs.federation.scheduling_preference import SchedulingPreference
from mcs.federation.snapshot import Snapshot
from mcs.model.federated import Placement
from mcs.model.names import ClusterId
from mcs.model.taints import Toleration

SELECTS_ALL = msgspec.convert({"clusterSelector": {}}, Placement)

_SINCE = datetime(1970, 1, 1, tzinfo=UTC)
_AT_LAST = datetime(9000, 1, 1, tzinfo=UTC)
"""When all graces, hold-downs and seconds of tolerations are over."""
_encoded = msgspec.json.Encoder().encode


class Candidates(NamedTuple):
    """The clusters among which replicas are divided; those of them that get nothing new; and those open to the object.

    What the division gives to others than `open_to` comes to nothing. None: all are.
    """

    clusters: Clusters
    keeping: Clusters
    open_to: Clusters | None


class Sites:
    """The clusters of a snapshot, and what was asked of them already; of `before`, whatever still holds."""

    def __init__(self, snapshot: Snapshot, before: "Sites | None" = None) -> None:
        self._clusters = snapshot.clusters
        self._registered: Registered = {name: each.labels for name, each in snapshot.clusters.items()}
        self._chosen: dict[bytes, Placed | NotPlaced] = {}
        self._placed: dict[tuple[bytes, bytes], Placed | NotPlaced] = {}
        self._stands: dict[bytes, Mapping[ClusterId, Stands]] = {}
        self._candidates: dict[tuple[bytes, bytes, bytes], tuple[Candidates, frozenset[str]]] = {}
        if before is not None and before._registered == self._registered:
            self._chosen, self._placed = dict(before._chosen), dict(before._placed)

    def place(self, placement: Placement, gate: Gate | None) -> Placed | NotPlaced:
        """As `placement.place`."""
        keys = _encoded(placement), _encoded(gate)
        found = self._placed.get(keys)
        if found is None:
            around = None if gate is None or gate.placement is None else self._choose(gate.placement)
            found = self._placed[keys] = within(self._choose(placement), gate, around)
        return found

    def _choose(self, placement: Placement) -> Placed | NotPlaced:
        key = _encoded(placement)
        found = self._chosen.get(key)
        if found is None:
            found = self._chosen[key] = chosen(placement, self._registered)
        return found

    def stands(self, tolerations: tuple[Toleration, ...]) -> Mapping[ClusterId, Stands]:
        """How each cluster stands for a workload, when all there was to wait for is over."""
        key = _encoded(tolerations)
        found = self._stands.get(key)
        if found is None:
            observed = (
                ObservedCluster(
                    cluster=name,
                    is_ready=each.is_ready,
                    since=_SINCE if each.is_ready or each.is_probed else None,
                    is_cordoned=each.is_cordoned,
                    is_drained=each.is_drained,
                    taints=each.taints,
                )
                for name, each in self._clusters.items()
            )
            found = self._stands[key] = standings(observed, tolerations, (), _AT_LAST, Terms()).of
        return found

    def candidates(self, placement: Placement, gate: Gate | None, asked: SchedulingPreference) -> Candidates:
        """The clusters that replicas are divided among; as in KubeFed, its namespace counts only with the selector."""
        selector = placement.cluster_selector if asked.intersects_with_selector else None
        keys = (
            _encoded((asked.intersects_with_selector, selector)),
            _encoded(gate),
            _encoded(asked.tolerations),
        )
        found = self._candidates.get(keys)
        if found is None:
            found = self._candidates[keys] = self._divided_among(selector, gate, asked)
        candidates, among = found
        if asked.mode == "kubefed" or not asked.preferences or ANY_CLUSTER in asked.preferences:
            return candidates
        named = tuple(sorted(ClusterId(name) for name in asked.preferences if name in among))
        return candidates._replace(
            clusters=named, keeping=tuple(each for each in candidates.keeping if each in asked.preferences)
        )

    def _divided_among(
        self, selector: object, gate: Gate | None, asked: SchedulingPreference
    ) -> tuple[Candidates, frozenset[str]]:
        own = msgspec.structs.replace(SELECTS_ALL, cluster_selector=selector)
        is_selected = asked.intersects_with_selector
        open_to = self.place(own if is_selected else SELECTS_ALL, gate)
        placed = open_to.clusters if isinstance(open_to, Placed) else ()
        stands = self.stands(asked.tolerations)
        clusters, keeping = [], []
        for cluster in placed if is_selected else sorted(self._clusters):
            part = stands[cluster].part
            if part in ("share", "keep"):
                clusters.append(cluster)
            if part == "keep":
                keeping.append(cluster)
        is_open = is_selected or len(placed) == len(self._clusters)
        candidates = Candidates(tuple(clusters), tuple(keeping), None if is_open else placed)
        return candidates, frozenset(clusters)
