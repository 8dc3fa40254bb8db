"""Members come from registrations: reflect these in the host cluster, observe, plan, and carry that out.

Whom to engage, to reach in another way, to let go and to refuse is decided in `mcs.membership.registry`; what is
written into a registration in `mcs.membership.recording`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import structlog
from msgspec.structs import replace

from mcs.controllers.clusters import REFLECTED, ClusterCaches, Work
from mcs.controllers.identity import ClusterUids, Identities
from mcs.controllers.probing import Prober
from mcs.controllers.sources import KubeconfigSources
from mcs.controllers.tokens import Held, TokenKeeper
from mcs.kube.client import Client as KubernetesClient
from mcs.kube.connection import Permit
from mcs.kube.errors import Unreachable
from mcs.kube.registered import connect_registered
from mcs.membership.connecting import Credentials
from mcs.membership.health import (
    Answered,
    Health,
    NotConfigured,
    Probe,
    health_of,
    remembered,
    zones_and_region,
)
from mcs.membership.recording import HOST, ObservedRegistration, orphan_event, plan_registration
from mcs.membership.registry import (
    MALFORMED,
    ObservedRegistry,
    Refusal,
    Registered,
    RegistryPlan,
    plan_registry,
)
from mcs.membership.tokens import Told
from mcs.model.actions import Action, Patch
from mcs.model.meta import timestamp
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.registration import DEFAULT_SYSTEM_NAMESPACE, KubeFedCluster, Secret
from mcs.model.resources import KUBEFED_CLUSTERS, NODES, SECRETS
from mcs.runtime.cache import Cache
from mcs.runtime.demand import Reflected
from mcs.runtime.executor import Applied
from mcs.runtime.fleet import Fleet, Member, NotAdmittedError, Reachability
from mcs.runtime.leader import LeaderElector, while_leading
from mcs.web.requests import RequestCounts

log = structlog.get_logger(__name__)
OpenClient = Callable[[], AbstractAsyncContextManager[KubernetesClient]]

MEMBERS = "members"
RECORDS = "records"
"""Keys of work in the host: who is a member, which a standby follows too, and what is written of that.

