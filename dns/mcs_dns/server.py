"""Sockets for the zone: UDP and TCP, and counters of what was answered.

Everything about packets is left to `wire`, everything about records to `answer`; who builds zones is not known here.

Sources: RFC 1035 4.2 (transports), RFC 7766 (TCP: framing, pipelining, idle timeout, connection limit).
"""

import asyncio
import gc
import random
import socket
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

import structlog

from mcs_dns.answer import Rcode, Type
from mcs_dns.choice import EPOCH_SECONDS, weighted_key
from mcs_dns.datagrams import BatchedDatagrams, SingleDatagrams, datagrams
from mcs_dns.responder import OTHER_TYPE, Responder
from mcs_dns.wire import MAX_DATAGRAM, STREAM
from mcs_dns.zone import Zone

log = structlog.get_logger(__name__)

_PORT_ATTEMPTS = 16


def _shuffled(items: Sequence[bytes], weights: Sequence[int] | None, /) -> list[bytes]:
    # Sorting by random keys is without bias as long as no two keys are equal (one in 2**53), and takes a
    # third of the time of random.sample.
    if weights is None:
        return sorted(items, key=_random_key)
    keyed = sorted(
        (weighted_key(1.0 - random.random(), weight), item)
        for item, weight in zip(items, weights, strict=True)
    )
    return [item for _, item in keyed]


def _random_key(_: bytes) -> float:
    return random.random()


