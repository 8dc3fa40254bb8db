"""Exports of all members become imports in each: which change touches which service, then observe, plan, execute.

One piece of work concerns one service in one cluster. Decisions are made in `mcs.services`; here they are fed from the
caches and carried out. `observe` never waits, so a plan sees all clusters at one instant.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

from mcs.controllers.admission import Admission
from mcs.controllers.clusters import ClusterCaches, Work, exported_in, exported_or_imported_from
from mcs.controllers.exporters import Exporting
from mcs.controllers.meanings import (
    meaning_of_export,
    meaning_of_namespace,
    meaning_of_service,
    meaning_of_slice,
)
from mcs.controllers.refusals import Refusals
from mcs.controllers.withdrawal import touched_by_decisions
from mcs.kube.errors import Forbidden, Invalid, ResourceMissing, ServerError
from mcs.membership.withdrawal import Decisions
from mcs.model.actions import Action
from mcs.model.meta import timestamp
from mcs.model.multicluster import ServiceExport, ServiceImport
from mcs.model.names import SERVICE_NAME_LABEL, ClusterId, ServiceKey, is_derived_name
from mcs.model.policy import DEFAULT_POLICY, Policy
from mcs.model.registration import Node
from mcs.model.services import Namespace, Service
from mcs.model.slices import EndpointSlice
from mcs.runtime.cache import Delta
from mcs.runtime.executor import ForeignObjectError
from mcs.runtime.fleet import Fleet, Member
from mcs.services.exports import is_imported
from mcs.services.imports import tells_of_an_older_crd
from mcs.services.observed import Exporter, NodeZones, ObservedExport, ObservedTarget
from mcs.services.plan import plan_export, plan_target
from mcs.services.precedence import order_of_most
from mcs.services.selection import named_clusters
from mcs.services.topology import refused_distributions

Touched = Iterator[tuple[ClusterId, Work]]


class ServicesController:
    """Reconciles the services of a fleet. `clock` tells the time that conditions and mirrors are stamped with.

    `targets` are the members that are written to, None for all: what a plan says of a member depends on what all
    export, never on who carries it out, so one controller for all and one in each do the same.
    """

    def __init__(
        self,
        fleet: Fleet[Work],
        clock: Callable[[], datetime],
        targets: frozenset[ClusterId] | None = None,
        policy: Policy = DEFAULT_POLICY,
    ) -> None:
        self.decisions = Decisions({})
        self._fleet = fleet
        self._clock = clock
        self._targets = targets
        self._policy = policy
        self.refusals = Refusals()
        self._families: dict[ClusterId, frozenset[str] | None] = {}
        self._zones: dict[ClusterId, NodeZones | None] = {}
        self._refused_distributions: dict[ClusterId, frozenset[str]] = {}
        self._unclear: set[tuple[ClusterId, str]] = set()
        """Where a slice cannot be decoded, as far as it was acted on: a second one there changes nothing."""
        self._with_older_crd: frozenset[ClusterId] = frozenset()
        self._caches: dict[ClusterId, ClusterCaches] = {}
        self._admissions: dict[ClusterId, Admission] = {}
        self._exporting = Exporting(fleet)
        fleet.follow(self._engaged, self._disengaged)
        fleet.on_left(self._enqueue_what_came_from)

    def _engaged(self, member: Member[Work]) -> None:
        caches = self._caches[member.cluster] = ClusterCaches.of(member.caches)
        self._admissions[member.cluster] = Admission(
            caches,
            self._policy.of(member.cluster),
            partial(self._route, member, lambda _, delta: self._everywhere(delta.key)),
        )
        caches.namespaces.listen(partial(self._route, member, self._namespace_touches))
        caches.services.listen(partial(self._route, member, self._service_touches))
        caches.slices.listen(partial(self._route, member, self._slice_touches))
        caches.exports.listen(partial(self._route, member, self._export_touches))
        caches.imports.listen(partial(self._route, member, self._import_touches))
        caches.nodes.listen(partial(self._route, member, self._node_touches))
        member.on_seen(self._enqueue_all_of)
        self._enqueue_exports_to(member.cluster)

    def _disengaged(self, member: Member[Work]) -> None:
        cluster = member.cluster
        self._admissions.pop(cluster)
        self.refusals.forget(cluster)
        self._families.pop(cluster, None)
        self._zones.pop(cluster, None)
        self._refused_distributions.pop(cluster, None)
        self._with_older_crd -= {cluster}
        self._enqueue_what_came_from(cluster, {each.key for each in self._caches.pop(cluster).exports})
        self._unclear = {place for place in self._unclear if place[0] != cluster}
        self._enqueue_exports_to(cluster)

    async def reconcile(self, cluster: ClusterId, work: Work) -> None:
        """Bring one service in one cluster to what the exports of all clusters ask for."""
        member = self._fleet.members.get(cluster)
        if member is None or not member.is_seen or member.executor is None:
            return
        stopped: Exception | None = None
        actions = plan_target(self.observe_target(cluster, work.service))
        try:
            await member.executor.execute(actions)
        except Invalid as error:
            if self._learns(cluster, actions, error):
                member.queue.add(work)
                return
            stopped = error
        except (Forbidden, ResourceMissing, ServerError, ForeignObjectError) as error:
            stopped = error
        # The export comes after the import that its conditions tell of, so that one status says everything; what
        # stopped the import, and may go on doing so, keeps nobody from being told.
        observed = self.observe_export(cluster, work.service)
        if observed is not None and (is_imported(observed) or not member.queue.is_due(work)):
            told = plan_export(observed)
            await member.executor.execute(told)
            self.refusals.note_told(
                cluster, work.service, self._caches[cluster].exports.get(work.service), told
            )
        elif observed is None:
            self.refusals.note(cluster, work.service, frozenset(), "")
        if stopped is not None:
            raise stopped

    def observe_target(self, target: ClusterId, key: ServiceKey) -> ObservedTarget:
        """Everything that decides what `target` should hold for the service."""
        caches = self._caches[target]
        seen = self._exporting.seen(key)
        if caches.is_import_malformed(key):
            seen -= {target}
        mirrors = tuple(caches.slices.by("mirrored", key))
        sources = {ClusterId(each.source_cluster) for each in mirrors}
        return ObservedTarget(
            target=target,
            key=key,
            seen=seen,
            exporters=self._exporters(key, seen),
            namespace=caches.namespace_phase(key.namespace),
            derived=caches.derived(key),
            service_import=caches.imports.get(key),
            mirrors=mirrors,
            now=timestamp(self._clock()),
            families=caches.service_families(),
            refused_distributions=self._refused_distributions.get(target, frozenset()),
            has_older_crd=target in self._with_older_crd,
            zones=caches.zones(),
            policy=self._policy,
            order_elsewhere=self._order_elsewhere(target, key, seen),
            withdrawn=self.decisions.withdrawn,
            undecided=frozenset(each for each in sources if self.decisions.verdict(each) == "leave"),
        )

    def _order_elsewhere(
        self, target: ClusterId, key: ServiceKey, seen: frozenset[ClusterId]
    ) -> tuple[ClusterId, ...]:
        if self._policy.precedence == "oldest" or self._caches[target].imports.get(key) is not None:
            return ()
        imports = (self._caches[cluster].imports.get(key) for cluster in sorted(seen - {target}))
        return order_of_most(each for each in imports if each is not None)

    def _learns(self, cluster: ClusterId, actions: Iterable[Action], error: Invalid) -> bool:
        """True when the refusal tells something new: what this API server, or its CRD, is too old to take."""
        before = self._refused_distributions.get(cluster, frozenset())
        refused = refused_distributions(actions, str(error))
        self._refused_distributions[cluster] = before | refused
        older = {cluster} if tells_of_an_older_crd(str(error)) else set[ClusterId]()
        is_new = not refused <= before or not older <= self._with_older_crd
        self._with_older_crd |= older
        return is_new

    def observe_export(self, cluster: ClusterId, key: ServiceKey) -> ObservedExport | None:
        """Everything that decides the conditions of the export in `cluster`; None when nothing may be said now."""
        seen = self._exporting.seen(key)
        caches = self._caches[cluster]
        if cluster not in seen or caches.exports.get(key) is None:
            return None
        return ObservedExport(
            cluster=cluster,
            key=key,
            seen=seen,
            exporters=self._exporters(key, seen),
            own_import=caches.imports.get(key),
            now=timestamp(self._clock()),
            members=frozenset(self._fleet.members),
            policy=self._policy,
            withdrawn=self.decisions.withdrawn,
        )

    def _exporters(self, key: ServiceKey, seen: frozenset[ClusterId]) -> tuple[Exporter, ...]:
        exporters = []
        for cluster in self._exporting.exporters(key):
            caches = self._caches[cluster]
            if cluster in seen and (export := caches.exports.get(key)) is not None:
                exporters.append(
                    Exporter(
                        cluster=cluster,
                        export=export,
                        service=caches.services.get(key),
                        slices=tuple(caches.slices.by("service", key)),
                        policy=self._policy.of(cluster),
                        beyond=self._admissions[cluster].beyond(export),
                    )
                )
        return tuple(exporters)

    # Which change touches what.

    def _route(
        self, member: Member[Work], touches: Callable[[ClusterId, Delta[Any]], Touched], delta: Delta[Any]
    ) -> None:
        members = self._fleet.members
        # Nothing is decided from a cluster that has not been seen, nor for it; once it is, all of it is worked on.
        if member.is_seen and members.get(member.cluster) is member:
            for target, work in touches(member.cluster, delta):
                if self._is_target(target) and members[target].is_seen:
                    members[target].queue.add(work)

    def _is_target(self, cluster: ClusterId) -> bool:
        return self._targets is None or cluster in self._targets

    def _enqueue(self, target: ClusterId, keys: Iterable[ServiceKey]) -> None:
        member = self._fleet.members[target]
        if self._is_target(target) and member.is_seen:
            for key in sorted(keys):
                member.queue.add(Work("service", key))

    def _enqueue_all_of(self, cluster: ClusterId) -> None:
        """The first complete picture of a cluster: everything that it exports or holds, everywhere."""
        own = self._caches[cluster]
        self._unclear |= {(cluster, key.namespace) for key in own.slices.malformed}
        exported = {export.key for export in own.exports}
        for target, caches in sorted(self._caches.items()):
            if target == cluster:
                others = (export.key for each in self._caches.values() for export in each.exports)
                keys = own.imported().union(others)
            else:
                keys = exported | caches.imported_from(cluster)
            self._enqueue(target, keys)

    def _enqueue_what_came_from(self, cluster: ClusterId, exported: Iterable[ServiceKey] = ()) -> None:
        for target, caches in self._caches.items():
            self._enqueue(target, caches.imported_from(cluster).union(exported))

    def _enqueue_exports_to(self, cluster: ClusterId) -> None:
        """Exports that name a cluster tell whether it is a member."""
        for target, caches in self._caches.items():
            self._enqueue(
                target, {export.key for export in caches.exports if cluster in (named_clusters(export) or ())}
            )

    def _concerned(self, cluster: ClusterId, key: ServiceKey, *, is_counted: bool) -> Touched:
        """Every cluster, or only the exporter's own where its export counts for no other."""
        yield from self._everywhere(key) if is_counted else [(cluster, Work("service", key))]

    def take_decisions(self, decisions: Decisions) -> None:
        """Whose endpoints are withdrawn may have changed."""
        before, self.decisions = self.decisions, decisions
        for target, keys in touched_by_decisions(self._caches, before, decisions):
            self._enqueue(target, keys)

    def _everywhere(self, key: ServiceKey) -> Touched:
        for cluster in self._caches:
            yield cluster, Work("service", key)

    def _malformed_slice_touches(self, cluster: ClusterId, namespace: str) -> Touched:
        """A slice may belong to any service of its namespace, and be a mirror as well as a source."""
        for key in sorted(exported_or_imported_from(self._caches, cluster, namespace)):
            yield from self._everywhere(key)
        for key in sorted(
            exported_in(self._caches, namespace) | self._caches[cluster].imported_in(namespace)
        ):
            yield cluster, Work("service", key)

    def _namespace_touches(self, cluster: ClusterId, delta: Delta[Namespace]) -> Touched:
        old, new = delta.old, delta.new
        if old is not None and new is not None and meaning_of_namespace(old) == meaning_of_namespace(new):
            return
        namespace = delta.key.name
        for key in sorted(
            exported_in(self._caches, namespace) | self._caches[cluster].imported_in(namespace)
        ):
            yield cluster, Work("service", key)

    def _service_touches(self, cluster: ClusterId, delta: Delta[Service]) -> Touched:
        families = self._caches[cluster].service_families()
        if self._families.get(cluster) != families:
            self._families[cluster] = families
            for key in sorted(self._caches[cluster].imported()):
                yield cluster, Work("service", key)
        if (
            delta.old is not None
            and delta.new is not None
            and meaning_of_service(delta.old) == meaning_of_service(delta.new)
        ):
            return
        if _concerns_malformed(delta):
            yield from self._everywhere(delta.key)
        elif (export := self._caches[cluster].exports.get(delta.key)) is not None:
            yield from self._concerned(
                cluster, delta.key, is_counted=self._admissions[cluster].counts(export)
            )
        if is_derived_name(delta.key.name):
            for key in self._derived_sources(cluster, delta):
                yield cluster, Work("service", key)

    def _derived_sources(self, cluster: ClusterId, delta: Delta[Service]) -> Iterable[ServiceKey]:
        """The services whose derived Service has this name, also when somebody else's Service stands there."""
        keys = {
            export.key
            for caches in self._caches.values()
            for export in caches.exports.by("derived", delta.key)
        }
        for service in (delta.old, delta.new, self._caches[cluster].services.get(delta.key)):
            if service is not None and (label := service.metadata.labels.get(SERVICE_NAME_LABEL)):
                keys.add(ServiceKey(delta.key.namespace, label))
        return sorted(keys)

    def _slice_touches(self, cluster: ClusterId, delta: Delta[EndpointSlice]) -> Touched:
        old, new = delta.old, delta.new
        if old is not None and new is not None and meaning_of_slice(old) == meaning_of_slice(new):
            return
        exports = self._caches[cluster].exports
        if _concerns_malformed(delta):
            place = cluster, delta.key.namespace
            if self._caches[cluster].slices.has_malformed_in(delta.key.namespace) != (place in self._unclear):
                self._unclear ^= {place}
                yield from self._malformed_slice_touches(*place)
            return
        if old is not None and not old.is_ours and (new is None or new.is_ours):
            # Somebody else gave up a name; a mirror may have waited for it.
            yield cluster, Work("service", ServiceKey(delta.key.namespace, delta.key.name.rpartition("-")[0]))
        for key, is_mirror in sorted(
            {(each.service, each.is_mirror) for each in (old, new) if each is not None}
        ):
            if is_mirror:
                yield cluster, Work("service", key)
            elif (export := exports.get(key)) is not None:
                # The source last: its API server is busy with telling everybody of the change itself.
                is_counted = self._admissions[cluster].counts(export)
                for target, work in self._concerned(cluster, key, is_counted=is_counted):
                    if target != cluster:
                        yield target, work
                yield cluster, Work("service", key)

    def _export_touches(self, cluster: ClusterId, delta: Delta[ServiceExport]) -> Touched:
        old, new = delta.old, delta.new
        if old is not None and new is not None and meaning_of_export(old) == meaning_of_export(new):
            yield cluster, Work("service", delta.key)
        elif _concerns_malformed(delta):
            yield from self._became_known(cluster, delta.key)
        else:
            is_counted = self._admissions[cluster].counts_in(delta)
            yield from self._concerned(cluster, delta.key, is_counted=is_counted)

    def _became_known(self, cluster: ClusterId, key: ServiceKey) -> Touched:
        """An export that counts for no other touches only those that hold something of it since before."""
        exports = self._caches[cluster].exports
        export = None if key in exports.malformed else exports.get(key)
        counts_not = export is not None and not self._admissions[cluster].counts(export)
        for target, caches in self._caches.items():
            if target == cluster or not counts_not or caches.holds_from(cluster, key):
                yield target, Work("service", key)

    def _import_touches(self, cluster: ClusterId, delta: Delta[ServiceImport]) -> Touched:
        yield cluster, Work("service", delta.key)

    def _node_touches(self, cluster: ClusterId, delta: Delta[Node]) -> Touched:
        """A node tells its status often, its zone changes hardly ever: only the zones of all nodes together matter."""
        zones = self._caches[cluster].zones()
        if zones == self._zones.get(cluster):
            return
        self._zones[cluster] = zones
        keys = {
            export.key
            for each in self._caches.values()
            for export in each.exports.by("prefers traffic", True)
        }
        keys.update(each.key for each in self._caches[cluster].imports.by("prefers traffic", True))
        for key in sorted(keys):
            yield cluster, Work("service", key)


def _concerns_malformed(delta: Delta[Any]) -> bool:
    """True when an object became malformed or ceased to be: then all is planned anew that did without its cluster."""
    return delta.old is None and delta.new is None
