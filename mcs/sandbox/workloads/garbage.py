"""Owner references at work: what loses its last owner goes, and a deletion waits for or lets go of dependents.

Source: Kubernetes concepts, "Garbage Collection" (Foreground, Background, Orphaned dependents).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from mcs.sandbox.resources import ResourceType
from mcs.sandbox.rules.deletion import FOREGROUND, ORPHAN
from mcs.sandbox.store import Change, ChangeType, Key, Object, Store, key_of
from mcs.sandbox.workloads.actions import Actions, Delete, Update
from mcs.sandbox.workloads.ownership import is_being_deleted, without_owners


@dataclass(frozen=True, slots=True)
class Place:
    """Where an object is stored."""

    resource: ResourceType
    key: Key


class OwnerGraph:
    """Which uids exist, and which objects name them as owner; kept up by every change."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._dependents: dict[str, dict[str, Place]] = {}

    def follow(self, change: Change) -> list[Place]:
        """Take the change in; the objects that have to be looked at because of it."""
        obj = change.new
        uid, place = obj["metadata"]["uid"], Place(change.resource, key_of(obj))
        before = owner_uids(change.old) if change.old is not None else set()
        gone = change.type is ChangeType.DELETED
        after = set() if gone else owner_uids(obj)
        for owner in before - after:
            self._dependents.get(owner, {}).pop(uid, None)
        for owner in after:
            self._dependents.setdefault(owner, {})[uid] = place
        if gone:
            self._places.pop(uid, None)
            left = list(self._dependents.pop(uid, {}).values())
            return [*left, *(self._places[owner] for owner in sorted(before) if owner in self._places)]
        self._places[uid] = place
        waits = is_being_deleted(obj) and _deletion_finalizers(obj)
        return [place] if after - before or waits else []

    def exists(self, uid: str) -> bool:
        """Whether an object has this uid."""
        return uid in self._places

    def dependents(self, uid: str) -> list[Place]:
        """The objects that name the uid as an owner."""
        return list(self._dependents.get(uid, {}).values())


def owner_uids(obj: Object) -> set[str]:
    """The uids of all owners."""
    return {reference["uid"] for reference in obj["metadata"].get("ownerReferences") or ()}


def _deletion_finalizers(obj: Object) -> set[str]:
    return {FOREGROUND, ORPHAN} & set(obj["metadata"].get("finalizers") or ())


def observed_dependents(graph: OwnerGraph, store: Store, obj: Object) -> list[tuple[ResourceType, Object]]:
    """The present dependents of an object, with their resources."""
    places = graph.dependents(obj["metadata"]["uid"])
    found = ((place.resource, store.get(place.resource, *place.key)) for place in places)
    return [(resource, dependent) for resource, dependent in found if dependent is not None]


def plan_collection(
    resource: ResourceType,
    obj: Object,
    absent_owners: set[str],
    dependents: Iterable[tuple[ResourceType, Object]],
) -> Actions:
    """What the collector does with one object: as a dependent without owners, and as an owner that is to go."""
    if is_being_deleted(obj):
        return _plan_owner(resource, obj, list(dependents))
    owners = owner_uids(obj)
    if owners and owners <= absent_owners:
        return [Delete(resource, obj, "" if _deletion_finalizers(obj) else "Background")]
    if owners & absent_owners:
        return [Update(resource, without_owners(obj, absent_owners))]
    return []


def _plan_owner(
    resource: ResourceType, obj: Object, dependents: list[tuple[ResourceType, Object]]
) -> Actions:
    uid, finalizers = obj["metadata"]["uid"], _deletion_finalizers(obj)
    if ORPHAN in finalizers:
        freed = [Update(kind, without_owners(dependent, {uid})) for kind, dependent in dependents]
        return [*freed, Update(resource, _without_finalizer(obj, ORPHAN))]
    if FOREGROUND not in finalizers:
        return []
    if not any(_blocks(dependent, uid) for _, dependent in dependents):
        return [Update(resource, _without_finalizer(obj, FOREGROUND))]
    return [Delete(kind, d, "Foreground") for kind, d in dependents if not is_being_deleted(d)]


def _blocks(dependent: Object, uid: str) -> bool:
    references = dependent["metadata"].get("ownerReferences") or ()
    return any(ref["uid"] == uid and ref.get("blockOwnerDeletion") for ref in references)


def _without_finalizer(obj: Object, name: str) -> Object:
    metadata = obj["metadata"]
    left = [each for each in metadata.get("finalizers") or () if each != name]
    return {**obj, "metadata": {**metadata, "finalizers": left}}
