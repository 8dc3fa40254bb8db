"""Carries out ReplicaSchedulingPreferences: observes their workloads in all clusters, plans, writes the numbers.

A number is written into the federated object, never into a member: that is propagation. A plan is made anew when a
preference, its federated object, its objects in members, a registration or the room of a cluster changes, and when
time alone changes it. What it is, is decided in `mcs.federation.preference_plan`.
"""

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial
from typing import Any
from weakref import WeakSet

from msgspec.structs import replace

from mcs.controllers.federation.clusters import FederatedClusters, FederatedType, OpenClient
from mcs.controllers.federation.observing import (
    Drains,
    FederatedTypes,
    ObservedWorkload,
    observed_clusters,
    selected_by,
)
from mcs.controllers.federation.picture import FEDERATED_NAMESPACES
from mcs.controllers.federation.rooms import Rooms
from mcs.federation.configuration import Settings
from mcs.federation.fail_over import OUT, Standings, Terms, standings
from mcs.federation.placement import Gate, NotPlaced
from mcs.federation.preference_plan import (
    ObservedPreference,
    PlannedPreference,
    Problem,
    SeenCluster,
    plan_preference,
    with_problem,
)
from mcs.federation.replica_overrides import changes_of
from mcs.federation.replicas import DivisionError
from mcs.federation.scheduling_preference import SchedulingPreference, read_scheduling_preference
from mcs.membership.recording import HOST
from mcs.model.actions import Apply, Patch
from mcs.model.federated import FederatedObject, federated_resource
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.scheduling import (
    REPLICA_SCHEDULING_PREFERENCES,
    PreferenceStatus,
    ReplicaSchedulingPreference,
)
from mcs.runtime.cache import Cache, Delta
from mcs.runtime.demand import Reflected
from mcs.runtime.fleet import CRD_MISSING, Fleet, Member
from mcs.runtime.leader import LeaderElector, while_leading

SOON = 1.0
"""Seconds after which a plan heeds what changed in a member: its objects change often while pods start."""
ROOM_PERIOD = 10.0
"""Seconds after which it heeds that the room of a cluster changed, with every pod of whomever."""
AGAIN = 5.0
"""Seconds after which is looked again for what is not there yet."""


