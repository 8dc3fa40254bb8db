"""Typed requests to one cluster: get, list, watch, server-side apply, create, patch, delete.

Objects are decoded into the structs of `mcs.model` at this door. Keeping lists and watches going, caches and
retries are left to `mcs.runtime`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import Any, TypeVar

import msgspec

from mcs.kube.connection import Answer, Connection, Permit
from mcs.kube.decode import (
    Page,
    WatchEvent,
    decode_line,
    decode_object,
    decode_page,
    encode_object,
)
from mcs.kube.errors import (
    ApiError,
    Invalid,
    KubeError,
    NotFound,
    NotLeading,
    ResourceMissing,
    ServerError,
    TooLarge,
)
from mcs.model.meta import KubernetesObject, Wire
from mcs.model.names import FIELD_MANAGER
from mcs.model.resources import Resource

T = TypeVar("T", bound=KubernetesObject)

RequestHook = Callable[[str, str, int, float], None]
"""Told of each request: verb, plural of the resource, HTTP status (0: no answer), seconds.

Verbs are those of Kubernetes' authorization, but "apply" for a server-side apply. For a watch the seconds are
those until it was open.
"""

WATCH_SECONDS = 290
"""How long a watch is asked to last. Callers vary it, so that watches of many clusters do not end together."""

MAX_LINE = 4 * 2**20
"""Bytes of one watch line; etcd keeps objects below 1.5 MiB, so more is no API server's answer."""

MAX_LIST = 128 * 2**20
"""Bytes of one list: what a member has of one resource, at most."""

MAX_SINCE_LIST = 256 * 2**20
"""Bytes of a list and of the watches after it, when it is time to list again, which tells how much there is now."""

MAX_PAGES = 10_000

APPLY_PATCH = "application/apply-patch+yaml"
MERGE_PATCH = "application/merge-patch+json"


def _ignore(verb: str, resource: str, code: int, seconds: float) -> None:
    pass


class Version(msgspec.Struct, rename="camel"):
    """version.Info, as far as it is shown."""

    git_version: str = ""
    major: str = ""
    minor: str = ""


class _TokenStatus(Wire, frozen=True):
    token: str = ""


class _TokenRequest(KubernetesObject, frozen=True):
    """authentication.k8s.io/v1 TokenRequest, as it is answered; no text shows it."""

    status: _TokenStatus = _TokenStatus()

    def __repr__(self) -> str:
        return "TokenRequest()"


_TOKENS = Resource(
    group="", version="v1", plural="serviceaccounts", kind="ServiceAccount", type=_TokenRequest
)


