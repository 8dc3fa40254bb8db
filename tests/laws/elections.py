"""Electors over a faulty Lease, in virtual time: processes that stop, die and go on, and requests that get lost.

A stopped process takes no step, whatever its timers do, and goes on where it was, as after SIGSTOP and SIGCONT.
"""

from __future__ import annotations

import asyncio
import random
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from contextvars import Context, ContextVar, copy_context
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from mcs.kube.errors import AlreadyExists, Conflict, NotFound, ServerError, Unreachable
from mcs.model.leases import Lease
from mcs.runtime.leader import LeaderElector, LeasePlace

PLACE = LeasePlace("system", "mcs-controller")
LATENCY = 0.1
"""The longest that a request, or its answer, is on its way while nothing is wrong."""
LATEST = 5.0
"""So late a request that nobody waits for any more may still be carried out."""

Operation = Callable[[], Lease]


class Machine:
    """What a process runs on; while it is stopped, none of its tasks takes a step."""

    def __init__(self) -> None:
        self.runs = asyncio.Event()
        self.runs.set()


_MACHINE: ContextVar[Machine | None] = ContextVar("machine", default=None)


@types.coroutine
def _steps(inner: Coroutine[Any, Any, Any], machine: Machine) -> Generator[Any, None, Any]:
    thrown: BaseException | None = None
    while True:
        try:
            waited = inner.send(None) if thrown is None else inner.throw(thrown)
        except StopIteration as end:
            return end.value
        thrown = None
        try:
            yield waited
        except (Exception, asyncio.CancelledError) as error:
            # What was waited for failed, or the task is cancelled.
            thrown = error
        while not machine.runs.is_set():
            try:
                yield from machine.runs.wait().__await__()
            except asyncio.CancelledError as error:
                thrown = error


async def _driven(inner: Coroutine[Any, Any, Any], machine: Machine) -> Any:
    return await _steps(inner, machine)


def drive_tasks_by_machines() -> None:
    """From now on the tasks of this loop that a machine's process starts stop with that machine."""
    loop = asyncio.get_running_loop()

    def factory(
        loop: asyncio.AbstractEventLoop, coro: Any, *, context: Context | None = None, **options: Any
    ) -> asyncio.Task[Any]:
        machine = _MACHINE.get() if context is None else context.get(_MACHINE)
        return asyncio.Task(
            coro if machine is None else _driven(coro, machine), loop=loop, context=context, **options
        )

    loop.set_task_factory(factory)


class LeaseServer:
    """Holds one Lease as an API server does; while it is `in_trouble`, a third of the requests goes wrong."""

    def __init__(self, chance: random.Random) -> None:
        self.lease: Lease | None = None
        self.in_trouble = False
        self._chance = chance
        self._version = 0
        self._operations: set[asyncio.Task[Lease]] = set()

    async def asked(self, operation: Operation) -> Lease:
        """The answer to a request, if there is one."""
        ill = self.in_trouble and self._chance.random() < 0.4
        fate = self._chance.choice(("refused", "lost", "answer lost", "late")) if ill else "well"
        if fate == "refused":
            await self._way()
            raise ServerError(500, "InternalError", "etcd leader changed")
        if fate == "lost":
            await self._silence()
        coming = self._chance.uniform(0, LATEST if fate == "late" else LATENCY)
        # In a context of its own: the server goes on while the process that asked is stopped or gone.
        task = asyncio.get_running_loop().create_task(self._carry_out(operation, coming), context=Context())
        self._operations.add(task)
        task.add_done_callback(self._carried_out)
        answer = await asyncio.shield(task)
        await self._way()
        if fate == "answer lost":
            await self._silence()
        return answer

    def _carried_out(self, task: asyncio.Task[Lease]) -> None:
        self._operations.discard(task)
        if not task.cancelled():
            task.exception()

    async def _carry_out(self, operation: Operation, coming: float) -> Lease:
        await asyncio.sleep(coming)
        return operation()

    async def _way(self) -> None:
        await asyncio.sleep(self._chance.uniform(0, LATENCY))

    async def _silence(self) -> None:
        if self._chance.random() < 0.5:
            await asyncio.Event().wait()
        raise Unreachable("the connection broke")

    def read(self) -> Lease:
        """The Lease as it is."""
        if self.lease is None:
            raise NotFound(404, "NotFound", "no Lease")
        return self.lease

    def created(self, lease: Lease) -> Lease:
        """The Lease, if there was none."""
        if self.lease is not None:
            raise AlreadyExists(409, "AlreadyExists", "there is one")
        return self._stored(lease)

    def patched(self, changes: dict[str, Any]) -> Lease:
        """The Lease after a merge patch, if it is the one that the patch was made for."""
        lease = self.read()
        if changes["metadata"]["resourceVersion"] != lease.metadata.resource_version:
            raise Conflict(409, "Conflict", "it has changed")
        return self._stored(replace(lease, spec=msgspec.convert(changes["spec"], type(lease.spec))))

    def _stored(self, lease: Lease) -> Lease:
        self._version += 1
        self.lease = replace(lease, metadata=replace(lease.metadata, resource_version=str(self._version)))
        return self.lease


