"""`mcs dns` next to CoreDNS and NSD: what each answers per second of its core, and how soon.

All three answer the same 5,000 services on the same core and are asked the same by dnsperf on the other. `mcs dns` and
CoreDNS read one real API server, NSD a zone file with the same records. Rounds alternate, so that all see the same
machine; medians count.
"""

from __future__ import annotations

import statistics
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.dns_load import Answered, asked, check_programs
from tests.bench.dns_objects import ZONE, key_of, mixed_services, question_file, zone_file, zone_of
from tests.bench.dns_servers import Server, coredns, fill, mcs_dns, nsd
from tests.bench.figures import Figure, ratio_figure
from tests.lab.control_planes import ControlPlanes

SERVICES = 5000
ROUNDS = 5
SECONDS = 3.0
MOST_APART = 2.0
"""Percent by which the share of a response code may differ: rounds end at different questions of the file."""


async def measure(
    services: int = SERVICES, rounds: int = ROUNDS, seconds: float = SECONDS
) -> Sequence[Figure]:
    """Answers per second, by CPU time and by the clock, then latencies at half of what CoreDNS can do."""
    check_programs("coredns")
    async with _running(services) as (servers, questions):
        for server in servers:
            await asked(server.port, questions, server.pids)
        full: dict[str, list[Answered]] = {server.name: [] for server in servers}
        for _ in range(rounds):
            for server in servers:
                full[server.name].append(await asked(server.port, questions, server.pids, seconds=seconds))
        _check_alike(full)
        ours, core, static = (full[server.name] for server in servers)
        half = int(_median(each.by_cpu_time for each in core) / 2)
        timed: dict[str, list[Answered]] = {server.name: [] for server in servers[:2]}
        for _ in range(rounds):
            for server in servers[:2]:
                timed[server.name].append(
                    await asked(
                        server.port, questions, server.pids, seconds=seconds, rate=half, is_timed=True
                    )
                )
    figures = []
    for title, others in (("CoreDNS", core), ("NSD", static)):
        figures.append(_by_cpu_time(f"mcs dns against {title}", ours, others))
        clock = [_median(each.by_the_clock for each in runs) for runs in (ours, others)]
        figures.append(
            ratio_figure(f"mcs dns against {title}, by the clock", clock[0], "answers/s", clock[1])
        )
        busy = [_median(each.busy for each in runs) for runs in (ours, others)]
        figures.append(ratio_figure(f"core taken by mcs dns and {title}", busy[0], "cores", busy[1]))
    for share in (0.5, 0.99):
        latency = [_median(each.latency(share) for each in runs) for runs in timed.values()]
        title = f"latency at {half} queries/s against CoreDNS, p{share * 100:.0f}"
        figures.append(ratio_figure(title, latency[0], "ms", latency[1]))
    return figures


@asynccontextmanager
async def _running(services: int) -> AsyncIterator[tuple[Sequence[Server], Path]]:
    """`mcs dns`, CoreDNS and NSD with the same services, and the file of questions."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        planes = await stack.enter_async_context(ControlPlanes(("west",), folder))
        objects = list(mixed_services(services))
        await fill(planes["west"], objects)
        questions = folder / "questions"
        questions.write_text(question_file(services))
        last = key_of(services - 1)
        name = f"{last.name}.{last.namespace}.svc.{ZONE}"
        yield (
            (
                await stack.enter_async_context(mcs_dns(planes["west"].kubeconfig(), folder)),
                await stack.enter_async_context(coredns(planes["west"], folder, name)),
                await stack.enter_async_context(nsd(zone_file(zone_of(objects)), folder, name)),
            ),
            questions,
        )


def _check_alike(full: dict[str, list[Answered]]) -> None:
    """Raises RuntimeError when the servers do not answer alike, or not at all: their rates would mean nothing."""
    shares = {name: runs[0].rcodes for name, runs in full.items()}
    first, *others = shares.values()
    for other in others:
        if any(
            abs(first.get(code, 0) - other.get(code, 0)) > MOST_APART for code in first.keys() | other.keys()
        ):
            raise RuntimeError(f"the servers answer differently, in percent: {shares}")


def _by_cpu_time(title: str, ours: Sequence[Answered], others: Sequence[Answered]) -> Figure:
    value, baseline = (_median(each.by_cpu_time for each in runs) for runs in (ours, others))
    return ratio_figure(title, value, "answers per CPU second", baseline)


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)
