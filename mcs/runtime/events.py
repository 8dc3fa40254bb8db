"""Tells Events to one cluster: best effort, at a bounded rate, and never in the way of the work that they tell of.

What an Event says is decided elsewhere. One that cannot be told is given up: the conditions say the same.
"""

import asyncio
from collections import deque
from typing import Protocol, TypeVar

import structlog

from mcs.kube.errors import AlreadyExists, Forbidden, KubeError, NamespaceTerminating
from mcs.model.events import Event
from mcs.model.meta import KubernetesObject
from mcs.model.resources import EVENTS, Resource

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=KubernetesObject)

MOST_WAITING = 1000
"""Events that wait to be told; further ones are given up."""

BURST = 50
PER_SECOND = 10.0
"""So many Events are told at once, and so many a second afterwards."""


class Creator(Protocol):
    """What the recorder needs of a client (`mcs.kube.client.Client` is one)."""

    async def create(self, resource: Resource[T], obj: T) -> T: ...


class EventRecorder:
    """`record` notes an Event and returns at once; `run` tells what was noted until it is cancelled."""

    def __init__(self, creator: Creator, *, cluster: str) -> None:
        self.given_up = 0
        self._creator = creator
        self._log = log.bind(cluster=cluster)
        self._waiting: deque[Event] = deque()
        self._is_noted = asyncio.Event()
        self._has_warned = False

    def record(self, event: Event) -> None:
        """Note an Event; beyond MOST_WAITING it is given up."""
        if len(self._waiting) >= MOST_WAITING:
            self.given_up += 1
            return
        self._waiting.append(event)
        self._is_noted.set()

    async def run(self) -> None:
        """Tell Events, in the order in which they were noted."""
        loop, due = asyncio.get_running_loop(), float("-inf")
        while True:
            await self._is_noted.wait()
            due = max(due, loop.time() - BURST / PER_SECOND) + 1 / PER_SECOND
            await asyncio.sleep(max(due - loop.time(), 0))
            event = self._waiting.popleft()
            if not self._waiting:
                self._is_noted.clear()
            await self._tell(event)

    async def _tell(self, event: Event) -> None:
        try:
            await self._creator.create(EVENTS, event)
        except AlreadyExists:
            pass
        except KubeError as error:
            self.given_up += 1
            # A namespace that goes takes no Events; where they are not allowed at all, one line says so.
            if isinstance(error, Forbidden) and not isinstance(error, NamespaceTerminating):
                if not self._has_warned:
                    self._has_warned = True
                    self._log.warning("events cannot be told", error=str(error))
            else:
                self._log.debug("event given up", object=str(event.key), error=str(error))
