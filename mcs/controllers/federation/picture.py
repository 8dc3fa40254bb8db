"""What is known of the objects of one type: in the host, in the members, and of the work on them that is under way.

Both kinds of work look at it, that of an object and that of an object in a cluster. What an object is to be where is
handed from the one to the other as a `Plan`; how that went comes back as a `Result`. Nothing here waits.
"""

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mcs.controllers.federation.clusters import FederatedClusters, TargetClient
from mcs.federation.ledger import Entries, ledger_place, recorded
from mcs.federation.placement import is_protected_namespace
from mcs.federation.propagation import Decision, Presence, Step, decide, decide_removal
from mcs.federation.propagation import Member as Seen
from mcs.model.federated import (
    FEDERATED_VERSION,
    MANAGED_LABEL,
    TYPES_GROUP,
    ClusterObjectVersion,
    FederatedObject,
    FederatedStatus,
    FederatedTypeConfig,
    PropagatedVersion,
    Scope,
    federated_resource,
    target_resource,
)
from mcs.model.meta import ObjectMeta, timestamp
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.registration import DEFAULT_SYSTEM_NAMESPACE
from mcs.model.resources import NAMESPACES, Resource
from mcs.model.targets import TargetObject
from mcs.runtime.cache import Cache
from mcs.runtime.fleet import CRD_MISSING, Fleet, Member

FEDERATED_NAMESPACES = Resource(
    group=TYPES_GROUP,
    version=FEDERATED_VERSION,
    plural="federatednamespaces",
    kind="FederatedNamespace",
    type=FederatedObject,
)

PATIENCE = 1.0
"""Seconds that the status of an object waits for clusters that have work under way, and between two of them."""

FIGHT = 60.0
"""Seconds within which a change of somebody else that comes again is undone later each time, at most so much."""


class SyncSettings(Struct, frozen=True, kw_only=True):
    """How objects are propagated; `hold_down` is in seconds. `namespaces` are what gates namespaced objects."""

    system_namespace: str = DEFAULT_SYSTEM_NAMESPACE
    scope: Scope = "Cluster"
    adopts: bool = True
    hold_down: float = 60.0
    namespaces: Resource[FederatedObject] = FEDERATED_NAMESPACES


class Kinds:
    """The kinds that a type is about, and how the keys of their objects belong together."""

    def __init__(self, config: FederatedTypeConfig, settings: SyncSettings) -> None:
        scope = settings.system_namespace if settings.scope == "Namespaced" else ""
        self.federated = replace(federated_resource(config), scope=scope)
        self.target = replace(target_resource(config), scope=scope)
        self.is_of_namespaces = (self.target.group, self.target.kind) == ("", NAMESPACES.kind)
        self.gate = replace(settings.namespaces, scope=scope) if self.target.namespaced else None
        """What gates the objects of this type."""
        self.ledger = replace(ledger_place(self.target, FederatedObject()).resource, scope=scope)

    def target_key(self, key: ServiceKey) -> ServiceKey:
        """The key that the object of a federated object has in members."""
        return key if self.target.namespaced else ServiceKey("", key.name)

    def federated_key(self, target: ServiceKey) -> ServiceKey:
        """The key of the federated object that makes this object."""
        return ServiceKey(target.name, target.name) if self.is_of_namespaces else target

    def ledger_key(self, ledger: PropagatedVersion) -> ServiceKey | None:
        """The key of the federated object that a ledger or tombstone is of; None for one of another type.

        Those that KubeFed has written tell it by their name alone.
        """
        of = ledger.spec.target
        if of is not None:
            is_ours = (of.group, of.kind) == (self.target.group, self.target.kind)
            return self.federated_key(ServiceKey(of.namespace, of.name)) if is_ours else None
        kind, _, name = ledger.metadata.name.partition("-")
        is_ours = kind == self.target.kind.lower() and bool(name)
        return self.federated_key(ServiceKey(ledger.metadata.namespace, name)) if is_ours else None


