"""The worker: every kind of failure of a piece of work has its answer, and no failure ends it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from mcs.kube.errors import Conflict, Forbidden, Invalid, TooManyRequests, Unreachable
from mcs.runtime.executor import ForeignObjectError
from mcs.runtime.queue import WorkQueue
from mcs.runtime.worker import WorkCounts, work
from mcs.testing.virtual_time import run_virtual


def worked(*failures: Exception, seconds: float = 1) -> tuple[list[float], WorkCounts]:
    """When a key was worked on, in seconds from the start, if its first attempts fail in these ways."""
    remaining = list(failures)
    attempts: list[float] = []
    counts = WorkCounts()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        queue: WorkQueue[str] = WorkQueue()

        async def reconcile(key: str) -> None:
            attempts.append(round(loop.time() - began, 3))
            if remaining:
                raise remaining.pop(0)

        queue.add("a")
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await work(queue, reconcile, counts, cluster="east")

    run_virtual(run())
    return attempts, counts


def test_success_is_done_once() -> None:
    attempts, counts = worked()
    assert (attempts, counts.succeeded) == ([0], 1)


@pytest.mark.parametrize(
    "error", [Unreachable("refused"), Forbidden(403), Conflict(409), ZeroDivisionError("a bug of ours")]
)
def test_what_may_succeed_later_is_tried_again_with_growing_delays(error: Exception) -> None:
    attempts, counts = worked(error, error)
    assert attempts == pytest.approx([0, 0.05, 0.15])
    assert counts.succeeded == 1


@pytest.mark.parametrize("error", [Invalid(422), ForeignObjectError("somebody else's")])
def test_what_cannot_succeed_until_an_object_changes_is_left(error: Exception) -> None:
    attempts, counts = worked(error)
    assert (attempts, counts.terminal) == ([0], 1)


def test_a_server_that_asks_for_patience_gets_it() -> None:
    attempts, _ = worked(TooManyRequests(429, retry_after=5), seconds=10)
    assert attempts == [0, 5]


def test_a_bug_is_told_from_a_failure_of_the_other_side() -> None:
    _, counts = worked(KeyError("ours"), Unreachable("theirs"))
    assert (counts.bugs, counts.failed) == (1, 1)
