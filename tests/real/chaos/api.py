"""The API server of one cluster as its administrator writes to it, insisting until it is done.

For tests that hurt the server at the same time: a request that fails because the server is away is made again.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import yaml

from mcs.model.resources import SERVICE_IMPORTS, Resource
from tests.lab.control_planes import ADMIN, ControlPlane
from tests.lab.mcs import eventually
from tests.scenarios.objects import expanded

Json = dict[str, Any]
CRDS = Path(__file__).parents[3] / "crds"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PATIENCE = aiohttp.ClientTimeout(total=3)
_PAUSE = 0.3


class AdminApi:
    """Requests as administrator, straight to the server; entered while it runs."""

    def __init__(self, plane: ControlPlane) -> None:
        self.cluster = plane.name
        self._plane = plane

    async def __aenter__(self) -> Self:
        tls = ssl.create_default_context(cafile=str(self._plane.ca_file))
        self._session = aiohttp.ClientSession(
            self._plane.url,
            connector=aiohttp.TCPConnector(ssl=tls),
            headers={"Authorization": f"Bearer {self._plane.tokens[ADMIN]}"},
            timeout=_PATIENCE,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._session.close()

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "application/json"
    ) -> Json:
        """The answer of the server, however long it is away; a 404 to DELETE and a 409 to POST are as wanted.

        Raises AssertionError for any other refusal.
        """
        while True:
            try:
                async with self._session.request(
                    method,
                    path,
                    data=None if body is None else json.dumps(body),
                    headers={"Content-Type": content_type},
                ) as response:
                    text = await response.text()
            except (aiohttp.ClientError, TimeoutError, OSError):
                await asyncio.sleep(_PAUSE)
                continue
            if response.status < 300 or (method, response.status) in (("DELETE", 404), ("POST", 409)):
                return dict(json.loads(text))
            # A server that has just started may not know its roles yet, or have no connection to its etcd.
            # 404: a CRD that it calls established may take a moment more until it is served.
            assert response.status in (403, 404, 408, 409, 429) or response.status >= 500, (
                f"{method} {path}: {text}"
            )
            await asyncio.sleep(_PAUSE)

    async def apply(self, short: Json) -> None:
        """Create or change the object that is said in the short form of scenarios."""
        resource, obj = expanded(short)
        await self.apply_object(resource.path(*_place(obj)), obj)

    async def apply_object(self, path: str, obj: Json) -> None:
        """Create or change an object."""
        query = "?fieldManager=user&force=true"
        await self.request("PATCH", path + query, obj, content_type="application/apply-patch+yaml")

    async def delete(self, resource: Resource[Any], namespace: str, name: str) -> None:
        """Delete an object, if it is there."""
        await self.request("DELETE", resource.path(namespace, name))

    async def addresses_of_import(self, namespace: str, name: str) -> list[str]:
        """The IPv4 clusterset IPs of a ServiceImport."""
        found = await self.request("GET", SERVICE_IMPORTS.path(namespace, name))
        return [each for each in found["spec"]["ips"] if ":" not in each]

    async def install_crds(self) -> None:
        """Apply our CRDs; what they define is served when this returns."""
        for file in sorted(CRDS.glob("*.yaml")):
            obj = yaml.safe_load(file.read_text())
            path = f"{_DEFINITIONS}/{obj['metadata']['name']}"
            await self.apply_object(path, obj)
            await eventually(f"{path} is established", partial(self._is_established, path), every=_PAUSE)

    async def _is_established(self, path: str) -> bool:
        conditions = (await self.request("GET", path)).get("status", {}).get("conditions") or ()
        return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)


def _place(obj: Json) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
