"""What changes cost `mcs dns` while it answers: how long questions wait, and how many fewer are answered.

Changes come from a watch file (`dns_watch`), the same in every run. Rounds with and without them alternate. A round
without, and one of NSD, which never changes, show what the machine and the load alone do.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.dns_gaps import Gaps
from tests.bench.dns_load import Answered, asked, check_programs
from tests.bench.dns_objects import ZONE, mixed_services, question_file, questions, zone_file, zone_of
from tests.bench.dns_servers import Server, mcs_dns, nsd
from tests.bench.dns_watch import FLIPPING, endpoint_changes, flipping_service, flips, replaying
from tests.bench.figures import Figure, ratio_figure

SERVICES = 5000
ROUNDS = 5
SECONDS = 3.0
ENDPOINTS = 50
FLIPS, CHANGES = 100, 1000
"""Changes per second."""
QUESTIONS_PER_SECOND = 10_000
SPARE = 10.0
"""Seconds that a round may take longer on a busy machine, for which the watch file has changes."""


async def measure(
    services: int = SERVICES, rounds: int = ROUNDS, seconds: float = SECONDS
) -> Sequence[Figure]:
    """The longest gap between answers while a service flips, and answers while endpoints change."""
    check_programs()
    return [
        *await _flipping(services, rounds, seconds),
        await _changing(services, rounds, seconds),
    ]


async def _flipping(services: int, rounds: int, seconds: float) -> Sequence[Figure]:
    """A 50-endpoint service flips, and one question in ten is for it."""
    found: dict[int, list[Gaps]] = {0: [], FLIPS: []}
    static: list[Gaps] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "questions"
        flipping = f"{FLIPPING.name}.{FLIPPING.namespace}.svc.{ZONE}"
        kinds = (f"{flipping} A", f"{flipping} AAAA", f"_http._tcp.{flipping} SRV")
        lines = list(questions(10_000, services=services))
        lines[::10] = [kinds[number % len(kinds)] for number in range(len(lines[::10]))]
        file.write_text("".join(f"{line}\n" for line in lines))
        objects = [*mixed_services(services), *flipping_service(ENDPOINTS)]
        count = int(FLIPS * (seconds + SPARE) * rounds)
        async with (
            replaying(objects, flips(ENDPOINTS, count), folder) as replay,
            mcs_dns(replay.kubeconfig, folder) as server,
            nsd(zone_file(zone_of(objects)), folder, flipping) as unchanging,
        ):
            await _gaps(server, file, seconds=2)
            for _ in range(rounds):
                for rate, gaps in found.items():
                    await replay.set_rate(rate)
                    gaps.append(await _gaps(server, file, seconds))
                await replay.set_rate(0)
                static.append(await _gaps(unchanging, file, seconds))
    title = f"longest gap, {ENDPOINTS} endpoints flipping {FLIPS} times/s"
    figures = []
    for against, baseline in (("none", found[0]), ("NSD without changes", static)):
        for which, chosen in (("median", statistics.median), ("worst", max)):
            value, base = (
                chosen([each["longest"] * 1000 for each in runs]) for runs in (found[FLIPS], baseline)
            )
            figures.append(ratio_figure(f"{title}, against {against}, {which} round", value, "ms", base))
    return figures


async def _gaps(server: Server, file: Path, seconds: float) -> Gaps:
    arguments = (str(server.port), str(file), str(QUESTIONS_PER_SECOND), str(seconds))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.dns_gaps", *arguments, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    gaps: Gaps = json.loads(output)
    return gaps


async def _changing(services: int, rounds: int, seconds: float) -> Figure:
    """Endpoints of all headless services change, one service after the other."""
    found: dict[int, list[Answered]] = {0: [], CHANGES: []}
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "questions"
        file.write_text(question_file(services))
        changes = endpoint_changes(services, int(CHANGES * (seconds + SPARE) * rounds))
        async with (
            replaying(mixed_services(services), changes, folder) as replay,
            mcs_dns(replay.kubeconfig, folder) as server,
        ):
            await asked(server.port, file, server.pids)
            for _ in range(rounds):
                for rate, answered in found.items():
                    await replay.set_rate(rate)
                    answered.append(await asked(server.port, file, server.pids, seconds=seconds))
                await replay.set_rate(0)
    still, changing = (
        [sum(field) for field in zip(*((a.answers, a.cpu_seconds, a.seconds) for a in runs), strict=True)]
        for runs in found.values()
    )
    each = still[1] / still[0]
    # What is left of a core for answers when the changes have had their part of it.
    left = 1 - (changing[1] - changing[0] * each) / changing[2]
    title = f"a core that also takes in {CHANGES} endpoint changes/s, against none"
    return ratio_figure(title, left / each, "answers/s", 1 / each)
