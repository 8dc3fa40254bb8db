"""A client of the burst measurement: writes over as many connections as the controller may use, and watches.

Run as a program it is the bare write: `python -m tests.bench.burst_client FILE` opens the controller's watches, says so
in a line, waits for one, and writes what FILE asks for as fast as the API servers take it. A process of its own, since
the controller is one too: the client that judges both must not be what slows one of them down.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import uvloop

from mcs.controllers.clusters import REFLECTED
from mcs.kube.transport import MAX_CONNECTIONS
from mcs.model.names import FIELD_MANAGER
from mcs.model.resources import Resource

AT_ONCE = MAX_CONNECTIONS // 2
"""Requests at a time and cluster: the other half of the connections is left to watches, as in the controller."""


class Access(msgspec.Struct, frozen=True):
    """What reaches one API server."""

    name: str
    url: str
    token: str
    ca_file: str


class Write(msgspec.Struct, frozen=True):
    """An object and its status after it, as (path, body), for one cluster."""

    cluster: str
    bodies: list[tuple[str, bytes]]


class Order(msgspec.Struct, frozen=True):
    """All that a bare write has to do."""

    clusters: list[Access]
    writes: list[Write]


class Cluster:
    """A client of one API server."""

    def __init__(self, access: Access, session: aiohttp.ClientSession) -> None:
        self.name = access.name
        self._url = access.url
        self._session = session
        self._headers = {"Authorization": f"Bearer {access.token}"}
        self._free = asyncio.Semaphore(AT_ONCE)

    async def apply(self, path: str, body: bytes) -> None:
        """Server-side apply as the controller would, so that the same objects come out."""
        async with (
            self._free,
            self._session.patch(
                f"{self._url}{path}?fieldManager={FIELD_MANAGER}&force=true",
                data=body,
                headers=self._headers | {"Content-Type": "application/apply-patch+yaml"},
            ) as response,
        ):
            answer = await response.read()
            assert response.status in (200, 201), answer

    async def apply_object(self, resource: Resource[Any], obj: dict[str, Any]) -> None:
        """Apply an object as a user does."""
        metadata = obj["metadata"]
        path = resource.path(metadata.get("namespace", ""), metadata["name"])
        await self.apply(path, msgspec.json.encode(obj))

    async def serves(self, resource: Resource[Any]) -> bool:
        """True when these objects can be listed, and so be watched."""
        url = f"{self._url}{resource.path()}"
        async with self._session.get(url, headers=self._headers) as response:
            return response.status == 200

    async def lines(self, resource: Resource[Any]) -> AsyncIterator[bytes]:
        """The lines of a watch of everything, for ever.

        An API server ends the watch of a client that is behind; a new one begins with all there is.
        """
        url = f"{self._url}{resource.path()}?watch=true&allowWatchBookmarks=true"
        timeout = aiohttp.ClientTimeout(total=None)
        while True:
            async with self._session.get(url, headers=self._headers, timeout=timeout) as response:
                assert response.status == 200, await response.text()
                async for line in response.content:
                    yield line

    async def drain(self, resource: Resource[Any]) -> None:
        """Keep a watch open as the controller does, reading and not looking."""
        async for _ in self.lines(resource):
            pass


async def opened(stack: AsyncExitStack, access: Access) -> Cluster:
    """A client that is closed with the stack."""
    tls = ssl.create_default_context(cafile=access.ca_file)
    connector = aiohttp.TCPConnector(ssl=tls, limit=MAX_CONNECTIONS)
    session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector, read_bufsize=2**21))
    return Cluster(access, session)


@asynccontextmanager
async def watching(watches: Iterable[Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Keep watches open until the block ends."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(watch, name="watch") for watch in watches]
        yield
        for task in tasks:
            task.cancel()


async def all_of(requests: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Await all of them, side by side."""
    await asyncio.gather(*requests)


async def _write(cluster: Cluster, bodies: list[tuple[str, bytes]]) -> None:
    for path, body in bodies:
        await cluster.apply(path, body)


async def _carry_out(order: Order) -> None:
    async with AsyncExitStack() as stack:
        clusters = {access.name: await opened(stack, access) for access in order.clusters}
        drained = (cluster.drain(each.resource) for cluster in clusters.values() for each in REFLECTED)
        async with watching(drained):
            await asyncio.sleep(1)
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
            await all_of(_write(clusters[write.cluster], write.bodies) for write in order.writes)
            await asyncio.to_thread(sys.stdin.readline)


def main(file: str) -> None:
    """Carry out the order in a file."""
    uvloop.run(_carry_out(msgspec.msgpack.decode(Path(file).read_bytes(), type=Order)))


if __name__ == "__main__":
    main(sys.argv[1])
