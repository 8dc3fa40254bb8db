"""The work on one federated object in one cluster: look, write, delete or let go, as the plan for it says.

An error becomes the status of the cluster, with its text, before the worker of the cluster judges whether it is tried
again. Nothing is written when what is there says all that is desired.
"""

from typing import Any

from msgspec.structs import replace

from mcs.controllers.federation.clusters import TargetClient
from mcs.controllers.federation.objects import event_about
from mcs.controllers.federation.picture import FIGHT, Picture, Plan, Progress, Result, now
from mcs.controllers.federation.telling import FAILED, TIMED_OUT
from mcs.federation.deletion import delete_options
from mcs.federation.drift import drift_message, drifted
from mcs.federation.ledger import applied_hash, needs_update, written
from mcs.federation.overrides import Document, NotMade
from mcs.federation.ownership import taken_over
from mcs.federation.propagation import WRITES, Decision, Step
from mcs.federation.template import member_object
from mcs.kube.errors import (
    Conflict,
    Failure,
    KubeError,
    NotFound,
    NotLeading,
    ResourceMissing,
    Unreachable,
)
from mcs.model.federated import (
    CACHED_RETRIEVAL_FAILED,
    MANAGED,
    MANAGED_LABEL,
    OK,
    RETRIEVAL_FAILED,
    WAITING_FOR_REMOVAL,
)
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.resources import NAMESPACES, Resource
from mcs.model.targets import TargetObject

MOST_STEPS = 6
"""Each step brings an object closer to its end; one that somebody makes again and again gets there another time."""

_EVENTS: dict[Step, str] = {
    "look": "RetrieveInCluster",
    "create": "CreateInCluster",
    "update": "UpdateInCluster",
    "adopt": "UpdateInCluster",
    "delete": "DeleteInCluster",
    "release": "RemoveManagedLabelInCluster",
}
"""KubeFed's words for the steps; with "Failed" behind them they are reasons of Events."""

_ONE_MORE_LOOK = Result(WAITING_FOR_REMOVAL, "The object was deleted there, and is there again.")
_UNREADABLE = Result(
    CACHED_RETRIEVAL_FAILED, "What the cluster tells of its object cannot be read: correct it."
)


