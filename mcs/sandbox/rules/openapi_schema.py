"""Custom objects against the structural schema of their CRD: pruning, defaults and validation.

Source: Kubernetes, "Create a CustomResourceDefinition": Specifying a structural schema, Field pruning,
Defaulting, Validation. CEL rules are not evaluated. Built-in kinds are the business of `apply`.
"""

import json
import re
from collections.abc import Iterator
from datetime import date, datetime
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

from mcs.sandbox.errors import Cause

Schema = dict[str, Any]
PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
EMBEDDED = "x-kubernetes-embedded-resource"
OBJECT_FIELDS = {"apiVersion", "kind", "metadata"}


def pruned(value: Any, schema: Schema, path: str = "") -> tuple[Any, list[str]]:
    """The value without the fields its schema does not know, and the dotted paths of those."""
    unknown: list[str] = []
    return _pruned(value, schema, path, unknown, at_root=not path), unknown


def _pruned(value: Any, schema: Schema, path: str, unknown: list[str], *, at_root: bool = False) -> Any:
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [_pruned(item, items, f"{path}[{n}]", unknown) for n, item in enumerate(value)]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, dict):
        return value
    known: dict[str, Schema] = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    kept: dict[str, Any] = {}
    for key, child in value.items():
        below = f"{path}.{key}" if path else key
        if (at_root or schema.get(EMBEDDED)) and key in OBJECT_FIELDS:
            kept[key] = child
        elif key in known:
            kept[key] = _pruned(child, known[key], below, unknown)
        elif isinstance(extra, dict):
            kept[key] = _pruned(child, extra, below, unknown)
        elif schema.get(PRESERVE) or extra is True:
            kept[key] = child
        else:
            unknown.append(below)
    return kept


def with_schema_defaults(value: Any, schema: Schema) -> Any:
    """The value with every missing field that has a default, and without nulls where none may be."""
    if isinstance(value, list):
        return [with_schema_defaults(item, schema.get("items") or {}) for item in value]
    if not isinstance(value, dict):
        return value
    known: dict[str, Schema] = schema.get("properties") or {}
    found = {key: item for key, item in value.items() if item is not None or _keeps_null(known.get(key))}
    for key, child in known.items():
        if key not in found and "default" in child:
            found[key] = child["default"]
    extra = schema.get("additionalProperties")
    for key, item in found.items():
        below = known.get(key) or (extra if isinstance(extra, dict) else {})
        found[key] = with_schema_defaults(item, below)
    return found


def _keeps_null(schema: Schema | None) -> bool:
    return schema is None or bool(schema.get("nullable") or schema.get(PRESERVE))


def invalid_values(value: Any, schema: Schema, path: str = "") -> list[Cause]:
    """What the schema forbids, with the messages of the API server."""
    return list(_invalid(value, schema, path))