def collect_rarely() -> None:
    """Let this process look for unreachable cycles of objects as rarely as it may; for processes that only answer.

    Python does so after every few hundred new objects, and now and then it looks at all there are: at all endpoints,
    for longer than a question should wait. What replaces a service has no cycles and goes at once without it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 50, 1_000)


class DnsServer:
    """Answers `zone` on one address over UDP and TCP.

    Replacing the zone is one assignment: `server.zone = zone`; each query is answered from one zone as a whole. Port
    0 takes a free port, the same for both transports; `port` tells which. `bound` are a stream and a datagram socket to
    take instead. Durations are seconds of the loop's clock. Of the `tcp_connections` at a time one client, by its
    address, has at most `tcp_connections_per_client` (RFC 7766, 6.2.2); more are closed at once.
    """

    def __init__(
        self,
        zone: Zone,
        host: str,
        port: int,
        *,
        tcp_idle_timeout: float = 10.0,
        tcp_connections: int = 768,
        tcp_connections_per_client: int = 256,
        bound: tuple[socket.socket, socket.socket] | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self._bound = bound
        self._idle_timeout = tcp_idle_timeout
        self._connection_limit = tcp_connections
        self._connections_per_client = tcp_connections_per_client
        self._udp = Responder(zone, MAX_DATAGRAM, _shuffled, random.random)
        self._tcp = Responder(zone, STREAM, _shuffled, random.random)
        self._datagrams: BatchedDatagrams | SingleDatagrams | None = None
        self._listener: asyncio.Server | None = None
        self._next_epoch: asyncio.TimerHandle | None = None
        self._connections: dict[asyncio.Task[None], str] = {}

    @property
    def zone(self) -> Zone:
        """The zone that is answered from."""
        return self._udp.zone

    @zone.setter
    def zone(self, zone: Zone) -> None:
        self._udp.zone = zone
        self._tcp.zone = zone

    @property
    def is_stale(self) -> bool:
        """Whether responses say that the zone may be out of date."""
        return self._udp.is_stale

    @is_stale.setter
    def is_stale(self, is_stale: bool) -> None:
        self._udp.is_stale = self._tcp.is_stale = is_stale

    @property
    def is_synced(self) -> bool:
        """True when the zone that is answered from is complete."""
        return self.zone.synced

    @property
    def counts(self) -> Mapping[tuple[str, str, str], int]:
        """Responses since the start by (query type, response code, transport), for a metrics collector.

        Types that the zone does not hold count as "other", so that no client can make up ever more of them.
        """
        totals: dict[tuple[str, str, str], int] = {}
        for transport, responder in (("udp", self._udp), ("tcp", self._tcp)):
            for (type_, rcode), count in responder.counts.items():
                key = (_type_name(type_), Rcode(rcode).name, transport)
                totals[key] = totals.get(key, 0) + count
        return totals

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen. Raises OSError when the address cannot be bound."""
        stream, datagram = self._bound or bound_pair(self.host, self.port)
        self.port = stream.getsockname()[1]
        self._datagrams = datagrams(datagram, self._udp.respond)
        await self._datagrams.start()
        self._begin_epoch()
        self._listener = await asyncio.start_server(self._accept, sock=stream)
        log.info("answering", zones=self.zone.settings.origins, host=self.host, port=self.port)

    def _begin_epoch(self) -> None:
        """Take the present epoch, now and each time that another begins."""
        epoch, into = divmod(time.time(), EPOCH_SECONDS)
        self._udp.epoch = self._tcp.epoch = int(epoch)
        self._next_epoch = asyncio.get_running_loop().call_later(EPOCH_SECONDS - into, self._begin_epoch)

    async def stop(self) -> None:
        """Stop listening and close every connection; returns when all are closed."""
        if self._next_epoch is not None:
            self._next_epoch.cancel()
        if self._datagrams is not None:
            self._datagrams.close()
        if self._listener is not None:
            self._listener.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._listener is not None:
            await self._listener.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Not a coroutine: asyncio would make its task, and in some releases log an error when that is cancelled.
        client = _client(writer)
        if not self._has_room_for(client):
            writer.close()
            return
        serving = asyncio.get_running_loop().create_task(
            self._serve_connection(reader, writer), name="dns-tcp-connection"
        )
        self._connections[serving] = client
        serving.add_done_callback(self._connections.pop)
        serving.add_done_callback(lambda _: writer.close())

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer_stream(reader, writer)
        except (TimeoutError, asyncio.CancelledError) as stopped:
            # What the client has not taken by now is not waited for.
            writer.transport.abort()
            if isinstance(stopped, asyncio.CancelledError):
                raise
        except (ConnectionError, asyncio.IncompleteReadError):
            # The client went away or has nothing more to ask.
            pass

    def _has_room_for(self, client: str) -> bool:
        clients = list(self._connections.values())
        return len(clients) < self._connection_limit and clients.count(client) < self._connections_per_client

    async def _answer_stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer queries one after the other, as many as come (RFC 7766, 6.2.1.1), until the client is idle."""
        writer.transport.set_write_buffer_limits(0)
        while True:
            async with asyncio.timeout(self._idle_timeout):
                packet = await reader.readexactly(int.from_bytes(await reader.readexactly(2)))
            response = self._tcp.respond(packet)
            if response is None:
                return
            writer.write(len(response).to_bytes(2) + response)
            async with asyncio.timeout(self._idle_timeout):
                await writer.drain()


def _client(writer: asyncio.StreamWriter) -> str:
    """The client's address; empty for one that is gone already."""
    peer = writer.get_extra_info("peername")
    return str(peer[0]) if peer else ""


def bound_pair(host: str, port: int, *, is_shared: bool = False) -> tuple[socket.socket, socket.socket]:
    """A stream and a datagram socket of the same port; with port 0 one that is free for both.

    `is_shared` lets other such sockets of this user have the port too. Raises OSError.
    """
    for attempt in range(_PORT_ATTEMPTS):
        stream = _bound(host, port, socket.SOCK_STREAM, is_shared)
        try:
            return stream, _bound(host, stream.getsockname()[1], socket.SOCK_DGRAM, is_shared)
        except OSError:
            stream.close()
            if port or attempt == _PORT_ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _bound(host: str, port: int, kind: socket.SocketKind, is_shared: bool) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=kind, flags=socket.AI_NUMERICHOST)
    family, _, protocol, _, address = found[0]
    # Only where the protocol is said does asyncio turn off Nagle's algorithm, which would hold back pipelined answers.
    bound = socket.socket(family, kind, protocol)
    try:
        if kind == socket.SOCK_STREAM:
            # For datagrams the same option would let a second server take the port unnoticed.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.setblocking(False)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def _type_name(type_: int) -> str:
    match type_:
        case 0:
            return "none"
        case _ if type_ == OTHER_TYPE:
            return "other"
        case _:
            return Type(type_).name
