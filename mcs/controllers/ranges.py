"""Watches the nodes of all members for pod ranges that overlap, and tells: by the log, Events on nodes and metrics."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

import structlog

from mcs.controllers.clusters import ClusterCaches, Work
from mcs.membership.ranges import Overlap, overlap_message, overlaps, pod_ranges
from mcs.model.actions import RecordEvent
from mcs.model.events import new_event
from mcs.model.meta import timestamp
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.registration import Node
from mcs.model.resources import NODES
from mcs.runtime.cache import Delta
from mcs.runtime.fleet import Fleet, Member

log = structlog.get_logger(__name__)

_WORK = Work("ranges", ServiceKey("", ""))
_EVENTS_NAMESPACE = "default"
"""Where Kubernetes keeps the Events of what has no namespace."""


class RangesController:
    """Tells the members `targets`, None for all, of their overlaps; `clock` dates the Events."""

    def __init__(
        self,
        fleet: Fleet[Work],
        clock: Callable[[], datetime],
        targets: frozenset[ClusterId] | None = None,
    ) -> None:
        self._fleet = fleet
        self._clock = clock
        self._targets = targets
        self._found: tuple[Overlap, ...] = ()
        self._is_current = False
        self._told: dict[ClusterId, frozenset[Overlap]] = {}
        fleet.follow(self._engaged, self._disengaged)

    @property
    def overlapping(self) -> Mapping[ClusterId, int]:
        """With how many others each member overlaps; a member whose ranges are not known is left out."""
        found = self._overlaps()
        return {
            cluster: sum(cluster in (each.cluster, each.other) for each in found)
            for cluster, ranges in self._ranges().items()
            if ranges
        }

    async def reconcile(self, cluster: ClusterId) -> None:
        """Tell the nodes of a cluster of overlaps that they have not been told of."""
        member = self._fleet.members.get(cluster)
        if member is None or not member.is_seen or member.executor is None:
            return
        own = frozenset(
            each if each.cluster == cluster else each.reversed
            for each in self._overlaps()
            if cluster in (each.cluster, each.other)
        )
        new = sorted(own - self._told.get(cluster, frozenset()))
        await member.executor.execute([self._event(member, each) for each in new])
        self._told[cluster] = own

    def _engaged(self, member: Member[Work]) -> None:
        ClusterCaches.of(member.caches).nodes.listen(partial(self._node_touches, member))
        member.on_seen(lambda _: self._look_again())

    def _disengaged(self, member: Member[Work]) -> None:
        self._told.pop(member.cluster, None)
        self._look_again()

    def _node_touches(self, member: Member[Work], delta: Delta[Node]) -> None:
        old, new = delta.old, delta.new
        if member.is_seen and (old is None or new is None or pod_ranges(old) != pod_ranges(new)):
            self._look_again()

    def _look_again(self) -> None:
        self._is_current = False
        for cluster, member in self._fleet.members.items():
            if member.is_seen and (self._targets is None or cluster in self._targets):
                member.queue.add(_WORK)

    def _overlaps(self) -> tuple[Overlap, ...]:
        if not self._is_current:
            before, self._found = self._found, overlaps(self._ranges())
            self._is_current = True
            for each in self._found:
                if each not in before:
                    log.warning(
                        "pod ranges overlap",
                        cluster=each.cluster,
                        range=each.range,
                        other=each.other,
                        other_range=each.other_range,
                    )
        return self._found

    def _ranges(self) -> dict[ClusterId, list[str]]:
        return {
            cluster: [str(each) for each in ClusterCaches.of(member.caches).nodes.values("pod range")]
            for cluster, member in sorted(self._fleet.members.items())
        }

    def _event(self, member: Member[Work], overlap: Overlap) -> RecordEvent:
        (node, *_) = ClusterCaches.of(member.caches).nodes.by("pod range", overlap.range)
        reference = NODES.reference(node.metadata)
        event = new_event(
            reference,
            "Warning",
            "PodRangesOverlap",
            overlap_message(overlap),
            timestamp(self._clock()),
            namespace=_EVENTS_NAMESPACE,
        )
        return RecordEvent(cluster=member.cluster, about=NODES, object=event)
