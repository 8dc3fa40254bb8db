"""Objects in protobuf, as far as `kubectl create` sends them: it has no other form for its own commands.

Reads the kinds below and no others. A field that is not listed may be absent or empty; one with a value refuses the
whole object, because it would be lost.

Sources: Kubernetes API concepts, "Kubernetes Protobuf encoding" (prefix and envelope); the field numbers of the
API's published .proto files; the protocol buffers encoding guide (wire types).
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

PREFIX = b"k8s\x00"

Scalar = Literal["string", "number", "present number", "truth", "bytes"]
"""A number that is present is kept when it is 0, as is what was set to 0 in Go through a pointer."""


class UndecodableError(ValueError):
    """The body is no such envelope, its kind is not read here, or a field of it is not."""


class Message(Struct, frozen=True):
    """The fields of a message by number: their names in JSON, and what they hold. None ignores a field."""

    fields: Mapping[int, "tuple[str, Form] | None"]


class Many(Struct, frozen=True):
    """A repeated field."""

    of: "Scalar | Message"


class Texts(Struct, frozen=True):
    """A map from strings to strings or bytes."""

    of: Scalar = "string"


Form = Scalar | Message | Many | Texts

# Times are the server's to give, and so is any status.
_META = Message(
    {
        1: ("name", "string"),
        2: ("generateName", "string"),
        3: ("namespace", "string"),
        8: None,
        11: ("labels", Texts()),
        12: ("annotations", Texts()),
        14: ("finalizers", Many("string")),
    }
)
_CONTAINER_PORT = Message(
    {
        1: ("name", "string"),
        2: ("hostPort", "number"),
        3: ("containerPort", "number"),
        4: ("protocol", "string"),
        5: ("hostIP", "string"),
    }
)
_CONTAINER = Message(
    {
        1: ("name", "string"),
        2: ("image", "string"),
        3: ("command", Many("string")),
        4: ("args", Many("string")),
        5: ("workingDir", "string"),
        6: ("ports", Many(_CONTAINER_PORT)),
    }
)
_TEMPLATE = Message({1: ("metadata", _META), 2: ("spec", Message({2: ("containers", Many(_CONTAINER))}))})
_DEPLOYMENT_SPEC = Message(
    {
        1: ("replicas", "present number"),
        2: ("selector", Message({1: ("matchLabels", Texts())})),
        3: ("template", _TEMPLATE),
        # Sent without a type, it is the default.
        4: ("strategy", Message({1: ("type", "string")})),
    }
)
_INT_OR_STRING = Message({1: ("type", "present number"), 2: ("number", "number"), 3: ("text", "string")})
_SERVICE_PORT = Message(
    {
        1: ("name", "string"),
        2: ("protocol", "string"),
        3: ("port", "number"),
        4: ("targetPort", _INT_OR_STRING),
        5: ("nodePort", "number"),
        6: ("appProtocol", "string"),
    }
)
_SERVICE_SPEC = Message(
    {
        1: ("ports", Many(_SERVICE_PORT)),
        2: ("selector", Texts()),
        3: ("clusterIP", "string"),
        4: ("type", "string"),
        7: ("sessionAffinity", "string"),
        10: ("externalName", "string"),
    }
)
_KINDS: Mapping[tuple[str, str], Message] = {
    ("v1", "Namespace"): Message({1: ("metadata", _META), 2: ("spec", Message({})), 3: None}),
    ("v1", "ConfigMap"): Message(
        {
            1: ("metadata", _META),
            2: ("data", Texts()),
            3: ("binaryData", Texts("bytes")),
            4: ("immutable", "truth"),
        }
    ),
    ("v1", "Secret"): Message({1: ("metadata", _META), 2: ("data", Texts("bytes")), 3: ("type", "string")}),
    ("v1", "ServiceAccount"): Message({1: ("metadata", _META)}),
    ("v1", "Service"): Message({1: ("metadata", _META), 2: ("spec", _SERVICE_SPEC), 3: None}),
    ("apps/v1", "Deployment"): Message({1: ("metadata", _META), 2: ("spec", _DEPLOYMENT_SPEC), 3: None}),
}
_ENVELOPE = Message(
    {
        1: ("type", Message({1: ("apiVersion", "string"), 2: ("kind", "string")})),
        2: ("raw", "bytes"),
    }
)


def decoded(body: bytes) -> dict[str, Any]:
    """The object of an envelope, in JSON's form. Raises UndecodableError."""
    if not body.startswith(PREFIX):
        raise UndecodableError("no prefix")
    try:
        envelope = _message(_ENVELOPE, body[len(PREFIX) :])
        named = envelope.get("type", {})
        kind = _KINDS.get((named.get("apiVersion", ""), named.get("kind", "")))
        if kind is None:
            raise UndecodableError(f"kind {named}")
        return {**named, **_message(kind, base64.b64decode(envelope.get("raw", "")))}
    except (IndexError, UnicodeDecodeError) as error:
        raise UndecodableError(str(error)) from error


def _message(form: Message, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, value in _fields(data):
        if number not in form.fields:
            if value:
                raise UndecodableError(f"field {number}")
            continue
        field = form.fields[number]
        if field is None:
            continue
        name, held = field
        match held:
            case Many(of=of):
                found.setdefault(name, []).append(_value(of, value))
            case Texts(of=of):
                entry = _message(Message({1: ("key", "string"), 2: ("value", of)}), _bytes(value))
                found.setdefault(name, {})[entry.get("key", "")] = entry.get("value", "")
            case _:
                read = _value(held, value)
                # An empty value of Go is an absent one of JSON.
                if read or held == "present number":
                    found[name] = read
    return found


def _value(form: Scalar | Message, value: int | bytes) -> Any:
    match form:
        case "string":
            return _bytes(value).decode()
        case "bytes":
            return base64.b64encode(_bytes(value)).decode()
        case "number" | "present number":
            return _number(value)
        case "truth":
            return bool(_number(value))
        case _ if form is _INT_OR_STRING:
            either = _message(form, _bytes(value))
            return either.get("text", "") if either.get("type") else either.get("number", 0)
        case Message():
            return _message(form, _bytes(value))


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise UndecodableError("a number where bytes belong")
    return value


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise UndecodableError("bytes where a number belongs")
    # Negative numbers are sent as 64 bits in two's complement.
    return value - (1 << 64) if value >= 1 << 63 else value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field; raises IndexError where the data ends within one."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                value, at = _varint(data, at)
                yield key >> 3, value
            case 2:
                length, at = _varint(data, at)
                if at + length > len(data):
                    raise IndexError("the data ends within a field")
                yield key >> 3, data[at : at + length]
                at += length
            case other:
                raise UndecodableError(f"wire type {other}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise UndecodableError("a number of more than 64 bits")
