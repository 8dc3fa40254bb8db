"""The last known objects of one resource in one cluster, with indexes.

A cache is filled by its reflector and, right after a write, by the executor, so that the next plan does not depend on
how fast the watch is. It never forgets on its own: what it holds stays while the cluster cannot be reached. It knows
objects and keys; what they mean is for its listeners.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct

from mcs.model.meta import KubernetesObject
from mcs.model.names import ServiceKey

T = TypeVar("T", bound=KubernetesObject)
Index = Callable[[Any], Iterable[Hashable]]


class Delta(Struct, Generic[T], frozen=True):
    """One object changed: `old` is None when it appeared, `new` is None when it went.

    Both are None when the object of that key became malformed, or ceased to be; whatever else changed with that has
    a delta of its own before.
    """

    key: ServiceKey
    old: T | None
    new: T | None


Listener = Callable[[Delta[Any]], None]


def is_older(version: str, than: str) -> bool:
    """True when resource version `version` precedes `than`; versions that are no integers are never older."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)


class Cache(Generic[T]):
    """Objects by (namespace, name). `is_synced` turns True when the first complete list has arrived.

    `malformed` holds the keys of objects that exist but could not be decoded, with the version that could not: for
    these the cache keeps the last good version, if there was one, and nobody may take them for absent.
    """

    def __init__(self, indexes: Mapping[str, Index] | None = None) -> None:
        self.is_synced = False
        self.malformed: dict[ServiceKey, str] = {}
        self._malformed_in: Counter[str] = Counter()
        self._objects: dict[ServiceKey, T] = {}
        self._index_of = dict(indexes or {})
        self._indexed: dict[str, dict[Hashable, set[ServiceKey]]] = {name: {} for name in self._index_of}
        self._deleted: dict[ServiceKey, str] = {}
        self._listeners: list[Listener] = []

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def get(self, key: ServiceKey) -> T | None:
        """The object of that key, or None."""
        return self._objects.get(key)

    def by(self, index: str, value: Hashable) -> list[T]:
        """The objects whose index `index` holds `value`, ordered by key."""
        return [self._objects[key] for key in sorted(self._indexed[index].get(value, ()))]

    def values(self, index: str) -> list[Hashable]:
        """The values that occur in an index."""
        return list(self._indexed[index])

    def has_malformed_in(self, namespace: str) -> bool:
        """True when an object of that namespace exists but could not be decoded."""
        return self._malformed_in[namespace] > 0

    def listen(self, listener: Listener) -> None:
        """Call `listener` with every delta from now on, in the order they happen."""
        self._listeners.append(listener)

    def put(self, obj: T) -> None:
        """Take in a newer version of an object; an older or equal one, or one deleted since, changes nothing."""
        key = obj.key
        version = obj.metadata.resource_version
        old = self._objects.get(key)
        if old is not None:
            known = old.metadata.resource_version
            if version == known or is_older(version, known):
                # A write of ours may have been answered before the watch told of a malformed version before it.
                if self._is_well_again(key, version):
                    self._tell(Delta(key, None, None))
                return
        elif (deleted := self._deleted.get(key)) is not None:
            if version == deleted or is_older(version, deleted):
                return
            del self._deleted[key]
        is_well_again = self._is_well_again(key, version)
        self._set(key, old, obj)
        if is_well_again:
            self._tell(Delta(key, None, None))

    def discard(self, key: ServiceKey, version: str = "") -> None:
        """Forget an object that the server reports deleted at `version` (of the deletion).

        A deletion older than the version held belongs to a predecessor of the same name and changes nothing.
        """
        old = self._objects.get(key)
        self._deleted.pop(key, None)
        was_malformed = key in self.malformed
        if was_malformed:
            self._strike_off(key)
        if old is not None and not is_older(version, old.metadata.resource_version):
            self._set(key, old, None)
        if was_malformed:
            self._tell(Delta(key, None, None))

    def discard_written(self, obj: T) -> None:
        """Forget an object that we just deleted; events of its past that are still on their way are ignored."""
        key = obj.key
        if (old := self._objects.get(key)) is not None and old.metadata.uid == obj.metadata.uid:
            self._set(key, old, None)
            self._deleted[key] = old.metadata.resource_version

    def replace(self, objects: Iterable[T], malformed: Mapping[ServiceKey, str] | None = None) -> None:
        """Take in a complete list: what it lacks is gone, whatever the versions say; `malformed` is not gone."""
        listed = {obj.key: obj for obj in objects}
        before = self.malformed
        self.malformed = dict(malformed or {})
        self._malformed_in = Counter(key.namespace for key in self.malformed)
        self._deleted.clear()
        for key in [key for key in self._objects if key not in listed and key not in self.malformed]:
            self._set(key, self._objects[key], None)
        for key, obj in listed.items():
            old = self._objects.get(key)
            if old is None or old.metadata.resource_version != obj.metadata.resource_version:
                self._set(key, old, obj)
        self.is_synced = True
        for key in sorted(before.keys() ^ self.malformed.keys()):
            self._tell(Delta(key, None, None))

    def mark_malformed(self, key: ServiceKey, version: str = "") -> None:
        """An object arrived that cannot be decoded: its last good version stays, if there was one.

        A version older than the one held was overcome since; "" is a version that could not be read either.
        """
        held = self._objects.get(key)
        if held is not None and is_older(version, held.metadata.resource_version):
            return
        is_new = key not in self.malformed
        self.malformed[key] = version
        if is_new:
            self._malformed_in[key.namespace] += 1
            self._tell(Delta(key, None, None))

    def _is_well_again(self, key: ServiceKey, version: str) -> bool:
        """Strike `key` off the malformed objects if `version`, which is well, is a later one."""
        malformed = self.malformed.get(key)
        if malformed is None or version == malformed or is_older(version, malformed):
            return False
        self._strike_off(key)
        return True

    def _strike_off(self, key: ServiceKey) -> None:
        del self.malformed[key]
        self._malformed_in[key.namespace] -= 1
        if not self._malformed_in[key.namespace]:
            del self._malformed_in[key.namespace]

    def _set(self, key: ServiceKey, old: T | None, new: T | None) -> None:
        for name, values_of in self._index_of.items():
            before = set(values_of(old)) if old is not None else set()
            after = set(values_of(new)) if new is not None else set()
            keys = self._indexed[name]
            for value in before - after:
                keys[value].discard(key)
                if not keys[value]:
                    del keys[value]
            for value in after - before:
                keys.setdefault(value, set()).add(key)
        if new is None:
            del self._objects[key]
        else:
            self._objects[key] = new
        self._tell(Delta(key, old, new))

    def _tell(self, delta: Delta[T]) -> None:
        for listener in self._listeners:
            listener(delta)
