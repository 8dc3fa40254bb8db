"""dnsperf as the load, on a core of its own, and the CPU time that a server took for it.

On a machine that is not quiet, or where one core of load cannot fill the core of a server, queries per second by the
clock say little. What a server answers per second of CPU time says what its core could do.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures import percentile
from tests.lab import binaries

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, LOAD_CORE = CORES[0], CORES[-1]

OUTSTANDING = "500"
"""Questions in flight: enough that a server which was kept waiting finds work."""

SOCKET_BUFFER = "1024"
"""KiB asked for; the kernel's usual buffer holds fewer answers than there are questions in flight.

When the load was kept waiting, what did not fit was lost, and for the two seconds until that was noticed little was
asked."""

_TICKS = os.sysconf("SC_CLK_TCK")
_LATENCY = re.compile(rb"^> \S+ \S+ \S+ ([0-9.]+)$", re.MULTILINE)


class MissingProgramError(Exception):
    """A program that the measurements need is not installed; the message says what to do."""


def check_programs(*built: str) -> None:
    """Build the programs of the lab that are `built`. Raises MissingProgramError when one cannot be had."""
    for program in ("dnsperf", "nsd"):
        if shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
            raise MissingProgramError(f"{program} is missing: install Debian packages dnsperf nsd")
    for program in built:
        try:
            binaries.build(program, print)
        except binaries.MissingBinaryError as missing:
            raise MissingProgramError(str(missing)) from missing


@dataclass(frozen=True)
class Answered:
    """What one run of the load got: answers, seconds, CPU seconds of the server, shares of response codes."""

    answers: int
    lost: int
    seconds: float
    cpu_seconds: float
    rcodes: dict[str, float]
    latencies: tuple[float, ...] = ()

    @property
    def by_the_clock(self) -> float:
        """Answers per second."""
        return self.answers / self.seconds

    @property
    def by_cpu_time(self) -> float:
        """Answers per second of the server's CPU time."""
        return self.answers / max(self.cpu_seconds, 1 / _TICKS)

    @property
    def busy(self) -> float:
        """How much of one core the server took; much less than 1 is a load, or a machine, that could not fill it."""
        return self.cpu_seconds / self.seconds

    def latency(self, share: float) -> float:
        """A percentile of the latencies, in milliseconds."""
        return 1000 * percentile(self.latencies, share)


async def asked(
    port: int,
    questions: Path,
    pids: tuple[int, ...],
    *,
    seconds: float | None = None,
    rate: int | None = None,
    clients: int = 1,
    is_timed: bool = False,
) -> Answered:
    """Ask for so many seconds, or once through the file, with EDNS.

    `pids` are the processes of the server; what they start counts too. With `rate` at most so many questions a second,
    with `is_timed` the latency of each answer is kept. Raises RuntimeError when dnsperf fails.
    """
    command = ["taskset", "-c", str(LOAD_CORE), "dnsperf", "-s", "127.0.0.1", "-p", str(port), "-e"]
    command += [
        "-d",
        str(questions),
        "-c",
        str(clients),
        "-T",
        "1",
        "-t",
        "2",
        "-q",
        OUTSTANDING,
        "-b",
        SOCKET_BUFFER,
    ]
    command += ["-n", "1"] if seconds is None else ["-l", str(seconds)]
    command += [] if rate is None else ["-Q", str(rate)]
    command += ["-v"] if is_timed else []
    before = cpu_seconds(pids)
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, errors = await process.communicate()
    took = cpu_seconds(pids) - before
    if process.returncode:
        raise RuntimeError(f"dnsperf: {errors.decode()[-500:]}")
    return _answered(output, took)


def _answered(output: bytes, cpu: float) -> Answered:
    def number(label: bytes) -> float:
        found = re.search(rb"^ +" + re.escape(label) + rb": +([0-9.]+)", output, re.MULTILINE)
        if found is None:
            raise RuntimeError(f"dnsperf said: {output.decode()[-500:]}")
        return float(found.group(1))

    codes = re.search(rb"Response codes: +(.*)", output)
    rcodes = {
        name.decode(): float(percent)
        for name, percent in re.findall(rb"(\w+) \d+ \(([0-9.]+)%\)", codes.group(1) if codes else b"")
    }
    return Answered(
        answers=int(number(b"Queries completed")),
        lost=int(number(b"Queries lost")),
        seconds=number(b"Run time (s)"),
        cpu_seconds=cpu,
        rcodes=rcodes,
        latencies=tuple(map(float, _LATENCY.findall(output))),
    )


def cpu_seconds(pids: tuple[int, ...]) -> float:
    """The CPU time so far of these processes and those that they have started, in seconds."""
    ticks = 0
    for pid in family(pids):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS


def family(pids: tuple[int, ...]) -> list[int]:
    """These processes and all that they have started and that still run."""
    found = list(pids)
    for pid in found:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, children.read_text().split())
    return found
