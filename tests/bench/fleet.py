"""How long good members of a fleet take to hold all imports, alone and beside members that are bad in every way.

Sandbox API servers and the controller share one process, so the times are not those of a clusterset; their ratio is
what counts: nobody waits for a bad member. 35 members are measured alone, then with 5 that take connections and never
answer, 5 that refuse them and 5 that answer each request after 10 seconds. What an object takes in memory is measured
beside it.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import tracemalloc
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import yaml
from aiohttp import web

from mcs.controllers.clusters import REFLECTED
from mcs.controllers.processes import ControllerProcess, client_opener, utc_now
from mcs.model.names import ClusterId
from mcs.model.resources import ENDPOINT_SLICES, SERVICE_IMPORTS, SERVICES, Resource
from mcs.runtime.cache import Cache
from mcs.sandbox.http.server import HOST, ApiServer, kubeconfig
from mcs.web.requests import RequestCounts
from tests.bench.figures import Figure, ratio_figure
from tests.lab.mcs import eventually
from tests.scenarios.api import Api
from tests.scenarios.objects import expanded
from tests.scenarios.world import define

OBJECTS = 10_000
SLOW = 10.0
"""Seconds after which a slow member answers."""


@asynccontextmanager
async def mute() -> AsyncIterator[int]:
    """The port of a server that takes connections and never answers."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


class SlowServer(ApiServer):
    """An API server each of whose answers takes its time."""

    async def start(self) -> None:
        """Listen."""
        answer = self._handlers.handle

        async def handle(request: web.Request) -> web.StreamResponse:
            await asyncio.sleep(SLOW)
            return await answer(request)

        self._handlers.handle = handle  # type: ignore[method-assign]
        await super().start()


async def _prepare(server: ApiServer) -> None:
    """Our CRDs, and one exported service that has the cluster's name."""
    async with Api(server.url, server.token, server.client_tls()) as api:
        await define(api)
        for short in (
            {"Namespace": "shop"},
            {"Service": f"shop/{server.name}", "ports": ["http 80"]},
            {"EndpointSlice": f"shop/{server.name}-1", "service": server.name, "ready": ["10.0.0.1"]},
            {"ServiceExport": f"shop/{server.name}"},
        ):
            await api.apply(*expanded(short))


async def seconds_until_synced(good: int, bad: int, folder: Path) -> float:
    """How long `good` members take until each holds the imports of all of them, beside `bad` ones of each kind."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(ApiServer(f"good-{n}", now=utc_now)) for n in range(good)]
        for server in servers:
            await _prepare(server)
        slow = [await stack.enter_async_context(SlowServer(f"slow-{n}", now=utc_now)) for n in range(bad)]
        config = yaml.safe_load(kubeconfig([*servers, *slow]))
        ports = {f"mute-{n}": await stack.enter_async_context(mute()) for n in range(bad)}
        ports |= {f"refusing-{n}": 1 for n in range(bad)}
        for name, port in ports.items():
            config["clusters"].append({"name": name, "cluster": {"server": f"https://{HOST}:{port}"}})
            config["contexts"].append({"name": name, "context": {"cluster": name, "user": "good-0"}})
        file = folder / f"kubeconfig-{bad}"
        file.write_text(yaml.safe_dump(config))
        # The bad ones first, so that whoever takes one after the other meets them.
        names = [each["name"] for each in reversed(config["contexts"])]
        process = ControllerProcess(
            {ClusterId(name): client_opener(name, [file], name, RequestCounts()) for name in names}
        )

        async def are_synced() -> bool:
            return all(_imports(process, server.name) >= good for server in servers)

        loop = asyncio.get_running_loop()
        began = loop.time()
        task = asyncio.create_task(process.run())
        try:
            await eventually("all is imported", are_synced, seconds=600)
            return loop.time() - began
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def _imports(process: ControllerProcess, name: str) -> int:
    caches: dict[str, Any] = process.fleet.members[ClusterId(name)].caches
    return sum(bool(each.status.clusters) for each in caches[SERVICE_IMPORTS.plural])


async def measure() -> Sequence[Figure]:
    """Seconds beside 15 bad members, next to those alone."""
    with tempfile.TemporaryDirectory() as folder:
        alone = await seconds_until_synced(35, 0, Path(folder))
        beside = await seconds_until_synced(35, 5, Path(folder))
    return [
        ratio_figure("35 members synced beside 15 bad ones, next to alone", beside, "s", alone),
        ratio_figure("cache of a Service, next to its JSON", *_kept(SERVICES, _service)),
        ratio_figure("cache of an EndpointSlice, next to its JSON", *_kept(ENDPOINT_SLICES, _slice)),
    ]


def _kept(resource: Resource[Any], make: Callable[[int], dict[str, Any]]) -> tuple[float, str, float]:
    """Bytes that an object takes in a cache with the indexes of the controller, and those of its JSON."""
    decoder = msgspec.json.Decoder(resource.type)
    (indexes,) = (each.indexes for each in REFLECTED if each.resource is resource)
    lines = [msgspec.json.encode(make(number)) for number in range(OBJECTS)]
    cache: Cache[Any] = Cache(indexes)
    gc.collect()
    tracemalloc.start()
    for line in lines:
        cache.put(decoder.decode(line))
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / OBJECTS, "bytes", sum(map(len, lines)) / OBJECTS


def _service(number: int) -> dict[str, Any]:
    """A Service that nobody exports, as an API server sends it."""
    name, address = f"service-{number}", f"10.96.{number // 250}.{number % 250}"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(name, number) | {"labels": {"app": name, "team": "a"}},
        "spec": {
            "clusterIP": address,
            "clusterIPs": [address],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
            "selector": {"app": name},
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    }


def _slice(number: int) -> dict[str, Any]:
    """Its slice, with two endpoints."""
    name = f"service-{number}"
    endpoint = {
        "addresses": [f"10.244.{number // 250}.{number % 250}"],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "nodeName": f"node-{number % 20}",
        "zone": "a",
    }
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": _metadata(f"{name}-abcde", number) | {"labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "endpoints": [endpoint, endpoint],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }


def _metadata(name: str, number: int) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": f"team-{number % 50}",
        "uid": f"6f1c9f4e-1b5e-4c1c-9d5e-{number:012d}",
        "resourceVersion": str(1000 + number),
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
