"""What must hold for any bytes: `mcs dns` sends an answer or nothing, and never anything else happens.

`Packets` asks the two paths of the server, the general and the remembering one; `Streams` a whole server over TCP. The
first byte of an input says how it is asked, the rest is what is sent. Who makes inputs is not known here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Self

import dns.message

from mcs.model.names import ServiceKey
from mcs.model.preference import Preference
from mcs.model.slices import IPV6
from mcs_dns.responder import Responder
from mcs_dns.server import DnsServer
from mcs_dns.wire import MAX_DATAGRAM, MIN_DATAGRAM, STREAM, respond
from mcs_dns.zone import Zone, imported_service
from tests.unit.dns.sample_zone import mirror, ready, sample_zone, service_import

LIMITS = (MAX_DATAGRAM, STREAM, MIN_DATAGRAM, MAX_DATAGRAM)
"""By the lowest two bits of an input's first byte."""
IS_STALE = 0x04
IS_CHANGED = 0x08
"""Bits of the same byte: the zone may be out of date; a service of it is another."""

_CROWD = tuple(ready(f"10.9.0.{n}", hostname=f"member-{n}") for n in range(1, 25))
_CROWD_IPV6 = tuple(ready(f"fd00:9::{n}", hostname=f"member-{n}") for n in range(1, 25))
_WEB, _CROWDED = ServiceKey("demo", "web"), ServiceKey("demo", "crowd")
_MOST_PARSED = 1 << 16
_CHUNK = 1 << 16
_PATIENCE = 10.0
"""Seconds of the loop's clock within which an answer has to come on loopback."""


class BrokenRuleError(AssertionError):
    """The server did something else than answer or drop; the message tells what."""


class Packets:
    """Judges single packets, as they come in datagrams or in TCP frames."""

    def __init__(self) -> None:
        zone = sample_zone().with_services(
            {
                _CROWDED: imported_service(
                    service_import("crowd", "Headless"),
                    [
                        mirror("crowd", "c1", *_CROWD, ports=(("p", "TCP", 1),), preference=Preference(3)),
                        mirror("crowd", "c2", *_CROWD_IPV6, family=IPV6, preference=Preference(7)),
                    ],
                )
            }
        )
        changed = zone.with_services({_WEB: None, _CROWDED: zone.services[_WEB]})
        self._zones = (zone, changed)
        self._responders = {limit: Responder(zone, limit, _backwards) for limit in LIMITS}
        self._parsed: set[bytes] = set()

    def __call__(self, data: bytes) -> None:
        """Raises BrokenRuleError, or whatever the server or the parser of its response raises."""
        if data:
            self._judge(data[1:], self.response_to(data), LIMITS[data[0] & 3])

    def response_to(self, data: bytes) -> bytes | None:
        """What all paths answer. Raises BrokenRuleError when they do not agree."""
        mode, packet = data[0], data[1:]
        limit, is_stale = LIMITS[mode & 3], bool(mode & IS_STALE)
        zone = self._zones[bool(mode & IS_CHANGED)]
        epoch = mode >> 4
        response = respond(packet, zone, limit, _backwards, epoch, is_stale=is_stale)
        responder = self._responders[limit]
        if responder.zone is not zone:
            responder.zone = zone
        responder.epoch, responder.is_stale = epoch, is_stale
        for time in ("at first", "again"):
            # The second time it may be ready without being read.
            if (other := responder.respond(packet)) != response:
                raise BrokenRuleError(f"{time} {other!r} from memory, but {response!r} without it")
        return response

    def _judge(self, packet: bytes, response: bytes | None, limit: int) -> None:
        if response is None:
            if len(packet) >= 12 and not packet[2] & 0x80:
                raise BrokenRuleError("a query was dropped")
            return
        if limit != STREAM:
            limit = min(limit, _named_size(packet))
        if len(response) > limit:
            raise BrokenRuleError(f"{len(response)} bytes, {limit} are allowed")
        if response[:2] != packet[:2] or not response[2] & 0x80 or (response[2] ^ packet[2]) & 0x79:
            raise BrokenRuleError(f"id, QR, opcode or RD of {response[:4]!r} do not fit {packet[:4]!r}")
        if len(response) > 12 and not packet[12:].startswith(_question(response)):
            raise BrokenRuleError(f"the question of {response!r} was not asked")
        if response[2:] not in self._parsed:
            dns.message.from_wire(response)
            if len(self._parsed) == _MOST_PARSED:
                self._parsed.clear()
            self._parsed.add(response[2:])


