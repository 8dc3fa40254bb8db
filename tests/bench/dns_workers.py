"""What a second worker brings: two workers, each held to a quarter of a core, next to one process held to a quarter.

Held by a cgroup of Linux, version 1 or 2, since no machine has a quarter of a core to give. Where none may be made
there is no figure, but a line that says so.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.dns_load import asked, check_programs, family
from tests.bench.dns_objects import mixed_services, question_file
from tests.bench.dns_servers import Server, mcs_dns
from tests.bench.dns_watch import replaying
from tests.bench.figures import Figure, ratio_figure

SERVICES = 5000
ROUNDS = 5
SECONDS = 3.0
CLIENTS = 20
"""Sockets of the load: the kernel spreads sockets over the workers, not questions."""

PERIOD = 10_000
QUARTER = PERIOD // 4
"""Microseconds of CPU time in each period of as many microseconds."""

_ROOTS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))


async def measure(
    services: int = SERVICES, rounds: int = ROUNDS, seconds: float = SECONDS
) -> Sequence[Figure]:
    """Answers per second by the clock; alternating rounds."""
    check_programs()
    rates: dict[int, list[float]] = {1: [], 2: []}
    with TemporaryDirectory() as name, ExitStack() as groups:
        folder = Path(name)
        file = folder / "questions"
        file.write_text(question_file(services))
        async with (
            replaying(mixed_services(services), (), folder) as replay,
            mcs_dns(replay.kubeconfig, folder) as one,
            mcs_dns(replay.kubeconfig, folder, workers=2) as two,
        ):
            servers = {1: one, 2: two}
            for server in servers.values():
                await asked(server.port, file, server.pids, clients=CLIENTS)
            try:
                for answering in (one.pids[0], *_workers(two)):
                    groups.enter_context(held(answering))
            except OSError as error:
                print(f"dns-workers: left out, no cgroup can be made here: {error}")
                return []
            for _ in range(rounds):
                for count, server in servers.items():
                    got = await asked(server.port, file, server.pids, seconds=seconds, clients=CLIENTS)
                    rates[count].append(got.by_the_clock)
    value, baseline = (statistics.median(rates[count]) for count in (2, 1))
    return [ratio_figure("two workers of a quarter core each, against one", value, "answers/s", baseline)]


def _workers(server: Server) -> Sequence[int]:
    """The processes that answer: the first only reads the API and feeds them."""
    return family(server.pids)[1:]


@contextmanager
def held(pid: int) -> Iterator[None]:
    """Hold the process to QUARTER until the block ends. Raises OSError where that is not allowed."""
    root = next((each for each in _ROOTS if (each / "cgroup.procs").exists()), _ROOTS[0])
    group = root / f"mcs-bench-{os.getpid()}-{pid}"
    group.mkdir()
    try:
        if (group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(QUARTER))
        else:
            (group / "cpu.max").write_text(f"{QUARTER} {PERIOD}")
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        # A group goes only when it is empty.
        for left in (group / "cgroup.procs").read_text().split():
            (root / "cgroup.procs").write_text(left)
        group.rmdir()