class ClusterWork:
    """Carries out plans in the clusters."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture

    async def reconcile(self, cluster: ClusterId, key: ServiceKey) -> None:
        """Bring one object in one cluster to where its plan says. Raises KubeError."""
        picture = self._picture
        progress, client = picture.objects.get(key), picture.clients.get(cluster)
        if progress is None or progress.plan is None or client is None:
            picture.ended(key, cluster)
            return
        attempt = _Attempt(picture, cluster, key, progress, progress.plan, client)
        try:
            result = await attempt.carry_out()
        except NotLeading:
            raise
        except Conflict:
            # The next attempt is due at once, and looks first.
            progress.doubted.add(cluster)
            raise
        except KubeError as error:
            await attempt.note(attempt.failure(error))
            picture.ended(key, cluster)
            raise
        await attempt.note(result)
        picture.ended(key, cluster)


class _Attempt:
    """One attempt at one object in one cluster."""

    def __init__(
        self,
        picture: Picture,
        cluster: ClusterId,
        key: ServiceKey,
        progress: Progress,
        plan: Plan,
        client: TargetClient,
    ) -> None:
        self._picture = picture
        self._cluster = cluster
        self._key = key
        self._progress = progress
        self._plan = plan
        self._client = client
        self._target = picture.kinds.target
        self._place = picture.kinds.target_key(key)
        self._cache = picture.cache_of(cluster)
        self._step: Step = "none"

    async def carry_out(self) -> Result:
        """Take one step after the other until none is left. Raises KubeError."""
        if self._place in self._cache.malformed:
            return _UNREADABLE
        seen, is_live = self._cache.get(self._place), False
        if self._cluster in self._progress.doubted:
            seen, is_live = await self._look(), True
            self._progress.doubted.discard(self._cluster)
        for _ in range(MOST_STEPS):
            decision = self._picture.decision(self._key, self._cluster, self._plan, seen, is_live=is_live)
            if decision.step == "delete" and await self._is_namespace_of_the_host(seen):
                decision = self._picture.decision(
                    self._key, self._cluster, self._plan, seen, is_live=is_live, is_own_namespace=True
                )
            self._begin(decision.step)
            if decision.step in WRITES:
                return await self._write(seen)
            match decision.step:
                case "look":
                    pass
                case "delete" if self._is_outdated():
                    return Result(decision.status, decision.message)
                case "delete" if seen is not None:
                    if (refused := await self._delete(seen)) is not None:
                        return refused
                case "release" if seen is not None:
                    await self._release(seen)
                case "forget":
                    self._progress.written[self._cluster] = None
                    return Result(None)
                case _:
                    self._come_again_after_hold(seen)
                    return Result(decision.status, self._why_unseen(decision) or decision.message)
            seen, is_live = await self._look(), True
        self._picture.ask(self._key, self._cluster, FIGHT)
        return _ONE_MORE_LOOK

    def failure(self, error: KubeError) -> Result:
        """What the status of the cluster is for an error in the present step."""
        is_silence = isinstance(error, Unreachable) and error.failure is Failure.TIMEOUT
        statuses = TIMED_OUT if is_silence else FAILED
        return Result(statuses.get(self._step, RETRIEVAL_FAILED), str(error))

    async def note(self, result: Result) -> None:
        """Remember how it went; what is not as it should be is told by an Event when it is news."""
        before = self._progress.results.get(self._cluster)
        self._progress.results[self._cluster] = result
        is_failure = result.status in FAILED.values() or result.status in TIMED_OUT.values()
        if is_failure and result != before:
            await self._tell(f"{_EVENTS.get(self._step, 'RetrieveInCluster')}Failed", result.message)

    async def _tell(self, reason: str, message: str) -> None:
        executor = self._picture.host.executor
        if executor is not None and self._plan.federated.metadata.uid:
            text = f"{self._target.kind} in cluster {self._cluster}: {message}"
            await executor.execute((event_about(self._picture, self._plan.federated, reason, text),))

    def _begin(self, step: Step) -> None:
        self._step = self._progress.under_way[self._cluster] = step

    def _why_unseen(self, decision: Decision) -> str:
        """Why the objects of a member cannot be read, where that is all that there is to tell."""
        is_unseen = decision.status == CACHED_RETRIEVAL_FAILED
        return self._picture.problem_of(self._cluster) if is_unseen else ""

    def _come_again_after_hold(self, seen: TargetObject | None) -> None:
        left = self._picture.hold_left(self._cluster)
        if seen is not None and left > 0 and self._cluster not in self._plan.selected:
            self._picture.ask(self._key, self._cluster, left)

    def _is_outdated(self) -> bool:
        """Whether another plan is about to be made, which may want to keep the object."""
        present = self._picture.federated.get(self._key)
        if self._plan.is_removal or present is None:
            return False
        return present.metadata.generation != self._plan.federated.metadata.generation

    # What is there.

    async def _look(self) -> TargetObject | None:
        """The object as it is now. Where the kind is not served there is none."""
        self._begin("look") if self._step == "none" else None
        try:
            seen = await self._client.get(self._target, self._place.namespace, self._place.name)
        except (NotFound, ResourceMissing):
            return None
        if seen.metadata.labels.get(MANAGED_LABEL) == MANAGED:
            self._picture.put(self._cache, seen)
        return seen

    async def _is_namespace_of_the_host(self, seen: TargetObject | None) -> bool:
        """Whether it is the very namespace that the federated namespace is in: the cluster is the host."""
        if not self._picture.kinds.is_of_namespaces or seen is None:
            return False
        host = self._picture.clients.get(self._picture.host.cluster)
        if host is None:
            raise Unreachable("the host cluster cannot be asked for its namespaces")
        try:
            own = await host.get(NAMESPACES, "", self._place.name)
        except NotFound:
            return False
        return own.metadata.uid == seen.metadata.uid

    # What is done.

    async def _write(self, seen: TargetObject | None) -> Result:
        progress, cluster = self._progress, self._cluster
        entry = progress.entry(cluster)
        if entry is None:
            # The ledger comes first.
            progress.dirty.add(cluster)
            self._picture.host.queue.add(self._key)
            return Result(None)
        document = member_object(
            self._plan.federated, self._target, cluster, seen.document if seen is not None else None
        )
        if isinstance(document, NotMade):
            return Result(document.status, document.message)
        digest, message = applied_hash(document), ""
        if self._step == "update" and seen is not None:
            is_settled = progress.settled.get(cluster) == (digest, seen.metadata.resource_version)
            if is_settled or not needs_update(entry, document, seen.document):
                return Result(OK)
            if entry.applied == digest:
                self._note_undone()
                message = drift_message(drifted(document, seen.document))
        answer = await self._apply(document, seen)
        if seen is not None and (self._step == "adopt" or not entry.applied):
            answer = await self._take_over(answer)
        progress.settled[cluster] = (digest, answer.metadata.resource_version)
        after = written(cluster, answer.metadata, document)
        if after != entry:
            progress.written[cluster] = after
        return Result(OK, message)

    async def _apply(self, document: Document, seen: TargetObject | None) -> TargetObject:
        sent = document
        if seen is not None:
            # Somebody may just be telling us to leave it alone.
            metadata = {**document["metadata"], "resourceVersion": seen.metadata.resource_version}
            sent = {**document, "metadata": metadata}
        answer = await self._client.apply_document(_served_as(self._target, document), sent)
        self._picture.put(self._cache, answer)
        return answer

    async def _take_over(self, answer: TargetObject) -> TargetObject:
        """Make what we apply ours alone where somebody else wrote it before: once, when the object becomes ours."""
        entries = taken_over(answer.document["metadata"].get("managedFields") or ())
        if entries is None:
            return answer
        changes = {"managedFields": entries, "resourceVersion": answer.metadata.resource_version}
        return await self._patch(changes)

    async def _patch(self, metadata: dict[str, Any]) -> TargetObject:
        answer = await self._client.patch(
            self._target, self._place.namespace, self._place.name, {"metadata": metadata}
        )
        if answer.metadata.labels.get(MANAGED_LABEL) == MANAGED:
            self._picture.put(self._cache, answer)
        return answer

    def _note_undone(self) -> None:
        times, when = self._progress.undone.get(self._cluster, (0, 0.0))
        again = times + 1 if now() - when < FIGHT else 1
        self._progress.undone[self._cluster] = (again, now())

    async def _delete(self, seen: TargetObject) -> Result | None:
        options = delete_options(self._plan.federated)
        if isinstance(options, NotMade):
            return Result(options.status, options.message)
        await self._client.delete(
            self._target,
            self._place.namespace,
            self._place.name,
            uid=seen.metadata.uid,
            resource_version=seen.metadata.resource_version,
            options=options,
        )
        self._cache.discard_written(seen)
        return None

    async def _release(self, seen: TargetObject) -> None:
        """Take our label off; the object stays as it is."""
        version = seen.metadata.resource_version
        answer = await self._patch({"labels": {MANAGED_LABEL: None}, "resourceVersion": version})
        self._cache.discard(self._place, answer.metadata.resource_version)


def _served_as(target: Resource[TargetObject], document: Document) -> Resource[TargetObject]:
    """The resource in the version that the document is written in: a template may choose another than its type's."""
    group, _, version = document["apiVersion"].rpartition("/")
    return replace(target, group=group, version=version)
