"""Keeps one cache equal to one resource of one cluster: list, then watch, for ever.

Answers what API servers really do: compacted versions (410 as a status or as a line of the watch), servers that went
back in time, watches that fall silent, missing CRDs, malformed objects. It never gives up and never empties a cache
because of an error; whether the cluster is well is for others to judge from `state`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar
from zlib import crc32

import structlog

from mcs.kube.decode import Bookmark, Deleted, Malformed, Page, Stored, WatchEvent
from mcs.kube.errors import (
    ApiError,
    Expired,
    KubeError,
    ResourceVersionTooLarge,
    TooManyRequests,
    Unreachable,
    WatchSilent,
)
from mcs.model.meta import KubernetesObject
from mcs.model.names import ServiceKey
from mcs.model.resources import Resource
from mcs.runtime.cache import Cache
from mcs.runtime.cancellation import raise_if_cancelled

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=KubernetesObject)

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 20.0
"""Bounds of the pause after errors, in seconds; it doubles from one to the other.

Together with a connection attempt in vain the longest leaves less than 30 s from the end of an outage to its news.
"""

SETTLED = 10.0
"""Seconds that a watch without events must last, once the server took it, before an earlier error counts as over."""

WARNED_AT_MOST = 20
"""Malformed objects of one resource that are logged: a member may send any number."""


class Reader(Protocol):
    """What a reflector needs of a client (`mcs.kube.client.Client` is one)."""

    def list_pages(
        self, resource: Resource[T], *, label_selector: str = ""
    ) -> AsyncGenerator[Page[T], None]: ...

    def watch(
        self,
        resource: Resource[T],
        resource_version: str,
        *,
        label_selector: str = "",
        timeout_seconds: int = ...,
        on_opened: Callable[[], None] | None = None,
    ) -> AsyncGenerator[WatchEvent[T], None]: ...


class WatchState(StrEnum):
    """What a reflector is doing."""

    LISTING = "listing"
    WATCHING = "watching"
    WAITING = "waiting"
    """Waiting out a pause after an error."""


@dataclass
class ReflectorStatus:
    """What can be seen of a reflector from outside; times are seconds of the loop's clock."""

    state: WatchState = WatchState.LISTING
    error: KubeError | None = None
    heard: float | None = None
    """When the server last answered or sent anything."""
    lists: int = 0
    events: int = 0
    malformed: int = 0


