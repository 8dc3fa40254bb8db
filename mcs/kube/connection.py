"""One API server: requests with valid credentials, bytes in and bytes out.

What the bytes mean is the client's business; retrying is that of whoever asks, but for one renewal of the
credentials after a 401.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import aiohttp
import structlog
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import BytesPayload
from yarl import URL

from mcs.kube.credentials import Source
from mcs.kube.errors import NotLeading, TooLarge, Unauthorized, Unreachable, error_of
from mcs.kube.secrecy import without
from mcs.kube.transport import (
    A_WATCH,
    CONNECT_TIMEOUT,
    NETWORK_ERRORS,
    ONE_REQUEST,
    REQUEST_TIMEOUT,
    ConnectorOf,
    Transport,
    library_connector,
    unreachable,
)

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

log = structlog.get_logger(__name__)

MAX_BODY = 32 * 2**20
"""Bytes of one answer. A page of a list that is larger is asked for in smaller ones."""

RETRY_RENEWAL_AFTER = 10.0
"""Seconds until a failed renewal is tried again while the old credentials are still in use."""


Permit = Callable[[], float]
"""How many seconds a request may take that leaves now. Raises NotLeading when none may leave."""


class Answer(NamedTuple):
    """A successful answer, read whole."""

    status: int
    body: bytes


class _Question(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str] | None
    body: bytes | None
    content_type: str
    timeout: aiohttp.ClientTimeout
    permit: Permit | None = None


class _PermittedBody(BytesPayload):
    """A body that leaves only if it may at that moment: a connection may have had to be made before it.

    Without its body no request does anything.
    """

    def __init__(self, body: bytes, content_type: str, permit: Permit) -> None:
        super().__init__(body, content_type=content_type)
        self.refused: NotLeading | None = None
        self._permit = permit

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        try:
            self._permit()
        except NotLeading as error:
            self.refused = error
            raise
        await super().write_with_length(writer, content_length)


class Connection:
    """Requests to one API server. Made by `mcs.kube.config`; `name` tells in messages which cluster is meant.

    Close it, or use it as an async context manager: its folder with keys and certificates goes with it.
    """

    def __init__(
        self,
        name: str,
        configuration: "Configuration",
        source: Source,
        *,
        proxy: str | None = None,
        folder: "TemporaryDirectory[str] | None" = None,
        connector_of: ConnectorOf = library_connector,
    ) -> None:
        self.name = name
        self._configuration = configuration
        self._source = source
        self._proxy = proxy
        self._folder = folder
        self._connector_of = connector_of
        self._lock = asyncio.Lock()
        self._generation = 0
        self._due = 0.0
        self._authorization: str | None = None
        self._tls: tuple[object, ...] = ()
        self._transport: Transport | None = None
        self._retired: list[Transport] = []
        self._is_closed = False

    async def __aenter__(self) -> "Connection":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection, also under requests that still wait, and delete the private files."""
        self._is_closed = True
        transports = [*self._retired, *([self._transport] if self._transport else [])]
        self._transport, self._retired = None, []
        for transport in transports:
            await transport.session.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        permit: Permit | None = None,
    ) -> Answer:
        """One request and its whole answer, within 30 s, and within what `permit` allows a request with a body.

        Raises the ApiError that the answer stands for, Unreachable, or NotLeading when it may not leave.
        """
        question = _permitted(_Question(method, path, query, body, content_type, ONE_REQUEST, permit))
        async with self._asked(question) as response:
            return Answer(response.status, await _read(response))

    @asynccontextmanager
    async def stream(self, path: str, query: Mapping[str, str]) -> AsyncIterator[aiohttp.StreamReader]:
        """A successful answer to a GET, read as it arrives; silence of 90 s ends it with WatchSilent."""
        async with self._asked(_Question("GET", path, query, None, "", A_WATCH)) as response:
            yield response.content

    @asynccontextmanager
    async def _asked(self, question: _Question) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            transport, response = await self._accepted(question)
            try:
                yield response
            finally:
                # A body that was not read to its end closes the connection, else it goes back to the pool.
                response.release()
                await transport.leave()
        except NETWORK_ERRORS as error:
            raise unreachable(self.name, error, question.timeout) from error

    async def _accepted(self, question: _Question) -> tuple[Transport, aiohttp.ClientResponse]:
        generation = await self._renew()
        used = self._authorization, self._tls
        try:
            return await self._send(question)
        except Unauthorized:
            await self._renew(refused=generation)
            if used == (self._authorization, self._tls):
                raise
        return await self._send(_permitted(question))

    async def _send(self, question: _Question) -> tuple[Transport, aiohttp.ClientResponse]:
        transport = self._transport
        if self._is_closed or transport is None:
            raise self._closed()
        url = URL(f"{self._configuration.host}{quote(question.path)}", encoded=True)
        headers = {"Accept": "application/json", "User-Agent": "mcs-controller"}
        if self._authorization:
            headers["Authorization"] = self._authorization
        if question.body is not None:
            headers["Content-Type"] = question.content_type
        body = _body_of(question)
        transport.enter()
        try:
            try:
                response = await transport.session.request(
                    question.method,
                    url.with_query(question.query) if question.query else url,
                    headers=headers,
                    data=body,
                    timeout=question.timeout,
                    allow_redirects=False,
                    proxy=self._proxy,
                    server_hostname=self._configuration.tls_server_name,
                )
            except aiohttp.ClientError:
                if isinstance(body, _PermittedBody) and body.refused is not None:
                    raise body.refused from None
                raise
            try:
                if response.status >= 300:
                    said = without(await _read(response), self._authorization)
                    raise error_of(response.status, response.headers, said)
            except BaseException:
                response.release()
                raise
        except BaseException:
            await transport.leave()
            raise
        return transport, response

    async def _renew(self, refused: int | None = None) -> int:
        """Load the credentials if they are due, or if those of generation `refused` still are the newest.

        Returns the generation now in use; concurrent callers share one load.
        """
        now = asyncio.get_running_loop().time
        if refused is None and self._generation and now() < self._due:
            return self._generation
        async with self._lock:
            if self._generation and (now() < self._due if refused is None else refused != self._generation):
                return self._generation
            try:
                holds_for = await self._source(self._configuration)
                await self._use_certificates()
            except (Unauthorized, OSError) as error:
                if not self._generation or refused is not None:
                    raise
                # The old credentials may hold for a while; when they do not, the server says so.
                log.warning("credentials not renewed", cluster=self.name, error=str(error))
                self._due = now() + RETRY_RENEWAL_AFTER
                return self._generation
            token = await self._configuration.get_api_key_with_prefix("BearerToken")
            self._authorization = token.strip() if token else None
            self._due = now() + holds_for
            self._generation += 1
            return self._generation

    def _closed(self) -> Unreachable:
        return Unreachable(f"{self.name}: the connection is closed")

    async def _use_certificates(self) -> None:
        if self._is_closed:
            raise self._closed()
        tls = _certificates(self._configuration)
        if self._transport is not None and tls == self._tls:
            return
        new = Transport(self._configuration, self._connector_of)
        old, self._transport, self._tls = self._transport, new, tls
        if old is not None:
            self._retired = [transport for transport in (*self._retired, old) if not transport.session.closed]
            await old.retire()


def _permitted(question: _Question) -> _Question:
    """The question, with no more time than it is allowed now. Raises NotLeading when it is allowed none."""
    if question.permit is None:
        return question
    seconds = min(question.permit(), REQUEST_TIMEOUT)
    return question._replace(timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_TIMEOUT))


def _body_of(question: _Question) -> bytes | _PermittedBody | None:
    if question.body is None or question.permit is None:
        return question.body
    return _PermittedBody(question.body, question.content_type, question.permit)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The whole body. Raises TooLarge for one that no API server sends, before it is held."""
    chunks, size = [], 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > MAX_BODY:
            raise TooLarge("an answer", MAX_BODY)
        chunks.append(chunk)
    return b"".join(chunks)


def _certificates(configuration: "Configuration") -> tuple[object, ...]:
    """Equal for equal certificate files: their paths and when they were written."""
    files = configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file
    return tuple((file, Path(file).stat().st_mtime_ns) if file else None for file in files)
