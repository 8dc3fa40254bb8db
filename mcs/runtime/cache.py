"""The last known objects of one resource in one cluster, with indexes.

A cache is filled by its reflector and, right after a write, by the executor, so that the next plan does not depend on
how fast the watch is. It never forgets on its own: what it holds stays while the cluster cannot be reached. It knows
objects and keys; what they mean is for its listeners. What is not in demand it may set aside: it lets go of the object,
which has not gone for that, and says so when the object is in demand but not here yet.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct

from mcs.model.meta import KubernetesObject
from mcs.model.names import ServiceKey
from mcs.runtime.aside import Index, OnDemand, Outlines

T = TypeVar("T", bound=KubernetesObject)


class Delta(Struct, Generic[T], frozen=True):
    """One object changed: `old` is None when it appeared, `new` is None when it went.

    Both are None when the object of that key became malformed, or ceased to be, or something else became known that
    concerns the key; whatever else changed with that has a delta of its own before.
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

    def __init__(self, indexes: Mapping[str, Index] | None = None, on_demand: OnDemand | None = None) -> None:
        self.is_synced = False
        self.malformed: dict[ServiceKey, str] = {}
        self._malformed_in: Counter[str] = Counter()
        self._objects: dict[ServiceKey, T] = {}
        self._index_of = dict(indexes or {})
        self._indexed: dict[str, dict[Hashable, set[ServiceKey]]] = {name: {} for name in self._index_of}
        self._deleted: dict[ServiceKey, str] = {}
        self._listeners: list[Listener] = []
        self._on_demand = on_demand
        self._is_in_demand: Callable[[ServiceKey], bool] | None = None
        self._outlines = Outlines(
            {name: self._index_of[name] for name in on_demand.outlined} if on_demand else {}
        )
        self._awaited: dict[ServiceKey, object] = {}
        self._gone: dict[ServiceKey, str] = {}
        """What went, or was set aside, while something was awaited, with the version that told of it."""

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
        """The values that occur in an index, those of what is set aside included where they are remembered."""
        return list({**self._indexed[index], **dict.fromkeys(self._outlines.values(index))})

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
        if self._awaited:
            self._gone[key] = version
        if old is None or not is_older(version, old.metadata.resource_version):
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
        # The list has what was awaited, as it was when the watch goes on.
        self._awaited.clear()
        self._gone.clear()
        for key in [key for key in self._objects if key not in listed and key not in self.malformed]:
            self._set(key, self._objects[key], None)
        for key in [key for key in self._outlines if key not in listed and key not in self.malformed]:
            self._set(key, None, None)
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

    # What is in demand.

    def keep_only(self, is_in_demand: Callable[[ServiceKey], bool]) -> None:
        """Set aside, now and from now on, what may be and is not in demand. Nobody is told: it has not gone."""
        self._is_in_demand = is_in_demand
        objects, self._objects = self._objects, {}
        self._indexed = {name: {} for name in self._index_of}
        for key, obj in objects.items():
            self._hold(key, None, obj)

    def demand(self, key: ServiceKey) -> None:
        """The key is in demand now: its objects may have been set aside and are awaited."""
        # A first list that is under way began with everything, and has them.
        if self._is_in_demand is not None and self.is_synced:
            self._awaited[key] = object()

    def release(self, key: ServiceKey) -> None:
        """The key is not in demand any more: its objects are set aside. Nobody is told: they have not gone."""
        self._awaited.pop(key, None)
        held = (
            self.by(self._on_demand.index, key)
            if self._on_demand and self._on_demand.index
            else [self.get(key)]
        )
        for obj in held:
            if obj is not None and not self._is_kept(obj):
                self._hold(obj.key, obj, obj)
        self._forget_what_went()

    @property
    def is_awaiting(self) -> bool:
        """True when anything that is in demand is not here yet."""
        return bool(self._awaited)

    def awaited(self, key: ServiceKey) -> object | None:
        """What an answer to this demand of the key has to show to `fill`; None when nothing is awaited of it."""
        return self._awaited.get(key)

    def fill(
        self, key: ServiceKey, demand: object, objects: Iterable[T], malformed: Mapping[ServiceKey, str]
    ) -> None:
        """Take in a list of all objects of a key, asked for after `demand`.

        What the watch told since then is later, unless versions say that it lags behind.
        """
        if self._awaited.get(key) is not demand:
            return
        for obj in objects:
            if key in self._keys_of(obj) and self._is_not_behind(obj.key, obj.metadata.resource_version):
                self.put(obj)
        for each, version in malformed.items():
            if self._is_not_behind(each, version):
                self.mark_malformed(each, version)
        del self._awaited[key]
        self._forget_what_went()

    def touch(self, key: ServiceKey) -> None:
        """Tell the listeners that something became known that concerns the key."""
        self._tell(Delta(key, None, None))

    def _is_not_behind(self, key: ServiceKey, version: str) -> bool:
        """True when a version that was listed is not behind what the watch told of the key while it was awaited."""
        held = self._objects.get(key)
        told = (
            held.metadata.resource_version if held is not None else self._gone.get(key),
            self.malformed.get(key),
        )
        return all(known in (None, version) or is_older(known, version) for known in told)

    def _forget_what_went(self) -> None:
        if not self._awaited:
            self._gone.clear()

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
        before = self._outlined()
        self._hold(key, old, new)
        if new is not None and self._awaited and key not in self._objects:
            self._gone[key] = new.metadata.resource_version
        if old is not None or key in self._objects:
            self._tell(Delta(key, old, new))
        elif before != self._outlined():
            self._tell(Delta(key, None, None))

    def _outlined(self) -> list[set[Hashable]]:
        """What occurs in the indexes that know what is set aside as well."""
        return [set(self.values(name)) for name in self._outlines.indexes]

    def _hold(self, key: ServiceKey, old: T | None, new: T | None) -> None:
        """Hold `new` instead of `old`, or set it aside."""
        kept = new if new is not None and self._is_kept(new) else None
        for name, values_of in self._index_of.items():
            before = set(values_of(old)) if old is not None else set()
            after = set(values_of(kept)) if kept is not None else set()
            keys = self._indexed[name]
            for value in before - after:
                keys[value].discard(key)
                if not keys[value]:
                    del keys[value]
            for value in after - before:
                keys.setdefault(value, set()).add(key)
        if kept is not None:
            self._objects[key] = kept
        elif old is not None:
            del self._objects[key]
        if new is not None:
            self._gone.pop(key, None)
        self._outlines.note(key, new if kept is None else None)

    def _is_kept(self, obj: T) -> bool:
        if self._on_demand is None or self._is_in_demand is None:
            return True
        return self._on_demand.always(obj) or any(map(self._is_in_demand, self._keys_of(obj)))

    def _keys_of(self, obj: T) -> Iterable[Any]:
        """The keys that have to be in demand for the object to be."""
        index = self._on_demand.index if self._on_demand is not None else ""
        return self._index_of[index](obj) if index else (obj.key,)

    def _tell(self, delta: Delta[T]) -> None:
        for listener in self._listeners:
            listener(delta)
