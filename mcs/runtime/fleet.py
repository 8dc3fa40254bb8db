"""The clusters that are worked with: one task group each, so that none can hurt another.

Knows clients, caches, queues and tasks; which resources are reflected and what work means is told to it. Whether a
cluster belongs to the set is decided elsewhere.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from enum import StrEnum
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import structlog

from mcs.kube.errors import Failure, Forbidden, KubeError, ResourceMissing, failure_of
from mcs.model.names import ClusterId
from mcs.runtime.cache import Cache
from mcs.runtime.cancellation import raise_if_cancelled
from mcs.runtime.demand import Demand, Lister, Reflected
from mcs.runtime.events import Creator, EventRecorder
from mcs.runtime.executor import Applied, Executor, Writer
from mcs.runtime.queue import WorkQueue
from mcs.runtime.reflector import AnyReflector, Reader, Reflector
from mcs.runtime.worker import WorkCounts, work

log = structlog.get_logger(__name__)
K = TypeVar("K")

WORKERS = 16
"""Pieces of work that may be under way in one cluster at once."""

LONGEST_PAUSE = 60.0
FIRST_PAUSE = 1.0
"""Bounds of the pause before a cluster is engaged again, in seconds."""

LONGEST_QUESTION_PAUSE = 10.0
"""Bound of the pause before a cluster that gave no answer is asked again who it is, in seconds."""

CRD_MISSING = "CRD missing"
"""The problem of a member that answers, but does not serve something that is reflected."""

QUESTION_PERIOD = 60.0
"""Seconds after which a cluster that is worked with is asked again who it is."""


class Client(Lister, Reader, Writer, Creator, Protocol):
    """A connection to one cluster's API server."""


Admit = Callable[[ClusterId, Client], Awaitable[None]]
"""Returns for a cluster that may be worked with. Raises NotAdmittedError, or KubeError when it cannot be asked."""


class NotAdmittedError(Exception):
    """A cluster that must not be worked with, whatever its API server answers; the message says what to do."""


class Reachability(StrEnum):
    """How a member is doing, as far as its API server tells."""

    CONNECTING = "connecting"
    SYNCING = "syncing"
    REACHABLE = "reachable"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    """It answers, but is not the cluster that it was given for."""


def _problem_of(error: BaseException) -> str:
    if isinstance(error, ResourceMissing):
        return CRD_MISSING
    return str(failure_of(error) if isinstance(error, KubeError) else Failure.OTHER)


