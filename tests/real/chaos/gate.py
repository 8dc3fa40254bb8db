"""TCP between a port and another one, with the faults of a network: nothing passes, or nobody is there.

Knows bytes only, so whatever TLS they carry passes untouched. HTTP faults are made by the fault proxy.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

_CHUNK = 1 << 16


class Gate:
    """Listens on `port` of 127.0.0.1 and connects each client with `target`, a port there too, while it is entered."""

    def __init__(self, port: int, target: int) -> None:
        self.port = port
        self._target = target
        self._server: asyncio.Server | None = None
        self._passes = asyncio.Event()
        self._passes.set()
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.refuse()

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._connections)

    async def listen(self) -> None:
        """Accept connections again after `refuse`."""
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", self.port)

    async def refuse(self) -> None:
        """End every connection and let new ones be refused, as when the machine has restarted."""
        if self._server is not None:
            self._server.close()
            self._server = None
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def swallow(self) -> None:
        """From now on let no byte pass, either way; connections stay and new ones are accepted."""
        self._passes.clear()

    def deliver(self) -> None:
        """Let bytes pass again, first those that were held."""
        self._passes.set()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        writers = [writer]
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
            writers.append(far_writer)
            pumps = [
                asyncio.create_task(self._pump(*ends), name=f"gate {self.port}")
                for ends in ((reader, far_writer), (far_reader, writer))
            ]
            try:
                # When one side ends its connection, so does the other.
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            # A server of streams logs a cancelled handler as a failure, and this one ends by being cancelled.
            pass
        finally:
            for each in writers:
                each.transport.abort()
            self._connections.discard(connection)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                await self._passes.wait()
                writer.write(data)
                await writer.drain()
