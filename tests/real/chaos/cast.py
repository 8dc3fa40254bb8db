"""Everybody in a storm: real API servers, our programs, and the network between them; started and ended here.

The programs reach each API server through a fault proxy of their own, as ServiceAccounts of their own. What happens to
anybody is the storm's business.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from itertools import product
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
import trustme
import yaml

from tests.lab.control_planes import ControlPlanes, free_ports
from tests.lab.mcs import eventually
from tests.lab.processes import LabProcess
from tests.real.chaos import observer, steered
from tests.real.chaos.api import AdminApi
from tests.real.chaos.churn import CLUSTERS, CONSTANT, NAMES, NEWCOMER
from tests.real.chaos.identities import NAMESPACE as HOST_NAMESPACE
from tests.real.chaos.identities import Identity, into_file
from tests.real.chaos.proxy import FaultProxy

# Without the folder of the script in the path: the modules beside it are found by their whole names only.
_SCRIPT = (sys.executable, "-P")
_PORTS = 30
_REGISTRATIONS = f"/apis/core.kubefed.io/v1beta1/namespaces/{HOST_NAMESPACE}/kubefedclusters"
_SECRET = f"{NEWCOMER}-token"
HOST = CONSTANT[0]
"""The cluster with the Lease and the registration of the newcomer; the others are given by the command line."""

CONTROLLERS = ("controller", "other controller")
"""Replicas, of which one is elected; the first is started first."""


class Program:
    """One of our programs: killed, stopped and started at will, with a clock that can be wrong."""

    def __init__(self, name: str, folder: Path, ports: Iterator[int], *arguments: str) -> None:
        self.name = name
        self._steering, self._metrics = next(ports), next(ports)
        command = (*_SCRIPT, steered.__file__, str(self._steering), *arguments)
        listen = ("--metrics-listen", f"127.0.0.1:{self._metrics}")
        self.process = LabProcess(name, (*command, *listen), folder / f"{name.replace(' ', '-')}.log")

    async def restart(self) -> None:
        """Kill it and start it anew."""
        await self.process.kill()
        await self.process.start()

    async def is_ready(self) -> bool:
        """What /readyz says; False while nobody answers."""
        return bool(await self._read("/readyz"))

    async def metrics(self) -> str:
        """What /metrics says; empty while nobody answers."""
        return await self._read("/metrics")

    async def tasks(self, command: str = "tasks") -> list[str]:
        """The names of its tasks, after the command was obeyed."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._steering)
        try:
            writer.write(f"{command}\n".encode())
            return list(json.loads(await reader.readline()))
        finally:
            writer.close()

    async def step_clock(self, seconds: float) -> None:
        """Let its clock be wrong by so much, from now until it ends. A program that is down has no clock."""
        with suppress(OSError, json.JSONDecodeError):
            async with asyncio.timeout(5):
                await self.tasks(f"clock {seconds}")

    async def _read(self, path: str) -> str:
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session,
                session.get(f"http://127.0.0.1:{self._metrics}{path}") as response,
            ):
                return await response.text() if response.status == 200 else ""
        except (aiohttp.ClientError, TimeoutError, OSError):
            return ""


