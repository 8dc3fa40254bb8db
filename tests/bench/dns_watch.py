"""A small API server that replays changes from a file, and the changes: `python -m tests.bench.dns_watch FOLDER PORT`.

It lists what is in `imports.json` and `slices.json`, and its watch of slices sends the lines of `watch` one after the
other, as many a second as the last POST to `/rate/N` says. A real one could not be told to write so fast, and would
take the core of the load. Only what `mcs dns` asks for is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import yaml
from aiohttp import web

from mcs.model.names import ServiceKey
from mcs.model.resources import ENDPOINT_SLICES, SERVICE_IMPORTS
from tests.bench.dns_load import LOAD_CORE
from tests.bench.dns_objects import Object, addresses, key_of, mirror, service_import
from tests.lab.control_planes import free_ports
from tests.lab.mcs import eventually
from tests.lab.processes import LabProcess

FLIPPING = ServiceKey("ns0", "flipping")
STEP = 0.01
"""Seconds between two portions of lines."""


def flipping_service(endpoints: int) -> Iterator[Object]:
    """One headless service with so many ready endpoints."""
    yield service_import(FLIPPING)
    yield mirror(FLIPPING, "east", addresses(0, endpoints))


def flips(endpoints: int, count: int) -> Iterator[Object]:
    """Its slice, with half of the endpoints ready and all of them in turn."""
    every = addresses(0, endpoints)
    for number in range(count):
        half = every[: endpoints // 2] if number % 2 == 0 else every
        yield mirror(FLIPPING, "east", half, unready=every[len(half) :], version=2 + number)


def endpoint_changes(services: int, count: int) -> Iterator[Object]:
    """Slices of `mixed_services`, one headless service after the other, of whose endpoints one goes and comes."""
    headless = range(0, services, 2)
    for number in range(count):
        turn, at = divmod(number, len(headless))
        service = headless[at]
        high, low = divmod(service, 250)
        both = [f"10.1.{high}.{low + 1}", f"10.2.{high}.{low + 1}"]
        ready, unready = (both[:1], both[1:]) if turn % 2 == 0 else (both, ())
        yield mirror(key_of(service), "east", ready, unready=unready, version=2 + number)


class Replay:
    """The API server on one port of 127.0.0.1, seen from the measurement."""

    def __init__(self, port: int, kubeconfig: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.kubeconfig = kubeconfig

    async def set_rate(self, lines_per_second: int) -> None:
        """Send so many lines a second from now on. Raises RuntimeError when the file has none left."""
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.url}/rate/{lines_per_second}") as response,
        ):
            if response.status != 200:
                raise RuntimeError(await response.text())


@asynccontextmanager
async def replaying(
    objects: Iterable[Object], changes: Iterable[Object], folder: Path
) -> AsyncIterator[Replay]:
    """The API server with these objects, whose changes wait to be sent."""
    items: dict[str, list[object]] = {SERVICE_IMPORTS.plural: [], ENDPOINT_SLICES.plural: []}
    for resource, obj in objects:
        obj["metadata"]["resourceVersion"] = "1"
        items[resource.plural].append(obj)
    for plural, found in items.items():
        listed = {"metadata": {"resourceVersion": "1"}, "items": found}
        (folder / f"{plural}.json").write_text(json.dumps(listed))
    with (folder / "watch").open("w") as watch:
        for _, obj in changes:
            watch.write(json.dumps({"type": "MODIFIED", "object": obj}) + "\n")
    (port,) = free_ports(1)
    kubeconfig = folder / "replay.kubeconfig"
    server = {"name": "replay", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "replay", "context": {"cluster": "replay", "user": "replay"}}
    config = {"clusters": [server], "contexts": [context], "users": [{"name": "replay", "user": {}}]}
    kubeconfig.write_text(yaml.safe_dump(config | {"current-context": "replay"}))
    kubeconfig.chmod(0o600)
    command = (sys.executable, "-m", __name__, str(folder), str(port))
    process = LabProcess("replay", command, folder / "replay.log")
    await process.start()
    try:

        async def listens() -> bool:
            process.check_running()
            try:
                await Replay(port, kubeconfig).set_rate(0)
            except aiohttp.ClientError:
                return False
            return True

        await eventually("the replay listens", listens)
        yield Replay(port, kubeconfig)
    finally:
        await process.stop()


class _Server:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines = (folder / "watch").read_bytes().splitlines(keepends=True)
        self._next = 0
        self._rate = 0

    def application(self) -> web.Application:
        application = web.Application()
        application.router.add_get(SERVICE_IMPORTS.path(), self._imports)
        application.router.add_get(ENDPOINT_SLICES.path(), self._slices)
        application.router.add_post("/rate/{rate}", self._take_rate)
        return application

    async def _take_rate(self, request: web.Request) -> web.Response:
        if self._next >= len(self._lines) > 0:
            return web.Response(status=410, text="the watch file is at its end")
        self._rate = int(request.match_info["rate"])
        return web.Response()

    async def _imports(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.FileResponse(self._folder / f"{SERVICE_IMPORTS.plural}.json")
        await self._opened(request)
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    async def _slices(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.FileResponse(self._folder / f"{ENDPOINT_SLICES.plural}.json")
        response = await self._opened(request)
        loop = asyncio.get_running_loop()
        due, last = 0.0, loop.time()
        while True:
            await asyncio.sleep(STEP)
            now = loop.time()
            due, last = due + self._rate * (now - last), now
            portion = self._lines[self._next : self._next + int(due)]
            due -= int(due)
            self._next += len(portion)
            if portion:
                await response.write(b"".join(portion))

    async def _opened(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        return response


def main(folder: str, port: str) -> None:
    """Serve until the process is ended."""
    os.sched_setaffinity(0, {LOAD_CORE})
    web.run_app(_Server(Path(folder)).application(), host="127.0.0.1", port=int(port), print=None)


if __name__ == "__main__":
    main(*sys.argv[1:])