class Client:
    """The API of one cluster. Every method may raise any ApiError, or Unreachable.

    With a `permit` each write is sent only if it may be sent at that moment, else it raises NotLeading.
    """

    def __init__(
        self, connection: Connection, on_request: RequestHook = _ignore, permit: Permit | None = None
    ) -> None:
        self.connection = connection
        self._on_request = on_request
        self._permit = permit
        self._received: dict[str, int] = {}

    @property
    def name(self) -> str:
        """Which cluster this is, for messages."""
        return self.connection.name

    async def close(self) -> None:
        """Close the connection."""
        await self.connection.close()

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        """The object as it is now. Raises NotFound when there is none."""
        with self._measured("get", resource.plural) as codes:
            answer = await self.connection.request("GET", _object_path(resource, namespace, name))
            codes.append(answer.status)
        return decode_object(resource.type, answer.body)

    async def list_pages(
        self,
        resource: Resource[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> AsyncGenerator[Page[T], None]:
        """All objects of all namespaces, or of one, consistent, in pages of at most `limit`.

        A watch may start from the `resource_version` of any page when all pages were read. Raises Expired when
        the history that later pages need was compacted meanwhile, and TooLarge for a list that is larger than any
        cluster's, or has no end.
        """
        query = _query(limit=str(limit), labelSelector=label_selector, fieldSelector=field_selector)
        size = 0
        for _ in range(MAX_PAGES):
            try:
                with self._measured("list", resource.plural) as codes:
                    answer = await self.connection.request("GET", resource.path(namespace), query=query)
                    codes.append(answer.status)
            except TooLarge:
                if limit == 1:
                    raise
                limit = max(1, limit // 8)
                query["limit"] = str(limit)
                continue
            size += len(answer.body)
            if size > MAX_LIST:
                raise TooLarge(f"the list of {resource}", MAX_LIST)
            if namespace:
                self._take_in(resource, len(answer.body))
            else:
                self._received[resource.plural] = size
            page = decode_page(resource.type, answer.body)
            yield page
            if not page.continue_token:
                return
            query["continue"] = page.continue_token
        raise TooLarge(f"the list of {resource}, which has no end,", MAX_LIST)

    async def watch(
        self,
        resource: Resource[T],
        resource_version: str,
        *,
        label_selector: str = "",
        timeout_seconds: int = WATCH_SECONDS,
        on_opened: Callable[[], None] | None = None,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """What changes after `resource_version`, until the server ends the watch, which is no error.

        `on_opened` is called when the server has taken the watch, however long nothing changes from then on.
        Raises the typed error of an ERROR line (Expired above all), WatchSilent when not even a bookmark came
        for 90 s, TooLarge when so much came that a list must tell how much there is. Leave it early with
        `contextlib.aclosing`, or its connection lingers until it is collected.
        """
        query = _query(
            watch="true",
            resourceVersion=resource_version,
            allowWatchBookmarks="true",
            timeoutSeconds=str(timeout_seconds),
            labelSelector=label_selector,
        )
        async with AsyncExitStack() as stack:
            with self._measured("watch", resource.plural) as codes:
                content = await stack.enter_async_context(self.connection.stream(resource.path(), query))
                codes.append(200)
            if on_opened is not None:
                on_opened()
            pending = b""
            async for chunk in content.iter_any():
                self._take_in(resource, len(chunk))
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    if line:
                        yield decode_line(resource.type, line)
                if len(pending) > MAX_LINE:
                    raise ServerError(200, "Unreadable", f"a watch line of more than {MAX_LINE} bytes")

    def _take_in(self, resource: Resource[Any], size: int) -> None:
        received = self._received[resource.plural] = self._received.get(resource.plural, 0) + size
        if received > MAX_SINCE_LIST:
            raise TooLarge(f"what came of {resource} since their list", MAX_SINCE_LIST)

    async def apply(self, resource: Resource[T], obj: T, *, subresource: str = "", force: bool = True) -> T:
        """Server-side apply with our field manager; the object as it then is.

        What an earlier apply of ours set and this one leaves out is removed. With `force` fields of other
        managers are taken over, else they raise Conflict. With `subresource` only that part is applied.
        """
        query = {"fieldManager": FIELD_MANAGER, "force": "true" if force else "false"}
        body = encode_object(resource.api_version, resource.kind, obj, subresource)
        path = _object_path(resource, obj.metadata.namespace, obj.metadata.name, subresource)
        return await self._written("apply", "PATCH", resource, path, query, body, APPLY_PATCH)

    async def apply_document(self, resource: Resource[T], document: Mapping[str, Any]) -> T:
        """The same for an object of which no struct holds all: `document` is applied as it is, with force."""
        metadata = document["metadata"]
        path = _object_path(resource, metadata.get("namespace", ""), metadata["name"])
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        body = msgspec.json.encode(document)
        return await self._written("apply", "PATCH", resource, path, query, body, APPLY_PATCH)

    async def create_token(self, namespace: str, account: str, seconds: int) -> str:
        """A new token of a ServiceAccount, valid for as long as asked if the server agrees (TokenRequest).

        Raises NotFound when there is no such account.
        """
        path = _object_path(_TOKENS, namespace, account, "token")
        body = msgspec.json.encode(
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": seconds},
            }
        )
        with self._measured("create", "serviceaccounts/token") as codes:
            answer = await self.connection.request("POST", path, body=body, permit=self._permit)
            codes.append(answer.status)
        return decode_object(_TokenRequest, answer.body).status.token

    async def create(self, resource: Resource[T], obj: T) -> T:
        """The object, newly created. Raises AlreadyExists.

        Only for what is never applied: fields of a create belong to another entry of managedFields and would
        outlive every later apply.
        """
        body = encode_object(resource.api_version, resource.kind, obj)
        # The name is not part of the path here, but it must be one that all other requests can name.
        _object_path(resource, obj.metadata.namespace, obj.metadata.name)
        path = resource.path(obj.metadata.namespace)
        query = {"fieldManager": FIELD_MANAGER}
        return await self._written("create", "POST", resource, path, query, body, "application/json")

    async def create_document(self, resource: Resource[T], document: Mapping[str, Any]) -> T:
        """The same for an object of which no struct holds all, and which others than us are to own."""
        metadata = document["metadata"]
        namespace = metadata.get("namespace", "")
        _object_path(resource, namespace, metadata["name"])
        body, path = msgspec.json.encode(document), resource.path(namespace)
        query = {"fieldManager": FIELD_MANAGER}
        return await self._written("create", "POST", resource, path, query, body, "application/json")

    async def patch(
        self,
        resource: Resource[T],
        namespace: str,
        name: str,
        changes: dict[str, Any],
        *,
        subresource: str = "",
    ) -> T:
        """The object after a JSON merge patch (RFC 7386). A resourceVersion in `changes` is a precondition."""
        body = msgspec.json.encode(changes)
        path = _object_path(resource, namespace, name, subresource)
        query = {"fieldManager": FIELD_MANAGER}
        return await self._written("patch", "PATCH", resource, path, query, body, MERGE_PATCH)

    async def delete(
        self,
        resource: Resource[Any],
        namespace: str,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Delete one object; that it is gone already is success. `options` are further fields of DeleteOptions.

        Raises Conflict when it is no longer the object with this uid and resourceVersion.
        """
        preconditions = _query(uid=uid, resourceVersion=resource_version)
        asked: dict[str, Any] = {"propagationPolicy": "Background", **(options or {})}
        if preconditions:
            asked["preconditions"] = preconditions
        path = _object_path(resource, namespace, name)
        with self._measured("delete", resource.plural) as codes:
            try:
                answer = await self.connection.request(
                    "DELETE", path, body=msgspec.json.encode(asked), permit=self._permit
                )
                codes.append(answer.status)
            except NotFound:
                codes.append(404)

    async def is_healthy(self) -> bool:
        """True when /healthz, or /readyz where there is no such path, says that all is well."""
        try:
            answer = await self._read("/healthz")
        except (NotFound, ResourceMissing):
            answer = await self._read("/readyz")
        return answer.body.strip() == b"ok"

    async def version(self) -> Version:
        """The version of the API server."""
        return msgspec.json.decode((await self._read("/version")).body, type=Version)

    async def _read(self, path: str) -> Answer:
        with self._measured("get", path) as codes:
            answer = await self.connection.request("GET", path)
            codes.append(answer.status)
            return answer

    async def _written(
        self,
        verb: str,
        method: str,
        resource: Resource[T],
        path: str,
        query: dict[str, str],
        body: bytes,
        content_type: str,
    ) -> T:
        with self._measured(verb, resource.plural) as codes:
            answer = await self.connection.request(
                method, path, query=query, body=body, content_type=content_type, permit=self._permit
            )
            codes.append(answer.status)
        return decode_object(resource.type, answer.body)

    @contextmanager
    def _measured(self, verb: str, resource: str) -> Iterator[list[int]]:
        """Tells the hook what came of a request: the status that is appended, or that of the error raised."""
        now = asyncio.get_running_loop().time
        started = now()
        codes: list[int] = []
        try:
            yield codes
        except ApiError as error:
            codes.append(error.code)
            raise
        except NotLeading:
            raise
        except KubeError:
            codes.append(0)
            raise
        finally:
            if codes:
                self._on_request(verb, resource, codes[0], now() - started)


def _object_path(resource: Resource[Any], namespace: str, name: str, subresource: str = "") -> str:
    """The path of one object. Raises Invalid for names that would address anything else.

    An empty name would address the whole collection; the rest is what Kubernetes accepts as a path segment.
    """
    for segment in (namespace, name) if resource.namespaced else (name,):
        if segment in ("", ".", "..") or "/" in segment or "%" in segment:
            raise Invalid(422, "Invalid", f"{resource} {namespace}/{name}: {segment!r} cannot name an object")
    return resource.path(namespace, name, subresource)


def _query(**parameters: str) -> dict[str, str]:
    return {name: value for name, value in parameters.items() if value}
