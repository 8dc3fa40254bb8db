"""The API server of a compromised member: serves whatever objects a test gives it, and takes every write."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from tests.e2e.scripted_api import line, served

Json = dict[str, Any]

PLURALS = ("namespaces", "services", "endpointslices", "serviceexports", "serviceimports", "nodes")


class HostileApi:
    """`items` are what its lists hold, by resource; `lines` what its watches then send. `endless` lists never end."""

    def __init__(
        self, items: Mapping[str, list[Any]], lines: Mapping[str, list[bytes]] | None = None
    ) -> None:
        self.items = {"namespaces": [{"metadata": meta("", "demo")}], **items}
        self.lines = lines or {}
        self.endless: set[str] = set()
        self.bodies: dict[str, bytes] = {}
        """Answers to lists, where they are not made of `items`."""
        self.requests: Counter[str] = Counter()
        self.lies = True
        """Whether it answers a write with another object than was sent."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The answer to any request."""
        plural = next((part for part in reversed(request.path.split("/")) if part in PLURALS), "")
        self.requests[request.method] += 1
        if request.method != "GET":
            return await self._written(request)
        if not plural or not request.path.endswith(plural):
            return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound"}, status=404)
        if "watch" in request.query:
            return await self._watched(request, plural)
        if plural in self.bodies:
            return web.Response(body=self.bodies[plural], content_type="application/json")
        metadata = {"resourceVersion": "10", "continue": "more" if plural in self.endless else ""}
        return web.json_response({"metadata": metadata, "items": self.items.get(plural, [])})

    async def _watched(self, request: web.Request, plural: str) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for each in self.lines.get(plural, []):
            await response.write(each)
        await asyncio.Event().wait()
        return response

    async def _written(self, request: web.Request) -> web.Response:
        """Say that it was stored, but something else than was sent, and under another name."""
        text = await request.text()
        sent = json.loads(text) if text else {}
        other = {"name": "web", "namespace": "demo"} if self.lies else {}
        metadata = {**sent.get("metadata", {}), **other, "uid": "x"}
        return web.json_response({**sent, "metadata": {**metadata, "resourceVersion": "99999999"}})


def meta(namespace: str, name: str, **more: Any) -> Json:
    return {"namespace": namespace, "name": name, "resourceVersion": "5", "uid": f"evil-{name[:50]}", **more}


def service(name: str, namespace: str = "demo", labels: Json | None = None, **spec: Any) -> Json:
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    return {
        "metadata": meta(namespace, name, labels=labels or {}),
        "spec": {"type": "ClusterIP", "clusterIP": "10.6.6.6", "ports": ports, **spec},
    }


def export(name: str, namespace: str = "demo", created: str = "2025-01-01T00:00:00Z", **more: Any) -> Json:
    return {"metadata": meta(namespace, name, creationTimestamp=created), **more}


def slice_(service_name: str, *addresses: str, namespace: str = "demo", **more: Any) -> Json:
    return {
        "metadata": meta(namespace, f"{service_name}-1", labels={"kubernetes.io/service-name": service_name}),
        "addressType": "IPv4",
        "endpoints": [{"addresses": [each], "conditions": {"ready": True}} for each in addresses],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        **more,
    }


def exported(name: str, *addresses: str, namespace: str = "demo") -> dict[str, list[Any]]:
    """A service with endpoints that is exported as it should be."""
    return {
        "services": [service(name, namespace)],
        "serviceexports": [export(name, namespace)],
        "endpointslices": [slice_(name, *(addresses or ("10.6.0.1",)), namespace=namespace)],
    }


def added(obj: Any, type_: str = "ADDED") -> bytes:
    return line(type_, obj)


@asynccontextmanager
async def registered(api: HostileApi, config: Path, name: str = "evil") -> AsyncIterator[None]:
    """Serve `api` and add a context of that name for it to a kubeconfig."""
    async with served(api.answer) as url:
        _add(config, name, url)
        yield


def _add(config: Path, name: str, url: str) -> None:
    document = yaml.safe_load(config.read_text())
    document["clusters"].append({"name": name, "cluster": {"server": url}})
    document["users"].append({"name": name, "user": {"token": "t"}})
    document["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
    config.write_text(yaml.safe_dump(document))
