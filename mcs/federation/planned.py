"""What is planned for one federated object, as a value: the clusters that it is in, and the replicas there."""

from bisect import bisect_left
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from mcs.model.names import ClusterId

Clusters = tuple[ClusterId, ...]
"""In the order of their names."""


class InCluster(NamedTuple):
    """What one object is in one cluster. `replicas` is None for what has none; `overflow` comes on top."""

    is_placed: bool
    replicas: int | None = None
    overflow: int = 0


class ObjectPlan(Struct, frozen=True, kw_only=True):
    """Where an object is to be. `replicas` has one number for each of `placed`, None for a kind that has none.

    With `is_divided` they are those of a division. `unplaced` is how much of the total is in no cluster. `problem` says
    why the object, or its preference, has no effect or not all of it.
    """

    placed: Clusters = ()
    replicas: tuple[int, ...] | None = None
    overflow: Mapping[ClusterId, int] = {}
    unplaced: int = 0
    problem: str = ""
    is_divided: bool = False

    def in_cluster(self, cluster: ClusterId) -> InCluster:
        """What is planned for one cluster."""
        place = bisect_left(self.placed, cluster)
        if place == len(self.placed) or self.placed[place] != cluster:
            return InCluster(False)
        replicas = None if self.replicas is None else self.replicas[place]
        return InCluster(True, replicas, self.overflow.get(cluster, 0))

    @property
    def replicas_by_cluster(self) -> dict[ClusterId, int]:
        """The replicas of each cluster that it is in; empty for a kind that has none."""
        return dict(zip(self.placed, self.replicas or (), strict=self.replicas is not None))