class Cast:
    """`async with Cast(folder) as cast:` has everything running: DNS and controller ready, nothing exported.

    One member begins without CRDs, which the storm installs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.planes = ControlPlanes(CLUSTERS, folder)
        self.apis: dict[str, AdminApi] = {}
        self.paths: dict[str, FaultProxy] = {}
        self.identities: dict[str, Identity] = {}
        self.dns: dict[str, Program] = {}
        self.controllers: dict[str, Program] = {}
        self.dns_ports: dict[str, int] = {}
        self.record = folder / "answers.jsonl"
        self._stack = AsyncExitStack()

    @property
    def programs(self) -> Mapping[str, Program]:
        """All of our programs by name."""
        return {program.name: program for program in (*self.controllers.values(), *self.dns.values())}

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.planes)
            for plane in self.planes:
                self.apis[plane.name] = await stack.enter_async_context(AdminApi(plane))
            # All at once, or one could be given twice: none is taken before its program listens.
            ports = iter(free_ports(_PORTS))
            await self._build_paths(stack, ports)
            for identity in self.identities.values():
                await identity.grant()
            self._write_programs(ports)
            stack.push_async_callback(self._end_programs)
            for program in self.programs.values():
                await program.process.start()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def wait_until_ready(self) -> None:
        """Return when every program of ours is ready. Raises AssertionError after a minute."""
        for program in self.programs.values():
            await eventually(f"{program.name} is ready", program.is_ready, seconds=60)

    async def register(self) -> None:
        """Let the newcomer be a member; its Secret is there already."""
        path = self.paths[path_name("controllers", NEWCOMER)]
        registration = {
            "apiVersion": "core.kubefed.io/v1beta1",
            "kind": "KubeFedCluster",
            "metadata": {"name": NEWCOMER},
            "spec": {
                "apiEndpoint": path.url,
                "caBundle": base64.b64encode((self.folder / "proxies.crt").read_bytes()).decode(),
                "secretRef": {"name": _SECRET},
            },
        }
        await self.apis[HOST].apply_object(f"{_REGISTRATIONS}/{NEWCOMER}", registration)

    async def unregister(self) -> None:
        """Let the newcomer leave; returns while it does."""
        await self.apis[HOST].request("DELETE", f"{_REGISTRATIONS}/{NEWCOMER}")

    async def has_nobody_registered(self) -> bool:
        """Whether there is no registration, not even that of a newcomer which is about to leave."""
        listed = await self.apis[HOST].request("GET", _REGISTRATIONS)
        return not listed["items"]

    async def _into_secret(self, token: str) -> None:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": _SECRET},
            "data": {"token": base64.b64encode(token.encode()).decode()},
        }
        await self.apis[HOST].apply_object(f"/api/v1/namespaces/{HOST_NAMESPACE}/secrets/{_SECRET}", secret)

    def _token(self, path: str) -> Path:
        return self.folder / f"{path.replace(' ', '-')}.token"

    async def _build_paths(self, stack: AsyncExitStack, ports: Iterator[int]) -> None:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.folder / "proxies.crt")
        for client, cluster in self._routes():
            plane = self.planes[cluster]
            proxy = FaultProxy(next(ports), plane.url, plane.ca_file, authority)
            name = path_name(client, cluster)
            self.paths[name] = await stack.enter_async_context(proxy)
            role = "mcs-dns" if client == "dns" else "mcs-controller"
            account = client.replace(" ", "-")
            deliver = self._into_secret if cluster == NEWCOMER else into_file(self._token(name))
            self.identities[name] = Identity(account, role, self.apis[cluster], deliver)

    def _routes(self) -> Iterator[tuple[str, str]]:
        yield from product(CONTROLLERS, CONSTANT)
        yield "controllers", NEWCOMER
        yield from (("dns", cluster) for cluster in CONSTANT)

    def _write_programs(self, ports: Iterator[int]) -> None:
        members = [f"--cluster={cluster}" for cluster in CONSTANT]
        host = (
            "--leader-elect",
            "--lease-namespace",
            HOST_NAMESPACE,
            "--registry",
            "--namespace",
            HOST_NAMESPACE,
        )
        for name in CONTROLLERS:
            controller = ("controller", "--kubeconfig", str(self._kubeconfig(name, *CONSTANT)), *members)
            self.controllers[name] = Program(name, self.folder, ports, *controller, *host)
        for cluster in CONSTANT:
            name, port = f"dns {cluster}", next(ports)
            self.dns_ports[name] = port
            listen = ("--listen", f"127.0.0.1:{port}")
            dns = ("dns", "--kubeconfig", str(self._kubeconfig("dns", cluster)), *listen)
            self.dns[cluster] = Program(name, self.folder, ports, *dns)
        asking = (str(self.record), json.dumps(self.dns_ports), json.dumps(NAMES))
        self.observer = LabProcess(
            "observer", (*_SCRIPT, observer.__file__, *asking), self.folder / "observer.log"
        )

    async def _end_programs(self) -> None:
        # At once, also what is stopped: nothing of theirs is wanted any more.
        for process in (self.observer, *(program.process for program in self.programs.values())):
            await process.kill()

    def _kubeconfig(self, client: str, *clusters: str) -> Path:
        names = {cluster: path_name(client, cluster) for cluster in clusters}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": clusters[0],
            "clusters": [
                {
                    "name": cluster,
                    "cluster": {"server": self.paths[name].url, "certificate-authority": "proxies.crt"},
                }
                for cluster, name in names.items()
            ],
            "users": [
                {"name": cluster, "user": {"tokenFile": str(self._token(name))}}
                for cluster, name in names.items()
            ],
            "contexts": [
                {"name": cluster, "context": {"cluster": cluster, "user": cluster}} for cluster in clusters
            ],
        }
        path = self.folder / f"{'-'.join((client, *clusters))}.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path


def path_name(client: str, cluster: str) -> str:
    """What the connections of a client to a cluster are called."""
    return f"{client} to {cluster}"
