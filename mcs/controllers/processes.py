"""Puts the parts together into the two things that run: the controller and the DNS server of one cluster.

Each runs until it is cancelled and stops everything it started. Where clients come from is given; the command line, the
sandbox and the tests give different ones.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, assert_never

import structlog
from msgspec import Struct
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from mcs import __version__
from mcs.controllers import clusters, zone
from mcs.controllers.auto_export import AutoExportController
from mcs.controllers.clusters import Work
from mcs.controllers.federation.controller import Federation
from mcs.controllers.identity import Identities
from mcs.controllers.propagation import Propagation
from mcs.controllers.ranges import RangesController
from mcs.controllers.registry import RegistryController, RegistryOptions
from mcs.controllers.services import ServicesController
from mcs.controllers.withdrawal import WithdrawalController
from mcs.controllers.zone import ZoneFeed
from mcs.kube.client import Client as KubernetesClient
from mcs.kube.config import connect
from mcs.kube.connection import Permit
from mcs.kube.errors import ResourceMissing
from mcs.membership.withdrawal import Terms, terms_of
from mcs.model.names import ClusterId
from mcs.model.policy import DEFAULT_POLICY, Policy
from mcs.model.resources import KUBEFED_CLUSTERS
from mcs.model.selectors import Selector
from mcs.runtime.fleet import Client, Fleet, Member, Reachability
from mcs.runtime.leader import LeaderElector, while_leading
from mcs.web.federation import FederationCollector
from mcs.web.metrics import (
    DnsCollector,
    ExportsCollector,
    FleetCollector,
    LeaderCollector,
    MembersCollector,
    RangesCollector,
    RefusalsCollector,
    RegistryCollector,
    TokensCollector,
    WorkCollector,
    new_registry,
)
from mcs.web.requests import RequestCounts
from mcs.web.server import WebServer
from mcs_dns.server import DnsServer
from mcs_dns.workers import DnsWorkers
from mcs_dns.zone import Zone

log = structlog.get_logger(__name__)
OpenClient = Callable[[], AbstractAsyncContextManager[Client]]
Clock = Callable[[], datetime]

STALE_AFTER = 60.0
"""Seconds without its API server after which the answers of a zone count as stale."""


def utc_now() -> datetime:
    """The wall clock; tests give another one."""
    return datetime.now(UTC)


class Listen(Struct, frozen=True):
    """An address to listen on; port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class DnsOptions(Struct, frozen=True, kw_only=True):
    """Where to answer, the zones to answer for, and with how many processes. `ttl` is in seconds."""

    listen: Listen
    origins: tuple[str, ...] = ("clusterset.local",)
    ttl: int = 5
    workers: int = 1


class CannotListenError(Exception):
    """An address cannot be listened on; `what` is "metrics" or "dns"."""

    def __init__(self, what: str, listen: Listen, error: OSError) -> None:
        known = error.errno is not None and error.errno > 0
        self.what = what
        self.listen = listen
        self.reason = os.strerror(error.errno) if known and error.errno else str(error.strerror or error)
        super().__init__(f"{what}: cannot listen on {listen}: {self.reason}")


def client_opener(
    cluster: str,
    files: Sequence[Path] | None,
    context: str | None,
    counts: RequestCounts,
    permit: Permit | None = None,
) -> Callable[[], AbstractAsyncContextManager[KubernetesClient]]:
    """What opens a client of one kubeconfig context, each time anew; with a `permit` it asks before each write."""

    @asynccontextmanager
    async def open_client() -> AsyncIterator[KubernetesClient]:
        async with await connect(files, context, name=cluster) as connection:
            yield KubernetesClient(connection, counts.hook(cluster), permit)

    return open_client


