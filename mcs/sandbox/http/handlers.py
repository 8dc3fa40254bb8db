"""HTTP in front of the `Api`: who asks, for what, and the answer as Kubernetes writes it.

Source: Kubernetes API concepts; "Authenticating" (bearer tokens). The semantics are in `api`, `writes`,
`listing` and `watching`; sockets and TLS in `server`.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, get_args

import msgspec
import structlog
from aiohttp import web
from multidict import CIMultiDict

from mcs.sandbox.api import Api
from mcs.sandbox.errors import (
    StatusError,
    bad_request,
    forbidden,
    forbidden_path,
    method_not_allowed,
    no_such_resource,
    not_found,
    unauthorized,
)
from mcs.sandbox.http import writes
from mcs.sandbox.http.documents import document
from mcs.sandbox.http.listing import chunk, known_version
from mcs.sandbox.http.negotiation import Form, View, wanted_form
from mcs.sandbox.http.scale import scale_of
from mcs.sandbox.http.selectors import Selection, selection
from mcs.sandbox.http.streams import send_watch
from mcs.sandbox.http.targets import Target, is_of_a_builtin_group, target_of, verb_of
from mcs.sandbox.http.tokens import issue
from mcs.sandbox.http.watching import Watch, watch_options
from mcs.sandbox.printing.tables import IncludeObject
from mcs.sandbox.resources import Registry
from mcs.sandbox.store import Object

log = structlog.get_logger(__name__)

PUBLIC = {"/healthz", "/livez", "/readyz", "/version"}
LONGEST_BODY = 3 * 1024 * 1024
DEFAULT_WATCH_SECONDS = 1800.0
JSON = "application/json"
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


class Handlers:
    """Answers every request of one server. `requests` counts them by (verb, resource)."""

    def __init__(self, api: Api, tokens: MutableMapping[str, str]) -> None:
        self.api = api
        self.requests: Counter[tuple[str, str]] = Counter()
        self.watch_refusal: StatusError | None = None
        self.watching: set[asyncio.Transport] = set()
        """The connections that carry a watch."""
        self._tokens = tokens

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The answer to any request; refusals become a Status."""
        warnings: list[str] = []
        try:
            return await self._answer(request, warnings)
        except StatusError as error:
            headers = _warnings(warnings)
            headers.extend(error.headers)
            return _json(error.as_status(), error.code, headers)
        except web.HTTPRequestEntityTooLarge:
            told = f"Request entity too large: limit is {LONGEST_BODY}"
            return _json(StatusError(413, "RequestEntityTooLarge", told).as_status(), 413)
        except (ConnectionError, web.HTTPException):
            raise
        except Exception as error:
            log.exception("request failed", method=request.method, path=request.path)
            return _json(
                StatusError(500, "InternalError", f"Internal error occurred: {error!r}").as_status(), 500
            )

    async def _answer(self, request: web.Request, warnings: list[str]) -> web.StreamResponse:
        known = self._is_known(request)
        target = target_of(request.path, self.api.registry)
        if not known and request.path not in PUBLIC:
            raise _anonymous(request, target)
        if target is None:
            return _document(request, self.api.registry)
        if target.subresource and target.subresource not in target.resource.subresources:
            warnings += _deprecation(target)
            raise not_found(target.resource, target.name)
        verb = verb_of(request.method, target, request.query)
        allowed = (*target.resource.verbs, "watch")
        if target.subresource:
            allowed = ("create",) if target.subresource == "token" else ("get", "update", "patch")
        if verb not in allowed:
            raise method_not_allowed()
        named = f"{target.resource.group_resource}/{target.subresource}".rstrip("/")
        if request.query.get("dryRun", "") == "":
            self.requests[verb, named] += 1
        warnings += _deprecation(target)
        if target.subresource == "token":
            return _json(self._issued(target, await request.read()), 201)
        if verb in WRITES:
            return await self._write(request, target, verb, warnings)
        return await self._read(request, target, verb, warnings)

    def _issued(self, target: Target, body: bytes) -> Object:
        account = self.api.get(target.resource, target.namespace or "", target.name)
        try:
            asked = msgspec.json.decode(body)
        except msgspec.MsgspecError as error:
            raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error
        return issue(account, asked, self._tokens, self.api.now())

    def _is_known(self, request: web.Request) -> bool:
        header = request.headers.get("Authorization", "")
        if not header:
            return False
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or token.strip() not in self._tokens:
            raise unauthorized()
        return True

    async def _write(
        self, request: web.Request, target: Target, verb: str, warnings: list[str]
    ) -> web.StreamResponse:
        asked = writes.Asked(
            target=target,
            query=request.query,
            body=await request.read(),
            content_type=request.headers.get("Content-Type", ""),
            user_agent=request.headers.get("User-Agent", ""),
            warn=warnings.append,
            registry=self.api.registry,
        )
        view = self._view(request, target)
        match verb:
            case "create":
                code, obj = writes.create(self.api, asked)
            case "update":
                code, obj = writes.update(self.api, asked)
            case "patch":
                code, obj = writes.patch(self.api, asked)
            case "delete":
                code, obj = writes.delete(self.api, asked)
            case _:
                found = writes.delete_collection(self.api, asked)
                metadata = {"resourceVersion": str(self.api.store.revision)}
                return _json(view.of_list(found, metadata))
        shown = obj if obj["kind"] in ("Status", "Scale") else view.of(obj)
        return _json(shown, code, _warnings(warnings))

    async def _read(
        self, request: web.Request, target: Target, verb: str, warnings: list[str]
    ) -> web.StreamResponse:
        view = self._view(request, target)
        query = request.query
        headers = _warnings(warnings)
        if verb == "get":
            return _json(self._seen(target, view, query), 200, headers)
        wanted = _selected(target, query)
        if verb == "watch":
            return await self._watch(request, target, view, wanted)
        found = chunk(self.api.store, target.resource, wanted, query)
        return _json(view.of_list(found.objects, found.metadata), 200, headers)

    def _seen(self, target: Target, view: View, query: Mapping[str, str]) -> Object:
        known_version(self.api.store, query.get("resourceVersion", ""))
        obj = self.api.get(target.resource, target.namespace or "", target.name)
        if target.subresource == "scale":
            return scale_of(target.resource, target.version, obj)
        return view.of(obj)

    async def _watch(
        self, request: web.Request, target: Target, view: View, wanted: Selection
    ) -> web.StreamResponse:
        if self.watch_refusal is not None:
            raise self.watch_refusal
        options = watch_options(request.query)
        text = request.query.get("timeoutSeconds", "")
        seconds = float(text) if text.isdigit() and int(text) else DEFAULT_WATCH_SECONDS
        watch = Watch(self.api.store, target.resource, wanted, view, options)
        connection = request.transport
        if connection is None:
            raise ConnectionResetError
        self.watching.add(connection)
        try:
            return await send_watch(request, watch, seconds, bookmarks=options.bookmarks)
        finally:
            self.watching.discard(connection)

    def _view(self, request: web.Request, target: Target) -> View:
        include = request.query.get("includeObject") or "Metadata"
        if include not in get_args(IncludeObject):
            raise bad_request(f"unrecognized includeObject value: {include!r}")
        form = wanted_form(request.headers.get("Accept", ""))
        if target.subresource == "scale":
            form = Form.OBJECT
        return View(target.resource, target.version, form, self.api.now(), include)  # type: ignore[arg-type]