class LeaseRequests:
    """A client of the Lease server."""

    def __init__(self, server: LeaseServer) -> None:
        self._server = server

    async def get(self, resource: Any, namespace: str, name: str) -> Any:
        return await self._server.asked(self._server.read)

    async def create(self, resource: Any, obj: Any) -> Any:
        return await self._server.asked(partial(self._server.created, obj))

    async def patch(self, resource: Any, namespace: str, name: str, changes: dict[str, Any]) -> Any:
        return await self._server.asked(partial(self._server.patched, changes))


class Write(NamedTuple):
    """One write of one process: from when it left until a server may have carried it out, at the latest."""

    process: str
    sent: float
    done: float


def wall() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=asyncio.get_running_loop().time())


class Process:
    """A process that writes whenever it may; its writes take whatever time they are permitted."""

    def __init__(self, name: str, server: LeaseServer, chance: random.Random, writes: list[Write]) -> None:
        self.name = name
        self.machine = Machine()
        self.elector = LeaderElector(self._client, PLACE, name, wall)
        self._server = server
        self._chance = chance
        self._writes = writes
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        context = copy_context()
        context.run(_MACHINE.set, self.machine)
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self.name, context=context)

    async def stop(self, seconds: float) -> None:
        """Take no step for a while."""
        self.machine.runs.clear()
        await asyncio.sleep(seconds)
        self.machine.runs.set()

    async def end(self) -> None:
        """End as after SIGTERM: what is under way is broken off, together with its connection."""
        assert self._task is not None
        self.machine.runs.set()
        self._task.cancel()
        now = asyncio.get_running_loop().time()
        self._writes[:] = [
            each._replace(done=min(each.done, now)) if each.process == self.name else each
            for each in self._writes
        ]
        await asyncio.wait([self._task])

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[LeaseRequests]:
        yield LeaseRequests(self._server)

    async def _run(self) -> None:
        async with self.elector, asyncio.TaskGroup() as tasks:
            for number in range(2):
                tasks.create_task(self._write_on(), name=f"{self.name}/{number}")

    async def _write_on(self) -> None:
        while True:
            await self.elector.lead(self._write)

    async def _write(self) -> None:
        permitted = self.elector.permit()
        sent = asyncio.get_running_loop().time()
        took = permitted if self._chance.random() < 0.3 else self._chance.uniform(0, permitted)
        self._writes.append(Write(self.name, sent, sent + took))
        await asyncio.sleep(self._chance.uniform(0.05, 1))


def rival_writes(writes: list[Write]) -> list[tuple[Write, Write]]:
    """Pairs of writes of two processes, the second of which left before the first was certainly over."""
    found, longest = [], dict[str, Write]()
    for write in sorted(writes, key=lambda each: each.sent):
        found += [
            (each, write)
            for each in longest.values()
            if each.process != write.process and each.done > write.sent
        ]
        if write.process not in longest or longest[write.process].done < write.done:
            longest[write.process] = write
    return found


async def first(holds: Callable[[], bool], within: float) -> float | None:
    """How long it took until this held, None when it did not within so many seconds."""
    now = asyncio.get_running_loop().time
    began = now()
    while not holds():
        if now() - began > within:
            return None
        await asyncio.sleep(0.05)
    return now() - began


Act = Callable[[], Awaitable[None]]


async def at(moment: float, act: Act) -> None:
    """Do something so many seconds from now."""
    await asyncio.sleep(moment)
    await act()