class Plan(Struct, frozen=True, kw_only=True):
    """What members do about an object follows from this alone, so that none has to compute where all others stand.

    For a `removal` nothing is selected. `federated` has no spec when it is gone already.
    """

    federated: FederatedObject
    selected: frozenset[ClusterId] = frozenset()
    is_removal: bool = False
    is_orphaning: bool = False

    def says_the_same(self, other: "Plan") -> bool:
        """Whether it means the same for clusters that are selected by both or by neither."""
        ours, theirs = self.federated, other.federated
        if ours is theirs:
            return (self.is_removal, self.is_orphaning) == (other.is_removal, other.is_orphaning)
        return (self.is_removal, self.is_orphaning, ours.spec, ours.metadata.annotations) == (
            other.is_removal,
            other.is_orphaning,
            theirs.spec,
            theirs.metadata.annotations,
        )


class Result(Struct, frozen=True):
    """What a cluster's status is to be; nothing is told of the cluster when that is None."""

    status: str | None
    message: str = ""


class Progress:
    """How far the work on one object is."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.entries = ()
        self.written: dict[ClusterId, ClusterObjectVersion | None] = {}
        """What is to be changed in the ledger; None where the object is gone."""
        self.results: dict[ClusterId, Result] = {}
        self.dirty: set[ClusterId] = set()
        """Clusters in which something has changed besides the plan."""
        self.pending: set[ClusterId] = set()
        """Clusters that have been asked to carry out the plan, and have not come to an end."""
        self.under_way: dict[ClusterId, Step] = {}
        self.doubted: set[ClusterId] = set()
        """Clusters in which the cache was seen to be behind: the next attempt looks."""
        self.settled: dict[ClusterId, tuple[str, str]] = {}
        """The hash of what was applied last, and the resourceVersion that came of it."""
        self.undone: dict[ClusterId, tuple[int, float]] = {}
        """How often, and when last, a change of somebody else was undone."""
        self.deadline = 0.0
        """When the status waits for pending clusters no longer, by the loop's clock."""
        self.sent: FederatedStatus | None = None
        self.stored: FederatedStatus | None = None
        """The status that was sent last, and what the server made of it: it may not know all fields."""
        self.told: set[str] = set()
        """Events about the federated object that were told."""

    @property
    def entries(self) -> Entries:
        """The ledger as it was stored last."""
        return self._entries

    @entries.setter
    def entries(self, entries: Entries) -> None:
        self._entries = entries
        self._entry_of = {each.cluster_name: each for each in entries}

    def entry(self, cluster: ClusterId) -> ClusterObjectVersion | None:
        """The entry of the ledger, with what is still to be stored."""
        return self.written[cluster] if cluster in self.written else self._entry_of.get(cluster)

    @property
    def recorded(self) -> frozenset[ClusterId]:
        """The clusters that may hold the object."""
        gone = {each for each, entry in self.written.items() if entry is None}
        return recorded(self.entries) - gone


