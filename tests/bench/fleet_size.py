"""How what a fleet costs the controller grows with its members: memory, steady CPU, and looking at all of it again.

200 names, each exported by two members and imported by all. The sandbox API servers share one process, `mcs controller`
has another, as users start it, so that its memory and its CPU time can be told. A small fleet is the baseline of a
large one, by the object of the controller's caches: a ratio of 1 is what grows in line with objects.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.bench.figures import Figure, ratio_figure
from tests.lab.control_planes import free_ports
from tests.lab.mcs import MCS
from tests.lab.processes import LabProcess

SMALL, LARGE = 10, 100
"""Members."""

NAMES = 200
STEADY = 60.0
"""Seconds in which nothing happens: each member is asked once who it is."""

LONGEST = 1200.0
"""Seconds until a measurement is given up."""

QUIET, NEARLY_NOTHING = 2.0, 0.2
"""A process is done when it took so many seconds of CPU time at most in so many seconds."""

_TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """What it took a controller until it had nothing more to do: seconds of the clock and of its CPU time."""

    seconds: float
    cpu: float
    servers_cpu: float
    resident: int
    """Bytes, afterwards."""


class Fleet(NamedTuple):
    """What a fleet of `members` cost its controller."""

    members: int
    objects: int
    empty: Cost
    """Its start while the members have nothing."""
    full: Cost
    """Its start when all is in place."""
    steady_cpu: float
    """CPU seconds a minute."""
    writes: int
    """Of its own, in all that time."""

    @property
    def bytes_an_object(self) -> float:
        """Memory, above that of the empty fleet."""
        return (self.full.resident - self.empty.resident) / self.objects


class Servers:
    """The process of all sandbox API servers."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._stdin, self._stdout = process.stdin, process.stdout

    async def answer(self, question: str = "") -> Any:
        """What it says, after a question if there is one."""
        if question:
            self._stdin.write(f"{question}\n".encode())
        return json.loads(await self._stdout.readline())


@asynccontextmanager
async def serving(members: int, kubeconfig: Path) -> AsyncIterator[Servers]:
    """The API servers, all of them listening, until the block ends."""
    pipe = asyncio.subprocess.PIPE
    arguments = "-m", "tests.bench.fleet_servers", str(members), str(kubeconfig)
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdin=pipe, stdout=pipe)
    servers = Servers(process)
    try:
        await servers.answer()
        yield servers
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


class Controller:
    """`mcs controller`, and what can be seen of its process."""

    def __init__(self, members: int, kubeconfig: Path, folder: Path, servers: Servers) -> None:
        (self._port,) = free_ports(1)
        command = [*MCS, "controller", "--kubeconfig", str(kubeconfig), "--log-level", "warning"]
        command += ["--metrics-listen", f"127.0.0.1:{self._port}"]
        for number in range(members):
            command += ["--cluster", f"member-{number}"]
        self.process = LabProcess("controller", command, folder / "controller.log")
        self._servers = servers

    @property
    def pid(self) -> int:
        """Of the process."""
        self.process.check_running()
        assert self.process.pid is not None
        return self.process.pid

    async def started(self, pieces: int) -> Cost:
        """Start it, and wait until it is ready, did as many pieces of work as that, and has nothing more to do."""
        began, servers_before = time.monotonic(), cpu_seconds(self._servers.pid)
        await self.process.start()
        # It is watched, not asked, until it seems to be done: to be asked for its metrics would cost it CPU time.
        end = began + LONGEST
        while True:
            now = time.monotonic()
            samples = [(now, cpu_seconds(self.pid), cpu_seconds(self._servers.pid))]
            while samples[-1][0] - samples[0][0] < QUIET:
                await asyncio.sleep(0.05)
                now = time.monotonic()
                samples.append((now, cpu_seconds(self.pid), cpu_seconds(self._servers.pid)))
                while len(samples) > 1 and samples[-1][1] - samples[0][1] > NEARLY_NOTHING:
                    del samples[0]
                assert now < end, f"not settled within {LONGEST} s:\n{self.process.log_tail()}"
            if await self._is_done(pieces):
                at, cpu, servers_cpu = samples[0]
                return Cost(at - began, cpu, servers_cpu - servers_before, resident_bytes(self.pid))

    async def metric(self, name: str) -> float:
        """The sum of all samples of that name."""
        text = await self._get("/metrics")
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name
        )

    async def _is_done(self, pieces: int) -> bool:
        return (
            await self._get("/readyz") != ""
            and await self.metric("mcs_work_queue_depth") == 0
            and await self.metric("mcs_work_total") >= pieces
        )

    async def _get(self, path: str) -> str:
        """The text of a good answer; empty when there is none."""
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://127.0.0.1:{self._port}{path}") as response,
            ):
                return await response.text() if response.status == 200 else ""
        except aiohttp.ClientError:
            return ""


