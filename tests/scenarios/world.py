"""The clusters of a scenario with our programs beside them: sandbox API servers, a controller, a DNS server each.

Everything runs in one loop with virtual time. The controller and the DNS servers are the real ones, connected over
TLS by kubeconfig; only the clock and the process boundary are not those of a user.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_network
from pathlib import Path

import dns.asyncquery
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import yaml

from mcs.controllers.processes import (
    ControllerProcess,
    DnsOptions,
    DnsProcess,
    Listen,
    Process,
    client_opener,
)
from mcs.membership.withdrawal import Terms
from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId
from mcs.model.policy import DEFAULT_POLICY, Policy
from mcs.model.resources import Resource
from mcs.model.selectors import parse_selector
from mcs.sandbox.apply.causes import not_supported
from mcs.sandbox.errors import internal, invalid
from mcs.sandbox.http.server import HOST, ApiServer, kubeconfig
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.rules.addresses import Network
from mcs.sandbox.store import Object
from mcs.sandbox.workloads.simulator import Simulator
from mcs.web.requests import RequestCounts
from tests.scenarios.api import Api

CUSTOM_RESOURCE_DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    type=KubernetesObject,
    namespaced=False,
)
CRDS = Path(__file__).parents[2] / "crds"
BIRTH = datetime(2026, 1, 1, tzinfo=UTC)
CPU_SECONDS = 40
LOOPBACK = Listen("127.0.0.1", 0)


def virtual_now() -> datetime:
    """The wall clock of a scenario: it moves with the loop's clock."""
    return BIRTH + timedelta(seconds=asyncio.get_running_loop().time())


def _clock_ahead(seconds: float) -> datetime:
    return virtual_now() + timedelta(seconds=seconds)


class Programs:
    """Our programs beside clusters by name, whatever serves these; `controller` is the one that runs, if one does."""

    patience = 30.0
    """Seconds that what is expected may take."""

    def __init__(
        self, apis: dict[str, Api], config: Path, clock: Callable[[], datetime] = virtual_now
    ) -> None:
        self.apis = apis
        self.controller: ControllerProcess | None = None
        self.dns: dict[str, DnsProcess] = {}
        self.counts = RequestCounts()
        self._config = config
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start_controller(
        self,
        members: Sequence[str],
        auto_export: str | None = None,
        terms: Terms | None = None,
        policy: Policy = DEFAULT_POLICY,
    ) -> None:
        """Start a controller for these members, that exports the Services of a label selector if there is one."""
        self.controller = self._controller(members, auto_export=auto_export, terms=terms, policy=policy)
        await self._start("controller", self.controller)

    async def start_rival(self, members: Sequence[str]) -> None:
        """Start another controller for these members, by mistake."""
        await self._start("rival", self._controller(members))

    def state(self, name: str) -> str:
        """What the controller says of a member."""
        assert self.controller is not None
        return str(self.controller.fleet.members[ClusterId(name)].reachability)

    async def start_mesh(self, members: Sequence[str], of: Sequence[str]) -> None:
        """Start a controller of each in `of` that reads all members and writes to its own alone."""
        for name in of:
            await self._start(f"mesh {name}", self._controller(members, frozenset({ClusterId(name)})))

    async def stop_mesh(self) -> None:
        """Stop all of them."""
        for name in [name for name in self._tasks if name.startswith("mesh ")]:
            await self._stop(name)

    def _controller(
        self,
        members: Sequence[str],
        targets: frozenset[ClusterId] | None = None,
        auto_export: str | None = None,
        terms: Terms | None = None,
        policy: Policy = DEFAULT_POLICY,
    ) -> ControllerProcess:
        controller = ControllerProcess(
            {ClusterId(name): client_opener(name, [self._config], name, self.counts) for name in members},
            targets=targets,
            auto_export=None if auto_export is None else parse_selector(auto_export),
            terms=terms or Terms(),
            policy=policy,
            clock=self._clock,
            requests=self.counts,
        )
        controller.serve_metrics(LOOPBACK)
        return controller

    async def stop_controller(self) -> None:
        """Stop the controller as a signal would."""
        await self._stop("controller")
        self.controller = None

    async def stop_rival(self) -> None:
        """Stop the other controller."""
        await self._stop("rival")

    async def written(self) -> object:
        """What is equal at two moments if nothing was written in between, Leases left out."""
        raise NotImplementedError

    async def pass_time(self, seconds: float) -> None:
        """Let as much time pass as this world takes for so many seconds."""
        raise NotImplementedError

    async def order(self, name: str, what: str) -> None:
        """Do with the API server of one cluster what the step `api` says."""
        raise NotImplementedError

    async def empty_namespace(self, cluster: str, name: str) -> None:
        """Take part in the deletion of a namespace where the cluster does not do all of it."""

    async def start_dns(self, name: str) -> None:
        """Start the DNS server of one cluster."""
        counts = RequestCounts()
        self.dns[name] = DnsProcess(
            ClusterId(name),
            client_opener(name, [self._config], name, counts),
            DnsOptions(listen=LOOPBACK),
            clock=self._clock,
            requests=counts,
        )
        self.dns[name].serve_metrics(LOOPBACK)
        await self._start(f"dns {name}", self.dns[name])

    async def stop_dns(self, name: str) -> None:
        """Stop the DNS server of one cluster."""
        await self._stop(f"dns {name}")
        del self.dns[name]

    async def stop_all(self) -> None:
        """Stop everything that was started here."""
        for name in list(self._tasks):
            await self._stop(name)

    async def ask(self, cluster: str, name: str, kind: str) -> list[str] | str:
        """What the cluster's DNS server says: sorted record data, or "NODATA", or the rcode."""
        query = dns.message.make_query(f"{name}.clusterset.local.", kind)
        server = self.dns[cluster].dns
        assert server is not None
        response, _ = await dns.asyncquery.udp_with_fallback(query, "127.0.0.1", port=server.port, timeout=5)
        if response.rcode() != dns.rcode.NOERROR:
            return dns.rcode.to_text(response.rcode())
        records = [str(record) for rrset in response.answer for record in rrset]
        return sorted(records) if records else "NODATA"

    async def _start(self, name: str, process: Process) -> None:
        self._tasks[name] = asyncio.create_task(process.run(), name=name)
        await process.started.wait()

    async def _stop(self, name: str) -> None:
        await _stopped(self._tasks.pop(name))


