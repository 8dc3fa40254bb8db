"""Parts of a JSON body by JSON pointer (RFC 6901 §3, without escapes; `*` stands for every key or index)."""

from typing import Any

ABSENT = "<absent>"
_LISTS_OF_NAMED = ("items", "resources", "groups", "rows")


def at(body: Any, pointer: str) -> Any:
    """The value at the pointer, or `<absent>`; a `~1` in the pointer is a slash."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/")
        if isinstance(body, dict) and key in body:
            body = body[key]
        elif isinstance(body, list) and key.isdigit() and int(key) < len(body):
            body = body[int(key)]
        else:
            return ABSENT
    return body


def only_parts(body: Any, pointers: tuple[str, ...]) -> Any:
    """A map from each pointer to what the body holds there."""
    return {pointer: at(body, pointer) for pointer in pointers}


def without_parts(body: Any, pointers: tuple[str, ...]) -> Any:
    """The body, changed in place, without what the pointers name."""
    for pointer in pointers:
        _remove(body, pointer.replace("~1", "\0").split("/")[1:])
    return body


def with_entries(body: Any, names: tuple[str, ...]) -> Any:
    """The body with only the named entries of its lists of resources, groups, items or table rows."""
    match body:
        case dict():
            return {
                key: [
                    with_entries(entry, names)
                    for entry in value
                    if _entry_name(entry) is None or _entry_name(entry) in names
                ]
                if key in _LISTS_OF_NAMED and isinstance(value, list)
                else with_entries(value, names)
                for key, value in body.items()
            }
        case list():
            return [with_entries(value, names) for value in body]
        case _:
            return body


def _entry_name(entry: Any) -> str | None:
    for pointer in ("/name", "/resource", "/metadata/name", "/object/metadata/name"):
        if (found := at(entry, pointer)) != ABSENT:
            return str(found)
    return None


def _remove(body: Any, parts: list[str]) -> None:
    key, rest = parts[0].replace("\0", "/"), parts[1:]
    if isinstance(body, dict):
        keys: list[Any] = list(body) if key == "*" else [key] if key in body else []
    elif isinstance(body, list):
        keys = (
            list(range(len(body)))
            if key == "*"
            else [int(key)]
            if key.isdigit() and int(key) < len(body)
            else []
        )
    else:
        return
    for found in keys:
        if rest:
            _remove(body[found], rest)
    if not rest:
        for found in reversed(keys):
            del body[found]
