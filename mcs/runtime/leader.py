"""Takes part in the election of a leader: reads and writes the Lease, and tells whether anything may be written now.

What to do about the Lease is decided in `mcs.membership.leadership`; here are the requests, and the loop's clock, which
goes on while the process is stopped. On the loss of the Lease the process stands by and is a candidate again: its
caches stay warm and a DNS server in it goes on answering. An exit would cost both, and would become a crash loop while
the API server with the Lease is away.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import structlog
from msgspec import Struct
from msgspec.structs import replace

from mcs.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    KubeError,
    NotFound,
    NotLeading,
    ResourceMissing,
)
from mcs.membership.leadership import Candidate, Timing, changes
from mcs.model.leases import Lease
from mcs.model.meta import KubernetesObject
from mcs.model.resources import LEASES, Resource

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=KubernetesObject)

GIVE_BACK_SECONDS = 1.0
"""How long the end of a process waits for the Lease to be given back."""


class LeaseClient(Protocol):
    """What the election needs of a client (`mcs.kube.client.Client` is one)."""

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T: ...

    async def create(self, resource: Resource[T], obj: T) -> T: ...

    async def patch(self, resource: Resource[T], namespace: str, name: str, changes: dict[str, Any]) -> T: ...


class LeasePlace(Struct, frozen=True):
    """Which Lease is held: its namespace and name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class LeaderElector:
    """Entered, it is a candidate until it is left, and then gives the Lease back at once.

    `identity` must be no other candidate's. `wall` tells the time of the day that is written into the Lease.
    """

    def __init__(
        self,
        open_client: Callable[[], AbstractAsyncContextManager[LeaseClient]],
        place: LeasePlace,
        identity: str,
        wall: Callable[[], datetime],
        timing: Timing | None = None,
    ) -> None:
        self.place = place
        self.problem = ""
        """Why the last attempt to read or write the Lease failed; empty when it did not."""
        self.was_answered = False
        """True once the Lease could be read or written."""
        self._open_client = open_client
        self._wall = wall
        self._candidate = Candidate(identity, timing or Timing())
        self._may_lead = asyncio.Event()
        self._is_ending = False
        self._told: tuple[bool, str] = (False, "")
        self._task: asyncio.Task[None] | None = None

    @property
    def is_leading(self) -> bool:
        """True while this process may write."""
        return not self._is_ending and _now() < self._candidate.leads_until

    @property
    def holder(self) -> str:
        """Who holds the Lease, as far as was seen; empty when nobody does."""
        return self._candidate.holder

    def permit(self) -> float:
        """How many seconds a write may take that leaves now. Raises NotLeading when none may."""
        allowance = 0.0 if self._is_ending else self._candidate.allowance(_now())
        if not allowance:
            raise NotLeading(f"Lease {self.place}: not held by this process, which therefore writes nothing")
        return allowance

    @property
    def notes(self) -> list[str]:
        """Who leads, and what is wrong with the Lease if anything is, one line each."""
        who = "this process" if self.is_leading else f"{self.holder or 'nobody yet'}; this process stands by"
        return [f"leader: {who}", *([f"lease: {self.problem}"] if self.problem else [])]

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` once this process may write, and from its beginning again when it was no longer allowed to."""
        while True:
            while not self.is_leading:
                self._may_lead.clear()
                await self._may_lead.wait()
            with suppress(NotLeading):
                return await work()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="leader-election")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_ending = True
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            began = _now()
            try:
                async with self._open_client() as client:
                    await self._elect(client)
            except KubeError as error:
                self._tell_problem(error)
            except Exception as error:
                self._tell_problem(f"{type(error).__name__}: {error}")
                log.exception("unexpected failure of the election")
            await asyncio.sleep(self._candidate.pause(began, _now()))

    async def _elect(self, client: LeaseClient) -> None:
        try:
            while True:
                began = _now()
                await self._try(client)
                await asyncio.sleep(self._candidate.pause(began, _now()))
        finally:
            await self._give_back(client)

    async def _try(self, client: LeaseClient) -> None:
        """Renew the Lease, or take it if it may be taken. What fails is told once and tried again."""
        self._tell_change()
        try:
            async with asyncio.timeout(self._candidate.timing.request):
                if not self.is_leading or not self._candidate.is_fresh:
                    self._candidate = self._candidate.having_seen(await self._read(client), _now())
                if (wanted := self._candidate.wanted(_now(), self._wall())) is not None:
                    await self._write(client, wanted)
        except (Conflict, AlreadyExists):
            # Somebody else was quicker, which is no trouble; the next attempt reads who.
            pass
        except TimeoutError:
            self._tell_problem(f"no answer within {self._candidate.timing.request:g} s")
        except KubeError as error:
            self._tell_problem(error)
        else:
            self._tell_well()
        self._tell_change()

    async def _read(self, client: LeaseClient) -> Lease | None:
        try:
            return await client.get(LEASES, self.place.namespace, self.place.name)
        except NotFound:
            return None

    async def _write(self, client: LeaseClient, wanted: Lease) -> None:
        sent = _now()
        self._candidate = self._candidate.having_failed()
        if wanted.metadata.resource_version:
            try:
                written = await client.patch(LEASES, self.place.namespace, self.place.name, changes(wanted))
            except NotFound:
                # Deleted meanwhile, as the next attempt sees.
                return
        else:
            metadata = replace(wanted.metadata, namespace=self.place.namespace, name=self.place.name)
            written = await client.create(LEASES, replace(wanted, metadata=metadata))
        self._candidate = self._candidate.having_written(written, sent, _now())

    async def _give_back(self, client: LeaseClient) -> None:
        if self.holder != self._candidate.identity:
            return
        with suppress(KubeError, TimeoutError):
            async with asyncio.timeout(GIVE_BACK_SECONDS):
                while not await self._is_given_back(client):
                    self._candidate = self._candidate.having_seen(await self._read(client), _now())

    async def _is_given_back(self, client: LeaseClient) -> bool:
        """Try to give the Lease back; False when it must be read first, for a renewal may just have been under way."""
        if not self._candidate.is_fresh:
            return False
        if (given := self._candidate.given_back(self._wall())) is None:
            return True
        self._candidate = self._candidate.having_failed()
        try:
            await client.patch(LEASES, self.place.namespace, self.place.name, changes(given))
        except Conflict:
            return False
        log.info("lease given back", lease=str(self.place))
        return True

    def _tell_change(self) -> None:
        leads, was_leading = self.is_leading, self._told[0]
        if leads:
            self._may_lead.set()
        if self._told == (told := (leads, self.holder)):
            return
        self._told = told
        if leads and not was_leading:
            log.info("leading", lease=str(self.place), identity=self._candidate.identity)
        elif was_leading and not leads:
            log.warning("no longer leading: standing by", lease=str(self.place), holder=self.holder)
        elif not leads:
            log.info("standing by", lease=str(self.place), holder=self.holder)

    def _tell_well(self) -> None:
        if self.problem:
            log.info("lease can be used again", lease=str(self.place))
        self.problem = ""
        self.was_answered = True

    def _tell_problem(self, error: KubeError | str) -> None:
        problem = f"{error}{_advice(error, self.place)}"
        if problem != self.problem:
            log.error("lease cannot be used", lease=str(self.place), problem=problem)
        self.problem = problem


def _advice(error: KubeError | str, place: LeasePlace) -> str:
    """What an operator can do about a refusal, as the rest of a sentence."""
    match error:
        case Forbidden():
            return f"; allow get and patch of leases.coordination.k8s.io {place}, and create in its namespace"
        case NotFound():
            return f"; create the namespace {place.namespace}, or name another with --lease-namespace"
        case ResourceMissing():
            return "; the API server serves no leases.coordination.k8s.io/v1"
        case _:
            return ""


def _now() -> float:
    return asyncio.get_running_loop().time()


async def while_leading(leader: LeaderElector | None, work: Callable[[], Awaitable[None]]) -> None:
    """Do `work` at once where nobody is elected, else as soon and as long as `leader` leads."""
    if leader is None:
        await work()
    else:
        await leader.lead(work)
