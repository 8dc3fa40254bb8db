"""The reasons why an API server refuses a write, as they stand in `details.causes` of the Status it answers.

One function per kind of reason, worded like the server's. What is wrong is decided in the `validation`
modules. (Kubernetes API types StatusCause and CauseType.)
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Cause:
    """A StatusCause: a CamelCase `reason`, a `message` for people and the path of the `field`."""

    reason: str
    message: str
    field: str


def as_json(value: Any) -> str:
    """The value as it is printed in messages: compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def invalid(field: str, value: Any, why: str) -> Cause:
    """The value may not be what it is."""
    return Cause("FieldValueInvalid", f"Invalid value: {as_json(value)}: {why}", field)


def invalid_each(field: str, value: Any, reasons: Iterable[str]) -> Iterator[Cause]:
    """One cause per reason why the value may not be what it is."""
    return (invalid(field, value, why) for why in reasons)


def required(field: str, why: str = "") -> Cause:
    """A value is missing."""
    return Cause("FieldValueRequired", "Required value" + (f": {why}" if why else ""), field)


def duplicate(field: str, value: Any) -> Cause:
    """The value stands twice where it may stand once."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {as_json(value)}", field)


def forbidden(field: str, why: str) -> Cause:
    """There may be no value, or no change."""
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def not_found(field: str, value: Any) -> Cause:
    """The value names something that is not there."""
    return Cause("FieldValueNotFound", f"Not found: {as_json(value)}", field)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    """The value is none of those that are known, named in the order given."""
    known = ", ".join(f'"{each}"' for each in supported)
    return Cause(
        "FieldValueNotSupported", f"Unsupported value: {as_json(value)}: supported values: {known}", field
    )


def too_many(field: str, count: int, most: int) -> Cause:
    """A list is longer than it may be."""
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {most} items", field)


def too_long(field: str, most: int) -> Cause:
    """A text is longer than it may be, counted in bytes."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {most} bytes", field)


def immutable(field: str, value: Any, old: Any) -> Iterator[Cause]:
    """A cause when the value of a field that never changes differs from the old one."""
    if value != old:
        yield invalid(field, value, "field is immutable")


def negative(spec: Mapping[str, Any], path: str, *names: str) -> Iterator[Cause]:
    """A cause for each of the named numbers that is below zero."""
    for name in names:
        value = spec.get(name)
        if isinstance(value, int) and value < 0:
            yield invalid(f"{path}.{name}", value, "must be greater than or equal to 0")


def outside_ports(field: str, number: int) -> Iterator[Cause]:
    """A cause when the number is no port."""
    if not 1 <= number <= 65535:
        yield invalid(field, number, "must be between 1 and 65535, inclusive")
