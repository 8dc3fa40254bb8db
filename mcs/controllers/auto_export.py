"""Exports the Services that a label selector selects: which change touches which, then observe, plan, execute."""

from functools import partial
from typing import Any

from mcs.controllers.clusters import ClusterCaches, Work
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.selectors import Selector
from mcs.runtime.cache import Delta
from mcs.runtime.fleet import Fleet, Member
from mcs.services.auto_export import ObservedService, plan_auto_export


class AutoExportController:
    """Reconciles the automatic exports of the members `targets`, None for all."""

    def __init__(
        self, fleet: Fleet[Work], selector: Selector, targets: frozenset[ClusterId] | None = None
    ) -> None:
        self._fleet = fleet
        self._selector = selector
        self._targets = targets
        fleet.follow(self._engaged)

    def _engaged(self, member: Member[Work]) -> None:
        if self._targets is None or member.cluster in self._targets:
            caches = ClusterCaches.of(member.caches)
            caches.services.listen(partial(self._service_touch, member))
            caches.exports.listen(partial(self._export_touch, member))
            member.on_seen(self._enqueue_all_of)

    async def reconcile(self, cluster: ClusterId, key: ServiceKey) -> None:
        """Make or take back the export of one Service."""
        member = self._fleet.members.get(cluster)
        if member is None or not member.is_seen or member.executor is None:
            return
        caches = ClusterCaches.of(member.caches)
        # What cannot be decoded, or is not here yet, may be selected, or exported by a user.
        is_malformed = key in caches.services.malformed or key in caches.exports.malformed
        if is_malformed or caches.services.awaited(key) is not None:
            return
        observed = ObservedService(cluster, key, caches.services.get(key), caches.exports.get(key))
        await member.executor.execute(plan_auto_export(observed, self._selector))

    def _service_touch(self, member: Member[Work], delta: Delta[Any]) -> None:
        if member.is_seen and self._concerns(delta):
            member.queue.add(Work("auto-export", delta.key))

    def _export_touch(self, member: Member[Work], delta: Delta[Any]) -> None:
        """Only that an export comes or goes can make a difference."""
        if member.is_seen and (delta.old is None or delta.new is None):
            member.queue.add(Work("auto-export", delta.key))

    def _concerns(self, delta: Delta[Any]) -> bool:
        """Most Services are none of our business, whatever becomes of them."""
        objects = [each for each in (delta.old, delta.new) if each is not None]
        return not objects or any(
            each.is_ours or self._selector.selects(each.metadata.labels) for each in objects
        )

    def _enqueue_all_of(self, cluster: ClusterId) -> None:
        member = self._fleet.members[cluster]
        caches, queue = ClusterCaches.of(member.caches), member.queue
        selected = {each.key for each in caches.services if self._selector.selects(each.metadata.labels)}
        for key in sorted(selected | {each.key for each in caches.exports if each.is_ours}):
            queue.add(Work("auto-export", key))
