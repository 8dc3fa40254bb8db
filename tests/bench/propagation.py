"""How long a change takes to arrive, next to a bare apply-to-watch round trip on the same real API servers.

Two kube-apiservers on one etcd, `mcs controller` and `mcs dns` as processes of their own. The measuring client writes
in east and watches west, over connections that are open already, as the controller's are. Samples of the bare round
trip and of the measured path alternate, so that both see the same machine.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import dns.message
import yaml

from mcs.model.names import SERVICE_NAME_LABEL, SLICE_SERVICE_LABEL
from mcs.model.resources import ENDPOINT_SLICES, Resource
from tests.bench.figures import Figure, percentile, ratio_figure
from tests.lab.control_planes import ADMIN, ControlPlane, ControlPlanes, free_ports
from tests.lab.mcs import eventually, rcode, running
from tests.scenarios.objects import expanded

SAMPLES = 300
EXPORT_SAMPLES = 100
NAMESPACE = "bench"
CRDS = Path(__file__).parents[2] / "crds"
MCS_GROUP = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Matches = Callable[[dict[str, Any]], bool]


class Cluster:
    """A client of one API server: writes over open connections, one watch of its EndpointSlices."""

    def __init__(self, plane: ControlPlane, session: aiohttp.ClientSession) -> None:
        self._plane = plane
        self._session = session
        self._headers = {"Authorization": f"Bearer {plane.tokens[ADMIN]}"}
        self._waiting: list[tuple[Matches, asyncio.Future[float]]] = []

    async def apply(self, resource: Resource[Any], obj: dict[str, Any]) -> None:
        """Server-side apply."""
        metadata = obj["metadata"]
        await self.apply_at(resource.path(metadata.get("namespace", ""), metadata["name"]), obj)

    async def apply_at(self, path: str, obj: dict[str, Any]) -> None:
        """Server-side apply at a path."""
        async with self._session.patch(
            f"{self._plane.url}{path}?fieldManager=bench&force=true",
            data=json.dumps(obj),
            headers=self._headers | {"Content-Type": "application/apply-patch+yaml"},
        ) as response:
            assert response.status in (200, 201), await response.text()

    async def delete(self, resource: Resource[Any], name: str) -> None:
        """Delete an object of the bench's namespace."""
        url = f"{self._plane.url}{resource.path(NAMESPACE, name)}"
        async with self._session.delete(url, headers=self._headers) as response:
            assert response.status == 200, await response.text()

    async def watch(self) -> None:
        """Follow the EndpointSlices for ever and tell those who wait."""
        url = f"{self._plane.url}{ENDPOINT_SLICES.path(NAMESPACE)}?watch=true"
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._session.get(url, headers=self._headers, timeout=timeout) as response:
            async for line in response.content:
                now = time.perf_counter()
                obj = json.loads(line)["object"]
                for waiting in list(self._waiting):
                    matches, future = waiting
                    if matches(obj) and not future.done():
                        future.set_result(now)
                        self._waiting.remove(waiting)

    def seen(self, matches: Matches) -> asyncio.Future[float]:
        """The moment at which the watch brings a slice that matches."""
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting.append((matches, future))
        return future


def _slice(name: str, service: str, address: str) -> dict[str, Any]:
    short: dict[str, Any] = {"EndpointSlice": f"{NAMESPACE}/{name}", "service": service}
    return expanded(short | {"ports": ["http 8080"], "ready": [address]})[1]


def _address(number: int) -> str:
    return f"10.7.{number // 250}.{number % 250 + 1}"


def _holds(address: str, label: str, service: str) -> Matches:
    def matches(obj: dict[str, Any]) -> bool:
        labels = obj["metadata"].get("labels", {})
        endpoints = obj.get("endpoints") or []
        return labels.get(label) == service and any(address in each["addresses"] for each in endpoints)

    return matches


async def _answered(port: int, name: str, is_there: Callable[[bytes], bool]) -> float:
    """Ask over and over until the answer is as wanted; the moment at which it came."""
    query = dns.message.make_query(f"{name}.{NAMESPACE}.svc.clusterset.local.", "A").to_wire()
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.setblocking(False)
        asker.connect(("127.0.0.1", port))
        while True:
            await loop.sock_sendall(asker, query)
            answer = await loop.sock_recv(asker, 4096)
            if is_there(answer):
                return time.perf_counter()
            await asyncio.sleep(0.0005)


