"""Puts the parts together into the two things that run: the controller and the DNS server of one cluster.

Each runs until it is cancelled and stops everything it started. Where clients come from is given; the command line, the
sandbox and the tests give different ones.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from prometheus_client import CollectorRegistry

from mcs.controllers import clusters, zone
from mcs.controllers.clusters import Work
from mcs.controllers.propagation import Propagation
from mcs.controllers.services import ServicesController
from mcs.controllers.zone import ZoneFeed
from mcs.model.names import ClusterId
from mcs.runtime.fleet import Client, Fleet, Member
from mcs.web.metrics import DnsCollector, FleetCollector, Requests, new_registry
from mcs.web.server import WebServer
from mcs_dns.server import DnsServer
from mcs_dns.zone import Zone

OpenClient = Callable[[], AbstractAsyncContextManager[Client]]
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The wall clock; tests give another one."""
    return datetime.now(UTC)


class Listen(Struct, frozen=True):
    """An address to listen on; port 0 lets the system choose."""

    host: str
    port: int


class DnsOptions(Struct, frozen=True, kw_only=True):
    """Where to answer, and the zone to answer for. `ttl` is in seconds."""

    listen: Listen
    origin: str = "clusterset.local"
    ttl: int = 5


class Process:
    """What both processes share: metrics, probes, an optional DNS server, and the order of starting and stopping."""

    def __init__(
        self,
        fleet: Fleet[Any],
        registry: CollectorRegistry,
        propagation: Propagation,
        requests: Callable[[], Mapping[str, Requests]],
    ) -> None:
        self.fleet = fleet
        self.dns: DnsServer | None = None
        self.web: WebServer | None = None
        self.started = asyncio.Event()
        """Set once every listener listens; the members may still be unreachable."""
        self._registry = registry
        self._propagation = propagation
        registry.register(FleetCollector(fleet, requests))
        self._feed: ZoneFeed | None = None
        self._reconcile: Callable[[ClusterId, Any], Awaitable[None]] | None = None

    def serve_dns(self, member: Member[Any], options: DnsOptions) -> None:
        """Answer the zone of `member` from the caches it has anyway."""
        empty = Zone.empty(options.origin, ttl=options.ttl)
        server = DnsServer(empty, options.listen.host, options.listen.port)

        def publish(published: Zone) -> None:
            server.zone = published

        self.dns = server
        self._feed = ZoneFeed(member, empty, publish, self._propagation)
        self._registry.register(DnsCollector(lambda: server.counts, lambda: server.zone.synced))

    def serve_metrics(self, listen: Listen) -> None:
        """Serve metrics and probes."""
        self.web = WebServer(listen.host, listen.port, self._registry, self.missing)

    def missing(self) -> list[str]:
        """What readiness still waits for. A member that cannot be reached does not keep the others waiting."""
        lines = [
            f"cluster {cluster}: {member.reachability}"
            for cluster, member in self.fleet.members.items()
            if member.reachability in ("connecting", "syncing")
        ]
        if self.dns is not None and not self.dns.zone.synced:
            lines.append("DNS: zone not synced")
        return lines

    async def run(self) -> None:
        """Listen, then keep the members engaged, until cancelled."""
        async with AsyncExitStack() as stack:
            if self.web is not None:
                await stack.enter_async_context(self.web)
            if self.dns is not None:
                await stack.enter_async_context(self.dns)
            self.started.set()
            await self.fleet.run(self._reconcile)


class ControllerProcess(Process):
    """`mcs controller`: every member's exports become imports in every member."""

    def __init__(
        self,
        clients: Mapping[ClusterId, OpenClient],
        *,
        clock: Clock = utc_now,
        requests: Callable[[], Mapping[str, Requests]] = dict,
    ) -> None:
        registry = new_registry()
        propagation = Propagation(registry, clock)
        members: list[Member[Work]] = [
            Member(cluster, open_client, clusters.REFLECTED, propagation.applied)
            for cluster, open_client in clients.items()
        ]
        super().__init__(Fleet(members), registry, propagation, requests)
        self.services = ServicesController(self.fleet, clock)
        self._reconcile = self.services.reconcile


class DnsProcess(Process):
    """`mcs dns`: answers for one cluster from that cluster's own objects; writes nothing."""

    def __init__(
        self,
        cluster: ClusterId,
        open_client: OpenClient,
        options: DnsOptions,
        *,
        clock: Clock = utc_now,
        requests: Callable[[], Mapping[str, Requests]] = dict,
    ) -> None:
        member: Member[Any] = Member(cluster, open_client, zone.REFLECTED)
        registry = new_registry()
        super().__init__(Fleet([member]), registry, Propagation(registry, clock), requests)
        self.serve_dns(member, options)
