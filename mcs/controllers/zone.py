"""Feeds the DNS zone of one cluster from that cluster's ServiceImports and mirrored EndpointSlices.

Reads nothing else, so DNS goes on while every other cluster is away. What a service answers is decided in
`mcs_dns.zone`.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from mcs.controllers.clusters import mirrored_service_of
from mcs.controllers.propagation import Propagation
from mcs.model.multicluster import ServiceImport
from mcs.model.names import SERVICE_NAME_LABEL, ServiceKey
from mcs.model.resources import ENDPOINT_SLICES, SERVICE_IMPORTS
from mcs.model.slices import EndpointSlice
from mcs.runtime.cache import Cache, Delta
from mcs.runtime.demand import Reflected
from mcs.runtime.fleet import Member, Reachability
from mcs_dns.zone import ImportedService, ReadyEndpoint, Zone, imported_service, ready_endpoints

REFLECTED = (
    Reflected(SERVICE_IMPORTS),
    Reflected(ENDPOINT_SLICES, {"mirrored": mirrored_service_of}, label_selector=SERVICE_NAME_LABEL),
)
"""What `mcs dns` reads of its cluster."""


class ZoneFeed:
    """Keeps `zone` equal to the caches of `member`; `publish` gets each new zone, at most one per loop turn."""

    def __init__(
        self, member: Member[Any], zone: Zone, publish: Callable[[Zone], None], propagation: Propagation
    ) -> None:
        self.zone = zone
        self._publish = publish
        self._member = member
        self._imports: Cache[ServiceImport] = member.caches[SERVICE_IMPORTS.plural]
        self._slices: Cache[EndpointSlice] = member.caches[ENDPOINT_SLICES.plural]
        self._propagation = propagation
        self._ready: dict[ServiceKey, tuple[EndpointSlice, tuple[ReadyEndpoint, ...]]] = {}
        self._changed: set[ServiceKey] = set()
        self._arrived: list[Delta[EndpointSlice]] = []
        self._is_scheduled = False
        self._imports.listen(self._import_changed)
        self._slices.listen(self._slice_changed)
        member.on_seen(lambda _: self._schedule())

    @property
    def age(self) -> float:
        """Seconds that the zone may be behind: since the API server was last heard of, if it is away, else 0."""
        heard = self._member.heard
        if heard is None or self._member.reachability is not Reachability.UNREACHABLE:
            return 0.0
        return asyncio.get_running_loop().time() - heard

    def _import_changed(self, delta: Delta[ServiceImport]) -> None:
        self._changed.add(delta.key)
        self._schedule()

    def _slice_changed(self, delta: Delta[EndpointSlice]) -> None:
        if delta.new is None:
            self._ready.pop(delta.key, None)
        touched = [each.service for each in (delta.old, delta.new) if each is not None and each.is_mirror]
        if touched:
            self._changed.update(touched)
            if self._member.is_seen:
                self._arrived.append(delta)
            self._schedule()

    def _schedule(self) -> None:
        # Until everything has been listed once an absent name is unknown, not absent: the zone stays unsynced.
        if self._member.is_seen and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_scheduled = False
        changes = {key: self._service(key) for key in self._changed}
        self._changed.clear()
        zone = self.zone.with_services(changes).as_synced()
        if zone is not self.zone:
            self.zone = zone
            self._publish(zone)
        for delta in self._arrived:
            self._propagation.answerable(self._member.cluster, delta.old, delta.new)
        self._arrived.clear()

    def _service(self, key: ServiceKey) -> ImportedService | None:
        service_import = self._imports.get(key)
        if service_import is None:
            return None
        return imported_service(service_import, self._slices.by("mirrored", key), self._endpoints_of)

    def _endpoints_of(self, mirror: EndpointSlice) -> tuple[ReadyEndpoint, ...]:
        known = self._ready.get(mirror.key)
        if known is None or known[0] is not mirror:
            known = self._ready[mirror.key] = (mirror, ready_endpoints(mirror))
        return known[1]