class Process:
    """What both processes share: metrics, probes, an optional DNS server, and the order of starting and stopping."""

    def __init__(
        self,
        fleet: Fleet[Any],
        registry: CollectorRegistry,
        propagation: Propagation,
        requests: RequestCounts,
    ) -> None:
        self.fleet = fleet
        self.dns: DnsServer | DnsWorkers | None = None
        self.web: WebServer | None = None
        self.leader: LeaderElector | None = None
        self.started = asyncio.Event()
        """Set once every listener listens; the members may still be unreachable."""
        self._registry = registry
        self._propagation = propagation
        registry.register(FleetCollector(fleet))
        registry.register(requests)
        self._listens: dict[str, Listen] = {}
        self._feed: ZoneFeed | None = None
        self._reconcile: Callable[[ClusterId, Any], Awaitable[None]] | None = None
        self._beside: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {}
        """What runs beside the fleet, by name."""

    def serve_dns(self, member: Member[Any], options: DnsOptions) -> None:
        """Answer the zone of `member` from the caches it has anyway."""
        empty = Zone.empty(*options.origins, ttl=options.ttl)
        host, port = options.listen.host, options.listen.port
        server = (
            DnsServer(empty, host, port)
            if options.workers == 1
            else DnsWorkers(empty, host, port, options.workers)
        )

        def publish(published: Zone) -> None:
            server.zone = published

        self.dns = server
        self._listens["dns"] = options.listen
        feed = self._feed = ZoneFeed(member, empty, publish, self._propagation)
        self._registry.register(DnsCollector(lambda: server.counts, lambda: server.zone, lambda: feed.age))

    def serve_metrics(self, listen: Listen) -> None:
        """Serve metrics and probes."""
        self.web = WebServer(listen.host, listen.port, self._registry, self.missing, self.notes)
        self._listens["metrics"] = listen

    def missing(self) -> list[str]:
        """What readiness still waits for, one line each.

        A member that cannot be reached does not keep the others waiting, but a first one must have been seen, and a
        zone that is answered must be complete. What was seen once stays ready while its API server is away.
        """
        zone_is_missing = self.dns is not None and not self.dns.is_synced
        is_nothing_seen = zone_is_missing or not self.fleet.seen
        lines = [
            _shown(member)
            for member in self.fleet.members.values()
            if member.reachability in (Reachability.CONNECTING, Reachability.SYNCING)
            or (is_nothing_seen and not member.is_seen)
        ]
        if zone_is_missing:
            lines.append("dns: its zone is not complete")
        if self.leader is not None and not self.leader.was_answered:
            lines.append("lease: it is not known who leads")
        return lines

    def notes(self) -> list[str]:
        """What else /readyz says, one line each: a process that stands by is ready to lead."""
        return self.leader.notes if self.leader is not None else []

    async def run(self) -> None:
        """Listen, then keep the members engaged, until cancelled. Raises CannotListenError."""
        async with AsyncExitStack() as stack:
            if self.web is not None:
                await self._enter(stack, "metrics", self.web)
            if self.dns is not None:
                await self._enter(stack, "dns", self.dns)
            log.info("started", version=__version__, clusters=sorted(self.fleet.members))
            self.started.set()
            if self.leader is not None:
                # Left after everything that writes has ended, so that the next leader finds nothing under way.
                await stack.enter_async_context(self.leader)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.fleet.run(self._reconcile), name="fleet")
                for name, run in self._beside.items():
                    tasks.create_task(run(), name=name)
                if self.dns is not None and self._feed is not None:
                    tasks.create_task(_tell_staleness(self.dns, self._feed), name="dns-staleness")

    async def _enter(
        self, stack: AsyncExitStack, what: str, server: AbstractAsyncContextManager[Any]
    ) -> None:
        try:
            await stack.enter_async_context(server)
        except OSError as error:
            raise CannotListenError(what, self._listens[what], error) from error


async def _tell_staleness(dns: DnsServer | DnsWorkers, feed: ZoneFeed) -> None:
    """Let clients know, for as long as it is so, that answers may be out of date (RFC 8914, 4.4)."""
    while True:
        dns.is_stale = feed.age > STALE_AFTER
        await asyncio.sleep(STALE_AFTER / 10)


def _shown(member: Member[Any]) -> str:
    """One line on a member that has not been seen whole: what it waits for, or why it cannot be reached."""
    lacking = [
        each.resource.plural for each in member.reflectors if isinstance(each.status.error, ResourceMissing)
    ]
    match member.reachability:
        case Reachability.UNREACHABLE if lacking:
            what = f"does not serve {', '.join(lacking)}; apply the files of crds/"
        case Reachability.REFUSED:
            what = f"refused: {member.reason}"
        case Reachability.UNREACHABLE:
            what = f"unreachable: {' '.join(member.reason.split())}"
        case Reachability.SYNCING:
            lists = [resource for resource, cache in member.caches.items() if not cache.is_synced]
            what = f"waiting for its {', '.join(lists)}"
        case other:
            what = str(other)
    return f"cluster {member.cluster}: {what}"


