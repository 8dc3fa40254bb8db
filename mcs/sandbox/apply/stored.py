"""The form in which a typed server stores an object of a built-in kind, before defaults.

Decoding into types and encoding again drops nulls, empty lists and maps, and zero values that nobody
could tell from unset ones; fields that are always there appear; quantities get their canonical spelling.
Custom objects are stored as they were sent. Defaults are in `defaults`. (Kubernetes API conventions,
"Optional vs. Required"; "Quantity".)
"""

from decimal import Decimal, InvalidOperation
from typing import Any, Final

from mcs.sandbox.apply.fields import ABSENT
from mcs.sandbox.apply.schemas import Object, Schema

_ZERO: Final = {
    "string": "",
    "time": None,
    "int": 0,
    "number": 0,
    "bool": False,
    "quantity": "0",
    "intstr": 0,
}
_BINARY = {
    suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)
}
_DECIMAL = {
    suffix: Decimal(1000) ** power
    for power, suffix in zip(range(-3, 7), ("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), strict=True)
}


def stored_form(obj: Object, schema: Schema) -> Object:
    """The object as stored, a new value down to its leaves; the same object when its kind is not built in."""
    if not schema.name:
        return obj
    form = _form(obj, schema)
    return form if isinstance(form, dict) else {}


def zero_object(obj: Object, schema: Schema) -> Object:
    """The empty object of the same kind as `obj`: apiVersion, kind, and what is there before anyone sets
    a field.
    """
    identity = {"apiVersion": obj.get("apiVersion", ""), "kind": obj.get("kind", "")}
    return {**identity, "metadata": {}, **stored_form({}, schema)} if schema.name else identity


def with_stored_metadata(obj: Object, schema: Schema) -> Object:
    """The object with its metadata as stored, which holds for custom objects, too."""
    metadata = schema.child("metadata")
    if metadata is None or not metadata.name:
        return obj
    return {**obj, "metadata": stored_form(obj.get("metadata") or {}, metadata)}


def amount_of(value: Any) -> Decimal | None:
    """The number that a quantity stands for; None when the value is no quantity."""
    text = str(value)
    number = text.rstrip("inumkKMGTPE") or text
    suffix = text[len(number) :]
    try:
        return Decimal(number) * (_BINARY | _DECIMAL)[suffix]
    except (InvalidOperation, KeyError):
        return None


def canonical_quantity(value: Any) -> Any:
    """A quantity in its canonical spelling (`0.5` is `500m`, `1024Mi` is `1Gi`); other values as they are."""
    amount = amount_of(value)
    if amount is None:
        return value
    if amount == 0:
        return "0"
    units = _BINARY if str(value).endswith("i") and abs(amount) >= 1024 else _DECIMAL
    fitting = [suffix for suffix, unit in units.items() if amount % unit == 0]
    if not fitting:
        return _plain(amount) if units is _BINARY else value
    best = max(fitting, key=lambda suffix: units[suffix])
    return f"{_plain(amount / units[best])}{best}"


def _plain(amount: Decimal) -> str:
    return f"{amount.to_integral_value():f}"


def _form(value: Any, schema: Schema) -> Any:
    match schema.kind:
        case "struct":
            return _struct(value, schema)
        case "map" if isinstance(value, dict) and value:
            entries = {name: _form(entry, schema.child(name) or schema) for name, entry in value.items()}
            return {name: _zero_of(schema.child(name)) if e is ABSENT else e for name, e in entries.items()}
        case "list" if isinstance(value, list) and value and schema.element is not None:
            items = [_form(item, schema.element) for item in value]
            return [_zero_of(schema.element) if item is ABSENT else item for item in items]
        case "list" if value == [] and schema.keeps_zero:
            return value
        case "map" | "list":
            return None if schema.always_there else value or ABSENT
        case "scalar":
            return _scalar(value, schema)
        case _:
            return ABSENT if value is None else value


def _struct(value: Any, schema: Schema) -> Any:
    if value is ABSENT or value is None:
        if not schema.always_there:
            return ABSENT
        value = {}
    if not isinstance(value, dict):
        return value
    forms = {name: _form(entry, schema.child(name) or schema) for name, entry in value.items()}
    for name, child in schema.fields.items():
        if child.always_there and name not in forms:
            forms[name] = _form(ABSENT, child)
    return {name: form for name, form in forms.items() if form is not ABSENT}


def _scalar(value: Any, schema: Schema) -> Any:
    zero = _ZERO[schema.scalar]
    if value is ABSENT or value is None:
        return zero if schema.always_there else ABSENT
    if schema.scalar == "quantity":
        return canonical_quantity(value)
    return value if schema.always_there or schema.keeps_zero or value != zero else ABSENT


def _zero_of(schema: Schema | None) -> Any:
    return _ZERO[schema.scalar] if schema is not None and schema.kind == "scalar" else None