class World(Programs):
    """A world whose API servers are the sandbox's, in virtual time."""

    def __init__(self, servers: dict[str, ApiServer], config: Path) -> None:
        super().__init__(
            {name: Api(server.url, server.token, server.client_tls()) for name, server in servers.items()},
            config,
        )
        self.servers = servers
        self._mute: dict[str, asyncio.Server] = {}

    def writes(self) -> dict[str, int]:
        """Requests that may change something, by cluster, Leases left out."""
        return {
            name: sum(
                count
                for (_, resource), count in server.writes().items()
                if resource.partition(".")[0] != "leases"
            )
            for name, server in self.servers.items()
        }

    async def written(self) -> object:
        """What is equal at two moments if nobody asked for a write in between, Leases left out."""
        return self.writes()

    async def pass_time(self, seconds: float) -> None:
        """Let the clock go on."""
        await asyncio.sleep(seconds)

    async def order(self, name: str, what: str) -> None:
        """Do with the API server of one cluster what the step `api` says."""
        server = self.servers[name]
        match what:
            case "compact":
                server.compact()
            case "drop watches":
                assert server.drop_watches() > 0
            case "refuse watches":
                server.refuse_watches(internal("the scenario refuses watches"))
            case "allow watches":
                server.refuse_watches(None)
            case "stop":
                await server.stop()
            case "hang":
                await server.stop()
                self._mute[name] = await asyncio.start_server(_never_answer, HOST, server.port)
            case "start":
                if (mute := self._mute.pop(name, None)) is not None:
                    mute.close()
                await server.start()
            case "define":
                await define(self.apis[name])
            case unknown:
                raise ValueError(unknown)


async def _never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take the connection, and whatever is sent, and say nothing."""
    with suppress(ConnectionError):
        await reader.read()
    writer.close()


async def define(api: Api) -> None:
    """Apply our CRDs in one cluster."""
    for file in sorted(CRDS.glob("*.yaml")):
        await api.apply(CUSTOM_RESOURCE_DEFINITIONS, yaml.safe_load(file.read_text()))


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@contextmanager
def _cpu_time_limit() -> Iterator[None]:
    """Cancel what runs here after `CPU_SECONDS` of work: while writes follow each other, virtual time does not pass."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    loop.add_signal_handler(signal.SIGPROF, task.cancel, f"no rest within {CPU_SECONDS} s of CPU time")
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        loop.remove_signal_handler(signal.SIGPROF)


@asynccontextmanager
async def running_world(
    clusters: Sequence[str],
    folder: Path,
    *,
    undefined: Sequence[str] = (),
    single_stack: Sequence[str] = (),
    older: Sequence[str] = (),
    ahead: Mapping[str, float] | None = None,
) -> AsyncIterator[World]:
    """Sandbox clusters with a DNS server each and, unless they are in `undefined`, our CRDs.

    Those in `single_stack` have IPv4 only, those in `older` take of all values of trafficDistribution PreferClose only,
    as Kubernetes 1.33 does, and the clocks of those in `ahead` are so many seconds ahead. The controller is started by
    the scenario.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(_cpu_time_limit())
        servers = {
            name: await stack.enter_async_context(
                ApiServer(
                    name,
                    now=partial(_clock_ahead, (ahead or {}).get(name, 0)),
                    service_ranges=_service_ranges(number)[: 1 if name in single_stack else 2],
                )
            )
            for number, name in enumerate(clusters, start=1)
        }
        config = folder / "kubeconfig"
        config.write_text(kubeconfig(list(servers.values())))
        world = World(servers, config)
        for api in world.apis.values():
            await stack.enter_async_context(api)
        for name in older:
            servers[name].api.hooks.append(_take_prefer_close_only)
        for name, server in servers.items():
            simulator = asyncio.create_task(Simulator(server.api).run(), name=f"workloads of {name}")
            stack.push_async_callback(_stopped, simulator)
        stack.push_async_callback(world.stop_all)
        for name in clusters:
            if name not in undefined:
                await define(world.apis[name])
            await world.start_dns(name)
        yield world


def _take_prefer_close_only(
    operation: str, resource: ResourceType, old: Object | None, new: Object | None
) -> Object | None:
    if new is not None and resource.plural == "services":
        value = new["spec"].get("trafficDistribution")
        if value not in (None, "PreferClose"):
            cause = not_supported("spec.trafficDistribution", value, ["PreferClose"])
            raise invalid(resource, new["metadata"]["name"], [cause])
    return new


def _service_ranges(number: int) -> tuple[Network, Network]:
    return ip_network(f"10.{96 + number}.0.0/16"), ip_network(f"fd00:10:{96 + number}::/112")
