"""A queue of keys: many changes of one thing become one piece of work, done by one worker at a time.

Same contract as client-go's work queue, on the loop's clock. First deliveries wait for nothing; only failures back off.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

FIRST_DELAY = 0.05
LONGEST_DELAY = 60.0
"""Bounds of the delay after failures, in seconds; it doubles from one to the other."""


class WorkQueue(Generic[K]):
    """Keys to work on, in the order they were added; a key added while it is worked on comes again afterwards."""

    def __init__(self) -> None:
        self.added = 0
        self.retried = 0
        self._ready: deque[K] = deque()
        self._waiting: dict[K, float] = {}
        self._dirty: set[K] = set()
        self._active: set[K] = set()
        self._failures: dict[K, int] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._getters: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        """How many keys are waiting, those that back off not counted."""
        return len(self._ready)

    @property
    def is_idle(self) -> bool:
        """True when nothing waits, is worked on or backs off."""
        return not (self._dirty or self._active or self._timers)

    def is_due(self, key: K) -> bool:
        """True when `key` will be worked on as soon as there is a worker, again if it is worked on now."""
        return key in self._dirty

    def oldest_age(self) -> float:
        """Seconds that the first key in line has been waiting; 0 when none does."""
        if not self._ready:
            return 0.0
        since: float = self._waiting[self._ready[0]]
        return asyncio.get_running_loop().time() - since

    def add(self, key: K) -> None:
        """Ask for work on `key`; a delay it waits out is cut short."""
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        if key in self._dirty:
            return
        self.added += 1
        self._dirty.add(key)
        if key not in self._active:
            self._make_ready(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Ask for work on `key` in `seconds`, or earlier when an earlier time is already set."""
        if key in self._dirty:
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        if (timer := self._timers.get(key)) is not None:
            if timer.when() <= when:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(when, self.add, key)

    def retry(self, key: K, at_least: float = 0.0) -> float:
        """Ask for work on `key` again after its failure; returns the delay in seconds.

        The delay doubles with each failure in a row and is never below `at_least` (a server's Retry-After).
        """
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retried += 1
        delay = max(at_least, min(FIRST_DELAY * 2.0 ** min(failures, 20), LONGEST_DELAY))
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """The work on `key` succeeded: its next failure starts from the first delay."""
        self._failures.pop(key, None)

    def drop_delayed(self) -> None:
        """Ask no more for what waits out a delay."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    async def get(self) -> K:
        """The next key; it belongs to the caller until `done`."""
        while not self._ready:
            getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                self._getters = deque(waiting for waiting in self._getters if waiting is not getter)
                if getter.done() and not getter.cancelled() and self._ready:
                    self._wake_one()
                raise
        key = self._ready.popleft()
        del self._waiting[key]
        self._dirty.discard(key)
        self._active.add(key)
        return key

    def done(self, key: K) -> None:
        """The caller of `get` has finished with `key`, well or not."""
        self._active.discard(key)
        if key in self._dirty:
            self._make_ready(key)

    def _make_ready(self, key: K) -> None:
        self._ready.append(key)
        self._waiting[key] = asyncio.get_running_loop().time()
        self._wake_one()

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return
