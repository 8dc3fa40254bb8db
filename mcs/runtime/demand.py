"""Fetches what a cluster's caches have set aside when it is in demand after all.

Until that has been answered it is awaited: it exists or it does not, nobody here knows. An answer fills only what the
watch has not told since. What makes an object in demand is said by `OnDemand`; retries are left to the worker.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from mcs.kube.decode import Page
from mcs.kube.errors import Invalid, ServerError
from mcs.model.meta import KubernetesObject
from mcs.model.names import ServiceKey
from mcs.model.resources import Resource
from mcs.runtime.aside import Index, OnDemand
from mcs.runtime.cache import Cache, Delta
from mcs.runtime.queue import WorkQueue
from mcs.runtime.worker import WorkCounts, work

T = TypeVar("T", bound=KubernetesObject)

FETCHERS = 8
"""Lists that may be under way in one cluster at once."""


class Lister(Protocol):
    """What fetching takes of a client (`mcs.kube.client.Client` is one)."""

    def list_pages(
        self,
        resource: Resource[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncGenerator[Page[T], None]: ...


class Reflected(Struct, frozen=True):
    """A resource to keep a cache of, with the indexes of that cache.

    A member counts as seen without one that `may_be_forbidden` when its API server does not let it be read.
    """

    resource: Resource[Any]
    indexes: Mapping[str, Index] = {}
    label_selector: str = ""
    may_be_forbidden: bool = False
    on_demand: OnDemand | None = None


class Fetch(NamedTuple):
    """The objects of one key of a resource, by its plural."""

    plural: str
    key: ServiceKey

    def __str__(self) -> str:
        return f"{self.plural} of {self.key}"


class _Demanded(NamedTuple):
    resource: Resource[Any]
    cache: Cache[Any]
    on_demand: OnDemand


class Demand:
    """Keeps those of `caches` that are `reflected` on demand, all by the same resource, to what is in demand.

    When all is answered that was awaited of a key, the cache of that resource tells its listeners.
    """

    def __init__(self, caches: Mapping[str, Cache[Any]], reflected: Sequence[Reflected]) -> None:
        self.queue: WorkQueue[Fetch] = WorkQueue()
        self.counts = WorkCounts()
        self._demanded = {
            each.resource.plural: _Demanded(each.resource, caches[each.resource.plural], each.on_demand)
            for each in reflected
            if each.on_demand is not None
        }
        self._by = next((caches[each.on_demand.by.plural] for each in self._demanded.values()), None)
        self._awaited: set[ServiceKey] = set()
        self._is_selective = False
        if self._by is not None:
            self._by.listen(self._changed)

    def begin(self) -> None:
        """Set aside what is not in demand, once it is known what is."""
        if self._by is not None and self._by.is_synced and not self._is_selective:
            self._is_selective = True
            for each in self._demanded.values():
                each.cache.keep_only(self._is_in_demand)

    def settle(self) -> None:
        """Tell of the keys of which nothing is awaited any more: complete lists may have answered."""
        for key in sorted(self._awaited):
            self._settle(key)

    async def run(self, lister: Lister, *, cluster: str) -> None:
        """Fetch what is in demand until cancelled; what was not answered before is asked for again at once."""
        if self._by is None:
            return
        self._resume()
        async with asyncio.TaskGroup() as tasks:
            for number in range(FETCHERS):
                tasks.create_task(
                    work(self.queue, partial(self._fetch, lister), self.counts, cluster=cluster),
                    name=f"{cluster}/fetch/{number}",
                )

    async def _fetch(self, lister: Lister, fetch: Fetch) -> None:
        """Ask for the objects of a key, if they are awaited, and take the answer in. Raises KubeError."""
        resource, cache, on_demand = self._demanded[fetch.plural]
        if (demand := cache.awaited(fetch.key)) is not None:
            query = on_demand.query(fetch.key.name)
            found: list[Any] = []
            malformed: dict[ServiceKey, str] = {}
            if query is not None:
                listed = lister.list_pages(resource, namespace=fetch.key.namespace, **query)
                try:
                    async with aclosing(listed) as pages:
                        async for page in pages:
                            found += page.items
                            malformed |= {
                                ServiceKey(each.namespace, each.name): each.resource_version
                                for each in page.malformed
                            }
                except Invalid as error:
                    # What is invalid waits until an object changes; here no object is to blame.
                    raise ServerError(error.code, error.reason, error.message) from error
            cache.fill(fetch.key, demand, found, malformed)
        self._settle(fetch.key)

    def _settle(self, key: ServiceKey) -> None:
        if self._by is not None and key in self._awaited and not self._lacks(key):
            self._awaited.discard(key)
            self._by.touch(key)

    def _resume(self) -> None:
        for key in sorted(self._awaited):
            for plural in self._lacks(key):
                self.queue.add(Fetch(plural, key))

    def _changed(self, delta: Delta[Any]) -> None:
        key = delta.key
        if delta.old is None and delta.new is not None:
            for each in self._demanded.values():
                each.cache.demand(key)
            if lacking := self._lacks(key):
                self._awaited.add(key)
                for plural in lacking:
                    self.queue.add(Fetch(plural, key))
        elif delta.old is not None and delta.new is None:
            self._awaited.discard(key)
            for each in self._demanded.values():
                each.cache.release(key)

    def _is_in_demand(self, key: ServiceKey) -> bool:
        return self._by is not None and self._by.get(key) is not None

    def _lacks(self, key: ServiceKey) -> list[str]:
        """The resources of which objects of the key are awaited."""
        return [plural for plural, each in self._demanded.items() if each.cache.awaited(key) is not None]
