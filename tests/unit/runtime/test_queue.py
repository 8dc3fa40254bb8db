"""The work queue: one key, one piece of work at a time, failures alone wait."""

from __future__ import annotations

import asyncio

import pytest

from mcs.runtime.queue import FIRST_DELAY, LONGEST_DELAY, WorkQueue
from mcs.testing.virtual_time import run_virtual


def now() -> float:
    return asyncio.get_running_loop().time()


def test_many_changes_of_one_key_are_one_piece_of_work() -> None:
    async def run() -> int:
        queue: WorkQueue[str] = WorkQueue()
        for _ in range(5):
            queue.add("a")
        assert await queue.get() == "a"
        return len(queue)

    assert run_virtual(run()) == 0


def test_keys_come_in_the_order_they_were_added() -> None:
    async def run() -> list[str]:
        queue: WorkQueue[str] = WorkQueue()
        for key in ("b", "a", "b", "c"):
            queue.add(key)
        return [await queue.get() for _ in range(3)]

    assert run_virtual(run()) == ["b", "a", "c"]


def test_a_key_added_while_it_is_worked_on_comes_again_only_afterwards() -> None:
    async def run() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        await queue.get()
        assert not queue.is_due("a")
        queue.add("a")
        assert queue.is_due("a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await queue.get()
        queue.done("a")
        assert await queue.get() == "a"

    run_virtual(run())


def test_a_first_delivery_waits_for_nothing_and_failures_back_off_twice_as_long_each_time() -> None:
    async def run() -> list[float]:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        began = now()
        waits = []
        for _ in range(4):
            before = now()
            key = await queue.get()
            waits.append(now() - before)
            queue.retry(key)
            queue.done(key)
        assert now() - began == pytest.approx(sum(waits))
        return waits

    assert run_virtual(run()) == pytest.approx([0, FIRST_DELAY, 2 * FIRST_DELAY, 4 * FIRST_DELAY])


def test_the_delay_has_an_upper_bound_and_a_success_resets_it() -> None:
    async def run() -> tuple[float, float]:
        queue: WorkQueue[str] = WorkQueue()
        longest = max(queue.retry("a") for _ in range(40))
        queue.forget("a")
        return longest, queue.retry("a")

    assert run_virtual(run()) == (LONGEST_DELAY, FIRST_DELAY)


def test_retry_after_of_the_server_is_the_shortest_delay() -> None:
    async def run() -> float:
        return WorkQueue[str]().retry("a", at_least=7)

    assert run_virtual(run()) == 7


def test_a_change_cuts_a_delay_short() -> None:
    async def run() -> float:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("a", 60)
        queue.add("a")
        before = now()
        await queue.get()
        queue.done("a")
        assert queue.is_idle
        return now() - before

    assert run_virtual(run()) == 0


def test_the_earlier_of_two_times_wins() -> None:
    async def run() -> list[float]:
        queue: WorkQueue[str] = WorkQueue()
        waits = []
        for first, second in ((10, 3), (3, 10)):
            before = now()
            queue.add_after("a", first)
            queue.add_after("a", second)
            queue.done(await queue.get())
            waits.append(now() - before)
        return waits

    assert run_virtual(run()) == pytest.approx([3, 3])


def test_a_cancelled_worker_does_not_take_a_key_with_it() -> None:
    async def run() -> str:
        queue: WorkQueue[str] = WorkQueue()
        first = asyncio.create_task(queue.get(), name="first")
        second = asyncio.create_task(queue.get(), name="second")
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        async with asyncio.timeout(5):
            return await second

    assert run_virtual(run()) == "a"


def test_the_age_of_the_first_key_in_line_is_known() -> None:
    async def run() -> float:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        await asyncio.sleep(4)
        queue.add("b")
        return queue.oldest_age()

    assert run_virtual(run()) == pytest.approx(4)