def cpu_seconds(pid: int) -> float:
    """CPU time that the process has taken, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_bytes(pid: int) -> int:
    """Memory of the process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


async def cost_of(members: int, names: int = NAMES) -> Fleet:
    """Start a controller for an empty fleet and for a full one, and let that rest."""
    with TemporaryDirectory() as name:
        kubeconfig = Path(name) / "kubeconfig"
        async with serving(members, kubeconfig) as servers:
            controller = Controller(members, kubeconfig, Path(name), servers)
            try:
                empty = await controller.started(0)
                await controller.process.stop()
                await servers.answer(f"fill {names}")
                full = await controller.started(members * names)
                objects = int(await controller.metric("mcs_cached_objects"))
                steady_cpu = await _steady_cpu(controller.pid)
            finally:
                await controller.process.stop()
            held = await servers.answer("held")
    counts = {"imports": members * names, "derived": members * names, "mirrors": 2 * members * names}
    counts["exports"] = 2 * names
    assert held == counts | {"writes": held["writes"]}, held
    fleet = Fleet(members, objects, empty, full, steady_cpu, held["writes"])
    print(f"  {fleet}", flush=True)
    return fleet


async def _steady_cpu(pid: int) -> float:
    before, cpu_before = time.monotonic(), cpu_seconds(pid)
    await asyncio.sleep(STEADY)
    return (cpu_seconds(pid) - cpu_before) / (time.monotonic() - before) * 60


async def measure(small: int = SMALL, large: int = LARGE) -> Sequence[Figure]:
    """The large fleet next to the small one, by the object but for what it costs at rest."""
    base, fleet = await cost_of(small), await cost_of(large)
    title = f"{large} members next to {small}"

    def figure(what: str, unit: str, cost: Callable[[Fleet], float]) -> Figure:
        return ratio_figure(f"{title}, {what}", cost(fleet), unit, cost(base))

    return [
        figure("objects in the caches", "objects", lambda each: each.objects),
        figure("memory an object, above an empty fleet's", "bytes", lambda each: each.bytes_an_object),
        figure(
            "start until all was looked at, CPU time an object",
            "ms",
            lambda each: _by_object(each, each.full.cpu),
        ),
        figure(
            "the same, above an empty fleet's",
            "ms",
            lambda each: _by_object(each, each.full.cpu - each.empty.cpu),
        ),
        figure(
            "start until all was looked at, time an object",
            "ms",
            lambda each: _by_object(each, each.full.seconds),
        ),
        figure("start until all was looked at", "s", lambda each: each.full.seconds),
        figure("nothing happens, CPU seconds a minute", "s", lambda each: each.steady_cpu),
        figure(
            "nothing happens, CPU time a minute and object",
            "ms",
            lambda each: _by_object(each, each.steady_cpu),
        ),
    ]


def _by_object(fleet: Fleet, seconds: float) -> float:
    return seconds / fleet.objects * 1000
