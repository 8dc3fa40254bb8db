"""Field ownership: what server-side apply and ordinary writes make of an object and of its managedFields.

`apply_patch` carries out an apply request, `record_update` notes who wrote what in a create, update or
patch. Walking and merging objects is left to `fields` and `typed_merge`, storing and defaulting the
result to the caller, who calls `with_idle_times_kept` once defaults are in place. (Kubernetes,
"Server-Side Apply"; KEP-555.)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from mcs.sandbox.apply.causes import Cause
from mcs.sandbox.apply.fields import (
    NO_FIELDS,
    FieldSet,
    InvalidFieldsError,
    compare,
    encode,
    fields_of,
    ordered,
    outside,
    parse,
    path_text,
    with_named_parents,
)
from mcs.sandbox.apply.last_applied import fields_last_applied, with_last_applied
from mcs.sandbox.apply.merge import PatchError
from mcs.sandbox.apply.schemas import FieldPath, Object, Schema
from mcs.sandbox.apply.stored import with_stored_metadata, zero_object
from mcs.sandbox.apply.type_errors import type_errors
from mcs.sandbox.apply.typed_merge import merged, without_fields

NEVER_OWNED: FieldSet = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(
            ("f:metadata", f"f:{name}")
            for name in (
                *("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation"),
                *("managedFields", "resourceVersion"),
            )
        ),
    }
)
"""Identity and server-kept fields, which no manager ever owns."""

MAX_UPDATE_MANAGERS = 10
"""Entries of Update operations that an object keeps; older ones are merged into one (`ancient-changes`)."""

FIRST_APPLY = "before-first-apply"
ANCIENT = "ancient-changes"
KUBECTL = "kubectl"


class ApplyConflict(Exception):  # noqa: N818 - the name of the API reason
    """Fields of the applied configuration that others own; the text is the message of the 409 Status."""

    def __init__(self, message: str, causes: tuple[Cause, ...]) -> None:
        super().__init__(message)
        self.causes = causes


@dataclass(frozen=True, slots=True, order=True)
class Manager:
    """Who wrote: appliers are one per name and subresource, updaters also one per version."""

    name: str
    operation: str
    version: str
    subresource: str

    def __str__(self) -> str:
        named = f'"{self.name}"'
        if self.subresource:
            named += f' with subresource "{self.subresource}"'
        return named if self.operation == "Apply" else f"{named} using {self.version}"


@dataclass(frozen=True, slots=True)
class Entry:
    """What one manager owns, through which version it last wrote, and when (RFC 3339, or empty)."""

    fields: FieldSet
    version: str
    time: str


Managers = dict[Manager, Entry]


def apply_patch(
    live: Object | None,
    config: Object,
    *,
    manager: str,
    force: bool,
    schema: Schema,
    now: datetime,
    subresource: str = "",
) -> Object:
    """The object after a server-side apply of `config` by `manager`; `live` is None when there is none yet.

    Fields the manager applied before and no longer applies go, unless another manager owns them. An apply
    that changes nothing returns an object equal to `live`. Raises ApplyConflict when other managers own
    applied fields with other values and `force` is not set, and PatchError for a configuration that does
    not fit the schema.
    """
    if (config.get("metadata") or {}).get("managedFields") is not None:
        raise PatchError("metadata.managedFields must be nil", code=400)
    present = live if live is not None else zero_object(config, schema)
    version = str(config.get("apiVersion", ""))
    managers = _managers_before_apply(live, schema, version, now)
    applier = Manager(manager or "unknown", "Apply", "", subresource)
    if errors := list(type_errors(config, schema)):
        told = errors[0] if len(errors) == 1 else "\n  ".join(("errors:", *errors))
        raise PatchError(f"failed to create typed patch object ({_named(config)}): {told}", code=500)
    applied = fields_of(config, schema)
    body = _body(present)
    candidate = merged(body, config, schema)
    last = managers[applier].fields if applier in managers else NO_FIELDS
    owned = outside(applied, schema.resets.get(subresource, NO_FIELDS))
    managers[applier] = Entry(owned, version, managers[applier].time if applier in managers else "")
    result = _pruned(candidate, last, managers, schema)
    conflicts = _conflicts(body, result, managers, applier, schema, subresource)
    if conflicts and not force:
        _raise_unless_allowed(conflicts, present, manager, schema)
    managers = _settled(managers, conflicts, compare(body, result, schema).removed, applier)
    managers = _without_meta(managers, applier)
    changed = result != body or live is None
    if applier in managers and changed:
        managers[applier] = replace(managers[applier], time=_timestamp(now))
    if manager == KUBECTL:
        result = with_last_applied(result, config)
    return _with_managers(with_stored_metadata(result, schema), managers)


def record_update(
    old: Object | None,
    new: Object,
    *,
    manager: str,
    schema: Schema,
    now: datetime,
    subresource: str = "",
) -> Object:
    """`new` with the managedFields that a create (`old` is None), update or patch by `manager` leaves behind.

    What changed belongs to the writer from now on; what went belongs to nobody. managedFields sent along
    replace the old ones, except through a subresource; `[{}]`, for built-in kinds also `[]`, resets them.
    """
    before = _body(old) if old is not None else zero_object(new, schema)
    sent = None if subresource else (new.get("metadata") or {}).get("managedFields")
    body = with_stored_metadata(_body(new), schema)
    resets = sent == [{}] or (sent == [] and bool(schema.name))
    held = None if old is None else (old.get("metadata") or {}).get("managedFields")
    managers = {} if resets else _decoded(sent) or _decoded(held)
    if not managers and old is not None:
        return body
    writer = Manager(manager or "unknown", "Update", str(new.get("apiVersion", "")), subresource)
    try:
        managers = _updated(managers, before, body, writer, schema, now)
    except InvalidFieldsError:
        return body
    return with_idle_times_kept(old, _with_managers(body, managers))


def with_idle_times_kept(old: Object | None, new: Object) -> Object:
    """`new` with the managedFields times of `old` when nothing but those times differs, so that no write
    is needed.
    """
    if old is None:
        return new
    before, after = _entries(old), _entries(new)
    timeless = [[{k: v for k, v in e.items() if k != "time"} for e in side] for side in (before, after)]
    return old if timeless[0] == timeless[1] and _body(old) == _body(new) else new


def _updated(
    managers: Managers, before: Object, body: Object, writer: Manager, schema: Schema, now: datetime
) -> Managers:
    difference = compare(before, body, schema)
    seen = difference.without(schema.resets.get(writer.subresource, NO_FIELDS))
    touched = seen.added | seen.modified
    managers = {
        owner: replace(entry, fields=entry.fields - touched - seen.removed)
        for owner, entry in managers.items()
    }
    managers = {owner: entry for owner, entry in managers.items() if entry.fields}
    written = outside(
        difference.added | difference.modified, schema.resets.get(writer.subresource, NO_FIELDS)
    )
    written -= NEVER_OWNED
    if written:
        held = managers[writer].fields if writer in managers else NO_FIELDS
        managers[writer] = Entry(held | written, writer.version, _timestamp(now))
    return _capped(managers)


def _managers_before_apply(live: Object | None, schema: Schema, version: str, now: datetime) -> Managers:
    if live is None:
        return {}
    if managers := _decoded(live.get("metadata", {}).get("managedFields")):
        return managers
    first = Manager(FIRST_APPLY, "Update", version, "")
    return _updated({}, zero_object(live, schema), _body(live), first, schema, now)


def _pruned(candidate: Object, last: FieldSet, managers: Managers, schema: Schema) -> Object:
    if not last:
        return candidate
    last = with_named_parents(last, schema)
    everything = with_named_parents(fields_of(candidate, schema), schema)
    owned = with_named_parents(frozenset().union(*(entry.fields for entry in managers.values())), schema)

    def left(result: Object) -> FieldSet:
        return with_named_parents(fields_of(result, schema), schema)

    without_last = without_fields(candidate, last, schema)
    with_owned = without_fields(candidate, everything - (left(without_last) | owned), schema)
    return without_fields(candidate, (everything - left(with_owned)) & last, schema)


def _conflicts(
    body: Object, result: Object, managers: Managers, applier: Manager, schema: Schema, subresource: str
) -> Mapping[Manager, FieldSet]:
    seen = compare(body, result, schema).without(schema.resets.get(subresource, NO_FIELDS))
    touched = seen.modified | seen.added
    found = {owner: entry.fields & touched for owner, entry in managers.items() if owner != applier}
    return {owner: paths for owner, paths in found.items() if paths}


def _raise_unless_allowed(
    conflicts: Mapping[Manager, FieldSet], live: Object, manager: str, schema: Schema
) -> None:
    allowed = fields_last_applied(live, schema) if manager == KUBECTL else NO_FIELDS
    refused = [
        (owner, path)
        for owner in sorted(conflicts)
        for path in ordered(conflicts[owner])
        if path not in allowed
    ]
    if refused:
        raise ApplyConflict(_conflict_message(refused), tuple(_causes(refused)))


def _causes(refused: Iterable[tuple[Manager, FieldPath]]) -> Iterable[Cause]:
    for owner, path in refused:
        yield Cause("FieldManagerConflict", f"conflict with {owner}", path_text(path))


def _conflict_message(refused: list[tuple[Manager, FieldPath]]) -> str:
    if len(refused) == 1:
        ((owner, path),) = refused
        return f"Apply failed with 1 conflict: conflict with {owner}: {path_text(path)}"
    lines = []
    for index, (owner, path) in enumerate(refused):
        if index == 0 or refused[index - 1][0] != owner:
            lines.append(f"conflicts with {owner}:")
        lines.append(f"- {path_text(path)}")
    return f"Apply failed with {len(refused)} conflicts: " + "\n".join(lines)


def _settled(
    managers: Managers, conflicts: Mapping[Manager, FieldSet], removed: FieldSet, applier: Manager
) -> Managers:
    settled = {
        owner: entry
        if owner == applier
        else replace(entry, fields=entry.fields - conflicts.get(owner, NO_FIELDS) - removed)
        for owner, entry in managers.items()
    }
    return {owner: entry for owner, entry in settled.items() if entry.fields}


def _without_meta(managers: Managers, owner: Manager) -> Managers:
    if owner not in managers:
        return managers
    kept = managers[owner].fields - NEVER_OWNED
    rest = {other: entry for other, entry in managers.items() if other != owner}
    return {**rest, owner: replace(managers[owner], fields=kept)} if kept else rest


def _capped(managers: Managers) -> Managers:
    updaters = [owner for owner in managers if owner.operation == "Update"]
    if len(updaters) <= MAX_UPDATE_MANAGERS:
        return managers
    oldest = sorted(updaters, key=lambda owner: (managers[owner].time, owner))
    result = dict(managers)
    first: dict[str, Manager] = {}
    count = len(updaters)
    for owner in oldest:
        if count <= MAX_UPDATE_MANAGERS:
            break
        if owner.version not in first:
            first[owner.version] = owner
            continue
        bucket = Manager(ANCIENT, "Update", owner.version, "")
        if bucket not in result:
            result[bucket] = result.pop(first[owner.version])
        moved = result.pop(owner)
        result[bucket] = replace(moved, fields=moved.fields | result[bucket].fields)
        count -= 1
    return result


def _timestamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _entries(obj: Object) -> list[Object]:
    return (obj.get("metadata") or {}).get("managedFields") or []


def _body(obj: Object) -> Object:
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name != "managedFields"}
    return {**obj, "metadata": metadata}


def _named(obj: Object) -> str:
    metadata = obj.get("metadata") or {}
    where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return f"{where}; {group}/{version}, Kind={obj.get('kind', '')}"


def _decoded(entries: Any) -> Managers:
    managers: Managers = {}
    for entry in entries or ():
        operation = entry.get("operation")
        version = entry.get("apiVersion") or ""
        if operation not in ("Apply", "Update") or not version or entry.get("fieldsType") != "FieldsV1":
            return {}
        identity_version = "" if operation == "Apply" else version
        owner = Manager(entry.get("manager", ""), operation, identity_version, entry.get("subresource", ""))
        managers[owner] = Entry(parse(entry.get("fieldsV1") or {}), version, entry.get("time") or "")
    return managers


def _with_managers(body: Object, managers: Managers) -> Object:
    if not managers:
        return body
    listed = sorted(
        managers.items(),
        key=lambda item: (
            item[0].operation,
            item[1].time,
            item[0].name,
            item[1].version,
            item[0].subresource,
        ),
    )
    entries = [_encoded(owner, entry) for owner, entry in listed]
    return {**body, "metadata": {**body["metadata"], "managedFields": entries}}


def _encoded(owner: Manager, entry: Entry) -> Object:
    encoded = {
        "manager": owner.name,
        "operation": owner.operation,
        "apiVersion": entry.version,
        "time": entry.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": encode(entry.fields),
        "subresource": owner.subresource,
    }
    return {name: value for name, value in encoded.items() if value != ""}
