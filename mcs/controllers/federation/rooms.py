"""What members have room for: their Nodes and Pods, reflected only where a preference asks for that.

The Pods of a cluster are many. Of each only what says how much it takes up and whose it is is decoded, and what all of
them take up is counted as they come and go instead of anew for each workload. What fits is decided in
`mcs.federation.capacity`.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from mcs.controllers.federation.clusters import FederatedClusters
from mcs.federation.capacity import Footprint, Needs, Used, fits, footprint_of, takes_up
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.pods import HOSTS, PODS, Pod
from mcs.runtime.cache import Cache, Delta
from mcs.runtime.demand import Reflected
from mcs.runtime.fleet import Fleet, Member

PATIENCE = 10.0
"""Seconds that a plan waits for what a member that was only just connected to has."""

_NAMESPACE = "namespace"


def _namespace_of(pod: Pod) -> Iterable[str]:
    return (pod.metadata.namespace,)


class Room:
    """The Nodes and Pods of one cluster."""

    def __init__(self, member: Member[ServiceKey], changed: Callable[[], None]) -> None:
        self.member = member
        self._began = asyncio.get_running_loop().time()
        self._hosts: Cache[Any] = member.caches[HOSTS.plural]
        self._pods: Cache[Pod] = member.caches[PODS.plural]
        self._used: dict[str, Used] = {}
        self._changed = changed
        self._pods.listen(self._count)
        self._hosts.listen(lambda _: changed())
        member.on_seen(lambda _: changed())

    @property
    def waits(self) -> float:
        """For how many seconds more to wait for the first complete list; 0 when it is there or will not be."""
        if self.member.is_seen or self.member.reason:
            return 0.0
        return max(0.0, self._began + PATIENCE - asyncio.get_running_loop().time())

    def more(self, needs: Needs) -> int | None:
        """How many more of these pods fit; None where Nodes or Pods cannot be seen."""
        if not (self._hosts.is_synced and self._pods.is_synced):
            return None
        return fits(needs, self._hosts, self._used)

    def pods_of(self, namespace: str, labels: Mapping[str, str]) -> list[Pod] | None:
        """The pods with these labels; None where Pods cannot be seen."""
        if not self._pods.is_synced:
            return None
        return [
            each
            for each in self._pods.by(_NAMESPACE, namespace)
            if labels.items() <= each.metadata.labels.items()
        ]

    def _count(self, delta: Delta[Pod]) -> None:
        for pod, times in ((delta.old, -1), (delta.new, 1)):
            if pod is not None and takes_up(pod):
                used = self._used.get(pod.spec.node_name, Used()).with_pod(_footprint(pod), times)
                if used.pods:
                    self._used[pod.spec.node_name] = used
                else:
                    del self._used[pod.spec.node_name]
        self._changed()


def _footprint(pod: Pod) -> Footprint:
    """No API server holds a pod with an amount that is none; one that lies has at most its place."""
    try:
        return footprint_of(pod.spec)
    except ValueError:
        return Footprint({})


class Rooms:
    """Those of all clusters that anybody asks about. `changed` is told which cluster has another room than before."""

    def __init__(self, clusters: FederatedClusters, changed: Callable[[ClusterId], None]) -> None:
        self.fleet: Fleet[ServiceKey] = Fleet()
        self._clusters = clusters
        self._changed = changed
        self._rooms: dict[ClusterId, Room] = {}

    def of(self, cluster: ClusterId) -> Room:
        """The room of a cluster, which is reflected from now on."""
        room = self._rooms.get(cluster)
        if room is None:
            reflected = [
                Reflected(HOSTS, may_be_forbidden=True),
                Reflected(PODS, {_NAMESPACE: _namespace_of}, may_be_forbidden=True),
            ]
            member: Member[ServiceKey] = Member(cluster, self._clusters.opener(cluster), reflected)
            room = self._rooms[cluster] = Room(member, partial(self._changed, cluster))
            self.fleet.engage(member)
        return room

    def keep_only(self, needed: Collection[ClusterId]) -> None:
        """Nobody asks about other clusters any more."""
        for cluster in self._rooms.keys() - needed:
            self.forget(cluster)

    def forget(self, cluster: ClusterId) -> None:
        """The cluster has gone, or nobody asks about it."""
        if self._rooms.pop(cluster, None) is not None:
            self.fleet.disengage(cluster)

    def reconnect(self, cluster: ClusterId) -> None:
        """The cluster is reached in another way."""
        if (room := self._rooms.get(cluster)) is not None:
            room.member.reconnect(self._clusters.opener(cluster))