def _selected(target: Target, query: Mapping[str, str]) -> Selection:
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    return selection(target.resource, target.namespace, labels, fields)


def _deprecation(target: Target) -> list[str]:
    text = target.resource.deprecation_warnings.get(target.version)
    return [text] if text else []


def _warnings(texts: Sequence[str]) -> CIMultiDict[str]:
    return CIMultiDict(("Warning", f"299 - {_quoted(text)}") for text in texts)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def _document(request: web.Request, registry: Registry) -> web.Response:
    found = document(request.path, request.headers.get("Accept", ""), request.host, registry)
    if found is None:
        if is_of_a_builtin_group(request.path):
            raise no_such_resource()
        return web.Response(status=404, text="404 page not found\n")
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    return web.Response(body=found.body, headers={"Content-Type": found.content_type})


def _anonymous(request: web.Request, target: Target | None) -> StatusError:
    if target is None:
        return forbidden_path(request.path, request.method.lower())
    verb = verb_of(request.method, target, request.query) or request.method.lower()
    resource = target.resource
    place = f' in the namespace "{target.namespace}"' if target.namespace else " at the cluster scope"
    plural = f"{resource.plural}/{target.subresource}".rstrip("/")
    why = f'User "system:anonymous" cannot {verb} resource "{plural}" in API group "{resource.group}"{place}'
    return forbidden(resource, target.name, why)


def _json(obj: Any, code: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    every = CIMultiDict({"Content-Type": JSON, "Cache-Control": "no-cache, private"})
    every.extend(headers or {})
    return web.Response(body=msgspec.json.encode(obj) + b"\n", status=code, headers=every)
