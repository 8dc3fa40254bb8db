"""Whether a JSON object fits the types of its built-in kind, worded as a typed decoder words it.

The types come from `apply.schemas`. Values that fit but are not allowed are the business of `apply.validation`.
Source: Kubernetes API conventions, "Primitive types".
"""

import re
from typing import Any

from mcs.sandbox.apply.schemas import Object, Schema

_GO_TYPES = {
    "string": "string", "int": "int32", "number": "float64", "bool": "bool",
    "quantity": "resource.Quantity", "intstr": "intstr.IntOrString", "time": "v1.Time",
}  # fmt: skip


_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=\r\n]|=(?=[^=\r\n])")


def decoding_error(obj: Object, schema: Schema) -> str:
    """The first place whose type is wrong, as a sentence; empty when there is none."""
    return _error(obj, schema, schema.name, "") or _bytes_error(obj, _BYTES.get(schema.name, ""))


_BYTES = {"Secret": "data", "ConfigMap": "binaryData"}


def _bytes_error(obj: Object, field: str) -> str:
    for text in (obj.get(field) or {}).values() if field else ():
        wrong = _NOT_BASE64.search(text or "")
        if wrong or len(text or "") % 4:
            return f"illegal base64 data at input byte {wrong.start() if wrong else len(text) // 4 * 4}"
    return ""


def _error(value: Any, schema: Schema, struct: str, path: str) -> str:
    if value is None:
        return ""
    match schema.kind:
        case "struct" if isinstance(value, dict):
            return _struct_error(value, schema, path)
        case "map" if isinstance(value, dict):
            return _first(value.values(), schema, struct, path)
        case "list" if isinstance(value, list):
            return _first(value, schema, struct, path)
        case "scalar" if _fits(value, schema.scalar):
            return ""
        case "any":
            return ""
        case _:
            where = f"Go struct field {struct}.{path}" if path else "Go value"
            return f"json: cannot unmarshal {_found(value)} into {where} of type {_go_type(schema)}"


def _struct_error(value: Object, schema: Schema, path: str) -> str:
    for name, entry in value.items():
        child = schema.child(name)
        if child is not None:
            below = f"{path}.{name}" if path else name
            if error := _error(entry, child, schema.name.rpartition(".")[2], below):
                return error
    return ""


def _first(values: Any, schema: Schema, struct: str, path: str) -> str:
    element = schema.element
    if element is None:
        return ""
    return next((error for v in values if (error := _error(v, element, struct, path))), "")


def _fits(value: Any, scalar: str) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match scalar:
        case "string" | "time":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return is_number and float(value).is_integer()
        case "number":
            return is_number
        case _:
            return is_number or isinstance(value, str)


def _found(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "number"
        case float():
            return f"number {value}"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _go_type(schema: Schema) -> str:
    match schema.kind:
        case "scalar":
            return _GO_TYPES.get(schema.scalar, schema.scalar)
        case "struct":
            return f"v1.{schema.name}"
        case "map" if schema.element is not None:
            return f"map[string]{_go_type(schema.element)}"
        case "list" if schema.element is not None:
            return f"[]{_go_type(schema.element)}"
        case _:
            return "interface {}"