class Member(Generic[K]):
    """One cluster: its caches outlive every connection, so what was known stays known while it is away."""

    def __init__(
        self,
        cluster: ClusterId,
        open_client: Callable[[], AbstractAsyncContextManager[Client]],
        reflected: Sequence[Reflected],
        on_applied: Applied | None = None,
        admit: Admit | None = None,
    ) -> None:
        self.cluster = cluster
        self.queue: WorkQueue[K] = WorkQueue()
        self.counts = WorkCounts()
        self.caches: dict[str, Cache[Any]] = {
            each.resource.plural: Cache(each.indexes, each.on_demand) for each in reflected
        }
        self.demand = Demand(self.caches, reflected)
        self.reflectors: list[AnyReflector] = []
        self.executor: Executor | None = None
        self.error: str = ""
        self._problem: str = ""
        self._open_client = open_client
        self._reflected = reflected
        self._on_applied = on_applied
        self._admit = admit
        self._engagement: asyncio.Task[None] | None = None
        self._is_given_anew = asyncio.Event()
        self._is_refused = False
        self._heard_before: float | None = None
        self._seen_listeners: list[Callable[[ClusterId], None]] = []
        self._may_be_forbidden = [each.resource for each in reflected if each.may_be_forbidden]
        self._complete: frozenset[str] = frozenset()
        self._health_listeners: list[Callable[[], None]] = []
        self._was_seen = False

    @property
    def is_seen(self) -> bool:
        """True once every cache has been complete: from then on what a cache lacks does not exist there."""
        return self._was_seen or all(
            cache.is_synced or resource in self._forbidden for resource, cache in self.caches.items()
        )

    @property
    def reachability(self) -> Reachability:
        """What the reflectors experience just now."""
        if self._is_refused:
            return Reachability.REFUSED
        if self.reason:
            return Reachability.UNREACHABLE
        if not self.reflectors:
            return Reachability.CONNECTING
        return Reachability.REACHABLE if self.is_seen else Reachability.SYNCING

    @property
    def reason(self) -> str:
        """Why the member is unreachable; empty when it is not."""
        forbidden = self._forbidden
        errors = [
            str(reflector.status.error)
            for reflector in self.reflectors
            if reflector.status.error and reflector.resource.plural not in forbidden
        ]
        return self.error or (errors[0] if errors else "")

    @property
    def problem(self) -> str:
        """The kind of what `reason` tells, in a word (`Failure`, or CRD_MISSING); empty when nothing is wrong."""
        errors = [_problem_of(each.status.error) for each in self.reflectors if each.status.error]
        return self._problem if self.error else errors[0] if errors else ""

    @property
    def _forbidden(self) -> frozenset[str]:
        # What this API server does not let be read, though nothing depends on it.
        return frozenset(
            reflector.resource.plural
            for reflector in self.reflectors
            if reflector.resource in self._may_be_forbidden
            and isinstance(reflector.status.error, Forbidden | ResourceMissing)
        )

    @property
    def heard(self) -> float | None:
        """When the API server last sent anything that is reflected, by the loop's clock; None when it never did."""
        heard = [self._heard_before, *(reflector.status.heard for reflector in self.reflectors)]
        return max((each for each in heard if each is not None), default=None)

    def on_seen(self, listener: Callable[[ClusterId], None]) -> None:
        """Call `listener` when every cache of this member has become complete, and when a forbidden one does later."""
        self._seen_listeners.append(listener)

    def reconnect(self, open_client: Callable[[], AbstractAsyncContextManager[Client]]) -> None:
        """Connect in this way from now on, at once: caches, work and what has been seen stay."""
        self._open_client = open_client
        self._is_given_anew.set()
        self._end_engagement()

    def on_health(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever `reachability` may have changed."""
        self._health_listeners.append(listener)

    async def keep(self, reconcile: Callable[[K], Awaitable[None]] | None) -> None:
        """Stay engaged until cancelled: connect, reflect and work; after a failure pause and begin again."""
        loop, pause = asyncio.get_running_loop(), FIRST_PAUSE
        while True:
            began = loop.time()
            self._is_given_anew.clear()
            try:
                await self._stay_engaged(reconcile)
            except* NotAdmittedError as errors:
                self._problem = str(Failure.OTHER)
                if not self._is_refused:
                    log.error("cluster refused", cluster=self.cluster, problem=str(errors.exceptions[0]))
                self.error = str(errors.exceptions[0])
                self._is_refused = True
            except* KubeError as errors:
                self._problem = _problem_of(errors.exceptions[0])
                self.error = str(errors.exceptions[0])
                log.warning("cluster disengaged", cluster=self.cluster, error=self.error)
            except* Exception as errors:
                self._problem = str(Failure.OTHER)
                self.error = f"{type(errors.exceptions[0]).__name__}: {errors.exceptions[0]}"
                log.exception("cluster disengaged by an unexpected failure", cluster=self.cluster)
            raise_if_cancelled()
            self._tell_health()
            if loop.time() - began > LONGEST_PAUSE or self._is_given_anew.is_set():
                pause = FIRST_PAUSE
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._is_given_anew.wait()
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _stay_engaged(self, reconcile: Callable[[K], Awaitable[None]] | None) -> None:
        """Be engaged until that fails, or until another way to connect is given."""
        # In a task of its own: a task group of Python before 3.13 may leave its task marked as cancelled.
        engagement = asyncio.create_task(self._engage(reconcile), name=f"{self.cluster}/engaged")
        self._engagement = engagement
        try:
            await asyncio.wait([engagement])
        finally:
            self._end_engagement()
            await asyncio.wait([engagement])
            self._engagement = None
            failure = None if engagement.cancelled() else engagement.exception()
        if failure is not None:
            raise failure

    def _end_engagement(self) -> None:
        """Ask once: a task that is cancelled again while it ends may leave its connections open."""
        if self._engagement is not None and not self._engagement.cancelling():
            self._engagement.cancel()

    async def _engage(self, reconcile: Callable[[K], Awaitable[None]] | None) -> None:
        async with self._open_client() as client:
            if self._admit is not None:
                await self._be_admitted(self._admit, client)
            self.error = ""
            self._heard_before = self.heard
            events = EventRecorder(client, cluster=self.cluster)
            self.executor = Executor(self.cluster, client, self.caches, self._on_applied, events.record)
            self.reflectors = [
                Reflector(
                    client,
                    each.resource,
                    self.caches[each.resource.plural],
                    cluster=self.cluster,
                    label_selector=each.label_selector,
                    on_synced=self._tell_synced,
                    on_error=self._tell_synced if each.may_be_forbidden else None,
                    on_health=self._tell_health,
                )
                for each in self._reflected
            ]
            self._tell_health()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.demand.run(client, cluster=self.cluster), name=f"{self.cluster}/fetch")
                for reflector in self.reflectors:
                    tasks.create_task(reflector.run(), name=f"{self.cluster}/reflect/{reflector.resource}")
                if self._admit is not None:
                    tasks.create_task(
                        self._stay_admitted(self._admit, client), name=f"{self.cluster}/admission"
                    )
                if reconcile is not None:
                    tasks.create_task(events.run(), name=f"{self.cluster}/events")
                    for number in range(WORKERS):
                        tasks.create_task(
                            work(self.queue, reconcile, self.counts, cluster=self.cluster),
                            name=f"{self.cluster}/work/{number}",
                        )

    async def _be_admitted(self, admit: Admit, client: Client) -> None:
        """Ask until there is an answer: a cluster that cannot be asked is neither admitted nor refused."""
        pause = FIRST_PAUSE
        while True:
            try:
                await admit(self.cluster, client)
            except KubeError as error:
                if not self.error:
                    log.warning("cluster cannot be asked who it is", cluster=self.cluster, error=str(error))
                self.error, self._problem = str(error), _problem_of(error)
                self._tell_health()
            else:
                self._is_refused = False
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_QUESTION_PAUSE)

    async def _stay_admitted(self, admit: Admit, client: Client) -> None:
        """Ask again from time to time; raises NotAdmittedError. That there is no answer changes nothing."""
        while True:
            await asyncio.sleep(QUESTION_PERIOD)
            with suppress(KubeError):
                await admit(self.cluster, client)

    def _tell_synced(self) -> None:
        self.demand.begin()
        self.demand.settle()
        complete = frozenset(resource for resource, cache in self.caches.items() if cache.is_synced)
        if self.is_seen and complete != self._complete:
            self._was_seen, self._complete = True, complete
            for listener in self._seen_listeners:
                listener(self.cluster)
            self._tell_health()

    def _tell_health(self) -> None:
        for listener in self._health_listeners:
            listener()


class Fleet(Generic[K]):
    """All members by cluster id. They may come and go at any time, whether the fleet runs or not.

    `left` are the clusters that are known to have left for good, and are not members again: nothing comes from them.
    """

    def __init__(self, members: Sequence[Member[K]] = ()) -> None:
        self.members: dict[ClusterId, Member[K]] = {member.cluster: member for member in members}
        self.left: frozenset[ClusterId] = frozenset()
        self._followers: list[tuple[Callable[[Member[K]], None], Callable[[Member[K]], None]]] = []
        self._left_listeners: list[Callable[[ClusterId], None]] = []
        self._reconcile: Callable[[ClusterId, K], Awaitable[None]] | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._task_of: dict[ClusterId, asyncio.Task[None]] = {}

    @property
    def seen(self) -> frozenset[ClusterId]:
        """The members whose absence of an object means that the object does not exist."""
        return frozenset(cluster for cluster, member in self.members.items() if member.is_seen)

    @property
    def is_idle(self) -> bool:
        """True when no member has work waiting, under way or backing off."""
        return all(each.queue.is_idle and each.demand.queue.is_idle for each in self.members.values())

    def follow(
        self, engaged: Callable[[Member[K]], None], disengaged: Callable[[Member[K]], None] = lambda _: None
    ) -> None:
        """Call `engaged` with every member, those to come included, and `disengaged` with each that was one."""
        self._followers.append((engaged, disengaged))
        for member in self.members.values():
            engaged(member)

    def on_left(self, listener: Callable[[ClusterId], None]) -> None:
        """Call `listener` with every cluster that has left, also with one that is no member any more."""
        self._left_listeners.append(listener)

    def engage(self, member: Member[K]) -> None:
        """Work with this cluster from now on. There must be no member of its id."""
        if member.cluster in self.members:
            raise ValueError(f"{member.cluster} is a member already")
        self.members[member.cluster] = member
        self.left -= {member.cluster}
        for engaged, _ in self._followers:
            engaged(member)
        self._start(member)

    def disengage(self, cluster: ClusterId, *, has_left: bool = False) -> None:
        """Work with this cluster no longer; its tasks and connections end soon. Nothing happens when it is no member.

        What came from it stays everywhere, unless it `has_left` for good.
        """
        is_news = has_left and cluster not in self.left
        if has_left:
            self.left |= {cluster}
        member = self.members.pop(cluster, None)
        if (task := self._task_of.pop(cluster, None)) is not None:
            task.cancel()
        if member is not None:
            member.queue.drop_delayed()
            member.demand.queue.drop_delayed()
            for _, disengaged in self._followers:
                disengaged(member)
        if is_news:
            for listener in self._left_listeners:
                listener(cluster)

    async def run(self, reconcile: Callable[[ClusterId, K], Awaitable[None]] | None) -> None:
        """Keep every member engaged until cancelled; `reconcile`, if any, gets a cluster id and a key."""
        self._reconcile = reconcile
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                for member in self.members.values():
                    self._start(member)
                await asyncio.Event().wait()
            finally:
                self._tasks = None
                self._task_of.clear()

    def _start(self, member: Member[K]) -> None:
        if self._tasks is not None:
            reconcile = partial(self._reconcile, member.cluster) if self._reconcile else None
            self._task_of[member.cluster] = self._tasks.create_task(
                member.keep(reconcile), name=member.cluster
            )
