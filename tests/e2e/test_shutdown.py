"""SIGTERM on real processes with work under way and servers that never answer: the end comes soon, and in order."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import dns.message
import yaml
from aiohttp import web

from mcs.sandbox import resources as sandbox
from mcs.sandbox.http.server import ApiServer, kubeconfig
from tests.e2e.scripted_api import served
from tests.scenarios.api import Api
from tests.scenarios.objects import expanded
from tests.scenarios.world import CRDS, CUSTOM_RESOURCE_DEFINITIONS

MCS = (sys.executable, "-m", "mcs")
GUARD = 60.0
"""Seconds after which what does not happen is a failure."""
KILLED = -signal.SIGKILL


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Ran:
    """A process, and what it logged."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]

    async def has_logged(self, event: str) -> None:
        """Return once it has."""
        async with asyncio.timeout(GUARD):
            while event not in [each["event"] for each in self.logged()]:
                assert self._process.returncode is None, self._log.read_text()
                await asyncio.sleep(0.05)

    async def ends(self) -> int:
        """Its status after SIGTERM; KILLED if it does not end in five seconds."""
        self._process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(5):
                return await self._process.wait()
        except TimeoutError:
            self._process.kill()
            return await self._process.wait()


@asynccontextmanager
async def started(folder: Path, *arguments: str) -> AsyncIterator[Ran]:
    log = folder / f"{arguments[0]}.log"
    with log.open("w") as output:
        process = await asyncio.create_subprocess_exec(
            *MCS,
            *arguments,
            "--log-json",
            f"--metrics-listen=127.0.0.1:{free_port()}",
            env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
            stdout=output,
            stderr=output,
        )
    try:
        yield Ran(process, log)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def east_that_exports() -> AsyncIterator[ApiServer]:
    """A cluster with many exports, so that there is work."""
    async with ApiServer("east") as server, Api(server.url, server.token, server.client_tls()) as api:
        for file in sorted(CRDS.glob("*.yaml")):
            await api.apply(CUSTOM_RESOURCE_DEFINITIONS, yaml.safe_load(file.read_text()))
        for namespace in ("shop", "mcs-system"):
            await api.apply(*expanded({"Namespace": namespace}))
        for number in range(30):
            await api.apply(*expanded({"Service": f"shop/web-{number}", "ports": ["http 80"]}))
            await api.apply(*expanded({"ServiceExport": f"shop/web-{number}"}))
        yield server


async def no_watch_is_open(server: ApiServer) -> None:
    """Return once the server has noticed that every connection with a watch is closed."""
    async with asyncio.timeout(GUARD):
        while True:
            if not server.open_watches:
                return
            await asyncio.sleep(0.05)


class TakesWritesForEver:
    """A member that answers what is read, with nothing in it, and never answers a write."""

    def __init__(self) -> None:
        self.is_written_to = asyncio.Event()

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        if request.method != "GET":
            self.is_written_to.set()
        elif "watch" not in request.query:
            group, _, plural = request.path.rpartition("/")
            if plural == "namespaces":
                items = [{"metadata": {"name": "shop", "uid": "1", "resourceVersion": "1"}}]
                return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})
            if "clusterproperties" in group or "serviceimports/" in request.path:
                status = {"kind": "Status", "code": 404, "reason": "NotFound"}
                return web.json_response(status, status=404)
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})
        await asyncio.Event().wait()
        raise AssertionError


async def test_the_controller_ends_soon_and_gives_the_lease_back_whatever_hangs(tmp_path: Path) -> None:
    hanging = TakesWritesForEver()
    async with AsyncExitStack() as stack:
        east = await stack.enter_async_context(east_that_exports())
        url = await stack.enter_async_context(served(hanging))
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        config = yaml.safe_load(kubeconfig([east]))
        for name, server in (("hanging", url), ("dead", f"https://127.0.0.1:{silent.getsockname()[1]}")):
            config["clusters"].append({"name": name, "cluster": {"server": server}})
            config["users"].append({"name": name, "user": {"token": "t"}})
            config["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
        file = tmp_path / "kubeconfig"
        file.write_text(yaml.safe_dump(config))
        members = [f"--cluster={name}" for name in ("east", "hanging", "dead")]
        lease = ("--leader-elect", "--host-context=east", "--lease-namespace=mcs-system")
        dns_port = free_port()
        dns_options = (f"--dns-listen=127.0.0.1:{dns_port}", "--dns-cluster=east")
        controller = await stack.enter_async_context(
            started(tmp_path, "controller", f"--kubeconfig={file}", *members, *lease, *dns_options)
        )
        await controller.has_logged("leading")
        async with asyncio.timeout(GUARD):
            await hanging.is_written_to.wait()
        held = east.api.get(sandbox.LEASES, "mcs-system", "mcs-controller")
        assert held["spec"]["holderIdentity"]
        assert await controller.ends() == 0
        events = [each["event"] for each in controller.logged()]
        assert events[-1] == "stopped"
        assert "lease given back" in events
        assert not [each for each in controller.logged() if "exception" in each]
        given = east.api.get(sandbox.LEASES, "mcs-system", "mcs-controller")
        assert given["spec"]["holderIdentity"] == ""
        await no_watch_is_open(east)
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            with socket.socket(type=kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", dns_port))


async def connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to a server that may not listen yet."""
    async with asyncio.timeout(GUARD):
        while True:
            try:
                return await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)


async def test_dns_with_workers_ends_soon_with_clients_connected(tmp_path: Path) -> None:
    async with east_that_exports() as east:
        file = tmp_path / "kubeconfig"
        file.write_text(kubeconfig([east]))
        port = free_port()
        options = (f"--kubeconfig={file}", "--context=east", f"--listen=127.0.0.1:{port}", "--workers=2")
        async with started(tmp_path, "dns", *options) as process:
            await process.has_logged("answering")
            query = dns.message.make_query("nobody.shop.svc.clusterset.local.", "A")
            reader, writer = await connected(port)
            packet = query.to_wire()
            writer.write(len(packet).to_bytes(2) + packet)
            assert await reader.read(2)
            assert await process.ends() == 0
            assert [each["event"] for each in process.logged()][-1] == "stopped"
            writer.close()
        await no_watch_is_open(east)
        with socket.socket(type=socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", port))


async def test_a_process_that_cannot_end_in_order_ends_all_the_same(tmp_path: Path) -> None:
    script = (
        "import asyncio, time\n"
        "from mcs.cli.logs import set_up_logs\n"
        "from mcs.cli.running import run\n"
        "async def main():\n"
        "    asyncio.get_running_loop().run_in_executor(None, time.sleep, 60)\n"
        '    print(\'{"event": "up"}\', flush=True)\n'
        "    await asyncio.sleep(60)\n"
        "set_up_logs('info', True)\n"
        "run(main)\n"
    )
    log = tmp_path / "stuck.log"
    with log.open("w") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, stdout=output, stderr=output
        )
    ran = Ran(process, log)
    await ran.has_logged("up")
    assert await ran.ends() == 1
    assert ran.logged()[-1]["event"] == "ended without waiting any longer for what was under way"
