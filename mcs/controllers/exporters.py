"""Which members export a service, and whose part in it is known, kept up as caches change.

So a plan looks at those who take part, however many members there are: with a hundred, to ask each for each service
took half of the time. What the parts come to is decided in `mcs.services`.
"""

from functools import partial
from typing import Any

from mcs.controllers.clusters import ClusterCaches, Work
from mcs.model.multicluster import ServiceExport
from mcs.model.names import ClusterId, ServiceKey
from mcs.runtime.cache import Delta
from mcs.runtime.fleet import Fleet, Member


class Exporting:
    """What the caches of all members of a fleet come to, told by service.

    Listens to them before whoever follows the fleet after it, so that these find it up to date.
    """

    def __init__(self, fleet: Fleet[Work]) -> None:
        self._fleet = fleet
        self._caches: dict[ClusterId, ClusterCaches] = {}
        self._exporters: dict[ServiceKey, set[ClusterId]] = {}
        self._unseen: set[ClusterId] = set()
        self._seen: frozenset[ClusterId] = frozenset()
        self._unclear: set[ClusterId] = set()
        """Where something cannot be decoded, or is not here yet."""
        fleet.follow(self._engaged, self._disengaged)

    def seen(self, key: ServiceKey) -> frozenset[ClusterId]:
        """The clusters whose part in the service is known; of one that has left it is known that it has none."""
        members = self._fleet.members
        if come := {cluster for cluster in self._unseen if members[cluster].is_seen}:
            self._unseen -= come
            self._seen |= come
        unclear = {cluster for cluster in self._unclear if self._caches[cluster].is_unknown(key)}
        return self._fleet.left | (self._seen - unclear if unclear else self._seen)

    def exporters(self, key: ServiceKey) -> list[ClusterId]:
        """The members that are known to export the service, sorted."""
        return sorted(self._exporters.get(key, ()))

    def _engaged(self, member: Member[Work]) -> None:
        cluster = member.cluster
        caches = self._caches[cluster] = ClusterCaches.of(member.caches)
        self._unseen.add(cluster)
        for export in caches.exports:
            self._exporters.setdefault(export.key, set()).add(cluster)
        caches.exports.listen(partial(self._export_changed, cluster, caches))
        self._look_for_unknown(cluster, caches)
        for each in (caches.exports, caches.services, caches.slices):
            each.listen(partial(self._changed, cluster, caches))

    def _disengaged(self, member: Member[Work]) -> None:
        cluster = member.cluster
        for export in self._caches.pop(cluster).exports:
            self._withdraw(cluster, export.key)
        self._unseen.discard(cluster)
        self._seen -= {cluster}
        self._unclear.discard(cluster)

    def _export_changed(self, cluster: ClusterId, caches: ClusterCaches, delta: Delta[ServiceExport]) -> None:
        # The reflectors of a member that has just been disengaged may still bring something.
        if self._caches.get(cluster) is not caches:
            return
        if delta.new is not None:
            self._exporters.setdefault(delta.key, set()).add(cluster)
        elif delta.old is not None:
            self._withdraw(cluster, delta.key)

    def _withdraw(self, cluster: ClusterId, key: ServiceKey) -> None:
        exporters = self._exporters[key]
        exporters.discard(cluster)
        if not exporters:
            del self._exporters[key]

    def _changed(self, cluster: ClusterId, caches: ClusterCaches, delta: Delta[Any]) -> None:
        # What appears may be an export whose Service was set aside, or tell of what is malformed or has been answered.
        if delta.old is None and self._caches.get(cluster) is caches:
            self._look_for_unknown(cluster, caches)

    def _look_for_unknown(self, cluster: ClusterId, caches: ClusterCaches) -> None:
        is_malformed = caches.exports.malformed or caches.services.malformed or caches.slices.malformed
        if is_malformed or caches.services.is_awaiting or caches.slices.is_awaiting:
            self._unclear.add(cluster)
        else:
            self._unclear.discard(cluster)
