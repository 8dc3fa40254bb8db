"""Lets the machine's own programs reach the API servers inside a lab: TCP from 127.0.0.1 into its network.

A program of its own that uses the standard library only: it listens while still outside and then enters the
lab's network namespace, where its connections go. Its arguments are the process id of the lab's namespace and
one LOCAL_PORT=IP:PORT for each address.
"""

from __future__ import annotations

import asyncio
import ctypes
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

_CLONE_NEWNET = 0x40000000
_CHUNK = 1 << 16


def main(arguments: Sequence[str]) -> None:
    """Forward until killed. Raises OSError when a port is taken or the namespace cannot be entered."""
    pid, *pairs = arguments
    routes: list[tuple[socket.socket, str, int]] = []
    for pair in pairs:
        local, _, remote = pair.partition("=")
        host, _, port = remote.rpartition(":")
        routes.append((socket.create_server(("127.0.0.1", int(local))), host, int(port)))
    enter_network(int(pid))
    asyncio.run(_forward(routes))


def enter_network(pid: int) -> None:
    """Make sockets in the network of that process from now on, in this thread. Raises OSError when refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(f"/proc/{pid}/ns/net").open("rb") as network:
        if libc.setns(network.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"entering the network of process {pid}")


async def _forward(routes: Sequence[tuple[socket.socket, str, int]]) -> None:
    async with asyncio.TaskGroup() as servers:
        for listener, host, port in routes:
            server = await asyncio.start_server(_to(host, port), sock=listener)
            servers.create_task(server.serve_forever(), name=f"forward to {host}:{port}")


def _to(host: str, port: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))

    return serve


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until the one side or the other ends, and then close."""
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    # Half-closing would keep a watch open whose client has gone.
    with suppress(OSError):
        writer.close()


if __name__ == "__main__":
    main(sys.argv[1:])
