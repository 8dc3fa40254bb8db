"""How long a thousand exports at once take, next to a bare concurrent write of the same final objects.

Two kube-apiservers on one etcd and `mcs controller` as a process of its own. The measuring client applies the exports
in east and watches both clusters until everything is everywhere. Then the controller ends, and another process writes
what came out into a namespace where nothing is yet, as fast as the servers take it: with as many connections as the
controller may use, and with the controller's watches open. Both ways, the same client judges by the same watches.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import aiohttp
import msgspec
import yaml

from mcs.model.names import SERVICE_NAME_LABEL
from mcs.model.resources import (
    ENDPOINT_SLICES,
    NAMESPACES,
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
    Resource,
)
from tests.bench.burst_client import Access, Cluster, Order, Write, all_of, opened, watching
from tests.bench.figures import Figure, percentile, ratio_figure
from tests.lab.control_planes import ADMIN, ControlPlane, ControlPlanes, free_ports
from tests.lab.mcs import eventually, running
from tests.scenarios.objects import expanded

EXPORTS = 1000
SINGLE_EXPORTS = 15
BURST, BARE, SINGLE = "burst", "bare", "single"
LONGEST = 300
"""Seconds until a measurement is given up."""

CRDS = Path(__file__).parents[2] / "crds"
MCS_GROUP = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Piece = tuple[str, str, str]
"""Cluster, kind and service of something that an export brings about."""


class Meta(msgspec.Struct, rename="camel"):
    """What the client needs of metadata."""

    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class Spec(msgspec.Struct, rename="camel"):
    """What tells that a derived Service or an import has its addresses."""

    cluster_ip: str = msgspec.field(name="clusterIP", default="")
    ips: tuple[str, ...] | None = None


class Condition(msgspec.Struct):
    """A condition, as far as it is judged."""

    type: str
    status: str


class Status(msgspec.Struct):
    """What tells that a status was written, and was the last."""

    clusters: tuple[msgspec.Raw, ...] | None = None
    conditions: tuple[Condition, ...] | None = None

    @property
    def is_ready(self) -> bool:
        """True when condition Ready holds; an export that waits for its import may say Valid alone before."""
        return Condition("Ready", "True") in (self.conditions or ())


class Seen(msgspec.Struct):
    """An object of a watch, as far as it is judged."""

    kind: str
    metadata: Meta
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Status = msgspec.field(default_factory=Status)


class Event(msgspec.Struct):
    """A line of a watch; the object stays bytes until it is needed whole."""

    type: str
    object: msgspec.Raw


def finished_service(seen: Seen) -> str | None:
    """The service for which this object is as it should be in the end, or None."""
    match seen.kind:
        case "Service" if seen.spec.cluster_ip:
            return seen.metadata.labels.get(SERVICE_NAME_LABEL)
        case "EndpointSlice":
            return seen.metadata.labels.get(SERVICE_NAME_LABEL)
        case "ServiceImport" if seen.spec.ips and seen.status.clusters and seen.status.is_ready:
            return seen.metadata.name
        case "ServiceExport" if seen.status.is_ready:
            return seen.metadata.name
    return None


class Arrivals:
    """What has come about, by namespace, with the final objects."""

    def __init__(self) -> None:
        self.final: dict[str, dict[Piece, bytes]] = {BURST: {}, BARE: {}, SINGLE: {}}
        self._awaited: tuple[str, set[Piece], asyncio.Future[float]] | None = None

    def take(self, cluster: str, line: bytes) -> None:
        """A line of a watch arrived."""
        now = time.perf_counter()
        event = msgspec.json.decode(line, type=Event)
        seen = msgspec.json.decode(event.object, type=Seen)
        pieces = self.final.get(seen.metadata.namespace)
        if pieces is None or (service := finished_service(seen)) is None:
            return
        piece = cluster, seen.kind, service
        pieces[piece] = bytes(event.object)
        if self._awaited is not None and self._awaited[0] == seen.metadata.namespace:
            _, missing, future = self._awaited
            missing.discard(piece)
            if not missing and not future.done():
                future.set_result(now)

    def whole(self, namespace: str, services: Iterable[str]) -> asyncio.Future[float]:
        """The moment at which everything of these services is everywhere."""
        missing = {
            (cluster, kind, service)
            for service in services
            for cluster in ("east", "west")
            for kind in ("Service", "EndpointSlice", "ServiceImport", "ServiceExport")
            if (cluster, kind) != ("west", "ServiceExport")
        }
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._awaited = namespace, missing, future
        return future


class Bench:
    """Two clusters, the controller's command line, and what comes about in them."""

    def __init__(self, clusters: Mapping[str, Cluster], arrivals: Arrivals) -> None:
        self._clusters = clusters
        self._arrivals = arrivals

    async def prepare(self, namespace: str, services: Iterable[str]) -> None:
        """Services and their slices in east."""
        east = self._clusters["east"]
        for cluster in self._clusters.values():
            await cluster.apply_object(NAMESPACES, expanded({"Namespace": namespace})[1])
        shorts: list[dict[str, Any]] = []
        for number, name in enumerate(services):
            address = f"10.{7 + number // 62500}.{number // 250 % 250}.{number % 250 + 1}"
            shorts += (
                {"Service": f"{namespace}/{name}", "ports": ["http 80"]},
                {
                    "EndpointSlice": f"{namespace}/{name}-1",
                    "service": name,
                    "ports": ["http 80"],
                    "ready": [address],
                },
            )
        await all_of(east.apply_object(*expanded(short)) for short in shorts)

    async def exported(self, namespace: str, services: list[str]) -> float:
        """Seconds from the first export until everything of all of them is everywhere."""
        objects = [expanded({"ServiceExport": f"{namespace}/{name}"}) for name in services]
        arrived = self._arrivals.whole(namespace, services)
        began = time.perf_counter()
        await all_of(self._clusters["east"].apply_object(*each) for each in objects)
        async with asyncio.timeout(LONGEST):
            return await arrived - began

    async def written(self, services: list[str], clusters: list[Access], folder: Path) -> float:
        """Seconds until what the burst brought about is in another namespace too, written by nobody but us."""
        final = self._arrivals.final[BURST]
        writes = [
            Write(cluster, bodies) for service in services for cluster, bodies in _bodies_of(final, service)
        ]
        file = folder / "bare-write"
        file.write_bytes(msgspec.msgpack.encode(Order(clusters, writes)))
        async with _writer(file) as begin:
            arrived = self._arrivals.whole(BARE, services)
            began = time.perf_counter()
            begin()
            async with asyncio.timeout(LONGEST):
                return await arrived - began