class ControllerProcess(Process):
    """`mcs controller`: every member's exports become imports in every member, or in those of `targets` only.

    The Services that `auto_export` selects are exported without being asked. `policy` is what members may do. Members
    are those of `clients`, and with `registered` those that are registered, who come and go. With a `leader` it writes
    only while it is elected, and its clients are to ask that for a permit; until then it stands by with warm caches.
    If it `federates`, what is federated in the host of the registrations is propagated to those that are registered.
    """

    def __init__(
        self,
        clients: Mapping[ClusterId, OpenClient],
        *,
        targets: frozenset[ClusterId] | None = None,
        auto_export: Selector | None = None,
        policy: Policy = DEFAULT_POLICY,
        terms: Terms = Terms(),  # noqa: B008
        clock: Clock = utc_now,
        requests: RequestCounts | None = None,
        leader: LeaderElector | None = None,
        registered: RegistryOptions | None = None,
        federates: bool = False,
    ) -> None:
        counts = requests or RequestCounts()
        registry = new_registry()
        propagation = Propagation(registry, clock)
        identities = Identities()
        reflected = clusters.reflected(auto_export)
        members: list[Member[Work]] = [
            Member(cluster, open_client, reflected, propagation.applied, identities.admit)
            for cluster, open_client in clients.items()
        ]
        fleet = Fleet(members)
        fleet.follow(lambda _: None, lambda member: identities.forget(member.cluster))
        super().__init__(fleet, registry, propagation, counts)
        registry.register(WorkCollector(self.fleet))
        registry.register(ExportsCollector(self.fleet))
        registry.register(LeaderCollector(lambda: leader is None or leader.is_leading))
        self.leader = leader
        ranges = self._ranges = RangesController(self.fleet, clock, targets)
        registry.register(RangesCollector(lambda: ranges.overlapping))
        self.services = ServicesController(self.fleet, clock, targets, policy)
        registry.register(RefusalsCollector(self.fleet, self.services.refusals.counts))
        self.withdrawal = WithdrawalController(
            self.fleet, clock, self.services.take_decisions, partial(self._terms, terms), self._recorded
        )
        registry.register(
            MembersCollector(lambda: self.withdrawal.outages, lambda: self.withdrawal.decisions)
        )
        self._beside = {"withdrawal": self.withdrawal.run}
        self._auto_export = (
            None if auto_export is None else AutoExportController(self.fleet, auto_export, targets)
        )
        self._reconcile = self._reconciled
        self.registry: RegistryController | None = None
        self.federation: Federation | None = None
        if registered is not None:
            members_of = self.registry = RegistryController(
                fleet, registered, clock, identities, counts, propagation.applied, targets, leader, reflected
            )
            self._beside["registry"] = members_of.run
            registry.register(TokensCollector(lambda: members_of.tokens.lives))
            members_of.host.caches[KUBEFED_CLUSTERS.plural].listen(lambda _: self.withdrawal.wake())
            registry.register(RegistryCollector(lambda: members_of.orphans, lambda: members_of.refusals))
            if federates:
                federation = self.federation = Federation(
                    members_of, registered, fleet, clock, self._drains_changed, leader
                )
                self._beside["federation"] = federation.run
                registry.register(
                    FederationCollector(lambda: federation.types.running, lambda: federation.types.refusals)
                )

    def missing(self) -> list[str]:
        """What readiness still waits for; who the members are comes before all else."""
        lines = super().missing()
        if self.registry is not None and not self.registry.host.is_seen:
            lines.insert(0, _shown(self.registry.host).replace("cluster host", "registry"))
        if self.federation is not None and not self.federation.types.host.is_seen:
            lines.append(_shown(self.federation.types.host).replace("cluster host", "federation"))
        return lines

    def _terms(self, default: Terms, cluster: ClusterId) -> Terms:
        registration = self.registry.registrations.get(cluster) if self.registry is not None else None
        if registration is None:
            return default
        terms = terms_of(registration.metadata.annotations, default)
        if self.federation is None or not terms.is_drained:
            return terms
        return replace(terms, is_drained=self.federation.drains.is_withdrawn(cluster))

    def _drains_changed(self) -> None:
        self.withdrawal.wake()
        if self.registry is not None:
            self.registry.look_again()

    def _recorded(self, cluster: ClusterId) -> str:
        health = self.registry.healths.get(cluster) if self.registry is not None else None
        return health.unreachable_since if health is not None else ""

    async def _reconciled(self, cluster: ClusterId, work: Work) -> None:
        await while_leading(self.leader, partial(self._reconcile_now, cluster, work))

    async def _reconcile_now(self, cluster: ClusterId, work: Work) -> None:
        match work.about:
            case "service":
                await self.services.reconcile(cluster, work)
            case "ranges":
                await self._ranges.reconcile(cluster)
            case "auto-export":
                if self._auto_export is not None:
                    await self._auto_export.reconcile(cluster, work.service)
            case "followed-export":
                if self.federation is not None:
                    await self.federation.following.reconcile(cluster, work.service)
            case other:
                assert_never(other)


class DnsProcess(Process):
    """`mcs dns`: answers for one cluster from that cluster's own objects; writes nothing."""

    def __init__(
        self,
        cluster: ClusterId,
        open_client: OpenClient,
        options: DnsOptions,
        *,
        clock: Clock = utc_now,
        requests: RequestCounts | None = None,
    ) -> None:
        member: Member[Any] = Member(cluster, open_client, zone.REFLECTED)
        registry = new_registry()
        propagation = Propagation(registry, clock)
        super().__init__(Fleet([member]), registry, propagation, requests or RequestCounts())
        self.serve_dns(member, options)
