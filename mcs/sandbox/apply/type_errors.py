"""Why an applied configuration does not fit its schema, as server-side apply words it.

Unlike ordinary writes, apply refuses unknown fields and items that stand twice whatever field validation
was asked for, because it could not tell who owns them. (Kubernetes, "Server-Side Apply".)
"""

from collections.abc import Iterator
from typing import Any

from mcs.sandbox.apply.fields import InvalidFieldsError, item_element, path_text
from mcs.sandbox.apply.go_text import go_text
from mcs.sandbox.apply.schemas import FieldPath, Object, Schema


def type_errors(config: Object, schema: Schema) -> Iterator[str]:
    """Each reason as `PATH: reason`, in the order of the configuration; nothing when the configuration
    fits.
    """
    return _errors(config, schema, ())


def _errors(value: Any, schema: Schema, path: FieldPath) -> Iterator[str]:
    if value is None:
        return
    match schema.kind:
        case "struct" | "map":
            yield from _map_errors(value, schema, path)
        case "list" if not isinstance(value, list):
            yield f"{path_text(path)}: expected list, got {_go_value(value)}"
        case "list":
            yield from _list_errors(value, schema, path)
        case "scalar":
            if reason := _scalar_error(value, schema.scalar):
                yield f"{path_text(path)}: {reason}"
        case _:
            return


def _map_errors(value: Any, schema: Schema, path: FieldPath) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path_text(path)}: expected map, got {_go_value(value)}"
        return
    for name, entry in value.items():
        child = schema.child(name)
        below = (*path, f"f:{name}")
        if child is None:
            yield f"{path_text(below)}: field not declared in schema"
            return
        yield from _errors(entry, child, below)


def _list_errors(items: list[Any], schema: Schema, path: FieldPath) -> Iterator[str]:
    seen = set()
    for index, item in enumerate(items):
        element = f"i:{index}"
        if schema.list_type != "atomic":
            try:
                element = item_element(item, schema)
            except InvalidFieldsError as error:
                yield f"{path_text(path)}: element {index}: {error}"
                return
            if element in seen:
                yield f"{path_text(path)}: duplicate entries for key {path_text((element,))}"
            seen.add(element)
        if schema.element is not None:
            yield from _errors(item, schema.element, (*path, element))


def _scalar_error(value: Any, scalar: str) -> str | None:
    match scalar, value:
        case (("int" | "number"), bool()):
            return "expected numeric (int or float), got bool"
        case (("int" | "number"), int() | float()):
            return None
        case (("int" | "number"), _):
            return f"expected numeric (int or float), got {_go_type(value)}"
        case (("string" | "time"), str()):
            return None
        case (("string" | "time"), _):
            return f"expected string, got &value.valueUnstructured{{Value:{_go_literal(value)}}}"
        case "bool", bool():
            return None
        case "bool", _:
            return f"expected boolean, got {_go_value(value)}"
        case _:
            return None


def _go_type(value: Any) -> str:
    match value:
        case str():
            return "string"
        case dict():
            return "map[string]interface {}"
        case list():
            return "[]interface {}"
        case _:
            return type(value).__name__


def _go_literal(value: Any) -> str:
    """The value as Go prints it with its types."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case dict():
            entries = ", ".join(f'"{name}":{_go_literal(entry)}' for name, entry in sorted(value.items()))
            return f"map[string]interface {{}}{{{entries}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(_go_literal, value))}}}"
        case _:
            return f"{value}"


def _go_value(value: Any) -> str:
    return f"&{{{go_text(value)}}}"
