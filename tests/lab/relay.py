"""Carries questions and answers between the machine's network and one of the lab's, over UDP and TCP.

The sockets of the other network are made by a thread that lives in it, and are used from here like any other. TCP
to API servers goes through `forwarder`, which needs no thread of the tests.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from tests.lab.forwarder import copy, enter_network

_LARGEST = 1 << 16
_PATIENCE_SECONDS = 15.0

MakeSocket = Callable[[socket.SocketKind], Awaitable[socket.socket]]


class Place(NamedTuple):
    """An address in a network; `make` makes sockets there."""

    make: MakeSocket
    address: tuple[str, int]


async def here(kind: socket.SocketKind) -> socket.socket:
    """A socket of the machine's own network."""
    return _socket(kind)


@asynccontextmanager
async def network_of(pid: int) -> AsyncIterator[MakeSocket]:
    """What makes sockets in the network of that process. Raises OSError where entering it is refused."""
    with ThreadPoolExecutor(1, "network", enter_network, (pid,)) as inside:

        async def make(kind: socket.SocketKind) -> socket.socket:
            return await asyncio.get_running_loop().run_in_executor(inside, _socket, kind)

        yield make


@asynccontextmanager
async def relayed(listening: Place, answering: Place) -> AsyncIterator[None]:
    """Pass on what comes to the one place to the other until the block ends, and what it answers back.

    Raises OSError when the address cannot be bound.
    """
    stream, datagrams = (
        await listening.make(socket.SOCK_STREAM),
        await listening.make(socket.SOCK_DGRAM),
    )
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for each in (stream, datagrams):
        each.bind(listening.address)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await answering.make(socket.SOCK_STREAM)
        try:
            await asyncio.get_running_loop().sock_connect(upstream, answering.address)
        except OSError:
            upstream.close()
            writer.close()
            return
        far_reader, far_writer = await asyncio.open_connection(sock=upstream)
        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))

    server = await asyncio.start_server(connect, sock=stream)
    relaying = asyncio.create_task(_relay_datagrams(datagrams, answering), name="relay datagrams")
    try:
        yield
    finally:
        server.close()
        relaying.cancel()
        await asyncio.gather(relaying, return_exceptions=True)
        datagrams.close()


def _socket(kind: socket.SocketKind) -> socket.socket:
    made = socket.socket(socket.AF_INET, kind)
    made.setblocking(False)
    return made


async def _relay_datagrams(listening: socket.socket, answering: Place) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as asked:
        while True:
            packet, client = await loop.sock_recvfrom(listening, _LARGEST)
            asked.create_task(_pass_on(packet, client, listening, answering), name="relay a datagram")


async def _pass_on(
    packet: bytes, client: tuple[str, int], listening: socket.socket, answering: Place
) -> None:
    loop = asyncio.get_running_loop()
    with await answering.make(socket.SOCK_DGRAM) as upstream, suppress(OSError, TimeoutError):
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await loop.sock_connect(upstream, answering.address)
            await loop.sock_sendall(upstream, packet)
            answer = await loop.sock_recv(upstream, _LARGEST)
        await loop.sock_sendto(listening, answer, client)
