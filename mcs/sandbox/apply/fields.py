"""Sets of field paths: which fields an object has, how two objects differ, and the `fieldsV1` text of
managedFields.

A path is a tuple of elements spelled as in `fieldsV1`: `f:NAME` for a field or map entry, `k:{…}` for a
list item by its keys, `v:VALUE` for an item of a set. A set of fields is a frozenset of such paths, so
union, difference and intersection are those of Python. Who owns which set is decided in `managed`;
merging objects in `typed_merge`. (Kubernetes, "Server-Side Apply", field management; the API type
FieldsV1.)
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

from mcs.sandbox.apply.schemas import ANY, FieldPath, Schema

FieldSet: TypeAlias = frozenset[FieldPath]

_Found: TypeAlias = tuple[set[FieldPath], set[FieldPath], set[FieldPath]]

NO_FIELDS: FieldSet = frozenset()


class Absent(Enum):
    """Tells a value that is not there from a JSON null."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class InvalidFieldsError(ValueError):
    """An object that cannot be walked by its schema, such as a keyed list with an item that has none of
    its keys.
    """


@dataclass(frozen=True, slots=True)
class Comparison:
    """The paths that a new object adds, changes and no longer has, compared to an old one."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    def without(self, paths: FieldSet) -> "Comparison":
        """The comparison outside the given paths and everything below them."""
        return Comparison(*(outside(part, paths) for part in (self.added, self.modified, self.removed)))


def fields_of(value: Any, schema: Schema) -> FieldSet:
    """The fields that an object sets, as an applier comes to own them; raises InvalidFieldsError."""
    return frozenset(_fields(value, schema, ()))


def compare(old: Any, new: Any, schema: Schema) -> Comparison:
    """How `new` differs from `old`, leaf by leaf; what the schema calls atomic is one leaf. Raises
    InvalidFieldsError.
    """
    found: _Found = (set(), set(), set())
    _compare(old, new, schema, (), found)
    added, modified, removed = found
    return Comparison(frozenset(added), frozenset(modified), frozenset(removed))


def outside(paths: FieldSet, excluded: FieldSet) -> FieldSet:
    """The paths that are neither in `excluded` nor below one of its paths."""
    if not excluded:
        return paths
    return frozenset(
        path for path in paths if not any(path[:length] in excluded for length in range(1, len(path) + 1))
    )


def with_named_parents(paths: FieldSet, schema: Schema) -> FieldSet:
    """The set with every declared field on the way to a path as a member of its own.

    Owning `a.b.c` means owning the struct fields `a` and `a.b`, but not a map entry or list item on the way.
    """
    extended = set(paths)
    for path in paths:
        node: Schema | None = schema
        for length, element in enumerate(path[:-1], start=1):
            if node is None:
                break
            if element.startswith("f:"):
                if node.declares(element[2:]):
                    extended.add(path[:length])
                node = node.child(element[2:])
            else:
                node = node.element
    return frozenset(extended)


def encode(paths: FieldSet) -> dict[str, Any]:
    """The set as the `fieldsV1` object that an API server writes, in its order."""
    tree: dict[str, Any] = {}
    for path in ordered(paths):
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return _tidy(tree)


def parse(fields: Mapping[str, Any]) -> FieldSet:
    """The set that a `fieldsV1` object describes."""
    return frozenset(_parse(fields, ()))


def ordered(paths: Iterable[FieldPath]) -> list[FieldPath]:
    """The paths in the order of an API server's messages: a level's own members first, then what lies
    below each.
    """
    return sorted(paths, key=lambda path: (*((1, _rank(e)) for e in path[:-1]), (0, _rank(path[-1]))))


def path_text(path: FieldPath) -> str:
    """The path as conflict messages spell it: `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(_element_text(element) for element in path)


def item_element(item: Any, schema: Schema) -> str:
    """The path element of an item of a keyed list or a set; raises InvalidFieldsError when it cannot be
    identified.
    """
    if schema.list_type == "set":
        if item is None or isinstance(item, dict | list):
            raise InvalidFieldsError(_not_in_a_set(item))
        return f"v:{_json(item)}"
    if not isinstance(item, dict):
        found = "a null element" if item is None else "non-map elements"
        raise InvalidFieldsError(f"associative list with keys may not have {found}")
    values = {key: item.get(key, _key_default(schema, key)) for key in sorted(schema.keys)}
    keys = {key: value for key, value in values.items() if value is not ABSENT}
    if not keys:
        named = " ".join(f'"{key}"' for key in schema.keys)
        raise InvalidFieldsError(
            f"associative list with keys has an element that omits all key fields [{named}] "
            "(and doesn't have default values for any key fields)"
        )
    return f"k:{_json(keys)}"


def _key_default(schema: Schema, key: str) -> Any:
    if key in schema.key_defaults:
        return schema.key_defaults[key]
    field = schema.element.child(key) if schema.element is not None else None
    if field is None or not field.always_there:
        return ABSENT
    return "" if field.scalar == "string" else 0


def _not_in_a_set(item: Any) -> str:
    match item:
        case dict():
            return "associative list without keys has an element that's a map type"
        case list():
            return "not supported: associative list with lists as elements"
        case _:
            return "associative list without keys has an element that's an explicit null"


def is_leaf(schema: Schema, *values: Any) -> bool:
    """Whether the values at one path count as a whole: scalars, atomic nodes, and empty ones on every
    side.
    """
    if all(value is ABSENT or value is None or value in ({}, []) for value in values):
        return True
    if schema.kind == "scalar" or schema.atomic:
        return True
    if schema.kind == "list":
        return schema.list_type == "atomic" or not any(isinstance(value, list) for value in values)
    return not any(isinstance(value, dict) for value in values)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _fields(value: Any, schema: Schema, path: FieldPath) -> Iterator[FieldPath]:
    match value:
        case dict() if schema.kind in ("struct", "map", "any") and not schema.atomic:
            for name, entry in value.items():
                below = (*path, f"f:{name}")
                yield from _fields(entry, schema.child(name) or ANY, below)
                if entry is None or entry == {} or not schema.declares(name):
                    yield below
        case list() if schema.kind == "list" and schema.list_type != "atomic":
            yield from _item_fields(value, schema, path)
        case None if schema.kind != "scalar" and not schema.atomic and schema.list_type != "atomic":
            return
        case _:
            if path:
                yield path


def _item_fields(items: list[Any], schema: Schema, path: FieldPath) -> Iterator[FieldPath]:
    by_element = items_by_element(items, schema)
    for element, same in by_element.items():
        below = (*path, element)
        yield below
        if len(same) == 1:
            yield from _fields(same[0], schema.element or ANY, below)


def items_by_element(items: Any, schema: Schema) -> dict[str, list[Any]]:
    """The items of a keyed list or set under their path elements, in order; duplicates share one element."""
    grouped: dict[str, list[Any]] = {}
    for item in items if isinstance(items, list) else ():
        grouped.setdefault(item_element(item, schema), []).append(item)
    return grouped


def _compare(
    old: Any,
    new: Any,
    schema: Schema,
    path: FieldPath,
    found: _Found,
) -> None:
    added, modified, removed = found
    if old is ABSENT:
        added.add(path)
    elif new is ABSENT:
        removed.add(path)
    if is_leaf(schema, old, new):
        if old is not ABSENT and new is not ABSENT and old != new:
            modified.add(path)
    elif schema.kind == "list":
        _compare_items(old, new, schema, path, found)
    else:
        if all(side is not ABSENT and side is not None for side in (old, new)) and type(old) is not type(new):
            modified.add(path)
        before, after = (side if isinstance(side, dict) else {} for side in (old, new))
        for name in {**before, **after}:
            child = schema.child(name) or ANY
            below = (*path, f"f:{name}")
            _compare(before.get(name, ABSENT), after.get(name, ABSENT), child, below, found)


def _compare_items(
    old: Any,
    new: Any,
    schema: Schema,
    path: FieldPath,
    found: _Found,
) -> None:
    added, modified, removed = found
    before, after = items_by_element(old, schema), items_by_element(new, schema)
    for element in {**before, **after}:
        below = (*path, element)
        left, right = before.get(element, []), after.get(element, [])
        if len(left) > 1 and len(right) > 1:
            if left != right:
                modified.add(below)
        elif len(left) > 1 or len(right) > 1:
            single = (right if len(left) > 1 else left)[:1]
            (removed if len(left) > 1 else added).add(below)
            for item in single:
                ends = (ABSENT, item) if len(left) > 1 else (item, ABSENT)
                _compare(ends[0], ends[1], schema.element or ANY, below, found)
        else:
            _compare(_only(left), _only(right), schema.element or ANY, below, found)


def _only(items: list[Any]) -> Any:
    return items[0] if items else ABSENT


def _parse(fields: Mapping[str, Any], path: FieldPath) -> Iterator[FieldPath]:
    for element, below in fields.items():
        if element == ".":
            yield path
        elif not below:
            yield (*path, _canonical(element))
        else:
            yield from _parse(below, (*path, _canonical(element)))


def _canonical(element: str) -> str:
    if element.startswith("k:"):
        keys = json.loads(element[2:])
        return f"k:{_json({key: keys[key] for key in sorted(keys)})}"
    return f"v:{_json(json.loads(element[2:]))}" if element.startswith("v:") else element


def _tidy(node: dict[str, Any]) -> dict[str, Any]:
    if set(node) == {"."}:
        return {}
    names = sorted(node.keys() - {"."}, key=_rank)
    own: dict[str, Any] = {".": {}} if "." in node else {}
    return own | {name: _tidy(node[name]) for name in names}


def _rank(element: str) -> tuple[Any, ...]:
    kind, text = element[0], element[2:]
    match kind:
        case "f":
            return (0, text)
        case "k":
            return (1, [(name, *_value_rank(value)) for name, value in sorted(json.loads(text).items())])
        case "v":
            return (2, *_value_rank(json.loads(text)))
        case _:
            return (3, int(text))


def _value_rank(value: Any) -> tuple[int, Any]:
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
        case _:
            return (3, _json(value))


def _element_text(element: str) -> str:
    kind, text = element[0], element[2:]
    match kind:
        case "f":
            return f".{text}"
        case "k":
            keys = json.loads(text)
            return "[" + ",".join(f"{name}={_json(keys[name])}" for name in sorted(keys)) + "]"
        case "v":
            return f"[={text}]"
        case _:
            return f"[{text}]"
