"""Exports Services where replicas behind them go: which change touches which namespace, then observe, plan, execute.

What is exported is decided in `mcs.services.followed_exports`. A Service follows only where it is federated itself, and
only replicas that a preference divides.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from mcs.controllers.clusters import ClusterCaches, Work, caches_of
from mcs.controllers.federation.clusters import FederatedType
from mcs.controllers.federation.workloads import PlannedWorkload, PreferenceOf, planned_workloads
from mcs.model.actions import Action
from mcs.model.multicluster import ServiceExport
from mcs.model.names import ClusterId, ServiceKey
from mcs.runtime.cache import Delta
from mcs.runtime.fleet import Fleet, Member
from mcs.services.followed_exports import ObservedReplicas, follows, plan_followed_exports

SOON = 1.0
"""Seconds in which changes of a namespace are taken together."""

FEDERATED_SERVICE = "FederatedService"


class FollowingController:
    """Keeps the exports that follow replicas; `types` are what is federated.

    Nothing is taken back until all that is federated `is_known`.
    """

    def __init__(
        self,
        fleet: Fleet[Work],
        types: Callable[[], Iterable[FederatedType]],
        preference_of: PreferenceOf,
        is_known: Callable[[], bool],
    ) -> None:
        self._fleet = fleet
        self._types = types
        self._preference_of = preference_of
        self._is_known = is_known
        self._namespaces: set[str] = set()
        self._woken = asyncio.Event()
        fleet.follow(self._engaged)

    def touch(self, namespace: str) -> None:
        """Something in this namespace changed: an export, a plan, or a federated object."""
        self._namespaces.add(namespace)
        self._woken.set()

    def type_started(self, type_: FederatedType) -> None:
        """A type runs from now on. Of Services the status matters, too: it tells when they are where they are to be."""
        if type_.config.spec.federated_type.kind == FEDERATED_SERVICE:
            type_.federated.listen(lambda delta: self.touch(delta.key.namespace))

    async def run(self) -> None:
        """Look at what was touched until cancelled."""
        while True:
            await self._woken.wait()
            await asyncio.sleep(SOON)
            self._woken.clear()
            if not self._is_known():
                self._woken.set()
                continue
            namespaces, self._namespaces = self._namespaces, set()
            for each in sorted(namespaces):
                self._look(each)

    async def reconcile(self, cluster: ClusterId, key: ServiceKey) -> None:
        """Make or take back the export of one Service in one cluster."""
        member = self._fleet.members.get(cluster)
        if member is None or member.executor is None or not self._is_known():
            return
        caches = caches_of(self._fleet.members)
        action = self._plan(key, self._planned(key.namespace), caches).get(cluster)
        if action is not None:
            await member.executor.execute((action,))

    def follows_to(self, cluster: ClusterId, key: ServiceKey) -> bool:
        """Whether a Service is exported in a cluster as soon as replicas of it are there: it is federated to it."""
        held = (each.present(cluster) for each in self._services())
        return any(each is not None and each.get(key) is not None for each in held)

    def _engaged(self, member: Member[Work]) -> None:
        caches = ClusterCaches.of(member.caches)
        caches.exports.listen(self._export_changed)
        member.on_seen(partial(self._seen, caches))

    def _seen(self, caches: ClusterCaches, _: ClusterId) -> None:
        for each in caches.exports:
            self.touch(each.metadata.namespace)

    def _export_changed(self, delta: Delta[ServiceExport]) -> None:
        """Only that an export comes or goes can make a difference."""
        if delta.old is None or delta.new is None:
            self.touch(delta.key.namespace)

    def _look(self, namespace: str) -> None:
        planned, caches = self._planned(namespace), caches_of(self._fleet.members)
        held = (each.exports.by("namespace", namespace) for each in caches.values())
        exports = [export for each in held for export in each]
        if not planned and not any(map(follows, exports)):
            return
        for key in sorted({export.key for export in exports}):
            for cluster in self._plan(key, planned, caches):
                self._fleet.members[cluster].queue.add(Work("followed-export", key))

    def _planned(self, namespace: str) -> list[PlannedWorkload]:
        return planned_workloads(self._types(), self._preference_of, namespace)

    def _plan(
        self, key: ServiceKey, planned: Iterable[PlannedWorkload], caches: Mapping[ClusterId, ClusterCaches]
    ) -> Mapping[ClusterId, Action]:
        members = self._fleet.members
        exports = {
            each: export for each, held in caches.items() if (export := held.exports.get(key)) is not None
        }
        selecting = [
            caches[each].services.get(key) for each, export in exports.items() if not follows(export)
        ]
        behind = [each for each in planned if any(map(each.is_behind, selecting))]
        wanted = frozenset[ClusterId]().union(*(each.clusters for each in behind))
        present = {each for each in wanted if self.follows_to(each, key)}
        return plan_followed_exports(
            ObservedReplicas(
                key=key,
                exports=exports,
                present=present,
                absent={
                    cluster
                    for cluster in exports
                    if behind and cluster not in wanted and all(each.is_seen(cluster) for each in behind)
                },
                unseen={
                    each for each, held in caches.items() if not members[each].is_seen or held.is_unknown(key)
                },
            )
        )

    def _services(self) -> Iterable[FederatedType]:
        return (each for each in self._types() if each.config.spec.federated_type.kind == FEDERATED_SERVICE)
