"""Looks into an object of any kind, as it was sent: what a member or a user wrote may be anything at any place."""

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]


def map_in(document: Document, *path: str) -> Document:
    """The map at this place; an empty one where there is none."""
    found: Any = document
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def number_in(document: Document, *path: str, otherwise: int = 0) -> int:
    """The number at this place; `otherwise` where there is none, or a negative one."""
    *within, name = path
    found = map_in(document, *within).get(name)
    return found if isinstance(found, int) and found >= 0 else otherwise
