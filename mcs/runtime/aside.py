"""Which objects of a resource are kept, and what little is remembered of the others, which are set aside.

A cluster may have thousands of objects that no plan looks at until an object of another resource names them. Values
and counting only: the cache decides with them, `mcs.runtime.demand` fetches what was set aside when it is named.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from mcs.model.names import ServiceKey
from mcs.model.resources import Resource

Index = Callable[[Any], Iterable[Hashable]]


class OnDemand(Struct, frozen=True):
    """Keep of a resource what `always` is true of, and what is in demand: its key is that of an object of `by`.

    The keys of an object are what `index` has for it; without one, its own. `query` gives the selectors of a list of
    all objects of one key, by its name, and None when there can be none. Of the objects that are set aside the values
    of the indexes `outlined` are remembered.
    """

    by: Resource[Any]
    always: Callable[[Any], bool]
    query: Callable[[str], Mapping[str, str] | None]
    index: str = ""
    outlined: tuple[str, ...] = ()


class Outlines:
    """The values that some indexes have for the objects that are set aside; a few bytes for each object."""

    def __init__(self, index_of: Mapping[str, Index]) -> None:
        self.indexes = tuple(index_of)
        self._index_of = index_of
        # Texts: a tuple of two takes more than twice the memory.
        self._having: dict[str, dict[Hashable, set[str]]] = {name: {} for name in index_of}

    def values(self, index: str) -> Iterable[Hashable]:
        """The values that occur in an index."""
        return self._having.get(index, {}).keys()

    def note(self, key: ServiceKey, obj: Any | None) -> None:
        """The object of that key is set aside in this version, or is not any more."""
        for name, values_of in self._index_of.items():
            having, text = self._having[name], str(key)
            values = set(values_of(obj)) if obj is not None else set[Hashable]()
            for value in having.keys() - values:
                having[value].discard(text)
                if not having[value]:
                    del having[value]
            for value in values:
                having.setdefault(value, set()).add(text)

    def __iter__(self) -> Iterator[ServiceKey]:
        """The keys of the objects of which something is remembered, in their order."""
        texts = {text for having in self._having.values() for keys in having.values() for text in keys}
        return iter([ServiceKey(*text.split("/", 1)) for text in sorted(texts)])