class Reflector(Generic[T]):
    """`run` reflects `resource` into `cache`, and calls `on_synced` after complete lists, `on_error` after errors.

    `on_health` is called whenever `status.error` comes or goes.
    """

    def __init__(
        self,
        reader: Reader,
        resource: Resource[T],
        cache: Cache[T],
        *,
        cluster: str,
        label_selector: str = "",
        on_synced: Callable[[], None] | None = None,
        on_error: Callable[[], None] | None = None,
        on_health: Callable[[], None] | None = None,
    ) -> None:
        self.resource = resource
        self.cache = cache
        self.status = ReflectorStatus()
        self._reader = reader
        self._selector = label_selector
        self._on_synced = on_synced
        self._on_error = on_error
        self._on_health = on_health
        self._log = log.bind(cluster=cluster, resource=str(resource))
        self._warned: set[tuple[ServiceKey, str]] = set()
        self._version = ""
        self._expired = float("-inf")
        self._pause = FIRST_PAUSE
        # Spread, so that the watches of many clusters do not all end and begin at the same moment.
        self._watch_seconds = 240 + crc32(f"{cluster}/{resource}".encode()) % 100

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            raise_if_cancelled()
            try:
                if not self._version:
                    self._version = await self._list()
                await self._watch()
            except Expired as error:
                self._log.info("history compacted, listing again")
                self._version = ""
                await self._wait_unless_first(error)
            except ResourceVersionTooLarge as error:
                self._log.warning("server went back in time, listing again")
                self._version = ""
                await self._wait(error)
            except WatchSilent:
                # A server restored from a backup answers 200 and then nothing, for ever, to a watch from a version
                # that it has not reached; only a new list finds out.
                self._log.warning("watch was silent, listing again")
                self._version = ""
            except (Unreachable, TooManyRequests) as error:
                # The version that was reached stays good; a list would be the dearest request for a busy server.
                await self._wait(error)
            except KubeError as error:
                self._version = ""
                await self._wait(error)

    async def _list(self) -> str:
        self.status.state = WatchState.LISTING
        objects: list[T] = []
        malformed: dict[ServiceKey, str] = {}
        version = ""
        async with aclosing(self._reader.list_pages(self.resource, label_selector=self._selector)) as pages:
            async for page in pages:
                self._hear()
                objects += page.items
                malformed |= {self._refuse(each): each.resource_version for each in page.malformed}
                version = page.resource_version
        self.status.lists += 1
        self.cache.replace(objects, malformed)
        self._warned = {(key, error) for key, error in self._warned if key in self.cache.malformed}
        if self._on_synced is not None:
            self._on_synced()
        return version

    async def _watch(self) -> None:
        """Take in events until the watch ends; `_version` follows each, so that none comes twice after an error."""
        self.status.state = WatchState.WATCHING
        loop = asyncio.get_running_loop()
        began, events = loop.time(), self.status.events
        settled: asyncio.TimerHandle | None = None

        def opened() -> None:
            nonlocal settled
            self._hear()
            settled = loop.call_later(SETTLED, self._settle)

        watch = self._reader.watch(
            self.resource,
            self._version,
            label_selector=self._selector,
            timeout_seconds=self._watch_seconds,
            on_opened=opened,
        )
        try:
            async with aclosing(watch) as received:
                async for event in received:
                    self._hear()
                    self._settle()
                    self._version = self._take_in(event) or self._version
        finally:
            if settled is not None:
                settled.cancel()
        if self.status.events == events and loop.time() - began < FIRST_PAUSE:
            await asyncio.sleep(FIRST_PAUSE)

    def _take_in(self, event: WatchEvent[T]) -> str:
        """Put one event into the cache; the version that the watch has reached by it is returned."""
        match event:
            case Stored(object=obj):
                self.cache.put(obj)
                version = obj.metadata.resource_version
            case Deleted(namespace=namespace, name=name, resource_version=version):
                self.cache.discard(ServiceKey(namespace, name), version)
            case Bookmark(resource_version=version):
                return version
            case Malformed(resource_version=version):
                self.cache.mark_malformed(self._refuse(event), version)
        self.status.events += 1
        return version

    def _refuse(self, malformed: Malformed) -> ServiceKey:
        """Count and, the first time, log an object that cannot be decoded; its key is returned."""
        key = ServiceKey(malformed.namespace, malformed.name)
        self.status.malformed += 1
        if (key, malformed.error) not in self._warned and len(self._warned) < WARNED_AT_MOST:
            self._warned.add((key, malformed.error))
            self._log.warning("malformed object skipped", object=str(key), error=malformed.error)
            if len(self._warned) == WARNED_AT_MOST:
                self._log.warning("further malformed objects are counted, not logged")
        return key

    def _hear(self) -> None:
        self.status.heard = asyncio.get_running_loop().time()

    def _settle(self) -> None:
        """The trouble, if there was any, is over."""
        self._pause = FIRST_PAUSE
        self._feel(None)

    def _feel(self, error: KubeError | None) -> None:
        before, self.status.error = self.status.error, error
        if self._on_health is not None and (before is None) != (error is None):
            self._on_health()

    async def _wait_unless_first(self, error: KubeError) -> None:
        """Let a first error pass; one that follows soon shows that to try again at once does not help."""
        before, self._expired = self._expired, asyncio.get_running_loop().time()
        if self._expired - before < SETTLED:
            await self._wait(error)

    async def _wait(self, error: KubeError) -> None:
        raise_if_cancelled()
        if self.status.error is None or type(self.status.error) is not type(error):
            self._log.warning("cannot list or watch", error=str(error))
        self.status.state = WatchState.WAITING
        self._feel(error)
        if self._on_error is not None:
            self._on_error()
        asked = error.retry_after if isinstance(error, ApiError) else None
        pause = max(self._pause, asked or 0.0)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        await asyncio.sleep(pause)


AnyReflector = Reflector[Any]