class Bench:
    """Two clusters, our programs, and what is measured between them."""

    def __init__(self, east: Cluster, west: Cluster, dns_port: int) -> None:
        self._east = east
        self._west = west
        self._dns_port = dns_port

    async def bare(self, number: int) -> float:
        """Seconds from an apply in west until a watch in west shows it."""
        address = _address(number)
        seen = self._west.seen(_holds(address, SLICE_SERVICE_LABEL, "bare"))
        began = time.perf_counter()
        await self._west.apply(ENDPOINT_SLICES, _slice("bare-1", "bare", address))
        return await seen - began

    async def mirrored(self, number: int) -> float:
        """Seconds from a change in east until a watch in west shows the mirror."""
        address = _address(number)
        seen = self._west.seen(_holds(address, SERVICE_NAME_LABEL, "db"))
        began = time.perf_counter()
        await self._east.apply(ENDPOINT_SLICES, _slice("db-1", "db", address))
        return await seen - began

    async def answered(self, number: int) -> float:
        """Seconds from a change in east until DNS in west answers it."""
        address = _address(number)
        began = time.perf_counter()
        answered = asyncio.create_task(
            _answered(self._dns_port, "db", lambda answer: socket.inet_aton(address) in answer)
        )
        await self._east.apply(ENDPOINT_SLICES, _slice("db-1", "db", address))
        return await answered - began

    async def exported(self, number: int) -> float:
        """Seconds from an export in east until DNS in west answers the name for the first time."""
        name = f"api-{number}"
        await self._east.apply(*expanded({"Service": f"{NAMESPACE}/{name}", "ports": ["http 80"]}))
        await self._east.apply(ENDPOINT_SLICES, _slice(f"{name}-1", name, "10.6.0.1"))
        began = time.perf_counter()
        answered = asyncio.create_task(
            _answered(self._dns_port, name, lambda answer: answer[3] & 15 == 0 and answer[7] > 0)
        )
        await self._east.apply(*expanded({"ServiceExport": f"{NAMESPACE}/{name}"}))
        return await answered - began


async def measure(samples_of_each: int = SAMPLES, exports: int = EXPORT_SAMPLES) -> list[Figure]:
    """Ratios of p50 and p99 of the three paths to those of the bare round trip."""
    async with _running_bench() as bench:
        samples: dict[str, list[float]] = {"bare": [], "mirrored": [], "answered": [], "exported": []}
        for number in range(1, samples_of_each + 1):
            for path in ("bare", "mirrored"):
                samples[path].append(await getattr(bench, path)(number))
        for number in range(samples_of_each + 1, 2 * samples_of_each + 1):
            samples["answered"].append(await bench.answered(number))
        for number in range(exports):
            samples["exported"].append(await bench.exported(number))
    titles = {
        "mirrored": "endpoint change to mirrored slice",
        "answered": "endpoint change to DNS answer",
        "exported": "export to DNS answer",
    }
    figures: list[Figure] = []
    for share in (0.5, 0.99):
        bare = percentile(samples["bare"], share)
        for path, title in titles.items():
            value = percentile(samples[path], share)
            figures.append(ratio_figure(f"{title}, p{share * 100:.0f}", value * 1000, "ms", bare * 1000))
    return figures


@asynccontextmanager
async def _running_bench() -> AsyncIterator[Bench]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        planes = await stack.enter_async_context(ControlPlanes(("east", "west"), folder))
        clusters = [await _cluster(stack, planes[name]) for name in ("east", "west")]
        dns_port, *metrics_ports = free_ports(3)
        config = str(planes.kubeconfig())
        controller = ("controller", "--kubeconfig", config, "--cluster", "east", "--cluster", "west")
        listen = [f"127.0.0.1:{port}" for port in metrics_ports]
        await stack.enter_async_context(
            running("controller", *controller, "--metrics-listen", listen[0], folder=folder)
        )
        asked = ("dns", "--kubeconfig", config, "--context", "west", "--listen", f"127.0.0.1:{dns_port}")
        await stack.enter_async_context(running("dns", *asked, "--metrics-listen", listen[1], folder=folder))
        east, west = clusters
        for short in (
            {"Service": f"{NAMESPACE}/db", "ports": ["http 8080"], "headless": True},
            {"ServiceExport": f"{NAMESPACE}/db"},
        ):
            await east.apply(*expanded(short))
        await east.apply(ENDPOINT_SLICES, _slice("db-1", "db", "10.6.0.9"))

        async def is_served() -> bool:
            return await rcode(dns_port, f"db.{NAMESPACE}.svc.clusterset.local", "A") == "NOERROR"

        await eventually("the exported name answers", is_served)
        yield Bench(east, west, dns_port)


async def _cluster(stack: AsyncExitStack, plane: ControlPlane) -> Cluster:
    tls = ssl.create_default_context(cafile=str(plane.ca_file))
    session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)))
    cluster = Cluster(plane, session)
    await cluster.apply(*expanded({"Namespace": NAMESPACE}))
    for file in sorted(CRDS.glob("*.yaml")):
        crd = yaml.safe_load(file.read_text())
        await cluster.apply_at(f"/{MCS_GROUP}/{crd['metadata']['name']}", crd)
    watch = asyncio.create_task(cluster.watch(), name=f"watch {plane.name}")
    stack.callback(watch.cancel)
    return cluster
