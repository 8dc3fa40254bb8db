"""What somebody has changed in a member of what a federated object says, and who: told when it is set back.

Who owns a field is remembered by the API server (metadata.managedFields). What is set back is decided in `ledger`.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from mcs.federation.ledger import says
from mcs.model.names import FIELD_MANAGER

_TOLD = 3
"""How many fields a message names."""

Fields = Mapping[str, Any]


class Drifted(Struct, frozen=True):
    """A field that differs, as "spec.replicas" or "spec.containers[name=web].image", and who says otherwise."""

    path: str
    owners: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.path} ({', '.join(self.owners)})" if self.owners else self.path


def drifted(desired: Fields, present: Fields) -> tuple[Drifted, ...]:
    """The fields of the whole object that the present one does not say as desired, in the order of the desired one."""
    managed = (present.get("metadata") or {}).get("managedFields") or ()
    others = [
        (str(entry.get("manager") or ""), entry.get("fieldsV1") or {})
        for entry in managed
        if entry.get("manager") != FIELD_MANAGER
    ]
    return tuple(_differences(desired, present, "", others))


def drift_message(fields: tuple[Drifted, ...]) -> str:
    """One line about what was set back; empty when nothing is known to have been."""
    if not fields:
        return ""
    named = ", ".join(str(each) for each in fields[:_TOLD])
    more = f" and {len(fields) - _TOLD} more" if len(fields) > _TOLD else ""
    return f"Somebody had changed {named}{more} there; it was set back."


_Owners = list[tuple[str, Fields]]


def _differences(desired: Any, present: Any, path: str, others: _Owners) -> Iterator[Drifted]:
    if says(present, desired):
        return
    if isinstance(desired, Mapping) and isinstance(present, Mapping):
        for name, said in desired.items():
            below = f"{path}.{name}" if path else name
            yield from _differences(said, present.get(name), below, _within(others, f"f:{name}"))
    elif isinstance(desired, list) and isinstance(present, list) and _names(desired):
        there = {each.get("name"): each for each in present if isinstance(each, Mapping)}
        for said in desired:
            key = json.dumps({"name": said["name"]}, separators=(",", ":"))
            below = f"{path}[name={said['name']}]"
            yield from _differences(said, there.get(said["name"]), below, _within(others, f"k:{key}"))
    else:
        yield Drifted(path, tuple(sorted({manager for manager, _ in others})))


def _within(others: _Owners, name: str) -> _Owners:
    """Those who own something at this place, with what they own in it."""
    return [(manager, owned[name]) for manager, owned in others if name in owned]


def _names(items: list[Any]) -> bool:
    return all(isinstance(each, Mapping) and isinstance(each.get("name"), str) for each in items)
