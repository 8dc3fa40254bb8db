"""How scenarios read and write a cluster: as somebody else, over HTTP, with a client that shares no code with ours."""

from __future__ import annotations

import json
import ssl
from typing import Any

import aiohttp

from mcs.model.resources import NAMESPACES, Resource
from tests.scenarios.objects import Json


class Api:
    """One API server, as its users see it."""

    def __init__(self, url: str, token: str, tls: ssl.SSLContext) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"}
        self._tls = tls

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

    async def merge(self, resource: Resource[Any], namespace: str, name: str, patch: Json) -> None:
        """Merge patch. Raises AssertionError when it is refused."""
        path = resource.path(namespace, name)
        status, answer = await self._request("PATCH", path, json.dumps(patch), "application/merge-patch+json")
        assert status == 200, answer

    async def delete(self, resource: Resource[Any], namespace: str, name: str) -> None:
        """Delete one object that exists."""
        status, answer = await self._request("DELETE", resource.path(namespace, name))
        assert status in (200, 202), answer

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

    async def list(self, resource: Resource[Any]) -> list[Json]:
        """All objects of all namespaces."""
        status, answer = await self._request("GET", resource.path())
        assert status == 200, answer
        items: list[Json] = answer["items"]
        return items

    async def _request(
        self, method: str, path: str, body: str | None = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        headers = self._headers | {"Content-Type": content_type}
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=self._tls)) as session,
            session.request(method, f"{self._url}{path}", data=body, headers=headers) as response,
        ):
            return response.status, await response.json()
