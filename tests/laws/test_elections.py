"""Never do two processes write at once, whatever happens to them and to their Lease, and somebody soon leads again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from functools import partial
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from mcs.membership.leadership import Timing
from mcs.testing import virtual_time
from tests.laws.elections import (
    LATENCY,
    LATEST,
    Act,
    LeaseServer,
    Process,
    Write,
    at,
    drive_tasks_by_machines,
    first,
    rival_writes,
)

T = TypeVar("T")
TIMING = Timing()
LENGTH = 150.0


class Incident(NamedTuple):
    """What happens to a process, or to the Lease's server when it is None, `at` a second and for so long."""

    process: int | None
    what: str
    at: float
    seconds: float


INCIDENTS = st.lists(
    st.builds(
        Incident,
        process=st.sampled_from([None, 0, 1, 2]),
        what=st.sampled_from(["stop", "stop", "end"]),
        at=st.floats(0, LENGTH),
        seconds=st.sampled_from([0.5, 3, 9, 11, 14.5, 16, 40]),
    ),
    max_size=12,
)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    # Without sockets there is nothing that real time could bring.
    with patch.object(virtual_time, "REAL_WAIT", 0.0), capture_logs():
        return virtual_time.run_virtual(coroutine)


async def trouble(server: LeaseServer, seconds: float) -> None:
    server.in_trouble = True
    await asyncio.sleep(seconds)
    server.in_trouble = False


async def election(incidents: list[Incident], seed: int) -> tuple[list[Write], float | None]:
    """All writes, and how long after the last incident somebody led; the first process never ends."""
    drive_tasks_by_machines()
    chance, writes = random.Random(seed), list[Write]()
    server = LeaseServer(chance)
    processes = [Process(name, server, chance, writes) for name in "abc"]
    for process in processes:
        process.start()
    async with asyncio.TaskGroup() as tasks:
        for each in incidents:
            act: Act
            if each.process is None:
                act = partial(trouble, server, each.seconds)
            elif each.what == "end" and each.process > 0:
                act = processes[each.process].end
            else:
                act = partial(processes[each.process].stop, each.seconds)
            tasks.create_task(at(each.at, act))
        tasks.create_task(asyncio.sleep(LENGTH))
    server.in_trouble = False
    bound = LATEST + TIMING.lease + TIMING.retry + 4 * LATENCY
    led = await first(lambda: any(each.elector.is_leading for each in processes), bound)
    for process in processes:
        await process.end()
    return writes, led


@given(INCIDENTS, st.integers(0, 2**32))
def test_two_processes_never_write_at_once_and_somebody_leads_again(
    incidents: list[Incident], seed: int
) -> None:
    writes, led = run(election(incidents, seed))
    assert rival_writes(writes) == []
    assert led is not None
    assert len(writes) > LENGTH / 10, "somebody wrote"


async def succession(moment: float, seed: int, *, is_killed: bool) -> tuple[float | None, list[Write]]:
    """How long after the end of the leader another one led."""
    drive_tasks_by_machines()
    chance, writes = random.Random(seed), list[Write]()
    server = LeaseServer(chance)
    processes = [Process(name, server, chance, writes) for name in "ab"]
    for process in processes:
        process.start()
    await asyncio.sleep(moment)
    leader, other = sorted(processes, key=lambda each: not each.elector.is_leading)
    assert leader.elector.is_leading
    if is_killed:
        leader.machine.runs.clear()
    else:
        await leader.end()
    took = await first(lambda: other.elector.is_leading, 60)
    for process in (other, leader):
        await process.end()
    return took, writes


@given(st.floats(5, 60), st.integers(0, 2**32))
def test_after_the_leader_dies_another_leads_within_lease_and_retry(moment: float, seed: int) -> None:
    took, writes = run(succession(moment, seed, is_killed=True))
    assert took is not None
    assert took <= TIMING.lease + TIMING.retry + 6 * LATENCY
    assert rival_writes(writes) == []


@given(st.floats(5, 60), st.integers(0, 2**32))
def test_after_the_leader_ends_in_order_another_leads_at_its_next_look(moment: float, seed: int) -> None:
    took, _ = run(succession(moment, seed, is_killed=False))
    assert took is not None
    assert took <= TIMING.retry + 4 * LATENCY