class _AgainError(Exception):
    """Something is not seen yet that will be: plan again after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class PreferencesController:
    """Plans every preference in the host. With a `leader` it writes only while this process leads."""

    def __init__(
        self,
        types: FederatedTypes,
        clusters: FederatedClusters,
        open_host: OpenClient,
        settings: Settings,
        clock: Callable[[], datetime],
        drains: Drains,
        leader: LeaderElector | None = None,
    ) -> None:
        self._types = types
        self._drains = drains
        self._clusters = clusters
        self._is_gated = settings.scope == "Cluster"
        self._terms = Terms(grace=settings.unavailable_delay, hold_down=settings.available_delay)
        self._clock = clock
        self._leader = leader
        scope = settings.system_namespace if settings.scope == "Namespaced" else ""
        resource = replace(REPLICA_SCHEDULING_PREFERENCES, scope=scope)
        self._host: Member[ServiceKey] = Member(HOST, open_host, [Reflected(resource)])
        self._host_fleet = Fleet([self._host])
        self._preferences: Cache[ReplicaSchedulingPreference] = self._host.caches[resource.plural]
        self._rooms = Rooms(clusters, self._room_changed)
        self._asking: dict[ServiceKey, frozenset[ClusterId]] = {}
        """The clusters whose room each preference asks about."""
        self._heard: WeakSet[Cache[Any]] = WeakSet()
        """The caches of types whose changes come here."""
        self._preferences.listen(self._preference_changed)

    async def run(self) -> None:
        """Plan until cancelled."""
        end = self._clusters.follow(
            lambda _: self.plan_all(), self._disengaged, self._rooms.reconnect, self.plan_all
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._host_fleet.run(self._reconcile), name="preferences/host")
                tasks.create_task(self._rooms.fleet.run(None), name="preferences/rooms")
        finally:
            end()
            self._host.queue.drop_delayed()

    @property
    def is_seen(self) -> bool:
        """True once it is known which preferences there are; where their kind is not served there are none."""
        return self._host.is_seen or self._host.problem == CRD_MISSING

    def status_of(self, kind: str, key: ServiceKey) -> PreferenceStatus | None:
        """The status of the preference that plans a federated object of this kind; None where none does."""
        preference = self._preferences.get(key)
        if preference is None or preference.is_terminating:
            return None
        try:
            asked = read_scheduling_preference(preference.spec)
        except DivisionError:
            return None
        return preference.status if asked.target_kind == kind else None

    def on_plan(self, listener: Callable[[ServiceKey], None]) -> None:
        """Call `listener` with the key of each preference whose status has changed."""
        self._preferences.listen(partial(_tell_plan, listener))

    # Which change makes which work.

    def plan_all(self) -> None:
        """Something changed that every plan may depend on."""
        for each in self._preferences:
            self._host.queue.add(each.key)

    def _disengaged(self, cluster: ClusterId) -> None:
        self._rooms.forget(cluster)
        self.plan_all()

    def _room_changed(self, cluster: ClusterId) -> None:
        room = self._rooms.of(cluster)
        for key, clusters in self._asking.items():
            if cluster in clusters:
                self._host.queue.add_after(key, ROOM_PERIOD if room.member.is_seen else AGAIN)

    def _preference_changed(self, delta: Delta[ReplicaSchedulingPreference]) -> None:
        if delta.new is None and delta.old is not None:
            self._ask(delta.key, frozenset())
        elif delta.old is None or delta.new is None or delta.old.spec != delta.new.spec:
            self._host.queue.add(delta.key)

    def _hear(self, cache: Cache[Any] | None, delay: float) -> None:
        """Plan anew what changes in this cache from now on; its objects have the names of preferences."""
        if cache is not None and cache not in self._heard:
            self._heard.add(cache)
            cache.listen(partial(self._object_changed, delay))

    def _object_changed(self, delay: float, delta: Delta[Any]) -> None:
        if self._preferences.get(delta.key) is not None:
            self._host.queue.add_after(delta.key, delay)

    # One preference.

    async def _reconcile(self, _: ClusterId, key: ServiceKey) -> None:
        await while_leading(self._leader, partial(self._carry_out, key))

    async def _carry_out(self, key: ServiceKey) -> None:
        preference = self._preferences.get(key)
        if preference is None or preference.is_terminating:
            return
        try:
            await self._plan(preference)
        except _AgainError as again:
            self._host.queue.add_after(key, again.seconds)
        except DivisionError as error:
            await self._tell_problem(preference, Problem("SpecNotValid", str(error)))

    async def _plan(self, preference: ReplicaSchedulingPreference) -> None:
        asked = read_scheduling_preference(preference.spec)
        type_ = self._types.of_kind(asked.target_kind)
        if type_ is None:
            problem = (
                f"no type of kind {asked.target_kind} is enabled; run mcs enable, or correct spec.targetKind"
            )
            await self._tell_problem(preference, Problem("KindNotFederated", problem))
            raise _AgainError(AGAIN)
        self._hear(type_.federated, 0.0)
        if not type_.host.is_seen or type_.host.executor is None:
            raise _AgainError(SOON)
        federated = type_.federated.get(preference.key)
        if federated is None or federated.is_terminating:
            problem = f"there is no {asked.target_kind} {preference.key}; create it under the name of this preference"
            await self._tell_problem(preference, Problem("TargetNotFound", problem))
            return
        selected: Collection[ClusterId] | None = None
        if asked.intersects_with_selector:
            placed = selected_by(federated, self._clusters, self._gate(type_, federated))
            if isinstance(placed, NotPlaced):
                await self._tell_problem(preference, Problem("SelectorNotValid", placed.message))
                return
            selected = placed.clusters
        now = self._clock()
        stands = self._standings(preference, asked, now)
        seen = self._seen(type_, federated, preference, asked, stands, selected)
        planned = plan_preference(
            ObservedPreference(
                object=preference, preference=asked, federated=federated, clusters=seen, selected=selected
            ),
            now,
        )
        await self._write(type_, federated, preference, planned)
        dues = [each.capacity.recheck for each in seen.values()] + [stands.due]
        if future := [each for each in dues if each is not None]:
            self._host.queue.add_after(preference.key, max(0.0, (min(future) - now).total_seconds()))

    def _standings(
        self, preference: ReplicaSchedulingPreference, asked: SchedulingPreference, now: datetime
    ) -> Standings:
        out = [each.name for each in preference.status.clusters if each.reason in OUT]
        clusters = observed_clusters(self._clusters, self._drains, preference.key)
        return standings(clusters, asked.tolerations, out, now, self._terms)

    def _seen(
        self,
        type_: FederatedType,
        federated: FederatedObject,
        preference: ReplicaSchedulingPreference,
        asked: SchedulingPreference,
        stands: Standings,
        selected: Collection[ClusterId] | None,
    ) -> dict[ClusterId, SeenCluster]:
        """What is seen of each cluster. Raises _AgainError while a cluster is still being looked into."""
        is_fair = asked.mode == "fair"
        division = asked.division("", (), {}, {})
        asking = {
            cluster
            for cluster, each in stands.of.items()
            if each.part in ("share", "keep")
            and division.preference_of(cluster) is not None
            and (selected is None or cluster in selected)
        }
        self._ask(preference.key, frozenset(asking))
        for cluster in stands.of:
            self._hear(type_.present(cluster), SOON)
        rooms = {cluster: self._rooms.of(cluster) for cluster in sorted(asking)}
        waits = [room.waits for cluster, room in rooms.items() if stands.of[cluster].standing == "Ready"]
        if (seconds := max(waits, default=0.0)) > 0:
            raise _AgainError(min(seconds, SOON))
        workload = ObservedWorkload(type_, federated, preference.status, self._clock())
        return {
            cluster: workload.seen(cluster, each, rooms.get(cluster), by_nodes=is_fair)
            for cluster, each in stands.of.items()
        }

    def _ask(self, key: ServiceKey, clusters: frozenset[ClusterId]) -> None:
        if self._asking.get(key, frozenset()) == clusters:
            return
        self._asking[key] = clusters
        if not clusters:
            del self._asking[key]
        self._rooms.keep_only(frozenset[ClusterId]().union(*self._asking.values()))

    def _gate(self, type_: FederatedType, federated: FederatedObject) -> Gate | None:
        cache = type_.host.caches.get(FEDERATED_NAMESPACES.plural)
        if cache is None:
            return None
        namespace = federated.metadata.namespace
        found: FederatedObject | None = cache.get(ServiceKey(namespace, namespace))
        return Gate(found.spec.placement if found else None, self._is_gated)

    # Writing.

    async def _write(
        self,
        type_: FederatedType,
        federated: FederatedObject,
        preference: ReplicaSchedulingPreference,
        planned: PlannedPreference,
    ) -> None:
        if planned.spec is not None and planned.spec != federated.spec and type_.host.executor is not None:
            patch = Patch(
                cluster=HOST,
                resource=federated_resource(type_.config),
                namespace=federated.metadata.namespace,
                name=federated.metadata.name,
                changes=changes_of(federated, planned.spec),
            )
            await type_.host.executor.execute([patch])
        await self._tell(preference, planned.status)

    async def _tell_problem(self, preference: ReplicaSchedulingPreference, problem: Problem) -> None:
        await self._tell(preference, with_problem(preference, problem, self._clock()))

    async def _tell(self, preference: ReplicaSchedulingPreference, status: PreferenceStatus) -> None:
        if status == preference.status or self._host.executor is None:
            return
        told = ReplicaSchedulingPreference(
            metadata=ObjectMeta(namespace=preference.metadata.namespace, name=preference.metadata.name),
            status=status,
        )
        apply = Apply(
            cluster=HOST, resource=REPLICA_SCHEDULING_PREFERENCES, object=told, subresource="status"
        )
        await self._host.executor.execute([apply])


def _tell_plan(listener: Callable[[ServiceKey], None], delta: Delta[ReplicaSchedulingPreference]) -> None:
    before = delta.old.status.clusters if delta.old is not None else ()
    now = delta.new.status.clusters if delta.new is not None else ()
    if before != now:
        listener(delta.key)