def _named_size(packet: bytes) -> int:
    """The largest response that the client allows, where it is plain to see; else what nobody may exceed."""
    if packet[10:12] == b"\0\0":
        return MIN_DATAGRAM
    if packet[4:12] == bytes((0, 1, 0, 0, 0, 0, 0, 1)) and packet[-11:-8] == bytes((0, 0, 41)):
        return max(MIN_DATAGRAM, int.from_bytes(packet[-8:-6]))
    return MAX_DATAGRAM


def _question(response: bytes) -> bytes:
    end = 12
    while response[end]:
        end += 1 + response[end]
    return response[12 : end + 5]


def _backwards(items: Sequence[bytes], weights: Sequence[int] | None, /) -> Sequence[bytes]:
    """A shuffle that takes no chances, and yet tells whether weights were given."""
    return items[::-1] if weights is None else [*items[1:], items[0]]


class Streams:
    """Judges what is sent on a TCP connection to a server on loopback; one connection serves as long as it may.

    Only one record is in every answer of its zone, so that no shuffle makes two right answers differ.
    """

    def __init__(self) -> None:
        web = service_import("web", ips=("10.96.0.7",), ports=(("http", "TCP", 80),))
        self._zone = Zone.empty().with_services({_WEB: imported_service(web, ())}).as_synced()
        self._server = DnsServer(self._zone, "127.0.0.1", 0)
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._disconnect()
        await self._server.stop()

    async def check(self, data: bytes) -> None:
        """Raises BrokenRuleError when what comes back is not what the frames deserve."""
        if not data:
            return
        pieces, sent = data[0] % 4 + 1, data[1:]
        expected, end = self._expected(sent)
        is_closed = end is not None and end[1]
        goes_on = end == (len(sent), False)
        try:
            async with asyncio.timeout(_PATIENCE):
                received = await self._exchange(sent, pieces, len(expected) if goes_on else None)
        except TimeoutError:
            await self._disconnect()
            raise BrokenRuleError(f"no end of the answers, {len(expected)} bytes are expected") from None
        # What the server leaves unread when it closes resets the connection, and may take answers with it.
        is_reset = is_closed and end != (len(sent), True)
        if received != expected and not (is_reset and expected.startswith(received)):
            await self._disconnect()
            raise BrokenRuleError(f"{received!r} came, expected was {expected!r}")

    def _expected(self, sent: bytes) -> tuple[bytes, tuple[int, bool] | None]:
        """What has to come back; then where the last frame ends and whether it closes the connection, or None."""
        answers = b""
        at = 0
        while at < len(sent):
            end = at + 2 + int.from_bytes(sent[at : at + 2])
            if at + 2 > len(sent) or end > len(sent):
                return answers, None
            response = respond(sent[at + 2 : end], self._zone, STREAM)
            if response is None:
                return answers, (end, True)
            answers += len(response).to_bytes(2) + response
            at = end
        return answers, (at, False)

    async def _exchange(self, sent: bytes, pieces: int, wanted: int | None) -> bytes:
        """Send, and return the `wanted` bytes that come back, or all there are until the connection ends."""
        if self._connection is None:
            self._connection = await asyncio.open_connection(self._server.host, self._server.port)
        reader, writer = self._connection
        received = b""
        size = len(sent) // pieces + 1
        with contextlib.suppress(ConnectionError):
            for at in range(0, len(sent), size):
                writer.write(sent[at : at + size])
                await asyncio.sleep(0)
            if wanted is None and not writer.transport.is_closing():
                writer.write_eof()
            while wanted is None or len(received) < wanted:
                chunk = await reader.read(_CHUNK)
                if not chunk:
                    break
                received += chunk
        if wanted is None or len(received) != wanted:
            await self._disconnect()
        return received

    async def _disconnect(self) -> None:
        if self._connection is not None:
            _, writer = self._connection
            self._connection = None
            writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
