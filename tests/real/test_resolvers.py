"""Real resolvers in front of our server, as docs/dns-in-front.md says, with their caches on.

Each is asked by dnspython over UDP and TCP. What it says is compared with what our server says itself, so that a
resolver that changes, drops or remembers anything it should not is seen.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import dns.asyncquery
import dns.exception
import dns.message
import dns.rcode
import dns.rrset
import pytest
import pytest_asyncio

from mcs.model.names import ServiceKey
from mcs_dns.server import DnsServer
from mcs_dns.zone import Zone, imported_service
from tests.lab.control_planes import ControlPlanes, free_ports
from tests.lab.kubectl import Kubectl
from tests.lab.mcs import eventually, running
from tests.lab.resolvers import HOST, RESOLVERS, SYSTEMD_RESOLVED, Resolver, forwarding, missing
from tests.unit.dns.sample_zone import mirror, ready, sample_zone, service_import

ORIGIN = "clusterset.local."
TTL = 5
QUESTIONS = (
    ("web.demo.svc", "A"),
    ("dual.demo.svc", "AAAA"),
    ("db.demo.svc", "A"),
    ("db.demo.svc", "AAAA"),
    ("db-0.c2.db.demo.svc", "A"),
    ("db-0.c4.eu.db.demo.svc", "A"),
    ("fd00-1--a.c1.six.demo.svc", "AAAA"),
    ("_https._tcp.web.demo.svc", "SRV"),
    ("_dns._udp.dual.demo.svc", "SRV"),
    ("_sql._tcp.db.demo.svc", "SRV"),
    ("db.demo.svc", "SRV"),
    ("dns-version", "TXT"),
    ("", "SOA"),
    ("", "NS"),
)
WITHOUT_DATA = (
    ("web.demo.svc", "AAAA"),
    ("six.demo.svc", "A"),
    ("web.demo.svc", "MX"),
    ("web.demo.svc", "HTTPS"),
    ("pending.demo.svc", "A"),
    ("c2.db.demo.svc", "A"),
    ("demo.svc", "A"),
    ("", "A"),
)
ABSENT = (
    ("nosuch.demo.svc", "A"),
    ("down.demo.svc", "A"),
    ("db-1.c2.db.demo.svc", "A"),
    ("_nosuch._tcp.web.demo.svc", "SRV"),
    ("c1.web.demo.svc", "A"),
    ("web.nosuch.svc", "AAAA"),
)


IMPORTED = """
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: {name: db}
spec: {type: Headless, ports: []}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: db-c2
  labels: {multicluster.kubernetes.io/service-name: db, multicluster.kubernetes.io/source-cluster: c2}