class Picture:
    """All of that for one type, and the queues in which the work waits."""

    def __init__(
        self,
        kinds: Kinds,
        settings: SyncSettings,
        host: Member[ServiceKey],
        clusters: FederatedClusters,
        clock: Callable[[], datetime],
    ) -> None:
        self.kinds = kinds
        self.settings = settings
        self.host = host
        self.clusters = clusters
        self.fleet: Fleet[ServiceKey] = Fleet()
        self.clients: dict[ClusterId, TargetClient] = {}
        """The connections that are open now; that of the host is under its own name."""
        self.objects: dict[ServiceKey, Progress] = {}
        self.held_until: dict[ClusterId, float] = {}
        self.is_writing = False
        """True while a cache takes in what was answered to a write of ours."""
        self._clock = clock

    @property
    def federated(self) -> Cache[FederatedObject]:
        """The federated objects."""
        return self.host.caches[self.kinds.federated.plural]

    def cache_of(self, cluster: ClusterId) -> Cache[TargetObject]:
        """What a member is known to have of ours."""
        return self.fleet.members[cluster].caches[self.kinds.target.plural]

    def present(self, cluster: ClusterId, key: ServiceKey) -> TargetObject | None:
        """The object of a federated object in a member, as it was seen last."""
        return self.cache_of(cluster).get(self.kinds.target_key(key))

    def holders(self, key: ServiceKey) -> Iterator[ClusterId]:
        """The members that are known to have the object."""
        return (cluster for cluster in self.fleet.members if self.present(cluster, key) is not None)

    def is_held(self, cluster: ClusterId) -> bool:
        """True while nothing that lost its placement is deleted there."""
        return self.hold_left(cluster) > 0

    def hold_left(self, cluster: ClusterId) -> float:
        """Seconds for which that still is so."""
        return self.held_until.get(cluster, 0.0) - now()

    def timestamp(self) -> str:
        """The time of the day."""
        return timestamp(self._clock())

    def is_protected(self, key: ServiceKey) -> bool:
        """True for a namespace that is never touched in members."""
        return self.kinds.is_of_namespaces and is_protected_namespace(
            key.name, self.settings.system_namespace
        )

    def decision(
        self,
        key: ServiceKey,
        cluster: ClusterId,
        plan: Plan,
        seen: TargetObject | None,
        *,
        is_live: bool = False,
        is_own_namespace: bool = False,
    ) -> Decision:
        """What is to be done about what was seen of the object in a cluster, by a look when `is_live`."""
        progress = self.objects[key]
        member = Seen(
            is_ready=self.clusters.is_ready(cluster),
            is_selected=cluster in plan.selected,
            presence=self._presence(cluster, seen, is_live=is_live),
            managed=seen.metadata.labels.get(MANAGED_LABEL) if seen is not None else None,
            is_live=is_live,
            is_recorded=progress.entry(cluster) is not None,
            is_held=self.is_held(cluster),
            is_protected=self.is_protected(key),
            is_own_namespace=is_own_namespace,
        )
        if plan.is_removal:
            return decide_removal(member, is_orphaning=plan.is_orphaning)
        return decide(member, may_adopt=self.settings.adopts)

    def _presence(self, cluster: ClusterId, seen: TargetObject | None, *, is_live: bool) -> Presence:
        if seen is not None:
            return "terminating" if seen.is_terminating else "present"
        return "absent" if is_live or self.can_look_into(cluster) else "unknown"

    def can_look_into(self, cluster: ClusterId) -> bool:
        """Whether what its cache lacks is likely not there; a member without the kind has no object of it."""
        member = self.fleet.members.get(cluster)
        return member is not None and (member.is_seen or member.problem == CRD_MISSING)

    def problem_of(self, cluster: ClusterId) -> str:
        """Why a member cannot be read; empty when it can, or when it has only just been connected to."""
        member = self.fleet.members.get(cluster)
        return " ".join(member.reason.split()) if member is not None else ""

    # Work.

    def progress_of(self, key: ServiceKey) -> Progress:
        """How far the work on an object is; from its beginning if there was none."""
        return self.objects.setdefault(key, Progress())

    def ask(self, key: ServiceKey, cluster: ClusterId, delay: float = 0.0) -> None:
        """Have a cluster carry out the plan for an object, and its status wait for that if there is no delay."""
        queue = self.fleet.members[cluster].queue
        if delay > 0:
            queue.add_after(key, delay)
            return
        progress = self.progress_of(key)
        if not progress.pending:
            progress.deadline = now() + PATIENCE
        progress.pending.add(cluster)
        queue.add(key)

    def ended(self, key: ServiceKey, cluster: ClusterId) -> None:
        """A cluster has come to an end with an object, well or not: that is told soon."""
        if (progress := self.objects.get(key)) is None:
            return
        progress.under_way.pop(cluster, None)
        member = self.fleet.members.get(cluster)
        if member is None or not member.queue.is_due(key):
            progress.pending.discard(cluster)
        if progress.pending:
            self.host.queue.add_after(key, max(progress.deadline - now(), 0.0))
        else:
            self.host.queue.add(key)

    def put(self, cache: Cache[Any], obj: TargetObject) -> None:
        """Take in what a member answered, which is news to nobody."""
        self.is_writing = True
        try:
            cache.put(obj)
        finally:
            self.is_writing = False


def now() -> float:
    """The loop's clock."""
    return asyncio.get_running_loop().time()


def gone(key: ServiceKey, annotations: dict[str, str]) -> FederatedObject:
    """What stands for a federated object that is there no more; the annotations tell how to delete what it made."""
    return FederatedObject(
        metadata=ObjectMeta(namespace=key.namespace, name=key.name, annotations=annotations)
    )
