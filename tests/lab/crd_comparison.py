"""How one CustomResourceDefinition differs from another in what an API server makes of it.

Descriptions are for people and left out; everything else counts, the order of lists included. What to compare, and
which differences are meant, is left to the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

ABSENT = "absent"


class Difference(NamedTuple):
    """Where two definitions differ, and what each says there; `ABSENT` where it says nothing."""

    path: str
    official: Any
    ours: Any


def differences(official: Any, ours: Any, path: str = "") -> Iterator[Difference]:
    """Each innermost place where the two differ, in the order of the paths.

    A path joins keys by dots; elements that have a name, as versions and printer columns do, stand by it. A key
    that only one side has is one difference, whatever lies beneath it.
    """
    if isinstance(official, Mapping) and isinstance(ours, Mapping):
        for key in sorted(official.keys() | ours.keys()):
            left, right = official.get(key, ABSENT), ours.get(key, ABSENT)
            # A property of the name `description` would be a schema, and so no text.
            if key != "description" or isinstance(left, Mapping) or isinstance(right, Mapping):
                yield from differences(left, right, f"{path}.{key}" if path else str(key))
    elif _is_list(official) and _is_list(ours) and len(official) == len(ours):
        for index, (left, right) in enumerate(zip(official, ours, strict=True)):
            name = left.get("name", index) if isinstance(left, Mapping) else index
            yield from differences(left, right, f"{path}[{name}]")
    # In Python 1 equals True, and 1 equals 1.0.
    elif type(official) is not type(ours) or official != ours:
        yield Difference(path, official, ours)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
