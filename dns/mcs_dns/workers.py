"""Several processes that answer one zone on one port, fed by this one, which answers nothing itself.

The kernel spreads clients over the sockets that share the port (SO_REUSEPORT). One process reads the API and feeds
the others: the API server is asked once, and decoding a storm of changes keeps no question waiting. A worker that
ends is started again with the same sockets, so that what came in meanwhile is answered, only later.
"""

import asyncio
import socket
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from types import TracebackType
from typing import Self

import structlog

from mcs.model.names import ServiceKey
from mcs_dns.messages import Changes, Counts, Report, receive, send
from mcs_dns.server import bound_pair
from mcs_dns.zone import Zone

log = structlog.get_logger(__name__)

_AT_ONCE = 500
"""Services in one message: a worker answers between two of them."""

_RESTART_SECONDS = 1.0
_STOP_SECONDS = 3.0


class DnsWorkers:
    """As DnsServer, but answering with `count` processes.

    `counts` and `synced` are what the workers reported last, at most about a second ago.
    """

    def __init__(self, zone: Zone, host: str, port: int, count: int) -> None:
        self.host = host
        self.port = port
        self._zone = zone
        self._is_stale = False
        self._workers = [_Worker(self, number) for number in range(count)]
        self._ended: Counter[str] = Counter()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def zone(self) -> Zone:
        """The zone that the workers are fed."""
        return self._zone

    @zone.setter
    def zone(self, zone: Zone) -> None:
        before, self._zone = self._zone, zone
        changed = zone.changed_since(before, chain(before.services, zone.services))
        for worker in self._workers:
            worker.feed(changed)

    @property
    def is_stale(self) -> bool:
        """Whether responses say that the zone may be out of date."""
        return self._is_stale

    @is_stale.setter
    def is_stale(self, is_stale: bool) -> None:
        if is_stale != self._is_stale:
            self._is_stale = is_stale
            for worker in self._workers:
                worker.feed(frozenset())

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the processes that run."""
        return tuple(worker.pid for worker in self._workers if worker.pid is not None)

    @property
    def is_synced(self) -> bool:
        """True when every worker answers from a complete zone."""
        return all(worker.report.synced for worker in self._workers)

    @property
    def counts(self) -> Mapping[tuple[str, str, str], int]:
        """Responses since the start by (query type, response code, transport), of all workers together."""
        total = self._ended.copy()
        for worker in self._workers:
            total.update(worker.report.counts)
        found: dict[tuple[str, str, str], int] = {}
        for key, count in total.items():
            type_, rcode, transport = key.split(" ")
            found[type_, rcode, transport] = count
        return found

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, and start the workers. Raises OSError when the address cannot be bound."""
        # Bound once for itself: sockets that share a port would not notice somebody else's.
        for each in bound_pair(self.host, self.port):
            self.port = each.getsockname()[1]
            each.close()
        for worker in self._workers:
            worker.bind(self.host, self.port)
            self._tasks.append(asyncio.create_task(worker.keep(), name=f"dns-worker-{worker.number}"))
        log.info(
            "answering",
            zones=self.zone.settings.origins,
            host=self.host,
            port=self.port,
            workers=len(self._workers),
        )

    async def stop(self) -> None:
        """End the workers; returns when all have ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for worker in self._workers:
            worker.close()

    def retire(self, counts: Counts) -> None:
        """Go on counting what a worker answered that has ended."""
        self._ended.update(counts)


class _Worker:
    """One process, from its first start to the end of all."""

    def __init__(self, owner: DnsWorkers, number: int) -> None:
        self.number = number
        self.report = Report(0, False, {})
        self.pid: int | None = None
        self._owner = owner
        self._sockets: tuple[socket.socket, ...] = ()
        self._unfed: set[ServiceKey] = set()
        self._has_news = asyncio.Event()

    def bind(self, host: str, port: int) -> None:
        """Take the sockets that every process of this worker answers on."""
        self._sockets = bound_pair(host, port, is_shared=True)

    def close(self) -> None:
        """Give the sockets back."""
        for each in self._sockets:
            each.close()

    def feed(self, changed: frozenset[ServiceKey]) -> None:
        """These services differ in the zone."""
        self._unfed |= changed
        self._has_news.set()

    async def keep(self) -> None:
        """Run the process, again whenever it ends, until cancelled."""
        while True:
            try:
                await self._run()
            except OSError as error:
                log.error("dns worker cannot start", worker=self.number, error=str(error))
            self._owner.retire(self.report.counts)
            self.report = Report(0, False, {})
            await asyncio.sleep(_RESTART_SECONDS)

    async def _run(self) -> None:
        ours, theirs = socket.socketpair()
        stream, datagram = self._sockets
        descriptors = [each.fileno() for each in (theirs, datagram, stream)]
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "mcs_dns.worker",
                *map(str, descriptors),
                pass_fds=descriptors,
                stdin=asyncio.subprocess.DEVNULL,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.pid = process.pid
        reader, writer = await asyncio.open_connection(sock=ours)
        self.feed(frozenset(self._owner.zone.services))
        feeding = asyncio.create_task(self._feed(writer), name=f"dns-worker-{self.number}/feed")
        try:
            while (report := await receive(reader, Report)) is not None:
                self.report = report
            log.error("dns worker ended", worker=self.number, status=await process.wait())
        finally:
            feeding.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await feeding
            writer.close()
            await _ended(process)
            self.pid = None

    async def _feed(self, writer: asyncio.StreamWriter) -> None:
        """Send what differs, as it is by then: a worker that is behind skips what was in between."""
        is_whole = False
        while True:
            await self._has_news.wait()
            zone, owner = self._owner.zone, self._owner
            keys = sorted(self._unfed)[:_AT_ONCE]
            self._unfed.difference_update(keys)
            if not self._unfed:
                self._has_news.clear()
                is_whole = True
            services = [(key, zone.services.get(key)) for key in keys]
            await send(
                writer,
                Changes(zone.settings, zone.serial, zone.synced and is_whole, owner.is_stale, services),
            )


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Return when the process has ended; its control connection is closed, which ends it."""
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
