"""The DNS servers that are compared, each as a process on the core that is the server's, and the clusters they read.

`mcs dns` runs as users start it; CoreDNS and NSD are configured to do the same work. What is asked is left to
`dns_load`.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import yaml

from tests.bench.dns_load import SERVER_CORE
from tests.bench.dns_objects import NAMESPACES, ZONE, Object
from tests.lab import binaries
from tests.lab.control_planes import ADMIN, ControlPlane, free_ports
from tests.lab.mcs import MCS, eventually, rcode
from tests.lab.processes import LabProcess

CRDS = Path(__file__).parents[2] / "crds"
MCS_GROUP = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
AT_ONCE = 32
"""Requests at a time while a cluster is filled."""


@dataclass(frozen=True)
class Server:
    """A server that answers on 127.0.0.1."""

    name: str
    port: int
    process: LabProcess
    ready_seconds: float = 0.0

    @property
    def pids(self) -> tuple[int, ...]:
        """Its first process."""
        assert self.process.pid is not None, self.process.log_tail()
        return (self.process.pid,)


def pinned(*command: str) -> tuple[str, ...]:
    """The command, on the core of the server."""
    return ("taskset", "-c", str(SERVER_CORE), *command)


@asynccontextmanager
async def mcs_dns(kubeconfig: Path, folder: Path, *, workers: int = 1) -> AsyncIterator[Server]:
    """`mcs dns` as users start it, once it is ready; `ready_seconds` is how long that took."""
    port, metrics = free_ports(2)
    command = [*MCS, "dns", "--kubeconfig", str(kubeconfig), "--listen", f"127.0.0.1:{port}"]
    command += ["--metrics-listen", f"127.0.0.1:{metrics}", "--workers", str(workers)]
    process = LabProcess("mcs dns", pinned(*command), folder / f"mcs-dns-{port}.log")
    loop = asyncio.get_running_loop()
    started = loop.time()
    await process.start()
    try:
        async with aiohttp.ClientSession() as session:

            async def is_ready() -> bool:
                process.check_running()
                try:
                    async with session.get(f"http://127.0.0.1:{metrics}/readyz") as response:
                        return response.status == 200
                except aiohttp.ClientError:
                    return False

            await eventually("mcs dns is ready", is_ready, seconds=300)
        yield Server("mcs dns", port, process, loop.time() - started)
    finally:
        await process.stop()


@asynccontextmanager
async def coredns(plane: ControlPlane, folder: Path, name: str) -> AsyncIterator[Server]:
    """CoreDNS that answers the clusterset's zone from the same API server; ready when `name` has an address.

    Raises MissingBinaryError when it is not built.
    """
    port, metrics = free_ports(2)
    corefile = folder / "Corefile"
    corefile.write_text(
        f".:{port} {{\n bind 127.0.0.1\n errors\n prometheus 127.0.0.1:{metrics}\n loadbalance\n"
        f" kubernetes cluster.local {ZONE} {{\n"
        f"  kubeconfig {plane.kubeconfig()} {plane.name}\n  multicluster {ZONE}\n  ttl 5\n }}\n}}\n"
    )
    command = pinned(str(binaries.built("coredns")), "-conf", str(corefile))
    async with _answering("CoreDNS", command, port, folder, name) as server:
        yield server


@asynccontextmanager
async def nsd(zone_file: str, folder: Path, name: str) -> AsyncIterator[Server]:
    """NSD with one worker on a zone file; ready when `name` has an address."""
    (port,) = free_ports(1)
    zone = folder / "zone"
    zone.write_text(zone_file)
    settings = {
        "server-count": 1,
        "ip-address": f"127.0.0.1@{port}",
        "username": '""',
        "chroot": '""',
        "database": '""',
        "pidfile": '""',
        "xfrdfile": '""',
        "xfrdir": f'"{folder}"',
        "zonesdir": f'"{folder}"',
        "zonelistfile": f'"{folder / "zone.list"}"',
        "rrl-ratelimit": 0,
        # Ours sends no authority section with an answer either.
        "minimal-responses": "yes",
    }
    lines = "".join(f" {key}: {value}\n" for key, value in settings.items())
    config = folder / "nsd.conf"
    config.write_text(
        f'server:\n{lines}remote-control:\n control-enable: no\nzone:\n name: "{ZONE}"\n zonefile: "{zone}"\n'
    )
    command = pinned("/usr/sbin/nsd", "-d", "-c", str(config))
    async with _answering("NSD", command, port, folder, name) as server:
        yield server


@asynccontextmanager
async def _answering(
    title: str, command: Sequence[str], port: int, folder: Path, name: str
) -> AsyncIterator[Server]:
    process = LabProcess(title, command, folder / f"{title.lower()}.log")
    await process.start()
    try:

        async def answers() -> bool:
            process.check_running()
            return await rcode(port, name, "A") == "NOERROR"

        await eventually(f"{title} answers {name}", answers, seconds=120)
        yield Server(title, port, process)
    finally:
        await process.stop()


async def fill(plane: ControlPlane, objects: Iterable[Object]) -> None:
    """Create our CRDs, the namespaces and these objects. Raises RuntimeError when the API server refuses one."""
    tls = ssl.create_default_context(cafile=str(plane.ca_file))
    connector = aiohttp.TCPConnector(ssl=tls, limit=AT_ONCE)
    headers = {"Authorization": f"Bearer {plane.tokens[ADMIN]}", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(plane.url, connector=connector, headers=headers) as session:

        async def create(path: str, obj: object) -> None:
            async with session.post(path, data=json.dumps(obj)) as response:
                if response.status not in (201, 409):
                    raise RuntimeError(f"{path}: {response.status} {await response.text()}")

        async def is_served() -> bool:
            async with session.get("/apis/multicluster.x-k8s.io/v1beta1/serviceimports") as response:
                return response.status == 200

        for file in sorted(CRDS.glob("*.yaml")):
            await create(MCS_GROUP, yaml.safe_load(file.read_text()))
        for namespace in NAMESPACES:
            kind = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            await create("/api/v1/namespaces", kind)
        await eventually("imports are served", is_served)
        remaining = iter(objects)

        async def take_turns() -> None:
            for resource, obj in remaining:
                await create(resource.path(obj["metadata"]["namespace"]), obj)

        async with asyncio.TaskGroup() as creators:
            for number in range(AT_ONCE):
                creators.create_task(take_turns(), name=f"fill/{number}")
