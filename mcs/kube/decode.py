"""From bytes of the API server to typed values: list pages and watch lines.

One object that cannot be decoded is reported as a value and spoils nothing else: what does not decode in one go,
which is the fastest, is decoded in two steps, envelope first and each object by itself. So are objects that are kept
whole. Reading the network is left to the client.
"""

from functools import cache
from typing import Annotated, Any, Generic, Protocol, TypeVar, cast

import msgspec
from msgspec import Meta, Raw, Struct, field, structs

from mcs.kube.errors import ServerError, error_of
from mcs.model.meta import KubernetesObject, ObjectMeta
from mcs.model.targets import TargetObject

T = TypeVar("T", bound=KubernetesObject)
T_co = TypeVar("T_co", bound=KubernetesObject, covariant=True)


LONGEST_NAME = 253
LONGEST_NAMESPACE = 63


class Malformed(Struct, frozen=True):
    """An object that does not decode into its type; namespace and name are empty if even they are unreadable."""

    namespace: str
    name: str
    error: str
    resource_version: str


class Page(Struct, Generic[T_co], frozen=True):
    """One page of a list. `resource_version` is that of the whole list, the same on each of its pages."""

    items: tuple[T_co, ...]
    resource_version: str
    malformed: tuple[Malformed, ...] = ()
    continue_token: str = ""


class Stored(Struct, Generic[T_co], frozen=True):
    """The object now has this state (ADDED or MODIFIED)."""

    object: T_co


class Deleted(Struct, frozen=True):
    """The object is gone (DELETED). Needs no more than metadata, so it is never malformed for its spec."""

    namespace: str
    name: str
    resource_version: str


class Bookmark(Struct, frozen=True):
    """Nothing changed, but the watch has reached this version (BOOKMARK)."""

    resource_version: str


WatchEvent = Stored[T_co] | Deleted | Bookmark | Malformed
"""One line of a watch. ERROR lines are no events: they are raised as typed errors."""


class Decoder(Protocol[T_co]):
    """From the JSON of one object to its struct. Raises MsgspecError."""

    def decode(self, body: bytes | Raw, /) -> T_co: ...


class _ListMeta(Struct, rename="camel"):
    # Required, for a Status that came with a 200 would otherwise be taken for an empty list.
    resource_version: Annotated[str, Meta(min_length=1)]
    continue_token: str = field(name="continue", default="")


class _List(Struct):
    metadata: _ListMeta
    items: list[Raw] | None = None


class _WholeList(Struct, Generic[T]):
    metadata: _ListMeta
    items: tuple[T, ...]


class _WholeLine(Struct, Generic[T]):
    type: str
    object: T


class _Line(Struct):
    type: str
    object: Raw


class _Identity(Struct, rename="camel"):
    namespace: str = ""
    name: str = ""
    resource_version: str = ""


class _Identified(Struct):
    metadata: _Identity


_LIST = msgspec.json.Decoder(_List)
_LINE = msgspec.json.Decoder(_Line)
_IDENTIFIED = msgspec.json.Decoder(_Identified)
_DOCUMENT = msgspec.json.Decoder(dict[str, Any])


class _Whole:
    """Decodes objects that are kept whole: of their fields only the metadata must be as it should."""

    def decode(self, body: bytes | Raw, /) -> TargetObject:
        document = _DOCUMENT.decode(body)
        metadata = msgspec.convert(document.get("metadata"), ObjectMeta)
        return TargetObject(metadata=metadata, document=document)


def _is_kept_whole(type_: type[KubernetesObject]) -> bool:
    return issubclass(type_, TargetObject)


@cache
def decoder_of(type_: type[T]) -> Decoder[T]:
    """The one decoder of a type; building it is the expensive part."""
    return cast("Decoder[T]", _Whole()) if _is_kept_whole(type_) else msgspec.json.Decoder(type_)


@cache
def _list_decoder_of(type_: type[T]) -> msgspec.json.Decoder[_WholeList[T]]:
    return msgspec.json.Decoder(_WholeList[type_])  # type: ignore[valid-type]


@cache
def _line_decoder_of(type_: type[T]) -> msgspec.json.Decoder[_WholeLine[T]]:
    return msgspec.json.Decoder(_WholeLine[type_])  # type: ignore[valid-type]


def decode_object(type_: type[T], body: bytes) -> T:
    """The object in `body`. Raises ServerError when it does not decode: there is nothing to go on with."""
    try:
        decoded: T = decoder_of(type_).decode(body)
    except msgspec.MsgspecError as error:
        raise _unreadable(f"{type_.__name__}: {error}") from error
    return decoded


def decode_page(type_: type[T], body: bytes) -> Page[T]:
    """A page of a list. Raises ServerError when the body is no list at all."""
    if _is_kept_whole(type_):
        return _page_in_steps(type_, body)
    try:
        page = _list_decoder_of(type_).decode(body)
    except msgspec.MsgspecError:
        return _page_in_steps(type_, body)
    if not all(map(_is_nameable, page.items)):
        return _page_in_steps(type_, body)
    return Page(page.items, page.metadata.resource_version, (), page.metadata.continue_token)