async def _follow(cluster: Cluster, resource: Resource[Any], arrivals: Arrivals) -> None:
    """Judge what a watch brings."""
    async for line in cluster.lines(resource):
        arrivals.take(cluster.name, line)


@asynccontextmanager
async def _writer(file: Path) -> AsyncIterator[Callable[[], None]]:
    """The process of the bare write, ready to begin when it is told."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.burst_client", str(file), stdin=pipe, stdout=pipe
    )
    stdin, stdout = cast("tuple[asyncio.StreamWriter, asyncio.StreamReader]", (process.stdin, process.stdout))
    try:
        await stdout.readline()
        yield lambda: stdin.write(b"begin\n")
    finally:
        stdin.close()
        await process.wait()


def _bodies_of(final: Mapping[Piece, bytes], service: str) -> list[tuple[str, list[tuple[str, bytes]]]]:
    """Requests by object: the object without what the server adds, then its status if it is one of ours."""
    plans = []
    for resource in (SERVICE_EXPORTS, ENDPOINT_SLICES, SERVICES, SERVICE_IMPORTS):
        for cluster in ("east", "west"):
            if (found := final.get((cluster, resource.kind, service))) is None:
                continue
            obj = msgspec.json.decode(found)
            kept = {
                name: obj["metadata"][name] for name in ("labels", "annotations") if name in obj["metadata"]
            }
            name = obj["metadata"]["name"]
            obj["metadata"] = kept | {"name": name, "namespace": BARE}
            status = obj.pop("status", None)
            if resource is SERVICES:
                for allocated in ("clusterIP", "clusterIPs"):
                    obj["spec"].pop(allocated, None)
            bodies = [(resource.path(BARE, name), msgspec.json.encode(obj))]
            if resource in (SERVICE_EXPORTS, SERVICE_IMPORTS):
                alone = {each: obj[each] for each in ("apiVersion", "kind")}
                alone |= {"metadata": {"name": name, "namespace": BARE}, "status": status}
                bodies.append((resource.path(BARE, name, "status"), msgspec.json.encode(alone)))
            plans.append((cluster, bodies))
    return plans


async def measure(exports: int = EXPORTS, singles: int = SINGLE_EXPORTS) -> list[Figure]:
    """The burst next to the bare write, and one export after the burst next to one before it."""
    services = [f"api-{number}" for number in range(exports)]
    before = [f"before-{number}" for number in range(singles)]
    after = [f"after-{number}" for number in range(singles)]
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        planes = await stack.enter_async_context(ControlPlanes(("east", "west"), folder))
        clusters = {plane.name: await _cluster(stack, plane) for plane in planes}
        arrivals = Arrivals()
        bench = Bench(clusters, arrivals)
        await bench.prepare(BURST, services)
        await bench.prepare(BARE, services)
        await bench.prepare(SINGLE, (*before, *after))
        async with watching(
            _follow(cluster, resource, arrivals)
            for cluster in clusters.values()
            for resource in (SERVICES, ENDPOINT_SLICES, SERVICE_IMPORTS, SERVICE_EXPORTS)
        ):
            async with _controller(planes, folder):
                await bench.exported(SINGLE, [before[0]])
                idle = [await bench.exported(SINGLE, [name]) for name in before[1:]]
                burst = await bench.exported(BURST, services)
                afterwards = [await bench.exported(SINGLE, [name]) for name in after]
            bare = await bench.written(services, [_access(plane) for plane in planes], folder)
    median_before, median_after = percentile(idle, 0.5), percentile(afterwards, 0.5)
    return [
        ratio_figure(f"{exports} exports at once", burst, "s", bare),
        ratio_figure("one export after them, p50", median_after * 1000, "ms", median_before * 1000),
    ]


@asynccontextmanager
async def _controller(planes: ControlPlanes, folder: Path) -> AsyncIterator[None]:
    (port,) = free_ports(1)
    command = (
        "controller",
        "--kubeconfig",
        str(planes.kubeconfig()),
        "--cluster",
        "east",
        "--cluster",
        "west",
    )
    async with (
        running("controller", *command, "--metrics-listen", f"127.0.0.1:{port}", folder=folder),
        aiohttp.ClientSession() as session,
    ):

        async def is_ready() -> bool:
            try:
                async with session.get(f"http://127.0.0.1:{port}/readyz") as response:
                    return response.status == 200
            except aiohttp.ClientError:
                return False

        await eventually("the controller has seen both clusters", is_ready)
        yield


def _access(plane: ControlPlane) -> Access:
    return Access(plane.name, plane.url, plane.tokens[ADMIN], str(plane.ca_file))


async def _cluster(stack: AsyncExitStack, plane: ControlPlane) -> Cluster:
    cluster = await opened(stack, _access(plane))
    for file in sorted(CRDS.glob("*.yaml")):
        crd = yaml.safe_load(file.read_text())
        await cluster.apply(f"{MCS_GROUP}/{crd['metadata']['name']}", msgspec.json.encode(crd))
    for resource in (SERVICE_EXPORTS, SERVICE_IMPORTS):
        await eventually(f"{resource} are served", partial(cluster.serves, resource))
    return cluster
