"""What the process that reads the API and its DNS workers tell each other, as length-prefixed MessagePack."""

import asyncio
from typing import TypeVar

import msgspec

from mcs.model.names import ServiceKey
from mcs_dns.zone import ImportedService, ZoneSettings

Counts = dict[str, int]
"""Responses by "type rcode transport"."""


class Changes(msgspec.Struct, array_like=True):
    """What differs from the zone before: None for a service that went. The rest is of the zone as it is now."""

    settings: ZoneSettings
    serial: int
    synced: bool
    is_stale: bool
    services: list[tuple[ServiceKey, ImportedService | None]]


class Report(msgspec.Struct, array_like=True):
    """What a worker answers from, and how much it has answered since its start."""

    serial: int
    synced: bool
    counts: Counts


T = TypeVar("T", Changes, Report)
_ENCODER = msgspec.msgpack.Encoder()


async def send(writer: asyncio.StreamWriter, message: Changes | Report) -> None:
    """Send a message; waits while the other side is behind. Raises ConnectionError when it is gone."""
    data = _ENCODER.encode(message)
    writer.write(len(data).to_bytes(4) + data)
    await writer.drain()


async def receive(reader: asyncio.StreamReader, type_: type[T]) -> T | None:
    """The next message; None when the other side is gone."""
    try:
        size = int.from_bytes(await reader.readexactly(4))
        return msgspec.msgpack.decode(await reader.readexactly(size), type=type_)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
