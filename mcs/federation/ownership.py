"""Whose the fields are of an object that is taken over: what somebody wrote before us must not outlive the template.

An API server remembers who wrote each field (metadata.managedFields). A field that we apply with the value that it has
belongs to two: to us, and by an entry of operation `Update` to whoever made the object, kubectl or KubeFed for
instance. When the template says no more of it, it would stay for that other's sake. So their `Update` entries lose
what we apply. Entries of operation `Apply` are left: their managers still mean to say it. So is what the template does
not speak of, and what was written by way of a subresource, as autoscalers do.

Source: structured-merge-diff's serialization of field sets (FieldsV1).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mcs.model.names import FIELD_MANAGER

Fields = Mapping[str, Any]
Entry = Mapping[str, Any]

_ITSELF = "."
"""The field at this place itself, besides those in it."""


def taken_over(entries: Sequence[Entry]) -> list[Entry] | None:
    """The managedFields without what others updated and we apply; None when there is nothing of that."""
    ours: Fields = next((_fields(each) for each in entries if _is_our_apply(each)), {})
    left: list[Entry] = []
    for each in entries:
        if each.get("operation") != "Update" or each.get("subresource"):
            left.append(each)
        elif remaining := _difference(_fields(each), ours):
            left.append({**each, "fieldsV1": remaining})
    return None if left == list(entries) else left


def _is_our_apply(entry: Entry) -> bool:
    who = (entry.get("manager"), entry.get("operation"), entry.get("subresource") or "")
    return who == (FIELD_MANAGER, "Apply", "")


def _fields(entry: Entry) -> Fields:
    found = entry.get("fieldsV1")
    return found if isinstance(found, Mapping) else {}


def _difference(theirs: Fields, ours: Fields) -> dict[str, Any]:
    """The fields of `theirs` that `ours` has not."""
    left: dict[str, Any] = {}
    for name, within in theirs.items():
        if name not in ours:
            left[name] = within
        elif within:
            if remaining := _difference(within, ours[name]):
                left[name] = remaining
        elif ours[name] and _ITSELF not in ours[name]:
            left[name] = within
    return left
