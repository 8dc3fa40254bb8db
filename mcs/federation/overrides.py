"""What differs in one cluster: the JSON patch that a federated object has for it.

Source: KubeFed, which patches with evanphx/json-patch 4.12; manifests written for it mean the same here. That differs
from RFC 6902 in that a `replace` adds a key that is missing, that an index may count from the end, and that what is
before the first slash of a path is ignored. One rule of KubeFed is left out: a cluster may append to a list more than
once, although the path is the same.
"""

import copy
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import jsonpatch
from msgspec import Struct

from mcs.model.federated import APPLY_OVERRIDES_FAILED, ClusterOverrides, Override
from mcs.model.names import ClusterId

Document = dict[str, Any]

FORBIDDEN_PATHS = frozenset({"/metadata/namespace", "/metadata/name", "/metadata/generateName", "/kind"})
"""Who an object is, which no override may change."""

_INDEX = re.compile(r"[+-]?[0-9]+", re.ASCII)
_APPEND = "-"


class NotMade(Struct, frozen=True):
    """Why there is no object for a cluster: the status that the cluster gets, and its text for people."""

    message: str
    status: str = APPLY_OVERRIDES_FAILED


def overrides_problem(overrides: Sequence[ClusterOverrides]) -> str | None:
    """What is wrong with the list as a whole, None when nothing is: then no cluster can be written to."""
    for name, times in Counter(each.cluster_name for each in overrides).items():
        if times > 1:
            return f'overrides: cluster "{name}" appears more than once; put its operations into one entry'
    for each in overrides:
        found: set[str] = set()
        for position, override in enumerate(each.cluster_overrides):
            path = override.path
            if path in FORBIDDEN_PATHS:
                return f'override[{position}] for cluster "{each.cluster_name}" has an invalid path: {path}'
            if path in found and not _appends(override):
                return f'path "{path}" appears more than once for cluster "{each.cluster_name}"'
            found.add(path)
    return None


def _appends(override: Override) -> bool:
    return override.op == "add" and override.path.endswith(f"/{_APPEND}")


def overridden(
    document: Document, overrides: Sequence[ClusterOverrides], cluster: ClusterId
) -> Document | NotMade:
    """A copy of the document with the overrides of this cluster in their order, each on what the one before left.

    Overrides of other clusters are heeded only as far as `overrides_problem` goes.
    """
    if problem := overrides_problem(overrides):
        return NotMade(problem)
    changed = copy.deepcopy(document)
    for each in overrides:
        if each.cluster_name != cluster:
            continue
        for position, override in enumerate(each.cluster_overrides):
            try:
                changed = _patched(changed, override)
            except ValueError as error:
                what = f'{override.op or "replace"} "{override.path}"'
                return NotMade(f'cluster "{cluster}": override[{position}] ({what}): {error}')
    return changed


def _patched(document: Document, override: Override) -> Document:
    """Raises ValueError with the reason when the operation does not fit the document."""
    op = override.op or "replace"
    if op not in ("add", "remove", "replace"):
        raise ValueError("the operation is not known; use add, remove or replace")
    tokens = override.path.split("/")
    value = copy.deepcopy(override.value)
    if override.path == "" and op == "replace":
        if not isinstance(value, dict):
            raise ValueError("only a map can take the place of the whole object")
        return value
    if len(tokens) < 2:
        raise ValueError("the path must begin with a slash")
    *parents, last = (_unescaped(token) for token in tokens[1:])
    container: Any = document
    reached: list[str | int] = []
    for token in parents:
        token_or_index = _index(token, len(container)) if isinstance(container, list) else token
        reached.append(token_or_index)
        container = _member(container, token_or_index)
        if not isinstance(container, dict | list):
            raise ValueError(f"there is no map or list at {_pointer(reached)}")
    if isinstance(container, list):
        key: str | int = _position(op, last, len(container))
    elif op == "remove" and last not in container:
        raise ValueError(f"there is nothing at {_pointer([*reached, last])}")
    else:
        key, op = last, "add" if op == "replace" and last not in container else op
    operation = {"op": op, "path": _pointer([*reached, key]), "value": value}
    changed: Document = jsonpatch.apply_patch(document, [operation], in_place=True)
    return changed


def _member(container: Any, key: Any) -> Any:
    return container[key] if isinstance(container, list) else container.get(key)


def _position(op: str, token: str, length: int) -> str | int:
    """Where in a list: one behind the last may be added to, "-" only added to."""
    if op != "add":
        return _index(token, length)
    return _APPEND if token == _APPEND else _index(token, length + 1)


def _index(token: str, length: int) -> int:
    """The index below `length` that a token means; a negative one counts from the end."""
    if not _INDEX.fullmatch(token):
        raise ValueError(f'"{token}" is no index of a list')
    index = int(token)
    if not -length <= index < length:
        raise ValueError(f"index {index} is beyond the list")
    return index % length


def _unescaped(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def _pointer(tokens: Sequence[str | int]) -> str:
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)
