"""How scenarios read and write a cluster: as somebody else, over HTTP, with a client that shares no code with ours.

A server that is just starting refuses connections, then answers 429 or 503: such requests are made again.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp

from mcs.model.resources import NAMESPACES, Resource
from tests.scenarios.objects import Json

_STARTING = (429, 503)
_STARTING_SECONDS = 15.0
_PAUSE = 0.2
_CONNECTIONS = 10


class Api:
    """One API server, as its users see it. Entered, it keeps connections open from one request to the next."""

    def __init__(self, url: str, token: str, tls: ssl.SSLContext) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"}
        self._tls = tls
        self._kept: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._kept = self._session()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._kept is not None:
            await self._kept.close()
            self._kept = None

    async def apply(self, resource: Resource[Any], obj: Json) -> None:
        """Server-side apply by a manager that is not ours. Raises AssertionError when it is refused."""
        metadata = obj["metadata"]
        status, answer = await self._request(
            "PATCH",
            resource.path(metadata.get("namespace", ""), metadata["name"])
            + "?fieldManager=scenario&force=true",
            json.dumps(obj),
            "application/apply-patch+yaml",
        )
        assert status in (200, 201), answer

    async def create(self, resource: Resource[Any], obj: Json) -> None:
        """Create an object that does not exist, as kubectl create does. Raises AssertionError when it is refused."""
        path = f"{resource.path(obj['metadata'].get('namespace', ''))}?fieldManager=kubectl-create"
        status, answer = await self._request("POST", path, json.dumps(obj))
        assert status == 201, answer

    async def merge(self, resource: Resource[Any], namespace: str, name: str, patch: Json) -> None:
        """Merge patch. Raises AssertionError when it is refused."""
        path = resource.path(namespace, name)
        status, answer = await self._request("PATCH", path, json.dumps(patch), "application/merge-patch+json")
        assert status == 200, answer

    async def delete(self, resource: Resource[Any], namespace: str, name: str) -> None:
        """Delete one object that exists."""
        status, answer = await self._request("DELETE", resource.path(namespace, name))
        assert status in (200, 202), answer

    async def delete_all(self, resource: Resource[Any], namespace: str) -> None:
        """Delete all objects of a namespace at once; none are there where the resource is not served."""
        status, answer = await self._request("DELETE", resource.path(namespace))
        assert status in (200, 404), answer

    async def finalize_namespace(self, name: str) -> None:
        """Let a namespace that is being deleted go, as the namespace controller does when it is empty."""
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name},
            "spec": {"finalizers": []},
        }
        path = NAMESPACES.path("", name) + "/finalize"
        status, answer = await self._request("PUT", path, json.dumps(body))
        assert status == 200, answer

    async def get(self, resource: Resource[Any], namespace: str, name: str) -> Json | None:
        """The object, or None."""
        status, answer = await self._request("GET", resource.path(namespace, name))
        assert status in (200, 404), answer
        return answer if status == 200 else None

    async def list(self, resource: Resource[Any], selector: str = "") -> list[Json]:
        """All objects of all namespaces that a label selector selects; none where the resource is not served."""
        query = f"?{urlencode({'labelSelector': selector})}" if selector else ""
        status, answer = await self._request("GET", resource.path() + query)
        assert status in (200, 404), answer
        items: list[Json] = answer["items"] if status == 200 else []
        return items

    async def _request(
        self, method: str, path: str, body: str | None = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        loop = asyncio.get_running_loop()
        end = loop.time() + _STARTING_SECONDS
        while True:
            try:
                status, answer = await self._answer(method, path, body, content_type)
            except aiohttp.ClientConnectionError:
                if loop.time() > end:
                    raise
            else:
                if status not in _STARTING or loop.time() > end:
                    return status, answer
            await asyncio.sleep(_PAUSE)

    async def _answer(self, method: str, path: str, body: str | None, content_type: str) -> tuple[int, Any]:
        if self._kept is not None:
            return await self._answer_over(self._kept, method, path, body, content_type)
        async with self._session() as session:
            return await self._answer_over(session, method, path, body, content_type)

    async def _answer_over(
        self, session: aiohttp.ClientSession, method: str, path: str, body: str | None, content_type: str
    ) -> tuple[int, Any]:
        headers = self._headers | {"Content-Type": content_type}
        async with session.request(method, f"{self._url}{path}", data=body, headers=headers) as response:
            is_json = response.content_type == "application/json"
            return response.status, await (response.json() if is_json else response.text())

    def _session(self) -> aiohttp.ClientSession:
        # A handshake costs more than a request, so that few connections serve many requests sooner than many do.
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=self._tls, limit=_CONNECTIONS))
