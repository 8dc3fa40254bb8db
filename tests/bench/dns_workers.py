"""What a second worker brings: two workers, each held to a part of a core, next to one process held to the same part.

Held by a cgroup of Linux, version 1 or 2, since no machine has a quarter of a core to give. Where none may be made
there is no figure, but a line that says so. Two quarters are more than one core of load can fill on some machines; two
tenths are not, and the cores that were really taken tell.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.dns_load import Answered, asked, check_programs, family
from tests.bench.dns_objects import mixed_services, question_file
from tests.bench.dns_servers import Server, mcs_dns
from tests.bench.dns_watch import replaying
from tests.bench.figures import Figure, ratio_figure

SERVICES = 5000
ROUNDS = 5
SECONDS = 3.0
CLIENTS = 20
"""Sockets of the load: the kernel spreads sockets over the workers, not questions."""

SHARES = {"a quarter": 0.25, "a tenth": 0.1}
"""Of a core."""

QUOTA = 1000
"""Microseconds that a process may run before it waits for its next period, the least that Linux takes.

Longer waits would let one worker hold all questions in flight while the other has none."""

_ROOTS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))


async def measure(
    services: int = SERVICES, rounds: int = ROUNDS, seconds: float = SECONDS
) -> Sequence[Figure]:
    """Answers per second by the clock; alternating rounds."""
    check_programs()
    figures: list[Figure] = []
    with TemporaryDirectory() as name:
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
            for title, share in SHARES.items():
                got: dict[int, list[Answered]] = {2: [], 1: []}
                with ExitStack() as groups:
                    try:
                        for answering in (one.pids[0], *_workers(two)):
                            groups.enter_context(held(answering, share))
                    except OSError as error:
                        print(f"dns-workers: left out, no cgroup can be made here: {error}")
                        return []
                    for _ in range(rounds):
                        for count, server in servers.items():
                            got[count].append(
                                await asked(server.port, file, server.pids, seconds=seconds, clients=CLIENTS)
                            )
                rates = [statistics.median(each.by_the_clock for each in runs) for runs in got.values()]
                busy = [statistics.median(each.busy for each in runs) for runs in got.values()]
                compared = f"two workers of {title} of a core each, against one"
                figures.append(ratio_figure(compared, rates[0], "answers/s", rates[1]))
                figures.append(ratio_figure("the cores that they took", busy[0], "cores", busy[1]))
    return figures


def _workers(server: Server) -> Sequence[int]:
    """The processes that answer: the first only reads the API and feeds them."""
    return family(server.pids)[1:]


@contextmanager
def held(pid: int, share: float) -> Iterator[None]:
    """Hold the process to a share of a core until the block ends. Raises OSError where that is not allowed."""
    period = int(QUOTA / share)
    root = next((each for each in _ROOTS if (each / "cgroup.procs").exists()), _ROOTS[0])
    group = root / f"mcs-bench-{os.getpid()}-{pid}"
    group.mkdir()
    try:
        if (group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(period))
            (group / "cpu.cfs_quota_us").write_text(str(QUOTA))
        else:
            (group / "cpu.max").write_text(f"{QUOTA} {period}")
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        # A group goes only when it is empty.
        for left in (group / "cgroup.procs").read_text().split():
            (root / "cgroup.procs").write_text(left)
        group.rmdir()