addressType: IPv4
endpoints:
- {addresses: [10.2.0.5]}
"""


class Front(NamedTuple):
    """A resolver, the port where it answers, and our server behind it."""

    resolver: Resolver
    port: int
    server: DnsServer


def zone() -> Zone:
    """The sample, and two services that are too large for a datagram: one without EDNS, one with any."""
    large = {
        ServiceKey("demo", name): imported_service(
            service_import(name, "Headless"),
            [mirror(name, "c1", *(ready(f"10.{block}.{n // 200}.{n % 200 + 1}") for n in range(count)))],
        )
        for block, (name, count) in enumerate({"large": 50, "huge": 300}.items())
    }
    return sample_zone().with_services(large)


@pytest.fixture(params=(*RESOLVERS, pytest.param(SYSTEMD_RESOLVED, marks=pytest.mark.nodes)), ids=str)
def resolver(request: pytest.FixtureRequest) -> Resolver:
    """Each of those that can run on this machine."""
    found: Resolver = request.param
    if not is_here(found):
        pytest.skip(f"no such resolver: {missing(found)}")
    return found


def is_here(resolver: Resolver) -> bool:
    """Whether it can be started; where all that is real is required the test fails instead."""
    lacking = missing(resolver)
    if lacking and os.environ.get("MCS_REQUIRE_REAL") == "1":
        pytest.fail(f"MCS_REQUIRE_REAL=1, but {lacking}")
    return not lacking


def addresses(response: dns.message.Message) -> list[str]:
    """The data of the answer section, sorted."""
    return sorted(record.to_text() for rrset in response.answer for record in rrset)


@pytest_asyncio.fixture(loop_scope="session")
async def front(resolver: Resolver, tmp_path: Path) -> AsyncIterator[Front]:
    """The resolver before a server that knows nothing yet."""
    async with (
        DnsServer(Zone.empty(), HOST, 0) as server,
        forwarding(resolver, server.port, tmp_path) as port,
    ):
        yield Front(resolver, port, server)


async def asked(
    port: int,
    name: str,
    type_: str,
    transport: str = "udp",
    size: int | None = 1232,
    seconds: float = 10,
) -> dns.message.Message:
    """The response to a question about a name in the zone, whole; `size` is what EDNS promises, None without EDNS."""
    response, _ = await asked_and_cut(port, name, type_, transport, size, seconds)
    return response


async def asked_and_cut(
    port: int, name: str, type_: str, transport: str, size: int | None, seconds: float = 10
) -> tuple[dns.message.Message, bool]:
    """The whole response, and whether it took TCP after a datagram that was cut."""
    full = name if name.endswith(".") else ".".join(filter(None, (name, ORIGIN)))
    query = dns.message.make_query(full, type_, use_edns=-1 if size is None else 0, payload=size)
    if transport == "tcp":
        return await dns.asyncquery.tcp(query, HOST, port=port, timeout=seconds), False
    return await dns.asyncquery.udp_with_fallback(query, HOST, port=port, timeout=seconds)


def records(section: list[dns.rrset.RRset]) -> list[str]:
    """The records of a section without their TTLs, sorted."""
    return sorted(
        f"{rrset.name.to_text().lower()} {rrset.rdtype.name} {record.to_text()}"
        for rrset in section
        for record in rrset
    )


@pytest.mark.parametrize("transport", ["udp", "tcp"])
async def test_every_kind_of_record_and_denial_passes_through(front: Front, transport: str) -> None:
    front.server.zone = zone()
    for again in (False, True):
        for name, type_ in (*QUESTIONS, *WITHOUT_DATA, *ABSENT):
            ours = await asked(front.server.port, name, type_)
            theirs = await asked(front.port, name, type_, transport)
            told = (name, type_, "from its cache" if again else "at first")
            assert theirs.rcode() == ours.rcode(), told
            assert records(theirs.answer) == records(ours.answer), told
            comes = front.resolver.additional == "always" or (
                front.resolver.additional == "at first" and not again
            )
            if type_ == "SRV":
                assert records(theirs.additional) == (records(ours.additional) if comes else []), told


async def test_no_question_outside_the_zone_comes_to_our_server(front: Front) -> None:
    front.server.zone = zone()
    for name in ("example.com.", "web.demo.svc.cluster.local.", "local.", "1.0.96.10.in-addr.arpa."):
        with suppress(dns.exception.Timeout):
            await asked(front.port, name, "A", seconds=1)
    # When CoreDNS starts it asks HINFO for a name of the zone, to find out whether it asks itself in a circle.
    assert {type_ for type_, _, _ in front.server.counts} <= {"other"}


async def test_every_target_of_srv_records_resolves(front: Front) -> None:
    front.server.zone = zone()
    found = set()
    for record in (await asked(front.port, "_sql._tcp.db.demo.svc", "SRV")).answer[0]:
        for type_ in ("A", "AAAA"):
            found |= set(addresses(await asked(front.port, record.target.to_text(), type_)))
    assert found == {"10.2.0.5", "fd00:2::5", "10.3.0.5", "10.3.0.6", "10.4.0.5"}


async def test_the_case_of_a_question_comes_back_from_the_cache_too(front: Front) -> None:
    front.server.zone = zone()
    for name in (
        "WeB.dEmO.sVc.ClUsTeRsEt.LoCaL.",
        "wEb.DeMo.SvC.cLuStErSeT.lOcAl.",
        "web.demo.svc.clusterset.local.",
    ):
        for transport in ("udp", "tcp"):
            response = await asked(front.port, name, "A", transport)
            assert response.question[0].name.to_text() == name
            assert addresses(response) == ["10.96.0.7"]


@pytest.mark.parametrize("size", [None, 512, 1232, 4096])
async def test_an_answer_too_large_for_the_client_is_cut_and_whole_over_tcp(
    front: Front, size: int | None
) -> None:
    front.server.zone = zone()
    fits = 50 if size is not None and size >= 1232 else 4
    for name, count in (("db", 4), ("large", 50), ("huge", 300)):
        for _ in range(2):
            response, was_cut = await asked_and_cut(front.port, f"{name}.demo.svc", "A", "udp", size)
            assert (len(response.answer[0]), was_cut) == (count, count > fits)
            assert (response.edns >= 0) == (size is not None)


async def test_a_change_is_seen_when_the_ttl_is_over_and_not_before_it_is_asked_for_again(
    front: Front,
) -> None:
    before = zone()
    front.server.zone = before
    watched = {
        ("web.demo.svc", "A"): ["10.96.9.9"],
        ("db.demo.svc", "A"): ["10.2.0.99"],
        ("_http._tcp.web.demo.svc", "SRV"): ["0 100 81 web.demo.svc.clusterset.local."],
        ("new.demo.svc", "A"): ["10.96.8.8"],
        ("dual.demo.svc", "A"): [],
    }
    known = [question for question in watched if (await asked(front.port, *question)).answer]
    assert len(known) == len(watched) - 1
    front.server.zone = before.with_services(
        {
            ServiceKey("demo", "web"): imported_service(
                service_import("web", ips=("10.96.9.9",), ports=(("http", "TCP", 81),)), []
            ),
            ServiceKey("demo", "db"): imported_service(
                service_import("db", "Headless"), [mirror("db", "c2", ready("10.2.0.99"))]
            ),
            ServiceKey("demo", "new"): imported_service(service_import("new", ips=("10.96.8.8",)), []),
            ServiceKey("demo", "dual"): None,
        }
    )
    counted = dict(front.server.counts)
    for name, type_ in known:
        await asked(front.port, name, type_)
    assert front.server.counts == counted, "the cache is on"
    loop = asyncio.get_running_loop()
    changed = loop.time()
    seen: dict[tuple[str, str], float] = {}
    while len(seen) < len(watched) and loop.time() < changed + 30:
        for name, type_ in watched.keys() - seen.keys():
            response = await asked(front.port, name, type_)
            if addresses(response) == watched[name, type_]:
                seen[name, type_] = loop.time() - changed
        await asyncio.sleep(0.05)
    assert seen.keys() == watched.keys()
    assert max(seen.values()) <= max(TTL, front.resolver.minimum) + 1, seen


async def test_nothing_is_remembered_as_absent_from_the_time_before_the_first_sync(front: Front) -> None:
    questions = (*QUESTIONS, *WITHOUT_DATA)
    for transport in ("udp", "tcp"):
        for name, type_ in questions:
            response = await asked(front.port, name, type_, transport)
            assert (response.rcode(), response.answer) == (dns.rcode.SERVFAIL, []), (name, type_)
    front.server.zone = zone()
    loop = asyncio.get_running_loop()
    synced = loop.time()
    waiting = list(questions)
    while waiting:
        for name, type_ in tuple(waiting):
            response = await asked(front.port, name, type_)
            assert response.rcode() in (dns.rcode.NOERROR, dns.rcode.SERVFAIL), (name, type_)
            if response.rcode() == dns.rcode.NOERROR:
                assert bool(response.answer) == ((name, type_) in QUESTIONS), (name, type_)
                waiting.remove((name, type_))
        assert loop.time() <= synced + front.resolver.servfail_kept + 1, waiting
        await asyncio.sleep(0.02)


async def test_a_hundred_new_names_at_once_are_all_answered(front: Front) -> None:
    names = [f"s{number}.demo.svc" for number in range(100)]
    front.server.zone = zone().with_services(
        {
            ServiceKey("demo", f"s{number}"): imported_service(
                service_import(f"s{number}", ips=(f"10.96.2.{number}",)), []
            )
            for number in range(100)
        }
    )
    async with asyncio.TaskGroup() as asking:
        tasks = [asking.create_task(asked(front.port, name, "A"), name=name) for name in names]
    assert [addresses(task.result()) for task in tasks] == [[f"10.96.2.{number}"] for number in range(100)]


async def test_it_answers_again_soon_after_our_server_was_away(resolver: Resolver, tmp_path: Path) -> None:
    (server_port,) = free_ports(1)
    async with forwarding(resolver, server_port, tmp_path) as port:

        async def is_answered(name: str = "web") -> bool:
            with suppress(TimeoutError, dns.exception.Timeout):
                async with asyncio.timeout(2):
                    return bool((await asked(port, f"{name}.demo.svc", "A")).answer)
            return False

        async with DnsServer(zone(), HOST, server_port):
            await asked(port, "dual.demo.svc", "A")
        async with asyncio.TaskGroup() as asking:
            for number in range(20):
                asking.create_task(is_answered(f"n{number}"), name=f"ask {number}")
                await asyncio.sleep(0.25)
        async with DnsServer(zone(), HOST, server_port):
            await eventually("it answers", is_answered, seconds=resolver.recovery + 1, every=0.2)


@pytest.mark.timeout(120)
async def test_a_change_in_the_api_is_seen_through_every_resolver(
    planes: ControlPlanes, kubectl_for: Callable[[str], Kubectl], namespace: str, tmp_path: Path
) -> None:
    kubectl = kubectl_for("west")
    name = f"db.{namespace}.svc"
    (server_port, metrics_port) = free_ports(2)
    await kubectl("apply", "--namespace", namespace, "-f", "-", stdin=IMPORTED)
    command = (
        *("dns", "--kubeconfig", str(planes["west"].kubeconfig())),
        *("--listen", f"{HOST}:{server_port}", "--metrics-listen", f"{HOST}:{metrics_port}"),
    )
    loop = asyncio.get_running_loop()

    async def seen_after(resolver: Resolver, port: int) -> None:
        while addresses(await asked(port, name, "A")) != ["10.2.0.6"]:
            assert loop.time() <= changed + max(TTL, resolver.minimum) + 1, resolver
            await asyncio.sleep(0.1)

    async with running("dns", *command, folder=tmp_path), AsyncExitStack() as stack:

        async def is_known() -> bool:
            try:
                return addresses(await asked(server_port, name, "A")) == ["10.2.0.5"]
            except (OSError, dns.exception.Timeout):
                return False

        await eventually("the server knows the import", is_known)
        ports = {
            each: await stack.enter_async_context(forwarding(each, server_port, tmp_path))
            for each in RESOLVERS
            if is_here(each)
        }
        for port in ports.values():
            assert addresses(await asked(port, name, "A")) == ["10.2.0.5"]
        patch = '[{"op": "replace", "path": "/endpoints/0/addresses/0", "value": "10.2.0.6"}]'
        await kubectl("patch", "endpointslice", "db-c2", "--namespace", namespace, "--type=json", "-p", patch)
        changed = loop.time()
        async with asyncio.TaskGroup() as watching:
            for each, port in ports.items():
                watching.create_task(seen_after(each, port), name=str(each))