def _page_in_steps(type_: type[T], body: bytes) -> Page[T]:
    try:
        page = _LIST.decode(body)
    except msgspec.MsgspecError as error:
        raise _unreadable(f"list of {type_.__name__}: {error}") from error
    decode = decoder_of(type_).decode
    items: list[T] = []
    malformed: list[Malformed] = []
    for raw in page.items or ():
        try:
            items.append(_nameable(decode(raw)))
        except msgspec.MsgspecError as error:
            malformed.append(_malformed(raw, error))
    metadata = page.metadata
    return Page(tuple(items), metadata.resource_version, tuple(malformed), metadata.continue_token)


def decode_line(type_: type[T], line: bytes) -> Stored[T] | Deleted | Bookmark | Malformed:
    """The event in one line of a watch.

    Raises the typed error of an ERROR line, and ServerError when the line is no watch event.
    """
    if _is_kept_whole(type_):
        return _line_in_steps(type_, line)
    try:
        whole = _line_decoder_of(type_).decode(line)
    except msgspec.MsgspecError:
        return _line_in_steps(type_, line)
    if (whole.type == "ADDED" or whole.type == "MODIFIED") and _is_nameable(whole.object):
        return Stored(whole.object)
    # The object of any other line may be no object of this type, even if it decodes into it.
    return _line_in_steps(type_, line)


def _line_in_steps(type_: type[T], line: bytes) -> Stored[T] | Deleted | Bookmark | Malformed:
    try:
        event = _LINE.decode(line)
    except msgspec.MsgspecError as error:
        raise _unreadable(f"watch of {type_.__name__}: {error}") from error
    match event.type:
        case "ADDED" | "MODIFIED":
            try:
                return Stored(_nameable(decoder_of(type_).decode(event.object)))
            except msgspec.MsgspecError as error:
                return _malformed(event.object, error)
        case "DELETED":
            try:
                gone = _IDENTIFIED.decode(event.object).metadata
            except msgspec.MsgspecError as error:
                return _malformed(event.object, error)
            return Deleted(gone.namespace, gone.name, gone.resource_version)
        case "BOOKMARK":
            try:
                return Bookmark(_IDENTIFIED.decode(event.object).metadata.resource_version)
            except msgspec.MsgspecError as error:
                return _malformed(event.object, error)
        case "ERROR":
            raise error_of(500, {}, event.object)
        case _:
            raise _unreadable(f"watch of {type_.__name__}: unknown event type {event.type!r}")


def _is_nameable(obj: KubernetesObject) -> bool:
    """True when an API server can hold an object of this name: it is a segment of the object's path."""
    name, namespace = obj.metadata.name, obj.metadata.namespace
    return (
        0 < len(name) <= LONGEST_NAME and len(namespace) <= LONGEST_NAMESPACE and "/" not in name + namespace
    )


def _nameable(obj: T) -> T:
    if not _is_nameable(obj):
        raise msgspec.ValidationError("no object can have this name, or be in this namespace")
    return obj


def _malformed(raw: Raw, error: Exception) -> Malformed:
    try:
        known = _IDENTIFIED.decode(raw).metadata
    except msgspec.MsgspecError:
        known = _Identity()
    name, namespace = known.name[:LONGEST_NAME], known.namespace[:LONGEST_NAMESPACE]
    return Malformed(namespace, name, str(error), known.resource_version[:LONGEST_NAME])


def _unreadable(message: str) -> ServerError:
    return ServerError(200, "Unreadable", message)


def encode_object(api_version: str, kind: str, obj: KubernetesObject, subresource: str = "") -> bytes:
    """The body of a write: apiVersion, kind and the fields of `obj` that differ from their defaults.

    What the server assigns (uid, resourceVersion, generation, times) is left out: sent with an apply it would
    turn it into a precondition. For a subresource only name, namespace and the field of that name are written,
    its empty lists too: an apply of `status: {}` that takes back all there was leaves null, which is refused (422).
    """
    metadata = _sent_metadata(obj, with_labels=not subresource)
    head = b'{"apiVersion":"%s","kind":"%s"' % (api_version.encode(), kind.encode())
    if subresource:
        part: Any = getattr(obj, subresource)
        present = {f.encode_name: getattr(part, f.name) for f in structs.fields(part)}
        fields = {name: value for name, value in present.items() if value is not None}
        return head + b"," + msgspec.json.encode({"metadata": metadata, subresource: fields})[1:]
    return head + b"," + msgspec.json.encode(structs.replace(obj, metadata=metadata))[1:]


def _sent_metadata(obj: KubernetesObject, *, with_labels: bool) -> Any:
    metadata = obj.metadata
    if not with_labels:
        return type(metadata)(name=metadata.name, namespace=metadata.namespace)
    return type(metadata)(
        name=metadata.name,
        namespace=metadata.namespace,
        labels=metadata.labels,
        annotations=metadata.annotations,
        finalizers=metadata.finalizers,
    )
