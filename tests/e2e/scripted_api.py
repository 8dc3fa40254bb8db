"""An API server that answers exactly what a test tells it to, and kubeconfigs that point to it."""

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from mcs.kube.client import Client, RequestHook
from mcs.kube.config import connect

Handler = Callable[[Any], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def served(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The URL under which `handler` answers every request, on a free port of the loopback interface."""
    runner = web.ServerRunner(web.Server(handler, handler_cancellation=True), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def kubeconfig(
    folder: Path, server: str, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None
) -> Path:
    """A kubeconfig in `folder` whose only context, "east", is the current one."""
    document = {
        "clusters": [{"name": "east", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "east", "user": {"token": "secret"} if user is None else user}],
        "contexts": [{"name": "east", "context": {"cluster": "east", "user": "east"}}],
        "current-context": "east",
    }
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return file


@asynccontextmanager
async def client_of(file: Path, on_request: RequestHook | None = None) -> AsyncIterator[Client]:
    """A client of the current context of a kubeconfig, closed at the end."""
    connection = await connect([file], None)
    client = Client(connection, on_request) if on_request else Client(connection)
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def client_to(
    folder: Path,
    handler: Handler,
    user: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Client]:
    """A client whose server answers as `handler` does; its kubeconfig lies in `folder`."""
    async with served(handler, tls) as url, client_of(kubeconfig(folder, url, user, cluster)) as client:
        yield client


def status(code: int, reason: str = "", *causes: str) -> web.Response:
    """A metav1.Status as an error answer."""
    details = {"causes": [{"reason": cause} for cause in causes]}
    return web.json_response(
        {"kind": "Status", "code": code, "reason": reason, "details": details}, status=code
    )


def service(name: str, version: str = "1", **spec: Any) -> dict[str, Any]:
    """A Service on the wire."""
    return {"metadata": {"namespace": "shop", "name": name, "resourceVersion": version}, "spec": spec}


def line(type_: str, object_: Any) -> bytes:
    """A line of a watch."""
    return json.dumps({"type": type_, "object": object_}).encode() + b"\n"
