"""The work on one federated object, in the host: where it is to be, its ledger, its finalizer, and what it tells.

What is done in the members is the work of each of them (`in_cluster`); it is asked for here, once the ledger has an
entry for what is going to be written.
"""

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from mcs.controllers.federation.ledgers import Ledgers
from mcs.controllers.federation.picture import PATIENCE, Picture, Plan, Progress, gone, now
from mcs.controllers.federation.telling import cluster_statuses
from mcs.federation.ledger import Entries, after_write, before_writes, recorded, without
from mcs.federation.placement import Gate, NotPlaced, Placed, namespace_problem, place
from mcs.federation.propagation import finalizer_may_go
from mcs.federation.status import Told, desired_status
from mcs.federation.template import template_warnings
from mcs.kube.errors import Unreachable
from mcs.model.actions import Action, Patch, RecordEvent
from mcs.model.events import new_event
from mcs.model.federated import ORPHAN_ANNOTATION, SYNC_FINALIZER, FederatedObject, FederatedStatus
from mcs.model.names import ClusterId, ServiceKey

INVALID_NAME = "InvalidName"


class ObjectWork:
    """Reconciles the federated objects of one type."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._ledgers = Ledgers(picture)

    async def reconcile(self, key: ServiceKey) -> None:
        """Do what is to be done in the host, and ask the members for the rest. Raises KubeError."""
        picture = self._picture
        if not picture.host.is_seen or picture.host.executor is None:
            return
        if key in picture.federated.malformed or self._ledgers.is_unreadable(key):
            return
        federated, progress = picture.federated.get(key), picture.progress_of(key)
        if (entries := self._ledgers.entries(key)) is not None:
            progress.entries = entries
        if federated is None:
            await self._clean_up(key, progress)
        elif picture.kinds.is_of_namespaces and (problem := namespace_problem(federated)):
            await self._leave_alone(key, federated, problem)
        elif federated.is_terminating:
            await self._remove(key, progress, federated)
        else:
            await self._propagate(key, progress, federated)

    # An object that is to be in members.

    async def _propagate(self, key: ServiceKey, progress: Progress, federated: FederatedObject) -> None:
        placed = self._placed(federated)
        if isinstance(placed, NotPlaced):
            progress.plan = None
            await self._tell(key, progress, placed.reason, placed.message)
            return
        picture = self._picture
        selected = frozenset(() if picture.is_protected(key) else placed.clusters)
        await self._hold(federated)
        await self._enter(key, progress, filter(picture.clusters.is_ready, selected))
        self._hand_out(key, progress, Plan(federated=federated, selected=selected))
        if self._is_waiting(key, progress):
            return
        await self._store(key, progress, self._with_written(key, progress))
        for warned in template_warnings(federated):
            await self._record(federated, warned.reason, warned.message)
        await self._tell(key, progress, placed.reason, self._hint(placed, federated))

    async def _enter(self, key: ServiceKey, progress: Progress, clusters: Iterable[ClusterId]) -> None:
        """Have an entry in the ledger for each of these clusters, and what a tombstone has of former times."""
        stone = self._ledgers.tombstone_of(key)
        entries = self._with_written(key, progress)
        entered = before_writes(entries, clusters)
        if entered is not entries or stone is not None:
            await self._store(key, progress, entered)
        await self._ledgers.delete(stone)

    def _placed(self, federated: FederatedObject) -> Placed | NotPlaced:
        kinds, namespace = self._picture.kinds, federated.metadata.namespace
        gate = None
        if kinds.gate is not None:
            gates = self._picture.host.caches[kinds.gate.plural]
            place_of_gate = ServiceKey(namespace, namespace)
            if place_of_gate in gates.malformed:
                return NotPlaced(f"{kinds.gate.kind} {namespace} cannot be read: correct it")
            found: FederatedObject | None = gates.get(place_of_gate)
            is_required = self._picture.settings.scope == "Cluster"
            gate = Gate(found.spec.placement if found is not None else None, is_required)
        return place(federated.spec.placement, self._picture.clusters.registered, gate)

    def _hint(self, placed: Placed, federated: FederatedObject) -> str:
        gate, namespace = self._picture.kinds.gate, federated.metadata.namespace
        if not placed.reason or gate is None:
            return ""
        return (
            f'There is no {gate.kind} "{namespace}" in namespace "{namespace}": create one that says where.'
        )

    def _hand_out(self, key: ServiceKey, progress: Progress, plan: Plan) -> None:
        """Make this the plan, and ask the clusters for which it says something new."""
        before, progress.plan = progress.plan, plan
        concerned = plan.selected | progress.recorded | set(self._picture.holders(key))
        asked: Collection[ClusterId] = concerned
        if before is not None and plan.says_the_same(before):
            asked = concerned & (progress.dirty | (plan.selected ^ before.selected))
        progress.dirty.clear()
        progress.pending &= self._picture.fleet.members.keys()
        for cluster in progress.results.keys() - concerned:
            del progress.results[cluster]
        for cluster in sorted(asked):
            if cluster in self._picture.fleet.members and self._picture.clusters.is_ready(cluster):
                self._ask(key, progress, cluster)

    def _ask(self, key: ServiceKey, progress: Progress, cluster: ClusterId) -> None:
        picture = self._picture
        if picture.can_look_into(cluster) or picture.problem_of(cluster):
            picture.ask(key, cluster)
        else:
            # It is asked once its first list is complete.
            progress.dirty.add(cluster)

    def _is_waiting(self, key: ServiceKey, progress: Progress) -> bool:
        """Whether clusters have work under way that is worth waiting for; then this comes again."""
        left = progress.deadline - now()
        if not progress.pending or left <= 0:
            return False
        self._picture.host.queue.add_after(key, left)
        return True

    # An object that is to be in no member.

    async def _remove(self, key: ServiceKey, progress: Progress, federated: FederatedObject) -> None:
        if SYNC_FINALIZER not in federated.metadata.finalizers:
            self._picture.objects.pop(key, None)
            return
        is_new = progress.plan is None or not progress.plan.is_removal
        if is_new and self._ledgers.entries(key) is None and not progress.entries:
            progress.entries = self._presumed(federated)
        plan = Plan(federated=federated, is_removal=True, is_orphaning=federated.is_orphaning)
        self._hand_out(key, progress, plan)
        if self._is_waiting(key, progress):
            return
        await self._store(key, progress, self._with_written(key, progress), is_new=False)
        if not self._is_done(progress):
            await self._tell(key, progress)
            return
        if progress.entries:
            await self._ledgers.store_tombstone(key, federated, progress.entries)
        await self._ledgers.delete(
            self._ledgers.of(key), None if progress.entries else self._ledgers.tombstone_of(key)
        )
        await self._let_go(federated)
        self._picture.objects.pop(key, None)

    def _presumed(self, federated: FederatedObject) -> Entries:
        """Which clusters may hold an object whose ledger is lost: its namespace may take it before everything else."""
        placed = self._placed(federated)
        clusters = self._picture.clusters.registered if isinstance(placed, NotPlaced) else placed.clusters
        return before_writes((), clusters)

    def _is_done(self, progress: Progress) -> bool:
        """Whether nothing is left that anybody could do now."""
        clusters = self._picture.clusters
        ready = {cluster: clusters.is_ready(cluster) for cluster in clusters.registered}
        is_busy = any(
            ready.get(cluster, False) and result.status is not None
            for cluster, result in progress.results.items()
        )
        return not progress.pending and not is_busy and finalizer_may_go(recorded(progress.entries), ready)

    async def _clean_up(self, key: ServiceKey, progress: Progress) -> None:
        """Nobody federates it any more: by a tombstone its deletion was asked for, else what there is just stays."""
        stone = self._ledgers.tombstone_of(key)
        annotations = stone.metadata.annotations if stone is not None else {}
        is_orphaning = stone is None or annotations.get(ORPHAN_ANNOTATION) == "true"
        plan = Plan(federated=gone(key, annotations), is_removal=True, is_orphaning=is_orphaning)
        self._hand_out(key, progress, plan)
        if self._is_waiting(key, progress):
            return
        entries = self._with_written(key, progress)
        if stone is not None and entries:
            await self._ledgers.store_tombstone(key, plan.federated, entries)
            _take_in(progress, entries)
        elif stone is None:
            await self._store(key, progress, entries, is_new=False)
        if not entries:
            _take_in(progress, entries)
            await self._ledgers.delete(self._ledgers.of(key), stone)
        if not progress.pending and not progress.dirty and not set(self._picture.holders(key)):
            self._picture.objects.pop(key, None)

    async def _leave_alone(self, key: ServiceKey, federated: FederatedObject, problem: str) -> None:
        """A FederatedNamespace of another name than its namespace has no effect."""
        self._picture.objects[key].plan = None
        await self._record(federated, INVALID_NAME, problem)
        if federated.is_terminating:
            await self._let_go(federated)

    # What is written.

    async def _hold(self, federated: FederatedObject) -> None:
        finalizers = federated.metadata.finalizers
        if SYNC_FINALIZER not in finalizers:
            await self._patch_finalizers(federated, [*finalizers, SYNC_FINALIZER])

    async def _let_go(self, federated: FederatedObject) -> None:
        finalizers = federated.metadata.finalizers
        if SYNC_FINALIZER in finalizers:
            await self._patch_finalizers(federated, [each for each in finalizers if each != SYNC_FINALIZER])

    async def _patch_finalizers(self, federated: FederatedObject, finalizers: list[str]) -> None:
        present = self._picture.federated.get(federated.key) or federated
        version = present.metadata.resource_version
        await self._patch(federated.key, {"metadata": {"resourceVersion": version, "finalizers": finalizers}})

    async def _store(
        self, key: ServiceKey, progress: Progress, entries: Entries, *, is_new: bool = True
    ) -> None:
        """Have these entries in the ledger; without `is_new` none is made where there is none."""
        if self._ledgers.of(key) is not None or (is_new and entries):
            await self._ledgers.store(key, entries)
        _take_in(progress, entries)

    def _with_written(self, key: ServiceKey, progress: Progress) -> Entries:
        """The ledger with what the clusters have brought back, unless they have the object again.

        While another process led, it may have been made anew.
        """
        gone = {each for each, entry in progress.written.items() if entry is None}
        held = () if self._picture.is_protected(key) else self._picture.holders(key)
        for cluster in gone.intersection(held):
            del progress.written[cluster]
            progress.dirty.add(cluster)
        entries = progress.entries
        for entry in progress.written.values():
            entries = after_write(entries, entry) if entry is not None else entries
        return without(entries, gone & progress.written.keys())

    async def _tell(self, key: ServiceKey, progress: Progress, reason: str = "", message: str = "") -> None:
        """Write the status, if it does not say that already."""
        picture = self._picture
        progress.deadline = now() + PATIENCE
        federated = picture.federated.get(key)
        if federated is None:
            return
        present = federated.status
        if progress.sent is not None and progress.stored == present:
            present = progress.sent
        told = Told(
            clusters=cluster_statuses(picture, key, federated),
            now=picture.timestamp(),
            generation=federated.metadata.generation,
            reason=reason,
            message=message,
        )
        desired = desired_status(present, told)
        if desired is present:
            return
        await self._patch(key, {"status": _with_nulls(desired)}, subresource="status")
        after = picture.federated.get(key)
        progress.sent, progress.stored = desired, after.status if after is not None else None

    async def _record(self, federated: FederatedObject, reason: str, message: str) -> None:
        """Tell an Event about the object, once."""
        progress = self._picture.objects[federated.key]
        if message not in progress.told:
            progress.told.add(message)
            await self._execute(event_about(self._picture, federated, reason, message))

    async def _patch(self, key: ServiceKey, changes: dict[str, Any], subresource: str = "") -> None:
        await self._execute(
            Patch(
                cluster=self._picture.host.cluster,
                resource=self._picture.kinds.federated,
                namespace=key.namespace,
                name=key.name,
                changes=changes,
                subresource=subresource,
            )
        )

    async def _execute(self, action: Action) -> None:
        executor = self._picture.host.executor
        if executor is None:
            raise Unreachable("the host cluster cannot be reached")
        await executor.execute((action,))


def event_about(picture: Picture, federated: FederatedObject, reason: str, message: str) -> RecordEvent:
    """An Event of type Warning about a federated object."""
    resource, metadata = picture.kinds.federated, federated.metadata
    about = resource.reference(metadata)
    event = new_event(
        about, "Warning", reason, message, picture.timestamp(), namespace=metadata.namespace or "default"
    )
    return RecordEvent(cluster=picture.host.cluster, about=resource, object=event)


def _take_in(progress: Progress, entries: Entries) -> None:
    """These entries are stored: what of them the clusters had brought back is no news any more."""
    progress.entries = entries
    stored = {each.cluster_name: each for each in entries}
    progress.written = {
        cluster: entry for cluster, entry in progress.written.items() if stored.get(cluster) != entry
    }


def _with_nulls(status: FederatedStatus) -> dict[str, Any]:
    """As a merge patch that leaves nothing of what it replaces."""
    said: dict[str, Any] = msgspec.to_builtins(status)
    return {"workload": None, "percentConverged": None, "clusters": [], "conditions": []} | said
