"""Twenty registered members of which six are in trouble: the others are worked with as if they were alone."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import yaml
from aiohttp import web

from mcs.controllers.processes import ControllerProcess, client_opener
from mcs.controllers.registry import RegistryOptions
from mcs.model.names import ClusterId
from mcs.sandbox.http.server import ApiServer, kubeconfig
from mcs.sandbox.store import Object
from mcs.testing.virtual_time import run_virtual
from mcs.web.requests import RequestCounts
from tests.e2e.scripted_api import served
from tests.scenarios.world import CRDS, LOOPBACK, virtual_now

SYSTEM, SHOP = "kube-federation-system", "shop"
WELL, BAD = 14, 2
EACH_KIND = ("silent", "refusing", "slow")


def put(
    server: ApiServer, api_version: str, kind: str, name: str, namespace: str = "", **more: object
) -> None:
    """Create an object as the administrator does, without a request."""
    resource = server.api.registry.of_kind(api_version, kind)
    assert resource is not None
    metadata: Object = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= {"labels": more.pop("labels", {})}
    server.api.create(resource, {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more})


def prepared(name: str) -> ApiServer:
    """A cluster with our definitions and the namespace."""
    server = ApiServer(name, now=virtual_now)
    for file in sorted(CRDS.glob("*.yaml")):
        definition = yaml.safe_load(file.read_text())
        put(
            server,
            definition["apiVersion"],
            definition["kind"],
            definition["metadata"]["name"],
            spec=definition["spec"],
        )
    put(server, "v1", "Namespace", SHOP)
    return server


def export(server: ApiServer, name: str) -> None:
    """Export a headless Service with one endpoint."""
    port = {"name": "http", "port": 80}
    put(server, "v1", "Service", name, SHOP, spec={"clusterIP": "None", "ports": [port]})
    put(
        server, "discovery.k8s.io/v1", "EndpointSlice", f"{name}-1", SHOP,
        labels={"kubernetes.io/service-name": name}, addressType="IPv4", ports=[port | {"protocol": "TCP"}],
        endpoints=[{"addresses": ["10.1.0.1"], "conditions": {"ready": True}}],
    )  # fmt: skip
    put(server, "multicluster.x-k8s.io/v1beta1", "ServiceExport", name, SHOP)


def register(host: ApiServer, name: str, url: str, ca: bytes, token: str) -> None:
    """Register a member."""
    data = {"token": base64.b64encode(token.encode()).decode()}
    put(host, "v1", "Secret", f"{name}-token", SYSTEM, data=data)
    spec = {"apiEndpoint": url, "secretRef": {"name": f"{name}-token"}}
    if ca:
        spec["caBundle"] = base64.b64encode(ca).decode()
    put(host, "core.kubefed.io/v1beta1", "KubeFedCluster", name, SYSTEM, spec=spec)


def imported(server: ApiServer) -> set[str]:
    """The services that a cluster has imported."""
    resource = server.api.registry.of_kind("multicluster.x-k8s.io/v1beta1", "ServiceImport")
    assert resource is not None
    return {each["metadata"]["name"] for each in server.api.list(resource, SHOP)}


async def answers_late(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(10)
    return web.json_response({"kind": "Status", "code": 503}, status=503)


@asynccontextmanager
async def in_trouble(host: ApiServer) -> AsyncIterator[None]:
    """Members that accept and never answer, that refuse, and that answer after ten seconds."""
    async with AsyncExitStack() as stack:
        for number in range(BAD):
            silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            with socket.create_server(("127.0.0.1", 0)) as closed:
                refusing = closed.getsockname()[1]
            slow = await stack.enter_async_context(served(answers_late))
            register(host, f"silent-{number}", f"http://127.0.0.1:{silent.getsockname()[1]}", b"", "t")
            register(host, f"refusing-{number}", f"http://127.0.0.1:{refusing}", b"", "t")
            register(host, f"slow-{number}", slow, b"", "t")
        yield


async def seconds_to_sync(folder: Path, *, with_trouble: bool) -> tuple[float, float]:
    """Virtual seconds until all that are well have all imports: after the start, and after one more export."""
    host = prepared("host")
    put(host, "v1", "Namespace", SYSTEM)
    members = [prepared(f"m{number:02}") for number in range(WELL)]
    async with AsyncExitStack() as stack:
        for server in (host, *members):
            await stack.enter_async_context(server)
        if with_trouble:
            await stack.enter_async_context(in_trouble(host))
        for server in members:
            register(host, server.name, server.url, server.ca_pem, server.token)
        for server in members[:3]:
            export(server, f"of-{server.name}")
        config = folder / "kubeconfig"
        config.write_text(kubeconfig([host]))
        process = ControllerProcess(
            {},
            clock=virtual_now,
            registered=RegistryOptions(client_opener("host", [config], "host", RequestCounts()), SYSTEM),
        )
        process.serve_metrics(LOOPBACK)
        task = asyncio.create_task(process.run(), name="controller")
        try:
            first = await until(lambda: all(len(imported(each)) == 3 for each in members))
            if with_trouble:
                await asyncio.sleep(60)
                assert process.registry is not None
                bad = {ClusterId(f"{kind}-{number}") for kind in EACH_KIND for number in range(BAD)}
                assert {each for each, health in process.registry.healths.items() if health.is_offline} == bad
            export(members[4], "one-more")
            second = await until(lambda: all(len(imported(each)) == 4 for each in members))
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    return first, second


async def until(holds: Callable[[], bool]) -> float:
    """Virtual seconds until it holds, which must be less than a minute."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    for _ in range(600):
        if holds():
            return loop.time() - began
        await asyncio.sleep(0.1)
    raise AssertionError("not within a minute")


def test_members_in_trouble_delay_no_other(tmp_path: Path) -> None:
    alone = run_virtual(seconds_to_sync(tmp_path, with_trouble=False))
    beside_others = run_virtual(seconds_to_sync(tmp_path, with_trouble=True))
    for needed, needed_alone in zip(beside_others, alone, strict=True):
        assert needed <= needed_alone + 1
