"""An event loop whose clock jumps: minutes of timers pass in milliseconds, in the order real time would run them.

Real sockets work in it as long as both ends live in the same loop: the clock advances only when no callback is
ready, nothing arrives for a moment of real time, and no thread of the loop's executor is at work. What waits for
another process would be overtaken by the clock.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from typing import Any, TypeVar

T = TypeVar("T")

START = 1000.0
"""What the clock shows first; not zero, so that a moment is never taken for "not set"."""

REAL_WAIT = 0.002
"""Seconds of real time that sockets may need before the clock jumps; loopback answers at once."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time()` stands still while anything runs and jumps when everything waits for it."""

    def __init__(self) -> None:
        self._now = START
        self._jobs = 0
        super().__init__(_PatientSelector(self._pass, lambda: self._jobs > 0))

    def time(self) -> float:
        """Virtual seconds; START when the loop is made."""
        return self._now

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        """As in every loop; while the job runs, the clock stands still."""
        future = super().run_in_executor(executor, func, *args)
        self._jobs += 1
        future.add_done_callback(self._job_done)
        return future

    def _job_done(self, _: object) -> None:
        self._jobs -= 1

    def _pass(self, seconds: float) -> None:
        self._now += seconds


class _PatientSelector(selectors.BaseSelector):
    """Waits for real events briefly, and lets virtual time pass when there are none."""

    def __init__(self, let_pass: Callable[[float], None], is_working: Callable[[], bool]) -> None:
        self._real = selectors.DefaultSelector()
        self._let_pass = let_pass
        self._is_working = is_working

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or self._is_working():
            return self._real.select(timeout if timeout is None else min(timeout, REAL_WAIT))
        events = self._real.select(0)
        if events or timeout <= 0:
            return events
        events = self._real.select(REAL_WAIT)
        if not events and not self._is_working():
            self._let_pass(timeout)
        return events

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


def run_virtual(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of `coroutine`, run in a new loop with virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)
