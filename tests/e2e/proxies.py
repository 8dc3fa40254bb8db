"""Proxies on the loopback interface that tell where they were asked to connect to: HTTP CONNECT and SOCKS5."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Proxy:
    """Tunnels for whoever asks; `asked` are the targets as they were named, in order."""

    def __init__(self, kind: str) -> None:
        self.asked: list[str] = []
        self._target_of = self._socks_target if kind == "socks5" else self._http_target

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            port = await self._target_of(reader, writer)
            there = await asyncio.open_connection("127.0.0.1", port)
            writers.append(there[1])
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_copy(reader, there[1]))
                tasks.create_task(_copy(there[0], writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for each in writers:
                each.close()

    async def _http_target(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        head = await reader.readuntil(b"\r\n\r\n")
        target = head.split()[1].decode()
        self.asked.append(target)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        return int(target.rpartition(":")[2])

    async def _socks_target(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        """RFC 1928, without authentication."""
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = ".".join(map(str, await reader.readexactly(4)))
        port = int.from_bytes(await reader.readexactly(2))
        self.asked.append(f"{host}:{port}")
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        return port


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def proxied(kind: str, tls: ssl.SSLContext | None = None) -> AsyncIterator[tuple[str, Proxy]]:
    """The URL of a proxy and the proxy; `kind` is http, https (with `tls`) or socks5."""
    proxy = Proxy(kind)
    running: set[asyncio.Task[None]] = set()

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.add(asyncio.ensure_future(proxy.serve(reader, writer)))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"{kind}://127.0.0.1:{server.sockets[0].getsockname()[1]}", proxy
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
