"""The memory of one sandbox cluster: objects by resource, one growing revision, and the log of changes.

It plays the part of etcd: it knows nothing of validation, admission or HTTP (see `api` and `server`).
Everything is synchronous, so that a request is carried out as a whole or not at all. Objects are shared, not
copied: nobody edits what was handed out or in.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from mcs.sandbox.resources import ResourceType

Object = dict[str, Any]
Objects = list[Object]
Key = tuple[str, str]


class ChangeType(StrEnum):
    """What happened to an object, in the words of the watch protocol."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """One step of the log. `new` is, for a deletion, the last state with the revision of the deletion."""

    revision: int
    type: ChangeType
    resource: ResourceType
    old: Object | None
    new: Object


class CompactedError(Exception):
    """The log no longer reaches back to the wanted revision; `oldest` is the first one that can be read."""

    def __init__(self, wanted: int, oldest: int) -> None:
        super().__init__(f"revision {wanted} was compacted, the oldest is {oldest}")
        self.wanted = wanted
        self.oldest = oldest


Changes = list[Change]
Listener = Callable[[Change], None]


def key_of(obj: Object) -> Key:
    """Namespace ("" at cluster scope) and name."""
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


class Store:
    """All objects of one cluster, by `group_resource`: a changed CRD keeps its objects."""

    def __init__(self, history: int = 20_000) -> None:
        self.revision = 1
        self.compacted = 0
        """The highest revision from which neither a watch nor a list can start any more."""
        self._history = history
        self._objects: dict[str, dict[Key, Object]] = {}
        self._log: deque[Change] = deque()
        self._listeners: dict[object, Listener] = {}

    def get(self, resource: ResourceType, namespace: str, name: str) -> Object | None:
        """The present object, or None."""
        return self._objects.get(resource.group_resource, {}).get((namespace, name))

    def list(self, resource: ResourceType, namespace: str | None = None) -> Objects:
        """Present objects ordered by namespace and name; `namespace=None` means all of them."""
        return _ordered(self._objects.get(resource.group_resource, {}), namespace)

    def list_at(self, resource: ResourceType, revision: int, namespace: str | None = None) -> Objects:
        """The objects as they were at a past revision; raises `CompactedError`."""
        if revision < self.compacted:
            raise CompactedError(revision, self.compacted)
        objects = dict(self._objects.get(resource.group_resource, {}))
        for change in reversed(self._log):
            if change.revision <= revision:
                break
            if change.resource.group_resource != resource.group_resource:
                continue
            if change.old is None:
                objects.pop(key_of(change.new), None)
            else:
                objects[key_of(change.old)] = change.old
        return _ordered(objects, namespace)

    def put(self, resource: ResourceType, obj: Object) -> Object:
        """Store the object under the next revision and tell the listeners; returns it so stamped."""
        objects = self._objects.setdefault(resource.group_resource, {})
        old = objects.get(key_of(obj))
        new = self._stamped(obj)
        objects[key_of(obj)] = new
        self._emit(ChangeType.ADDED if old is None else ChangeType.MODIFIED, resource, old, new)
        return new

    def remove(self, resource: ResourceType, namespace: str, name: str) -> Object | None:
        """Remove the object and tell the listeners; returns its last state, or None when there was none."""
        old = self._objects.get(resource.group_resource, {}).pop((namespace, name), None)
        if old is None:
            return None
        new = self._stamped(old)
        self._emit(ChangeType.DELETED, resource, old, new)
        return new

    def listen(self, callback: Listener) -> Callable[[], None]:
        """Call back after each change, in order, from within the write; returns the way to stop it.

        A listener may not write: it queues what it saw and acts later.
        """
        token = object()
        self._listeners[token] = callback

        def unlisten() -> None:
            self._listeners.pop(token, None)

        return unlisten

    def changes_after(self, revision: int) -> Changes:
        """Every later change in order; raises `CompactedError` when some of them are forgotten."""
        if revision < self.compacted:
            raise CompactedError(revision, self.compacted)
        newest_first = (change for change in reversed(self._log))
        return [*_until(newest_first, revision)][::-1]

    def compact(self, revision: int | None = None) -> None:
        """Forget the changes up to a revision (default: all), as etcd's compaction does."""
        self.compacted = max(self.compacted, min(revision or self.revision, self.revision))
        while self._log and self._log[0].revision <= self.compacted:
            self._log.popleft()

    def _stamped(self, obj: Object) -> Object:
        self.revision += 1
        return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.revision)}}

    def _emit(self, kind: ChangeType, resource: ResourceType, old: Object | None, new: Object) -> None:
        change = Change(self.revision, kind, resource, old, new)
        self._log.append(change)
        if len(self._log) > 2 * self._history:
            oldest_kept = next(islice(self._log, self._history, None))
            self.compact(oldest_kept.revision - 1)
        for listener in tuple(self._listeners.values()):
            listener(change)


def _ordered(objects: dict[Key, Object], namespace: str | None) -> Objects:
    return [objects[key] for key in sorted(key for key in objects if namespace in (None, key[0]))]


def _until(newest_first: Iterator[Change], revision: int) -> Iterator[Change]:
    for change in newest_first:
        if change.revision <= revision:
            return
        yield change
