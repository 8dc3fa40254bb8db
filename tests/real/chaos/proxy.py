"""An API server as one of its clients sees it through a bad network or a bad day of its own.

Terminates TLS with a certificate of its own, so that it can answer in the server's place, be late, or end watches; in
front of it stands a gate for what happens to connections. When which fault begins and ends is the storm's business.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import trustme
from aiohttp import web
from yarl import URL

from tests.real.chaos.gate import Gate
from tests.real.chaos.schedule import Kind

_PASSED_ON = ("Accept", "Authorization", "Content-Type", "User-Agent")
_PASSED_BACK = ("Content-Type", "Retry-After", "Warning")
_REASONS = {410: "Expired", 429: "TooManyRequests", 500: "InternalError"}


class FaultProxy:
    """HTTPS on `port` of 127.0.0.1 in front of the API server at `upstream`, while it is entered."""

    def __init__(self, port: int, upstream: str, ca_file: Path, authority: trustme.CA) -> None:
        self.url = f"https://127.0.0.1:{port}"
        self._port = port
        self._upstream = upstream
        self._ca_file = ca_file
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("127.0.0.1").configure_cert(self._tls)
        self._stack = AsyncExitStack()
        self._watches: dict[asyncio.Transport, web.StreamResponse] = {}
        self._status = 0
        self._delay = 0.0

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            tls = ssl.create_default_context(cafile=str(self._ca_file))
            connector = aiohttp.TCPConnector(ssl=tls, limit=0)
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
            self._session = await stack.enter_async_context(
                aiohttp.ClientSession(
                    connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
                )
            )
            server = web.Server(self._serve, handler_cancellation=True, access_log=None)
            runner = web.ServerRunner(server, shutdown_timeout=0.1)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls).start()
            self._gate = await stack.enter_async_context(Gate(self._port, runner.addresses[0][1]))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def suffering(self, kind: Kind, seconds: float = 0.0) -> AsyncIterator[None]:
        """The fault, until the block ends; `seconds` is by how much answers are late. One at a time.

        Raises ValueError for a kind that does not happen to a connection.
        """
        match kind:
            case Kind.CUT_WATCHES:
                await self._end_watches()
            case Kind.WATCHES_GONE:
                await self._end_watches(json.dumps({"type": "ERROR", "object": _status(410)}).encode())
            case Kind.ANSWER_410 | Kind.ANSWER_429 | Kind.ANSWER_500:
                self._status = int(kind.split()[0])
                if kind is Kind.ANSWER_410:
                    await self._end_watches()
            case Kind.DELAY:
                self._delay = seconds
            case Kind.BLACK_HOLE:
                self._gate.swallow()
            case Kind.REFUSE:
                await self._gate.refuse()
            case _:
                raise ValueError(f"{kind} does not happen to a connection")
        try:
            yield
        finally:
            self._status, self._delay = 0, 0.0
            self._gate.deliver()
            if kind is Kind.REFUSE:
                await self._gate.listen()

    async def _end_watches(self, last_line: bytes = b"") -> None:
        for transport, response in list(self._watches.items()):
            if last_line:
                # A client that was killed a moment ago does not hear it.
                with suppress(ConnectionError):
                    await response.write(last_line + b"\n")
            # Closed and not aborted, for what was written last has to arrive.
            transport.close()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(self._delay)
        is_watch = request.query.get("watch") == "true"
        # No list from the beginning can be too old.
        if self._status and (self._status != 410 or is_watch):
            headers = {"Retry-After": "1"} if self._status == 429 else {}
            return web.json_response(_status(self._status), status=self._status, headers=headers)
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        url = URL(self._upstream + request.raw_path, encoded=True)
        try:
            async with self._session.request(
                request.method,
                url,
                data=await request.read(),
                headers=headers | {"Accept-Encoding": "identity"},
                allow_redirects=False,
            ) as answer:
                return await self._pass_back(request, answer, is_watch)
        except (aiohttp.ClientError, OSError):
            # The server is away, and so the client must find it.
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=502)

    async def _pass_back(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse, is_watch: bool
    ) -> web.StreamResponse:
        headers = {name: answer.headers[name] for name in _PASSED_BACK if name in answer.headers}
        response = web.StreamResponse(status=answer.status, headers=headers)
        await response.prepare(request)
        transport = request.transport
        if is_watch and transport is not None:
            self._watches[transport] = response
        try:
            async for data in answer.content.iter_any():
                await response.write(data)
            await response.write_eof()
        finally:
            if transport is not None:
                self._watches.pop(transport, None)
        return response


def _status(code: int) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"the storm answers {code}",
        "reason": _REASONS[code],
        "code": code,
    }
