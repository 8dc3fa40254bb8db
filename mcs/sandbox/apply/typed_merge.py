"""Merging an applied configuration into the live object, and taking owned fields out of it, as the schema
says.

These are the two steps of server-side apply that build objects; which fields to take out is decided in
`managed`. (Kubernetes, "Server-Side Apply", merge strategy.)
"""

from typing import Any

from mcs.sandbox.apply.fields import (
    ABSENT,
    FieldSet,
    InvalidFieldsError,
    is_leaf,
    item_element,
    items_by_element,
    path_text,
)
from mcs.sandbox.apply.schemas import ANY, FieldPath, Object, Schema


def merged(live: Object, config: Object, schema: Schema) -> Object:
    """The live object with every field of the configuration; lists with keys and sets are merged item by
    item.

    Applied items come in the order of the configuration; live items that it does not name keep their
    places between them. Raises InvalidFieldsError for a configuration with an item that cannot be
    identified or stands twice in a list.
    """
    result = _merge(live, config, schema)
    return result if isinstance(result, dict) else {}


def without_fields(value: Object, paths: FieldSet, schema: Schema) -> Object:
    """The object without the given fields and items; maps and lists that are emptied by it become null."""
    result = _without(value, frozenset(paths), schema)
    return result if isinstance(result, dict) else {}


def _merge(live: Any, config: Any, schema: Schema) -> Any:
    if is_leaf(schema, live, config):
        return live if config is ABSENT else config
    if schema.kind == "list":
        return _merge_items(live, config, schema)
    if isinstance(config, dict) is not isinstance(live, dict) and not _is_nothing(config):
        return config
    before, after = (side if isinstance(side, dict) else {} for side in (live, config))
    children = (
        (name, _merge(before.get(name, ABSENT), after.get(name, ABSENT), schema.child(name) or ANY))
        for name in {**before, **after}
    )
    return {name: value for name, value in children if value is not ABSENT}


def _is_nothing(value: Any) -> bool:
    return value is ABSENT or value is None


def _merge_items(live: Any, config: Any, schema: Schema) -> Any:
    if config is ABSENT:
        return live
    before = [(item_element(item, schema), item) for item in live] if isinstance(live, list) else []
    applied = items_by_element(config, schema)
    for element, same in applied.items():
        if len(same) > 1:
            raise InvalidFieldsError(f"duplicate entries for key {path_text((element,))}")
    held: dict[str, Any] = {}
    for element, item in before:
        held[element] = ABSENT if element in held else item
    order = _merged_order([element for element, _ in before], list(applied))
    rest = iter([item for element, item in before if element not in applied])
    child = schema.element or ANY
    return [
        _merge(held.get(element, ABSENT), applied[element][0], child) if element in applied else next(rest)
        for element in order
    ]


def _merged_order(live: list[str], applied: list[str]) -> list[str]:
    wanted = set(applied)
    present = set(live)
    anchors = iter([element for element in applied if element in present])
    anchor = next(anchors, None)
    placed: set[str] = set()
    order: list[str] = []
    left = right = 0
    while left < len(live) or right < len(applied):
        if left < len(live):
            here = live[left]
            if right < len(applied):
                if here == applied[right]:
                    order.append(here)
                    placed.add(here)
                    left, right = left + 1, right + 1
                    anchor = next(anchors, None)
                    continue
                if here in wanted and anchor is not None and anchor != here:
                    left += 1
                    continue
            if here not in wanted:
                order.append(here)
                left += 1
                continue
            if here in placed:
                left += 1
        if right < len(applied):
            element = applied[right]
            order.append(element)
            placed.add(element)
            right += 1
            if element == anchor:
                anchor = next(anchors, None)
    return order


def _without(value: Any, paths: FieldSet, schema: Schema) -> Any:
    below: dict[str, set[FieldPath]] = {}
    gone = set()
    for head, *tail in paths:
        if tail:
            below.setdefault(head, set()).add(tuple(tail))
        else:
            gone.add(head)

    def kept(element: str, item: Any, child: Schema) -> Any:
        return _without(item, frozenset(below[element]), child) if element in below else item

    match value:
        case dict() if value and schema.kind in ("struct", "map", "any") and not schema.atomic:
            entries = (
                (name, kept(f"f:{name}", entry, schema.child(name) or ANY))
                for name, entry in value.items()
                if f"f:{name}" not in gone
            )
            return dict(entries) or None
        case list() if value and schema.kind == "list" and schema.list_type != "atomic":
            pairs = [(item_element(item, schema), item) for item in value]
            items = [
                kept(element, item, schema.element or ANY) for element, item in pairs if element not in gone
            ]
            return [item for item in items if item is not ABSENT] or ABSENT
        case dict() | list() if value:
            return ABSENT
        case _:
            return value
