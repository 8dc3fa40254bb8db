"""Carries actions out in one cluster, in their order, and puts what the server answered into the caches at once.

Protects what is not ours: a name that the cache does not show as ours is looked up before its first write, or, where it
is a hash, written so that the server refuses to take a field from anybody else. Remembers
what it applied last, so that a server which stores something else than it was sent (a pruned field, a label of somebody
else) is not written to over and over. Leaves retries to the worker.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, Protocol, TypeVar

import msgspec
import structlog
from msgspec.structs import replace

from mcs.kube.errors import Invalid, NamespaceTerminating, NotFound
from mcs.model.actions import Action, Apply, Delete, Patch, RecordEvent
from mcs.model.events import Event
from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.resources import Resource
from mcs.runtime.cache import Cache

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=KubernetesObject)
Write = Apply | Patch | Delete

FEW = 1024
"""So many things that were applied are remembered without asking whether they still exist."""


class Writer(Protocol):
    """What the executor needs of a client (`mcs.kube.client.Client` is one)."""

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T: ...

    async def apply(
        self, resource: Resource[T], obj: T, *, subresource: str = "", force: bool = True
    ) -> T: ...

    async def patch(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        changes: dict[str, Any],
        *,
        subresource: str = "",
    ) -> T: ...

    async def delete(
        self, resource: Resource[Any], namespace: str, name: str, *, uid: str, resource_version: str
    ) -> None: ...


class ForeignObjectError(Exception):
    """The name is taken by an object that does not carry our label; it was left as it is."""


Applied = Callable[[Apply, KubernetesObject | None, KubernetesObject], None]
"""Told of each apply that reached the server: the action, what the cache held before, what the server answered."""


class Executor:
    """Executes plans for one cluster.

    `caches` must hold a cache for each resource that plans write.
    """

    def __init__(
        self,
        cluster: ClusterId,
        writer: Writer,
        caches: Mapping[str, Cache[Any]],
        on_applied: Applied | None = None,
        record: Callable[[Event], None] | None = None,
    ) -> None:
        self.cluster = cluster
        self._writer = writer
        self._caches = caches
        self._on_applied = on_applied
        self._record = record
        self._settled: dict[tuple[str, ServiceKey, str], tuple[int, str]] = {}
        self._settled_at_most = 0

    @property
    def remembered(self) -> int:
        """How many things that were applied are remembered; those that still exist and at most as many others."""
        return len(self._settled)

    async def execute(self, actions: Sequence[Action]) -> None:
        """Carry out `actions`: neighbours of the same resource side by side, the others one after the other.

        An object that the server finds invalid, or that is somebody else's, does not stop the others; what stopped
        it is raised at the end. Any other error ends the execution where it is. Events are recorded when all else
        went well: what was refused did not happen.
        """
        await self._look_up_unknown(actions)
        refused: list[Exception] = []
        writes = [action for action in actions if not isinstance(action, RecordEvent)]
        for _, group in groupby(
            writes, key=lambda action: (type(action), action.resource.plural, _part(action))
        ):
            refused += await self._execute_together(list(group))
        if refused:
            raise refused[0]
        if self._record is not None:
            for action in actions:
                if isinstance(action, RecordEvent):
                    self._record(self._with_uid(action))

    def _with_uid(self, action: RecordEvent) -> Event:
        """The Event with the uid of its object as the cache has it: only by that do users find the Event."""
        event, about = action.object, action.object.involved_object
        held = self._caches[action.about.plural].get(ServiceKey(about.namespace, about.name))
        if about.uid or held is None:
            return event
        return replace(event, involved_object=replace(about, uid=held.metadata.uid))

    async def _look_up_unknown(self, actions: Iterable[Action]) -> None:
        """Ask the server for every name that is to be written for the first time, all at once.

        What is found goes into the cache. The cache alone would not do: it may lag behind an object of somebody else.
        """
        unknown = [
            action
            for action in actions
            if isinstance(action, Apply)
            and not action.subresource
            and not action.is_hashed
            and self._caches[action.resource.plural].get(action.object.key) is None
        ]
        if len(unknown) == 1:
            await self._look(unknown[0].resource, unknown[0].object.key)
        elif unknown:
            # All are waited for, also after a failure: none may outlive this execution.
            found = await asyncio.gather(
                *(self._look(action.resource, action.object.key) for action in unknown),
                return_exceptions=True,
            )
            for error in filter(None, found):
                raise error

    async def _execute_together(self, actions: Sequence[Write]) -> list[Exception]:
        results: Sequence[BaseException | None]
        if len(actions) == 1:
            # The commonest plan by far, one mirror to write, goes without a task of its own.
            results = [await self._refusal(actions[0])]
        else:
            results = await asyncio.gather(
                *(self._refusal(action) for action in actions), return_exceptions=True
            )
        refused: list[Exception] = []
        for result in results:
            if isinstance(result, Invalid | ForeignObjectError):
                refused.append(result)
            elif result is not None:
                raise result
        return refused

    async def _refusal(self, action: Write) -> Exception | None:
        """Carry out one action; why it was refused for good is returned, other errors are raised."""
        try:
            match action:
                case Apply():
                    await self._apply(action)
                case Patch():
                    await self._patch(action)
                case Delete():
                    await self._delete(action)
        except (Invalid, ForeignObjectError) as error:
            return error
        return None

    async def _apply(self, action: Apply) -> None:
        cache = self._caches[action.resource.plural]
        key = action.object.key
        before = cache.get(key)
        if not action.subresource and before is not None and not before.is_ours:
            raise ForeignObjectError(
                f"{action.resource.kind} {key} exists and is not managed by this controller"
            )
        digest = hash(msgspec.json.encode(action.object))
        memory = (action.resource.plural, key, action.subresource)
        if before is not None and self._settled.get(memory) == (digest, before.metadata.resource_version):
            return
        try:
            after = await self._writer.apply(
                action.resource,
                action.object,
                subresource=action.subresource,
                force=before is not None or not action.is_hashed,
            )
        except NamespaceTerminating:
            log.info(
                "namespace is terminating",
                cluster=self.cluster,
                resource=str(action.resource),
                object=str(key),
            )
            return
        self._remember(memory, (digest, after.metadata.resource_version))
        cache.put(after)
        if self._on_applied is not None:
            self._on_applied(action, before, after)

    def _remember(self, memory: tuple[str, ServiceKey, str], settled: tuple[int, str]) -> None:
        """What others deleted (a whole namespace, say) is forgotten once it makes up half of the memory."""
        self._settled[memory] = settled
        if len(self._settled) > max(FEW, self._settled_at_most):
            self._settled = {
                memory: settled
                for memory, settled in self._settled.items()
                if self._caches[memory[0]].get(memory[1]) is not None
            }
            self._settled_at_most = 2 * len(self._settled)

    async def _look(self, resource: Resource[Any], key: ServiceKey) -> None:
        with suppress(NotFound):
            self._caches[resource.plural].put(await self._writer.get(resource, key.namespace, key.name))

    async def _patch(self, action: Patch) -> None:
        with suppress(NotFound):
            after = await self._writer.patch(
                action.resource,
                action.namespace,
                action.name,
                action.changes,
                subresource=action.subresource,
            )
            cache = self._caches[action.resource.plural]
            # An object that lost its last finalizer is gone with the patch, which answers with it all the same.
            if not after.is_terminating or after.metadata.finalizers:
                cache.put(after)

    async def _delete(self, action: Delete) -> None:
        await self._writer.delete(
            action.resource,
            action.namespace,
            action.name,
            uid=action.uid,
            resource_version=action.resource_version,
        )
        key = ServiceKey(action.namespace, action.name)
        cache = self._caches[action.resource.plural]
        held = cache.get(key)
        if held is not None and held.metadata.uid == action.uid:
            cache.discard_written(held)
        for subresource in ("", "status"):
            self._settled.pop((action.resource.plural, key, subresource), None)


def _part(action: Write) -> str:
    return "" if isinstance(action, Delete) else action.subresource


def is_terminal(error: Exception) -> bool:
    """True when the same request cannot succeed until some object changes, so that trying again is no use."""
    return isinstance(error, Invalid | ForeignObjectError)
