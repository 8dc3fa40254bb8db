"""Drains clusters in the order that `mcs.federation.draining` decides: looks at workloads, services and importers.

Who withdraws endpoints, and who plans replicas, asks here how far a drain is. A workload that no preference plans stays
where its author placed it.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress

import structlog
from msgspec.structs import replace

from mcs.controllers.clusters import ClusterCaches, Work, caches_of
from mcs.controllers.federation.clusters import FederatedType
from mcs.controllers.federation.workloads import PlannedWorkload, PreferenceOf, planned_workloads
from mcs.federation.draining import (
    Drain,
    DrainedService,
    ObservedDrain,
    Stage,
    decide_drain,
)
from mcs.membership.tokens import Told
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.registration import DRAINED
from mcs.runtime.fleet import Fleet, Reachability

log = structlog.get_logger(__name__)

PERIOD = 1.0
"""Seconds between looks while a cluster is drained: importers show what they show without telling anybody."""

LONGEST_TTL = 30.0
"""Seconds for which a resolver may give an answer of `mcs dns` at most, whatever TTL that was started with."""


class DrainController:
    """Holds the `drains`, by cluster. `drained` tells which clusters are to be, `types` what is federated.

    `follows_to` tells whether a Service is exported in a cluster as soon as replicas of it are there.

    Until all that is federated `is_known`, no drain goes on, and none is taken back. `on_change` is called after any
    of them has another stage or message.
    """

    def __init__(
        self,
        fleet: Fleet[Work],
        drained: Callable[[], Collection[ClusterId]],
        types: Callable[[], Iterable[FederatedType]],
        preference_of: PreferenceOf,
        follows_to: Callable[[ClusterId, ServiceKey], bool],
        is_known: Callable[[], bool],
        on_change: Callable[[], None],
    ) -> None:
        self.drains: Mapping[ClusterId, Drain] = {}
        self._fleet = fleet
        self._drained = drained
        self._types = types
        self._preference_of = preference_of
        self._follows_to = follows_to
        self._is_known = is_known
        self._on_change = on_change
        self._unseen_since: dict[ClusterId, float] = {}
        self._kept: dict[ClusterId, frozenset[ServiceKey]] = {}
        """Workloads that only the cluster that is drained could run for a service."""
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Which clusters are to be drained may have changed."""
        self._woken.set()

    async def run(self) -> None:
        """Look at what is drained until cancelled."""
        while True:
            self._woken.clear()
            self._look()
            with suppress(TimeoutError):
                async with asyncio.timeout(PERIOD if self._drained() else None):
                    await self._woken.wait()

    def is_withdrawn(self, cluster: ClusterId) -> bool | None:
        """Whether the endpoints of a cluster that is to be drained are to be withdrawn by now; None: not known yet."""
        drain = self.drains.get(cluster)
        return drain.is_withdrawn if drain is not None else None

    def is_removed(self, cluster: ClusterId, workload: ServiceKey) -> bool:
        """Whether the replicas of a workload in a cluster that is to be drained are to go by now."""
        drain = self.drains.get(cluster)
        is_kept = workload in self._kept.get(cluster, ())
        return drain is not None and drain.is_removed and not is_kept

    def told(self, cluster: ClusterId) -> tuple[Told, ...]:
        """What the registration of a cluster is to say of its drain; nothing where there is none."""
        if (drain := self.drains.get(cluster)) is None:
            return ()
        return ((DRAINED, drain.stage is Stage.DRAINED, drain.stage, drain.message),)

    def _look(self) -> None:
        if not self._is_known():
            return
        drained = frozenset(self._drained())
        clusters = sorted(drained & self._fleet.members.keys())
        planned = planned_workloads(self._types(), self._preference_of) if clusters else []
        now = {cluster: decide_drain(self._observe(cluster, drained, planned)) for cluster in clusters}
        before, self.drains = self.drains, now
        self._unseen_since = {each: since for each, since in self._unseen_since.items() if each in now}
        for cluster, drain in now.items():
            if (was := before.get(cluster)) is None or was.stage is not drain.stage:
                log.info("drain of cluster", cluster=cluster, stage=drain.stage, message=drain.message)
        told = {cluster: (each.stage, each.message) for cluster, each in now.items()}
        if told != {cluster: (each.stage, each.message) for cluster, each in before.items()}:
            self._on_change()

    def _observe(
        self, cluster: ClusterId, gone: frozenset[ClusterId], planned: Sequence[PlannedWorkload]
    ) -> ObservedDrain:
        """What decides how far the drain of this member is; those that are `gone` stand in for nobody."""
        caches = caches_of(self._fleet.members)
        services = tuple(self._services(cluster, gone, planned, caches))
        own = caches[cluster].services
        only_here = [own.get(each.key) for each in services if each.is_only_here]
        self._kept[cluster] = frozenset(each.key for each in planned if any(map(each.is_behind, only_here)))
        workloads = [
            replace(each.without(cluster, gone), is_kept=each.key in self._kept[cluster]) for each in planned
        ]
        is_shown = any(each.shown for each in services if not each.is_only_here)
        moment = asyncio.get_running_loop().time()
        if is_shown:
            self._unseen_since.pop(cluster, None)
        since = self._unseen_since.setdefault(cluster, moment) if not is_shown else None
        return ObservedDrain(
            services=services,
            workloads=tuple(each for each in workloads if each.here or each.wanted),
            unseen_for=None if since is None else moment - since,
            longest_ttl=LONGEST_TTL,
        )

    def _services(
        self,
        cluster: ClusterId,
        gone: frozenset[ClusterId],
        planned: Sequence[PlannedWorkload],
        caches: Mapping[ClusterId, ClusterCaches],
    ) -> Iterable[DrainedService]:
        importers = {
            each: held
            for each, held in caches.items()
            if self._fleet.members[each].reachability is Reachability.REACHABLE
        }
        for export in sorted(caches[cluster].exports, key=lambda each: each.key):
            shows = {
                each: _ready_by_source(held, export.key)
                for each, held in importers.items()
                if held.imports.get(export.key) is not None
            }
            elsewhere = {
                each: sum(count for source, count in counts.items() if source not in gone)
                for each, counts in shows.items()
            }
            behind = [each for each in planned if each.is_behind(caches[cluster].services.get(export.key))]
            exporters = {
                each
                for each, held in caches.items()
                if each not in gone
                and (held.exports.get(export.key) is not None or self._follows_to(each, export.key))
            }
            wanted = (
                sum(each.planned_in(exporters) for each in behind)
                if behind
                else min(1, max(elsewhere.values(), default=0))
            )
            if not all(each.is_planned_without(cluster) for each in behind):
                # Somebody may be to stand in: that is not known before it is planned.
                wanted = max(1, wanted)
            yield DrainedService(
                key=export.key,
                wanted=wanted,
                elsewhere=elsewhere,
                shown=frozenset(each for each, counts in shows.items() if counts.get(cluster)),
            )


def _ready_by_source(caches: ClusterCaches, key: ServiceKey) -> dict[ClusterId, int]:
    """How many ready endpoints of each cluster an importer shows; one with addresses of both families is one."""
    by_family: dict[tuple[ClusterId, str], int] = {}
    for mirror in caches.slices.by("mirrored", key):
        place = (ClusterId(mirror.source_cluster), mirror.address_type)
        ready = sum(each.is_ready for each in mirror.endpoints or ())
        by_family[place] = by_family.get(place, 0) + ready
    counts: dict[ClusterId, int] = {}
    for (source, _), count in by_family.items():
        counts[source] = max(count, counts.get(source, 0))
    return counts
