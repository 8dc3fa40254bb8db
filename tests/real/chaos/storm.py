"""Makes the faults of a schedule happen to the cast, mends them, and records when each began and ended."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

from msgspec import Struct

from tests.lab.mcs import eventually
from tests.lab.processes import LabProcess
from tests.real.chaos.cast import Cast
from tests.real.chaos.churn import CONSTANT, NEWCOMER
from tests.real.chaos.judge import Interval, Outage
from tests.real.chaos.schedule import Fault, Kind, Victims

_CACHED_TOKEN = 10.5
"""Seconds after which an API server has noticed that a token is not valid any more."""

_OF_CONNECTIONS = (
    Kind.CUT_WATCHES,
    Kind.WATCHES_GONE,
    Kind.ANSWER_410,
    Kind.ANSWER_429,
    Kind.ANSWER_500,
    Kind.DELAY,
    Kind.BLACK_HOLE,
    Kind.REFUSE,
)
_ETCD = "etcd"
_TO_LEAVE = 150
"""Seconds that a leave may take, with faults all the time."""


class Happened(Struct, frozen=True):
    """A fault as it came: monotonic seconds at which it began and was mended."""

    kind: Kind
    victim: str
    began: float
    ended: float


class Storm:
    """Runs a schedule once. What happened is in `happened`, and in `outages` when DNS was not up."""

    def __init__(self, cast: Cast) -> None:
        self._cast = cast
        self.happened: list[Happened] = []
        self.outages: list[Outage] = []
        self._one_at_a_time: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def victims(self) -> Victims:
        """To whom each kind of fault may happen. Of DNS and of controllers only the first is ever killed."""
        servers = tuple(f"API server of {plane.name}" for plane in self._cast.planes)
        controllers = tuple(self._cast.controllers)
        paths = tuple(self._cast.paths)
        return {
            **dict.fromkeys((*_OF_CONNECTIONS, Kind.REVOKE_TOKEN), paths),
            Kind.KILL_API_SERVER: servers,
            Kind.STOP_API_SERVER: servers,
            Kind.KILL_ETCD: (_ETCD,),
            Kind.STOP_ETCD: (_ETCD,),
            Kind.KILL_CONTROLLER: controllers[:1],
            Kind.STOP_CONTROLLER: controllers,
            Kind.LEAVE: (f"membership of {NEWCOMER}",),
            Kind.KILL_DNS: (self._cast.dns[CONSTANT[0]].name,),
            Kind.STOP_DNS: tuple(each.name for each in self._cast.dns.values()),
            Kind.STEP_CLOCK: tuple(self._cast.programs),
        }

    @property
    def killed(self) -> frozenset[str]:
        """The programs of ours that may be killed; the others live through all of it."""
        victims = self.victims()
        return frozenset((*victims[Kind.KILL_CONTROLLER], *victims[Kind.KILL_DNS]))

    async def run(self, faults: Sequence[Fault]) -> None:
        """Let all of it happen; returns when everything is mended. Raises LabError when a server does not come back."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for fault in faults:
                tasks.create_task(self._happen(fault, began), name=f"{fault.kind}: {fault.victim}")

    def hindrances(self) -> list[Interval]:
        """When a server of DNS could not read its API server."""
        return [
            Interval(dns.name, each.began, each.ended)
            for cluster, dns in self._cast.dns.items()
            for each in self.happened
            if each.victim in (_ETCD, f"API server of {cluster}", f"dns to {cluster}")
        ]

    async def _happen(self, fault: Fault, storm_began: float) -> None:
        await asyncio.sleep(storm_began + fault.at - time.monotonic())
        # A server takes its time to start, so that the next fault may come before the last is mended.
        async with self._one_at_a_time[fault.victim]:
            began = time.monotonic()
            async with self._suffering(fault):
                await asyncio.sleep(fault.lasting)
            mended = time.monotonic()
            self.happened.append(Happened(fault.kind, fault.victim, began, mended))
            if fault.kind in (Kind.KILL_DNS, Kind.STOP_DNS):
                program = self._cast.programs[fault.victim]
                while not await program.is_ready():
                    program.process.check_running()
                    await asyncio.sleep(0.05)
                self.outages.append(Outage(fault.victim, began, mended, time.monotonic()))

    def _suffering(self, fault: Fault) -> AbstractAsyncContextManager[None]:
        if fault.kind in _OF_CONNECTIONS:
            return self._cast.paths[fault.victim].suffering(fault.kind, fault.amount)
        match fault.kind:
            case Kind.KILL_API_SERVER | Kind.KILL_ETCD | Kind.KILL_CONTROLLER | Kind.KILL_DNS:
                return self._killed(fault.victim)
            case Kind.STOP_API_SERVER | Kind.STOP_ETCD | Kind.STOP_CONTROLLER | Kind.STOP_DNS:
                return _stopped(self._process(fault.victim))
            case Kind.REVOKE_TOKEN:
                return self._revoked(fault.victim)
            case Kind.STEP_CLOCK:
                return self._wrong_clock(fault.victim, fault.amount)
            case Kind.LEAVE:
                return self._left()
            case kind:
                raise ValueError(f"{kind} cannot happen here")

    @asynccontextmanager
    async def _killed(self, victim: str) -> AsyncIterator[None]:
        await self._process(victim).kill()
        yield
        process = self._process(victim)
        await process.start()
        for plane in self._cast.planes:
            if plane.process is process:
                await plane.wait_until_ready()

    @asynccontextmanager
    async def _revoked(self, victim: str) -> AsyncIterator[None]:
        async def notice() -> None:
            await asyncio.sleep(_CACHED_TOKEN)
            # A watch that is open outlives its token; what is asked for next does not.
            async with self._cast.paths[victim].suffering(Kind.CUT_WATCHES):
                pass

        identity = self._cast.identities[victim]
        await identity.revoke()
        async with asyncio.TaskGroup() as noticing:
            noticing.create_task(notice(), name=f"{victim}: token not valid any more")
            yield
        await identity.restore()

    @asynccontextmanager
    async def _left(self) -> AsyncIterator[None]:
        await self._cast.unregister()
        yield
        # A leave waits for members that cannot be reached, and this for the leave.
        await eventually(
            f"{NEWCOMER} has left", self._cast.has_nobody_registered, seconds=_TO_LEAVE, every=0.5
        )
        await self._cast.register()

    @asynccontextmanager
    async def _wrong_clock(self, victim: str, seconds: float) -> AsyncIterator[None]:
        await self._cast.programs[victim].step_clock(seconds)
        yield

    def _process(self, victim: str) -> LabProcess:
        processes: Mapping[str, LabProcess] = {
            _ETCD: self._cast.planes.etcd,
            **{f"API server of {plane.name}": plane.process for plane in self._cast.planes},
            **{name: program.process for name, program in self._cast.programs.items()},
        }
        return processes[victim]


@asynccontextmanager
async def _stopped(process: LabProcess) -> AsyncIterator[None]:
    """The process is told to stop, and to go on at the end, unless somebody has killed it meanwhile."""
    pid = process.pid
    if pid is not None:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        if pid is not None and process.pid == pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
