"""A cluster whose lists, watches and fetches answer as late as one likes, and two members that read it.

One member keeps everything, the other sets aside what no export names; both are told the same at the same moments.
`Telling.complaints` says what is wrong with what plans would see of the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from mcs.controllers.clusters import REFLECTED, ClusterCaches
from mcs.kube.decode import Page
from mcs.kube.errors import ServerError
from mcs.model.meta import KubernetesObject
from mcs.model.names import API_SERVER, ClusterId, ServiceKey, mirror_name
from mcs.model.resources import ENDPOINT_SLICES, SERVICE_EXPORTS, SERVICES, Resource
from mcs.model.slices import EndpointSlice
from mcs.runtime.cache import Cache, Delta
from mcs.runtime.demand import Demand
from mcs.testing.builders import export, service, slice_

KEYS = (ServiceKey("demo", "web"), ServiceKey("demo", "db"))
PLACES = ("a", "b")
TOLD = (SERVICE_EXPORTS, SERVICES, ENDPOINT_SLICES)
View = tuple[str, frozenset[tuple[str, str]]]
"""What a plan sees of one service: the version of its Service and those of its slices, empty for none."""


class Event(NamedTuple):
    version: int
    key: ServiceKey
    obj: Any | None


class Told:
    """One resource: what happened to it, how far its watch has come, and the list that is under way, if one is."""

    def __init__(self, plural: str) -> None:
        self.plural = plural
        self.events: list[Event] = []
        self.reached = 0
        self.listing: int | None = 0

    def state(self, events: int) -> dict[ServiceKey, Any]:
        """The objects after the first so many events."""
        state: dict[ServiceKey, Any] = {}
        for _, key, obj in self.events[:events]:
            state.pop(key, None)
            if obj is not None:
                state[key] = obj
        return state


class Telling:
    """The cluster. Every method is one thing that happens; which object it happens to is drawn by numbers."""

    def __init__(self) -> None:
        self.told = {each.plural: Told(each.plural) for each in TOLD}
        self.version = 0
        self.answers: list[asyncio.Future[bool]] = []
        self.whole = self._caches(on_demand=False)
        self.some = self._caches(on_demand=True)
        self.demand = Demand(self.some, REFLECTED)
        self.planned: dict[ServiceKey, View | None] = {}
        self._dirty: set[ServiceKey] = set()
        for plural in self.told:
            self.some[plural].listen(self._touched)
        self.view_of_whole, self.view_of_some = ClusterCaches.of(self.whole), ClusterCaches.of(self.some)
        self._write(SERVICES, API_SERVER, service(API_SERVER))
        for which in range(2):
            self.change_service(which, 2)
            self.change_slice(which, which + 1)

    @staticmethod
    def _caches(*, on_demand: bool) -> dict[str, Cache[Any]]:
        return {
            each.resource.plural: Cache(each.indexes, each.on_demand if on_demand else None)
            for each in REFLECTED
        }

    # What happens in the cluster.

    def _write(self, resource: Resource[Any], key: ServiceKey, obj: Any | None) -> None:
        told = self.told[resource.plural]
        if obj is None and key not in told.state(len(told.events)):
            return
        self.version += 1
        if obj is not None:
            obj = replace(obj, metadata=replace(obj.metadata, resource_version=str(self.version)))
        told.events.append(Event(self.version, key, obj))

    def change_export(self, which: int, what: int) -> None:
        """It is made, or goes."""
        key = KEYS[which % len(KEYS)]
        self._write(SERVICE_EXPORTS, key, export(key) if what % 2 else None)

    def change_service(self, which: int, what: int) -> None:
        """It is made, changed, gets or loses an IPv6 address, or goes."""
        key = KEYS[which % len(KEYS)]
        families = ("IPv4", "IPv6") if what % 3 == 1 else ("IPv4",)
        self._write(SERVICES, key, service(key, families=families) if what % 3 else None)

    def change_slice(self, which: int, what: int) -> None:
        """It is made, changed, comes to be of another service, or goes."""
        place = ServiceKey("demo", PLACES[which % len(PLACES)])
        made = slice_(place.name, "10.0.0.1", key=KEYS[what % 3 - 1]) if what % 3 else None
        self._write(ENDPOINT_SLICES, place, made)

    def change_mirror(self, which: int, what: int) -> None:
        """Somebody's object takes the name of a mirror, or gives it up."""
        place = ServiceKey("demo", mirror_name(ClusterId("c2"), KEYS[which % len(KEYS)], "a", "IPv4"))
        self._write(ENDPOINT_SLICES, place, slice_(place.name, "10.0.0.1") if what % 2 else None)

    # What is told of it, and when.

    def tell(self, which: int, many: int) -> None:
        """The watch of a resource tells some of what happened, unless it has to be listed first."""
        told = self._told(which)
        if told.listing is not None:
            return
        for version, key, obj in told.events[told.reached :][: 1 + many % 3]:
            for caches in (self.whole, self.some):
                if obj is None:
                    caches[told.plural].discard(key, str(version))
                else:
                    caches[told.plural].put(obj)
            told.reached += 1

    def begin_list(self, which: int, _: int) -> None:
        """A resource is listed: nothing is told of it until that has arrived."""
        told = self._told(which)
        told.listing = len(told.events)

    def end_list(self, which: int, _: int) -> None:
        """The list that is under way arrives, as old as it is by now."""
        told = self._told(which)
        if told.listing is None:
            return
        told.reached, told.listing = told.listing, None
        for caches in (self.whole, self.some):
            caches[told.plural].replace(told.state(told.reached).values())
        self.demand.begin()
        self.demand.settle()

    def answer(self, which: int, what: int) -> None:
        """A fetch is answered with what there was when it was asked, or fails."""
        waiting = [each for each in self.answers if not each.done()]
        if waiting:
            waiting[which % len(waiting)].set_result(what % 4 != 0)

    def _told(self, which: int) -> Told:
        return self.told[TOLD[which % len(TOLD)].plural]

    async def list_pages(
        self,
        resource: Resource[Any],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncGenerator[Page[Any], None]:
        """What a fetch asks for."""
        told = self.told[resource.plural]
        page = Page[Any](tuple(told.state(len(told.events)).values()), str(self.version))
        answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.answers.append(answered)
        if not await answered:
            raise ServerError(503)
        selected = (label_selector or field_selector).partition("=")[2]
        yield Page(tuple(each for each in page.items if _selected(each, selected)), page.resource_version)

    # What plans see.

    def _touched(self, delta: Delta[KubernetesObject]) -> None:
        self._dirty.add(delta.key)
        self._dirty |= {each.service for each in (delta.old, delta.new) if isinstance(each, EndpointSlice)}

    def plan(self) -> None:
        """Look at what was touched, once the cluster has been seen; what is unknown is left as it was."""
        if not self.is_seen:
            return
        for key in self._dirty & set(KEYS):
            if not self.view_of_some.is_unknown(key):
                self.planned[key] = view(self.view_of_some, key)
        self._dirty.clear()

    @property
    def is_seen(self) -> bool:
        return all(self.some[plural].is_synced for plural in self.told)

    def complaints(self) -> Iterator[str]:
        """What of exports plans see that was over before the watch came so far."""
        for key in KEYS:
            if (
                self.is_seen
                and _is_exported(self.view_of_some, key)
                and not self.view_of_some.is_unknown(key)
            ):
                services, slices = view(self.view_of_some, key)
                if services not in self._since_told(SERVICES, key, key):
                    yield f"{key}: Service of version {services!r}"
                for place in PLACES:
                    seen = dict(slices).get(place, "")
                    if seen not in self._since_told(ENDPOINT_SLICES, ServiceKey("demo", place), key):
                        yield f"{key}: slice {place} of version {seen!r}"

    def _since_told(self, resource: Resource[Any], place: ServiceKey, key: ServiceKey) -> set[str]:
        """The versions that an object of the service had since the watch last told of it; "" for none."""
        told = self.told[resource.plural]
        versions = {""}
        for number, (version, each, obj) in enumerate(told.events):
            if each == place:
                is_of_it = obj is not None and (resource is SERVICES or obj.service == key)
                versions = {str(version) if is_of_it else ""} | (
                    versions if number >= told.reached else set()
                )
        return versions


def view(caches: ClusterCaches, key: ServiceKey) -> View:
    """What a plan sees of an exported service."""
    if not _is_exported(caches, key):
        return "", frozenset()
    held = caches.services.get(key)
    return held.metadata.resource_version if held is not None else "", frozenset(
        (each.metadata.name, each.metadata.resource_version) for each in caches.slices.by("service", key)
    )


def _is_exported(caches: ClusterCaches, key: ServiceKey) -> bool:
    return caches.exports.get(key) is not None


def _selected(obj: Any, name: str) -> bool:
    return (obj.service.name if isinstance(obj, EndpointSlice) else obj.metadata.name) == name