def type_name(value: Any) -> str:
    """The JSON type of a value, as messages name it."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _fits(value: Any, schema: Schema) -> bool:
    if value is None:
        return bool(schema.get("nullable"))
    if schema.get(INT_OR_STRING):
        return type_name(value) in {"integer", "string"}
    wanted = schema.get("type")
    found = type_name(value)
    if wanted == "integer" and found == "number":
        return float(value).is_integer()
    return not wanted or found == wanted or (wanted == "number" and found == "integer")


def _shown(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _invalid(value: Any, schema: Schema, path: str) -> Iterator[Cause]:
    if not _fits(value, schema):
        wanted = "integer,string" if schema.get(INT_OR_STRING) else schema.get("type")
        told = f'Invalid value: "{type_name(value)}": {path} in body must be of type {wanted}: '
        yield Cause("FieldValueTypeInvalid", told + f'"{type_name(value)}"', path)
        return
    if "enum" in schema and value not in schema["enum"]:
        allowed = ", ".join(_shown(each) for each in schema["enum"])
        told = f"Unsupported value: {_shown(value)}: supported values: {allowed}"
        yield Cause("FieldValueNotSupported", told, path)
    match value:
        case str():
            yield from _invalid_string(value, schema, path)
        case bool() | None:
            return
        case int() | float():
            yield from _invalid_number(value, schema, path)
        case list():
            yield from _invalid_list(value, schema, path)
        case _:
            yield from _invalid_object(value, schema, path)


def _invalid_string(value: str, schema: Schema, path: str) -> Iterator[Cause]:
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        told = f"Too long: may not be more than {schema['maxLength']} bytes"
        yield Cause("FieldValueTooLong", told, path)
    if len(value) < schema.get("minLength", 0):
        told = f"{path} in body should be at least {schema['minLength']} chars long"
        yield Cause("FieldValueInvalid", f'Invalid value: "{value}": {told}', path)
    if "pattern" in schema and not re.search(schema["pattern"], value):
        told = f"{path} in body should match '{schema['pattern']}'"
        yield Cause("FieldValueInvalid", f'Invalid value: "{value}": {told}', path)
    if not _has_format(value, schema.get("format", "")):
        told = f'{path} in body must be of type {schema["format"]}: "{value}"'
        yield Cause("FieldValueTypeInvalid", f'Invalid value: "{value}": {told}', path)


def _has_format(value: str, name: str) -> bool:
    """Whether a text has the named format; unknown formats are not looked at."""
    try:
        match name:
            case "date-time":
                return re.match(r"\d{4}-\d\d-\d\d[Tt ]", value) is not None and bool(
                    datetime.fromisoformat(value)
                )
            case "date":
                return bool(date.fromisoformat(value))
            case "ipv4":
                return bool(IPv4Address(value))
            case "ipv6":
                return bool(IPv6Address(value))
            case "uuid":
                return bool(UUID(value))
            case _:
                return True
    except ValueError:
        return False


def _invalid_number(value: float, schema: Schema, path: str) -> Iterator[Cause]:
    step, least, most = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
    told: list[str] = []
    if step is not None and value % step:
        told.append(f"be a multiple of {step}")
    if least is not None:
        if schema.get("exclusiveMinimum") and value <= least:
            told.append(f"be greater than {least}")
        elif value < least:
            told.append(f"be greater than or equal to {least}")
    if most is not None:
        if schema.get("exclusiveMaximum") and value >= most:
            told.append(f"be less than {most}")
        elif value > most:
            told.append(f"be less than or equal to {most}")
    for why in told:
        yield Cause("FieldValueInvalid", f"Invalid value: {value}: {path} in body should {why}", path)


def _invalid_list(value: list[Any], schema: Schema, path: str) -> Iterator[Cause]:
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        told = f"Too many: {len(value)}: must have at most {schema['maxItems']} items"
        yield Cause("FieldValueTooMany", told, path)
    if len(value) < schema.get("minItems", 0):
        told = f"{path} in body should have at least {schema['minItems']} items"
        yield Cause("FieldValueInvalid", f"Invalid value: {len(value)}: {told}", path)
    for number, item in enumerate(value):
        yield from _invalid(item, schema.get("items") or {}, f"{path}[{number}]")
    keys = schema.get("x-kubernetes-list-map-keys")
    seen: list[Any] = []
    for number, item in enumerate(value):
        if schema.get("x-kubernetes-list-type") == "map" and keys and isinstance(item, dict):
            identity: Any = {key: item[key] for key in keys if key in item}
        elif schema.get("x-kubernetes-list-type") == "set":
            identity = item
        else:
            return
        if identity in seen:
            yield Cause("FieldValueDuplicate", f"Duplicate value: {_shown(identity)}", f"{path}[{number}]")
        seen.append(identity)


def _invalid_object(value: dict[str, Any], schema: Schema, path: str) -> Iterator[Cause]:
    for key in schema.get("required") or ():
        if key not in value:
            yield Cause("FieldValueRequired", "Required value", f"{path}.{key}" if path else key)
    known: dict[str, Schema] = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    for key, item in value.items():
        below = known.get(key) or (extra if isinstance(extra, dict) else None)
        if below is None or (not path and key == "metadata"):
            continue
        yield from _invalid(item, below, f"{path}.{key}" if path else key)
