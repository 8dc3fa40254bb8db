"""A plain HTTPS client of a sandbox API server, for tests that look at single requests."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import aiohttp

from mcs.sandbox.http.server import ApiServer

Json = dict[str, Any]
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class Answer:
    """What came back: code, headers and the decoded body."""

    def __init__(self, code: int, headers: Any, content: bytes) -> None:
        self.code = code
        self.headers = headers
        self.content = content

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.content)

    @property
    def reason(self) -> tuple[int, str]:
        """Code and reason of a Status."""
        return self.code, self.json.get("reason", "")


class Events:
    """The lines of a watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.code = response.status
        self._content = response.content

    async def next(self) -> Json:
        """The next event; raises EOFError at the end of the stream."""
        line = await self._content.readline()
        if not line:
            raise EOFError
        event: Json = json.loads(line)
        return event

    async def names(self, count: int) -> list[tuple[str, str]]:
        """Type and object name of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


class Client:
    """Asks one server with its token."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=server.client_tls()),
            headers={"Authorization": f"Bearer {server.token}"},
        )

    async def ask(
        self, method: str, path: str, body: Any = None, content: str = "application/json", **headers: str
    ) -> Answer:
        """One request; `Accept_` and the like are written with a final underscore."""
        named = {name.rstrip("_").replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None:
            named["Content-Type"] = content
        url = self._server.url + path
        async with self._session.request(method, url, data=data, headers=named) as response:
            return Answer(response.status, response.headers, await response.read())

    async def get(self, path: str, **headers: str) -> Json:
        """The object or list; anything but 200 fails."""
        answer = await self.ask("GET", path, **headers)
        assert answer.code == 200, answer.content
        found: Json = answer.json
        return found

    async def create(self, path: str, body: Json) -> Json:
        """The created object; anything but 201 fails."""
        answer = await self.ask("POST", path, body)
        assert answer.code == 201, answer.content
        found: Json = answer.json
        return found

    async def patch(self, path: str, body: Any, content: str = MERGE) -> Json:
        """The patched object; anything but 200 or 201 fails."""
        answer = await self.ask("PATCH", path, body, content)
        assert answer.code in (200, 201), answer.content
        found: Json = answer.json
        return found

    @asynccontextmanager
    async def watch(self, path: str, **headers: str) -> AsyncIterator[Events]:
        """The events of a watch; `path` holds its query."""
        async with self._session.get(self._server.url + path, headers=headers) as response:
            yield Events(response)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()


def config_map(name: str, data: dict[str, str] | None = None, **labels: str) -> Json:
    """A ConfigMap with labels."""
    metadata: Json = {"name": name, "labels": labels} if labels else {"name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {}}


def definition(**version: Any) -> Json:
    """A CRD of Widgets (short name wd) in v1 (stored) and v1alpha1; `version` adds to v1."""
    schema: Json = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "string", "enum": ["small", "large"]},
                    "count": {"type": "integer", "minimum": 0, "default": 1},
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    }
    base: Json = {"served": True, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [
                {**base, "name": "v1", "storage": True, **version},
                {**base, "name": "v1alpha1", "storage": False},
            ],
        },
    }