Everything is decided anew each time, for it is little.
"""

LEAVING_PERIOD = 1.0
"""Seconds after which is looked again whether what came from a leaving cluster is gone everywhere."""

SOON = 0.2
"""Seconds in which a member has taken in that it is refused, or is so no longer."""

NOT_ADMITTED = "NotAdmitted"
"""Reason of the refusal of a cluster that is another than it is registered for."""


class RegistryOptions(NamedTuple):
    """Where registrations are read, in which namespace, and which programs kubeconfigs in Secrets may run.

    `permit` is asked before each write to a member.
    """

    open_host: OpenClient
    namespace: str = DEFAULT_SYSTEM_NAMESPACE
    allowed_programs: frozenset[str] = frozenset()
    permit: Permit | None = None
    kubeconfigs: tuple[Path, ...] = ()
    """Folders, or files, whose kubeconfigs are to be registered."""


class RegistryController:
    """Keeps the members of `fleet` equal to the registrations; those that it finds there already are not its own."""

    def __init__(
        self,
        fleet: Fleet[Work],
        options: RegistryOptions,
        clock: Callable[[], datetime],
        identities: Identities,
        requests: RequestCounts,
        on_applied: Applied | None = None,
        targets: frozenset[ClusterId] | None = None,
        leader: LeaderElector | None = None,
        of_members: Sequence[Reflected] = REFLECTED,
    ) -> None:
        self.orphans: frozenset[ClusterId] = frozenset()
        """Clusters that something came from, but that have neither a registration nor a recorded leave."""
        self.refusals: Mapping[str, Refusal] = {}
        """By the name of the registration."""
        reflected = [
            Reflected(replace(resource, scope=options.namespace)) for resource in (KUBEFED_CLUSTERS, SECRETS)
        ]
        self.host: Member[str] = Member(HOST, options.open_host, reflected)
        self._host = Fleet([self.host])
        self._fleet = fleet
        self._options = options
        self._clock = clock
        self._identities = identities
        self._requests = requests
        self._of_members = of_members
        self._on_applied = on_applied
        self._targets = targets
        self._leader = leader
        self._told_orphans: frozenset[ClusterId] = frozenset()
        self._members_listeners: list[Callable[[RegistryPlan], None]] = []
        self._given = frozenset(fleet.members)
        self._engaged: dict[ClusterId, Registered] = {}
        self._uids = ClusterUids()
        self._probers: dict[ClusterId, tuple[Prober, asyncio.Task[None]]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self.tokens = TokenKeeper(
            HOST, self._tokens_held, self._store, clock, self.look_again, self._may_write
        )
        self.conditions: list[Callable[[ClusterId], tuple[Told, ...]]] = [self.tokens.told]
        """What registrations tell beside the health of their clusters."""
        self._kubeconfigs = KubeconfigSources(
            options.namespace, options.kubeconfigs, options.allowed_programs, self.look_again
        )
        for cache in self.host.caches.values():
            cache.listen(lambda _: self.look_again())
        self.host.on_seen(lambda _: self.look_again())
        fleet.follow(self._member_engaged)

    @property
    def registrations(self) -> Mapping[ClusterId, KubeFedCluster]:
        """The registration of each member, as it was last seen; of one that vanished there is none."""
        found = ((each, self.registration(each)) for each in self._engaged)
        return {cluster: registration for cluster, registration in found if registration is not None}

    @property
    def healths(self) -> Mapping[ClusterId, Health]:
        """How each member is doing, by what its registration says: so that a restart remembers since when."""
        return {cluster: health_of(cluster, each.status) for cluster, each in self.registrations.items()}

    def look_again(self) -> None:
        """Something changed that membership depends on."""
        self.host.queue.add(MEMBERS)

    def on_members(self, listener: Callable[[RegistryPlan], None]) -> None:
        """Call `listener` whenever it has been decided who is a member, after that has been carried out."""
        self._members_listeners.append(listener)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(self._kubeconfigs.run(), name="kubeconfigs")
            tasks.create_task(self.tokens.run(), name="tokens")
            try:
                await self._host.run(self._reconcile)
            finally:
                self._tasks = None

    async def _reconcile(self, host: ClusterId, key: str) -> None:
        if not self.host.is_seen:
            return
        if key == MEMBERS:
            plan = plan_registry(self.observe())
            self._take_over(plan)
            for listener in self._members_listeners:
                listener(plan)
            self.host.queue.add(RECORDS)
        else:
            await while_leading(self._leader, self._record)

    async def _record(self) -> None:
        if self.host.executor is None:
            return
        plan = plan_registry(self.observe())
        secrets: Cache[Secret] = self.host.caches[SECRETS.plural]
        sources = self._kubeconfigs.plan(secrets, self._all_registrations(), self._now())
        await self.host.executor.execute((*sources, *self._orphan_events(), *self._records(plan)))
        self._told_orphans = self.orphans
        if plan.leaving:
            self.host.queue.add_after(RECORDS, LEAVING_PERIOD)

    def observe(self) -> ObservedRegistry:
        """Everything that decides who is a member."""
        secrets: Cache[Secret] = self.host.caches[SECRETS.plural]
        return ObservedRegistry(
            registrations=tuple(self._all_registrations()),
            secrets={each.metadata.name: each for each in secrets},
            engaged=dict(self._engaged),
            given=self._given,
            left=self._fleet.left,
            sources=self._sources(),
        )

    def _all_registrations(self) -> list[KubeFedCluster]:
        cache: Cache[KubeFedCluster] = self.host.caches[KUBEFED_CLUSTERS.plural]
        return sorted(cache, key=lambda each: each.metadata.name)

    def registration(self, cluster: ClusterId) -> KubeFedCluster | None:
        """The registration of a member, as it was last seen; None where there is none."""
        if cluster not in self._engaged:
            return None
        key = ServiceKey(self._options.namespace, self._engaged[cluster].name)
        found: KubeFedCluster | None = self.host.caches[KUBEFED_CLUSTERS.plural].get(key)
        return found

    def _sources(self) -> frozenset[ClusterId]:
        """The clusters that objects of ours in members came from, as far as members have been seen."""
        seen = (member for member in self._fleet.members.values() if member.is_seen)
        return frozenset().union(*(ClusterCaches.of(member.caches).sources() for member in seen))

    # Carrying out: no `await`, so that the fleet never shows half of a plan.

    def _take_over(self, plan: RegistryPlan) -> None:
        for registered in plan.engage:
            log.info("cluster registered", cluster=registered.cluster, server=registered.endpoint.server)
            self._engaged[registered.cluster] = registered
            self._fleet.engage(
                Member(
                    registered.cluster,
                    self.opener(registered.cluster),
                    self._of_members,
                    self._on_applied,
                    self._admit,
                )
            )
            self._start_probing(registered)
        for registered in (*plan.reconnect, *plan.renew):
            if self._engaged[registered.cluster].credentials != registered.credentials:
                log.info("credentials of cluster changed", cluster=registered.cluster)
            self._engaged[registered.cluster] = registered
        for registered in plan.reconnect:
            log.info("cluster is reached in another way", cluster=registered.cluster)
            self._fleet.members[registered.cluster].reconnect(self.opener(registered.cluster))
            self._probers[registered.cluster][0].reconnect()
        for cluster, name in plan.leaving:
            if cluster not in self._fleet.left or cluster in self._engaged:
                log.info("cluster leaves", cluster=cluster, registration=name)
            self._fleet.disengage(cluster, has_left=True)
            self._forget(cluster)
        self._tell_refusals(plan)
        for cluster in sorted(set(plan.orphans) - self.orphans):
            log.warning("cluster is an orphan: what came from it stays", cluster=cluster)
        self.orphans = frozenset(plan.orphans)

    def _forget(self, cluster: ClusterId) -> None:
        self._engaged.pop(cluster, None)
        self._uids.forget(cluster)
        if (prober := self._probers.pop(cluster, None)) is not None:
            prober[1].cancel()

    def _start_probing(self, registered: Registered) -> None:
        cluster = registered.cluster
        registration = self.registration(cluster)
        judged = remembered(registration.status) if registration is not None else None
        prober = Prober(cluster, self.opener(cluster), lambda _: self.look_again(), judged)
        assert self._tasks is not None
        self._probers[cluster] = prober, self._tasks.create_task(prober.run(), name=f"{cluster}/probe")

    def _tell_refusals(self, plan: RegistryPlan) -> None:
        refusals = {each.name: each for each in plan.refusals}
        for name, refusal in refusals.items():
            if self.refusals.get(name) != refusal:
                log.error("registration refused", registration=name, problem=refusal.problem)
        self.refusals = refusals

    def _orphan_events(self) -> tuple[Action, ...]:
        namespace, now = self._options.namespace, self._now()
        news = sorted(self.orphans - self._told_orphans)
        return tuple(orphan_event(each, namespace, now) for each in news)

    def _records(self, plan: RegistryPlan) -> tuple[Action, ...]:
        by_name = {registered.name: cluster for cluster, registered in self._engaged.items()}
        leaving = {name: cluster for cluster, name in plan.leaving}
        actions: list[Action] = []
        for registration in self._all_registrations():
            name = registration.metadata.name
            cluster = by_name.get(name)
            refusal = self.refusals.get(name) or (self._not_admitted(cluster) if cluster else None)
            observed = ObservedRegistration(
                registration=registration,
                now=self._now(),
                probe=self._probe(cluster, refusal),
                refusal=refusal,
                is_member=cluster is not None,
                is_clean=name in leaving and self._is_clean(leaving[name]),
                cluster_uid=self._uids.known(cluster) if cluster else "",
                told=tuple(each for told in self.conditions for each in told(cluster)) if cluster else (),
            )
            actions += plan_registration(observed)
        return tuple(actions)

    def _not_admitted(self, cluster: ClusterId) -> Refusal | None:
        member = self._fleet.members[cluster]
        if member.reachability is not Reachability.REFUSED:
            return None
        return Refusal(self._engaged[cluster].name, NOT_ADMITTED, member.reason)

    def _probe(self, cluster: ClusterId | None, refusal: Refusal | None) -> Probe | None:
        if cluster is None:
            is_malformed = refusal is not None and refusal.reason == MALFORMED
            return NotConfigured(refusal.problem) if refusal is not None and is_malformed else None
        prober = self._probers[cluster][0]
        if prober.judged is None or not prober.is_fresh:
            return None
        probe = prober.judged.probe
        if not isinstance(probe, Answered):
            return probe
        nodes = self._fleet.members[cluster].caches[NODES.plural]
        zones, region = zones_and_region([each.metadata.labels for each in nodes])
        return replace(probe, zones=zones, region=region)

    def _is_clean(self, cluster: ClusterId) -> bool:
        """True when every member that is written to tells that nothing is left of what came from the cluster."""
        return all(
            member.is_seen and cluster not in ClusterCaches.of(member.caches).sources()
            for member in self._fleet.members.values()
            if self._targets is None or member.cluster in self._targets
        )

    def _now(self) -> str:
        return timestamp(self._clock())

    # Tokens.

    def _tokens_held(self) -> list[Held]:
        """The Secrets of the members, as they were last seen."""
        secrets = self.host.caches[SECRETS.plural]
        names = ((cluster, each.spec.secret_ref.name) for cluster, each in self.registrations.items())
        found = ((each, secrets.get(ServiceKey(self._options.namespace, name))) for each, name in names)
        return [
            Held(cluster, secret, self.opener(cluster)) for cluster, secret in found if secret is not None
        ]

    def _may_write(self) -> bool:
        return self._leader is None or self._leader.is_leading

    async def _store(self, patch: Patch) -> None:
        if self.host.executor is None:
            raise Unreachable("the registry cannot be reached")
        await self.host.executor.execute((patch,))

    # Members.

    def opener(self, cluster: ClusterId) -> OpenClient:
        """What opens a connection to a member, in the way of the moment."""

        @asynccontextmanager
        async def open_client() -> AsyncIterator[KubernetesClient]:
            registered = self._engaged[cluster]
            connection = await connect_registered(
                cluster,
                registered.endpoint,
                partial(self._credentials, registered),
                self._options.allowed_programs,
            )
            async with connection:
                yield KubernetesClient(connection, self._requests.hook(cluster), self._options.permit)

        return open_client

    def _credentials(self, registered: Registered) -> Credentials:
        """Those of the moment; a connection that is about to end may still ask for those of a cluster that left."""
        return self._engaged.get(registered.cluster, registered).credentials

    def _member_engaged(self, member: Member[Work]) -> None:
        member.on_seen(lambda _: self.look_again())

    async def _admit(self, cluster: ClusterId, client: Any) -> None:
        """Raises NotAdmittedError for a cluster that says it is another one, or that was built anew."""
        was_refused = self._fleet.members[cluster].reachability is Reachability.REFUSED
        try:
            await self._identities.admit(cluster, client)
            recorded = {each: registered.cluster_uid for each, registered in self._engaged.items()}
            if await self._uids.admit(cluster, client, recorded):
                self.look_again()
        except NotAdmittedError:
            self.host.queue.add_after(MEMBERS, SOON)
            raise
        if was_refused:
            self.host.queue.add_after(MEMBERS, SOON)
