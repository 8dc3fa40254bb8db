"""A plain client of one real API server, as its administrator: create, get, list and delete, nothing more.

The specifications look ten times a second, which kubectl with a process for each look would make too costly.
"""

from __future__ import annotations

from typing import Any

import aiohttp

Object = dict[str, Any]


class Api:
    """Requests with a token; `session` verifies the server's certificate."""

    def __init__(self, session: aiohttp.ClientSession, url: str, token: str) -> None:
        self._session = session
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"}

    async def create(self, resource: str, namespace: str, body: Object) -> Object:
        """The object as the server stored it. Raises aiohttp.ClientResponseError when it is refused."""
        return await self._ask("POST", self._path(resource, namespace), json=body)

    async def get(self, resource: str, namespace: str, name: str) -> Object | None:
        """The object; None when there is none. Raises aiohttp.ClientResponseError."""
        try:
            return await self._ask("GET", f"{self._path(resource, namespace)}/{name}")
        except aiohttp.ClientResponseError as error:
            if error.status == 404:
                return None
            raise

    async def list(self, resource: str, namespace: str, selector: str = "") -> list[Object]:
        """The objects that the label selector finds. Raises aiohttp.ClientResponseError."""
        answer = await self._ask(
            "GET", self._path(resource, namespace), params={"labelSelector": selector} if selector else None
        )
        items: list[Object] = answer["items"]
        return items

    async def delete(self, resource: str, namespace: str, name: str) -> None:
        """Delete the object. Raises aiohttp.ClientResponseError."""
        await self._ask("DELETE", f"{self._path(resource, namespace)}/{name}")

    def _path(self, resource: str, namespace: str) -> str:
        group, _, plural = resource.rpartition("/")
        inner = f"namespaces/{namespace}/{plural}" if namespace else plural
        return f"{self._url}/{group}/{inner}"

    async def _ask(self, method: str, url: str, **options: Any) -> Object:
        async with self._session.request(method, url, headers=self._headers, **options) as response:
            if response.status >= 400:
                raise aiohttp.ClientResponseError(
                    response.request_info,
                    response.history,
                    status=response.status,
                    message=await response.text(),
                )
            answer: Object = await response.json()
            return answer
