"""Keeps the members equal to the federated objects of one type: which change makes which work, and who does it.

The work on an object is in `objects`, that in a cluster in `in_cluster`. Each type has members of its own, so that
one without rights for a kind, or without the kind, disturbs no other type.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any

from mcs.controllers.federation.clusters import FederatedClusters, OpenClient, TargetClient
from mcs.controllers.federation.in_cluster import ClusterWork
from mcs.controllers.federation.objects import ObjectWork
from mcs.controllers.federation.picture import FIGHT, PATIENCE, Kinds, Picture, SyncSettings, now
from mcs.membership.recording import HOST
from mcs.model.federated import MANAGED, MANAGED_LABEL, FederatedObject, FederatedTypeConfig
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.targets import TargetObject
from mcs.runtime.cache import Cache, Delta
from mcs.runtime.demand import Reflected
from mcs.runtime.fleet import Fleet, Member
from mcs.runtime.leader import LeaderElector, while_leading

_NAMESPACE = "namespace"


class SyncedType:
    """One type that is propagated (`FederatedType`). With a `leader` it writes only while this process leads."""

    def __init__(
        self,
        config: FederatedTypeConfig,
        settings: SyncSettings,
        open_host: OpenClient,
        clusters: FederatedClusters,
        clock: Callable[[], datetime],
        leader: LeaderElector | None = None,
    ) -> None:
        self._config = config
        self._clusters = clusters
        self._leader = leader
        kinds = self._kinds = Kinds(config, settings)
        reflected = [
            Reflected(kinds.federated, {_NAMESPACE: lambda each: (each.metadata.namespace,)}),
            Reflected(kinds.ledger),
        ]
        if kinds.gate is not None:
            reflected.append(Reflected(kinds.gate, may_be_forbidden=settings.scope == "Namespaced"))
        self._host: Member[ServiceKey] = Member(HOST, self._remembered(HOST, open_host), reflected)
        self._host_fleet = Fleet([self._host])
        self._picture = Picture(kinds, settings, self._host, clusters, clock)
        self._objects = ObjectWork(self._picture)
        self._in_clusters = ClusterWork(self._picture)
        self._labels: dict[ClusterId, dict[str, str]] = {}
        self._ready: frozenset[ClusterId] = frozenset()
        self._listen()

    @property
    def config(self) -> FederatedTypeConfig:
        """Its configuration."""
        return self._config

    @property
    def host(self) -> Member[ServiceKey]:
        """The host cluster, with the caches of this type and the executor that writes there."""
        return self._host

    @property
    def fleet(self) -> Fleet[ServiceKey]:
        """The members, as far as this type goes."""
        return self._picture.fleet

    @property
    def federated(self) -> Cache[FederatedObject]:
        """The federated objects."""
        return self._picture.federated

    def present(self, cluster: ClusterId) -> Cache[TargetObject] | None:
        """Our objects in a member, as they were seen last; None for a cluster that is none."""
        return self._picture.cache_of(cluster) if cluster in self.fleet.members else None

    def is_seen(self, cluster: ClusterId) -> bool:
        """Whether what `present` lacks is not there: its first list was complete."""
        return cluster in self.fleet.seen

    async def run(self) -> None:
        """Propagate until cancelled."""
        end = self._clusters.follow(
            self._engaged, self._disengaged, self._reconnected, self._clusters_changed
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(
                    self._host_fleet.run(self._reconcile_object), name=f"{self._kinds.target}/host"
                )
                tasks.create_task(
                    self.fleet.run(self._reconcile_in_cluster), name=f"{self._kinds.target}/members"
                )
        finally:
            end()
            for member in (self._host, *self.fleet.members.values()):
                member.queue.drop_delayed()

    async def _reconcile_object(self, _: ClusterId, key: ServiceKey) -> None:
        await while_leading(self._leader, partial(self._objects.reconcile, key))

    async def _reconcile_in_cluster(self, cluster: ClusterId, key: ServiceKey) -> None:
        await while_leading(self._leader, partial(self._in_clusters.reconcile, cluster, key))

    def _remembered(self, cluster: ClusterId, open_client: OpenClient) -> OpenClient:
        """What opens a connection that the work uses while it is open."""

        @asynccontextmanager
        async def opened() -> AsyncIterator[TargetClient]:
            async with open_client() as client:
                self._picture.clients[cluster] = client
                try:
                    yield client
                finally:
                    self._picture.clients.pop(cluster, None)

        return opened

    # Which change makes which work.

    def _listen(self) -> None:
        self.federated.listen(self._federated_changed)
        self._host.caches[self._kinds.ledger.plural].listen(self._ledger_changed)
        if self._kinds.gate is not None:
            self._host.caches[self._kinds.gate.plural].listen(self._gate_changed)
        self._host.on_seen(lambda _: self._plan_all())

    def _plan_all(self) -> None:
        """Look at every object again."""
        ledgers = (self._kinds.ledger_key(each) for each in self._host.caches[self._kinds.ledger.plural])
        keys = {each.key for each in self.federated} | {key for key in ledgers if key is not None}
        for cluster in self.fleet.members:
            keys |= self._keys_in(cluster)
        for key in sorted(keys):
            self._host.queue.add(key)

    def _keys_in(self, cluster: ClusterId) -> set[ServiceKey]:
        return {self._kinds.federated_key(each.key) for each in self._picture.cache_of(cluster)}

    def _federated_changed(self, delta: Delta[Any]) -> None:
        self._host.queue.add(delta.key)

    def _gate_changed(self, delta: Delta[Any]) -> None:
        if delta.key.name == delta.key.namespace:
            for each in self.federated.by(_NAMESPACE, delta.key.namespace):
                self._host.queue.add(each.key)

    def _ledger_changed(self, delta: Delta[Any]) -> None:
        """Nobody else writes ledgers; one that goes, or cannot be read any more, is looked after."""
        if delta.new is None and delta.old is not None and (key := self._kinds.ledger_key(delta.old)):
            self._host.queue.add(key)

    def _target_changed(self, cluster: ClusterId, delta: Delta[Any]) -> None:
        """An object of ours in a member is another than it was: see whether it still is as it should be."""
        member = self.fleet.members[cluster]
        if self._picture.is_writing or not member.is_seen or not self._host.is_seen:
            return
        key = self._kinds.federated_key(delta.key)
        progress = self._picture.objects.get(key)
        if progress is None or progress.plan is None:
            self._host.queue.add(key)
        elif _is_as_it_was(delta):
            # Its status has changed, and may do so often.
            self._host.queue.add_after(key, PATIENCE)
        else:
            times, when = progress.undone.get(cluster, (0, 0.0))
            is_fight = delta.new is not None and times > 0 and now() - when < FIGHT
            self._picture.ask(key, cluster, min(2.0 ** (times - 1), FIGHT) if is_fight else 0.0)

    # Clusters.

    def _engaged(self, cluster: ClusterId) -> None:
        selector = f"{MANAGED_LABEL}={MANAGED}"
        member: Member[ServiceKey] = Member(
            cluster,
            self._remembered(cluster, self._clusters.opener(cluster)),
            [Reflected(self._kinds.target, label_selector=selector)],
        )
        member.caches[self._kinds.target.plural].listen(partial(self._target_changed, cluster))
        member.on_seen(self._look_again_at)
        member.on_health(partial(self._look_again_at_unseen, cluster))
        self.fleet.engage(member)
        self._clusters_changed()

    def _disengaged(self, cluster: ClusterId) -> None:
        self.fleet.disengage(cluster)
        self._clusters_changed()

    def _reconnected(self, cluster: ClusterId) -> None:
        if (member := self.fleet.members.get(cluster)) is not None:
            member.reconnect(self._remembered(cluster, self._clusters.opener(cluster)))

    def _clusters_changed(self) -> None:
        """Labels, readiness, or which clusters there are have changed."""
        labels = {cluster: dict(each) for cluster, each in self._clusters.registered.items()}
        ready = frozenset(cluster for cluster in labels if self._clusters.is_ready(cluster))
        returned, self._ready = (ready - self._ready, ready ^ self._ready), ready
        for cluster in returned[0]:
            self._picture.held_until[cluster] = now() + self._picture.settings.hold_down
        for cluster in returned[1]:
            self._look_again_at(cluster)
        if labels != self._labels:
            self._labels = labels
            self._plan_all()

    def _look_again_at(self, cluster: ClusterId) -> None:
        """Something has changed in this cluster that concerns every object."""
        if cluster not in self.fleet.members:
            return
        keys = {each.key for each in self.federated} | self._keys_in(cluster) | self._picture.objects.keys()
        for key in sorted(keys):
            self._picture.progress_of(key).dirty.add(cluster)
            self._host.queue.add(key)

    def _look_again_at_unseen(self, cluster: ClusterId) -> None:
        """That a member cannot be read is told; what it does once it can be is `on_seen`."""
        member = self.fleet.members.get(cluster)
        if member is not None and not member.is_seen and member.reason:
            self._look_again_at(cluster)


def _is_as_it_was(delta: Delta[Any]) -> bool:
    """Whether only the status of an object has changed, as far as a generation tells."""
    if delta.old is None or delta.new is None or not delta.new.metadata.generation:
        return False
    old, new = delta.old.metadata, delta.new.metadata
    return (old.generation, old.labels, old.annotations, old.deletion_timestamp) == (
        new.generation,
        new.labels,
        new.annotations,
        new.deletion_timestamp,
    )
