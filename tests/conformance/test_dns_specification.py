"""Kubernetes DNS-Based Multicluster Service Discovery 1.0.0, sentence by sentence, asked from outside.

Each test names the section it checks; "KEP" is KEP-1645, "practice" what CoreDNS answers where the specification is
silent. dnspython asks over UDP and over TCP, and both must say the same.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

import dns.asyncquery
import dns.flags
import dns.message
import dns.rcode
import pytest

from mcs.model.slices import IPV6, Endpoint, EndpointConditions
from mcs_dns.server import DnsServer
from mcs_dns.zone import Zone
from tests.unit.dns.sample_zone import (
    mirror,
    ready,
    sample_services,
    sample_zone,
    service_import,
    zone_of,
)

ORIGIN = "clusterset.local."
Ask = Callable[..., Awaitable[dns.message.Message]]


class Listening(Protocol):
    """A server that answers the zone, as far as who asks must know it."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


async def answer(server: Listening, name: str, type_: str) -> dns.message.Message:
    """The response to a question about a name in the zone, after checking that UDP and TCP agree."""
    full = name if name.endswith(".") else ".".join(filter(None, (name, ORIGIN)))
    query = dns.message.make_query(full, type_)
    over_udp = await dns.asyncquery.udp(query, server.host, port=server.port, timeout=5)
    over_tcp = await dns.asyncquery.tcp(query, server.host, port=server.port, timeout=5)
    assert over_udp == over_tcp
    assert has_no_record_twice(over_udp)
    return over_tcp


def has_no_record_twice(response: dns.message.Message) -> bool:
    """True when there are as many records as the header counts: dnspython takes equal ones for one (RFC 2181, 5)."""
    counts = [int.from_bytes((response.wire or b"")[at : at + 2]) for at in (6, 8, 10)]
    return counts == [sum(map(len, section)) for section in response.sections[1:]]


@pytest.fixture
async def ask() -> AsyncIterator[Ask]:
    async with DnsServer(sample_zone(), "127.0.0.1", 0) as server:

        async def asking(name: str, type_: str) -> dns.message.Message:
            return await answer(server, name, type_)

        yield asking


def data(response: dns.message.Message) -> list[str]:
    """The data of the answer section, sorted; the response must be an authoritative NOERROR."""
    assert response.rcode() == dns.rcode.NOERROR
    assert response.flags & dns.flags.AA
    return sorted(record.to_text() for rrset in response.answer for record in rrset)


def denies(response: dns.message.Message, rcode: dns.rcode.Rcode) -> bool:
    """True for an authoritative denial with `rcode`: no answer, and one SOA of the zone (RFC 2308, 2)."""
    (soa,) = response.authority
    return (
        response.rcode() == rcode
        and bool(response.flags & dns.flags.AA)
        and response.answer == []
        and soa.name.to_text() == ORIGIN
        and soa.rdtype.name == "SOA"
        and soa.ttl == soa[0].minimum
    )


@pytest.mark.spec("MCS-DNS#2.2", "MUST")
async def test_the_schema_version_is_a_txt_record(ask: Ask) -> None:
    response = await ask("dns-version", "TXT")
    assert (data(response), response.answer[0].ttl) == (['"1.0.0"'], 28800)


@pytest.mark.spec("practice: times to live are not prescribed", "MUST")
async def test_every_record_but_the_schema_version_lives_as_long_as_was_configured() -> None:
    configured = Zone.empty(ttl=30).with_services(sample_services()).as_synced()
    async with DnsServer(configured, "127.0.0.1", 0) as server:
        for name, type_ in (("web.demo.svc", "A"), ("_sql._tcp.db.demo.svc", "SRV"), ("", "NS"), ("x", "A")):
            response = await answer(server, name, type_)
            told = [*response.answer, *response.authority, *response.additional]
            assert {rrset.ttl for rrset in told} == {30}, name


@pytest.mark.spec("MCS-DNS#2.3.1", "MUST")
async def test_a_clusterset_ip_service_has_a_record_for_each_ip_of_each_family(ask: Ask) -> None:
    assert data(await ask("web.demo.svc", "A")) == ["10.96.0.7"]
    assert data(await ask("dual.demo.svc", "A")) == ["10.96.0.8"]
    assert data(await ask("dual.demo.svc", "AAAA")) == ["fd00:96::8"]


@pytest.mark.spec("MCS-DNS#2.3.1", "MUST")
async def test_a_clusterset_ip_service_answers_whether_or_not_it_has_ready_endpoints(ask: Ask) -> None:
    assert data(await ask("portless.demo.svc", "A")) == ["10.96.0.10"]


@pytest.mark.spec("MCS-DNS#2.3.2", "MUST")
async def test_each_named_port_of_a_clusterset_ip_service_has_an_srv_record(ask: Ask) -> None:
    target = "web.demo.svc.clusterset.local."
    assert data(await ask("_http._tcp.web.demo.svc", "SRV")) == [f"0 100 80 {target}"]
    assert data(await ask("_https._tcp.web.demo.svc", "SRV")) == [f"0 100 443 {target}"]
    assert data(await ask("_dns._udp.dual.demo.svc", "SRV")) == ["0 100 53 dual.demo.svc.clusterset.local."]


@pytest.mark.spec("MCS-DNS#2.3.2", "MUST NOT")
async def test_an_unnamed_port_has_no_srv_record(ask: Ask) -> None:
    for name in ("_._tcp.unnamed.demo.svc", "_tcp.unnamed.demo.svc", "_8080._tcp.unnamed.demo.svc"):
        assert denies(await ask(name, "SRV"), dns.rcode.NXDOMAIN), name


@pytest.mark.spec("MCS-DNS#2.3.2", "MAY")
async def test_the_addresses_of_srv_targets_come_in_the_additional_section(ask: Ask) -> None:
    response = await ask("_dns._udp.dual.demo.svc", "SRV")
    assert sorted(rrset.to_text() for rrset in response.additional) == [
        "dual.demo.svc.clusterset.local. 5 IN A 10.96.0.8",
        "dual.demo.svc.clusterset.local. 5 IN AAAA fd00:96::8",
    ]


@pytest.mark.spec("MCS-DNS#2.3.3", "MAY")
async def test_reverse_names_are_left_to_the_clusters_own_dns(ask: Ask) -> None:
    assert (await ask("7.0.96.10.in-addr.arpa.", "PTR")).rcode() == dns.rcode.REFUSED


@pytest.mark.spec("MCS-DNS#2.3.4", "MUST NOT")
@pytest.mark.parametrize("type_", ["A", "AAAA", "SRV", "ANY"])
async def test_no_cluster_can_be_singled_out_of_a_clusterset_ip_service(ask: Ask, type_: str) -> None:
    assert denies(await ask("c1.web.demo.svc", type_), dns.rcode.NXDOMAIN)


@pytest.mark.spec("MCS-DNS#2.3.1", "MAY")
async def test_the_endpoints_of_a_clusterset_ip_service_have_no_names(ask: Ask) -> None:
    assert denies(await ask("10-1-0-1.c1.web.demo.svc", "A"), dns.rcode.NXDOMAIN)


@pytest.mark.spec("MCS-DNS#2.4.1", "MUST")
async def test_a_headless_service_has_a_record_for_each_ready_endpoint_of_all_clusters(ask: Ask) -> None:
    assert data(await ask("db.demo.svc", "A")) == ["10.2.0.5", "10.3.0.5", "10.3.0.6", "10.4.0.5"]
    assert data(await ask("db.demo.svc", "AAAA")) == ["fd00:2::5"]


@pytest.mark.spec("MCS-DNS#2.4.1", "MUST")
async def test_each_ready_endpoint_of_a_headless_service_has_a_name_with_its_cluster(ask: Ask) -> None:
    assert data(await ask("db-0.c2.db.demo.svc", "A")) == ["10.2.0.5"]
    assert data(await ask("db-0.c2.db.demo.svc", "AAAA")) == ["fd00:2::5"]
    assert data(await ask("db-0.c3.db.demo.svc", "A")) == ["10.3.0.5"]
    for name in ("db-0.db.demo.svc", "db-0.c9.db.demo.svc", "db-1.c2.db.demo.svc"):
        assert denies(await ask(name, "A"), dns.rcode.NXDOMAIN), name


@pytest.mark.spec("MCS-DNS#2.4.1", "MUST")
async def test_a_hostname_with_several_addresses_has_a_record_for_each() -> None:
    slices = (mirror("db", "c1", ready("10.0.0.1", hostname="a"), ready("10.0.0.2", hostname="a")),)
    async with DnsServer(zone_of((service_import("db", "Headless"), slices)), "127.0.0.1", 0) as server:
        assert data(await answer(server, "a.c1.db.demo.svc", "A")) == ["10.0.0.1", "10.0.0.2"]


@pytest.mark.spec("MCS-DNS#2.1", "MUST")
async def test_a_cluster_id_may_have_two_labels(ask: Ask) -> None:
    assert data(await ask("db-0.c4.eu.db.demo.svc", "A")) == ["10.4.0.5"]


@pytest.mark.spec("MCS-DNS#2.1", "MUST")
async def test_an_endpoint_without_a_hostname_is_named_by_its_address_with_dashes(ask: Ask) -> None:
    assert data(await ask("10-3-0-6.c3.db.demo.svc", "A")) == ["10.3.0.6"]
    assert data(await ask("fd00-1--a.c1.six.demo.svc", "AAAA")) == ["fd00:1::a"]
    assert data(await ask("fd00-1--0.c1.six.demo.svc", "AAAA")) == ["fd00:1::"]


@pytest.mark.spec("MCS-DNS#2.1", "MUST")
async def test_names_are_compared_without_regard_to_case(ask: Ask) -> None:
    response = await ask("WeB.dEmO.sVc.ClUsTeRsEt.LoCaL.", "A")
    assert data(response) == ["10.96.0.7"]
    assert response.question[0].name.to_text() == "WeB.dEmO.sVc.ClUsTeRsEt.LoCaL."
    assert data(await ask("DB-0.C4.Eu.db.demo.svc", "A")) == ["10.4.0.5"]
    assert len(data(await ask("_SQL._TCP.db.demo.svc", "SRV"))) == 4


@pytest.mark.spec("MCS-DNS#2.4.1", "SHOULD")
@pytest.mark.parametrize("name", ["down.demo.svc", "_sql._tcp.down.demo.svc", "asleep.quiet.svc"])
@pytest.mark.parametrize("type_", ["A", "AAAA", "SRV", "MX"])
async def test_a_headless_service_without_ready_endpoints_does_not_exist(
    ask: Ask, name: str, type_: str
) -> None:
    assert denies(await ask(name, type_), dns.rcode.NXDOMAIN)


@pytest.mark.spec("MCS-DNS#2.4.1: ready endpoints", "MUST")
async def test_ready_alone_decides_and_what_is_not_said_is_ready() -> None:
    serving = EndpointConditions(ready=False, serving=True, terminating=True)
    leaving = EndpointConditions(ready=True, serving=True, terminating=True)
    endpoints = (
        Endpoint(addresses=("10.0.0.1",)),
        Endpoint(addresses=("10.0.0.2",), conditions=serving),
        Endpoint(addresses=("10.0.0.3",), conditions=leaving),
    )
    zone = zone_of((service_import("db", "Headless"), (mirror("db", "c1", *endpoints),)))
    async with DnsServer(zone, "127.0.0.1", 0) as server:
        assert data(await answer(server, "db.demo.svc", "A")) == ["10.0.0.1", "10.0.0.3"]


@pytest.mark.spec("MCS-DNS#2.4.1", "MUST")
async def test_a_and_aaaa_name_the_same_endpoints() -> None:
    both = [ready(f"10.0.0.{n}", hostname=f"m-{n}") for n in range(1, 9)]
    both_v6 = [ready(f"fd00::{n}", hostname=f"m-{n}") for n in range(1, 9)]
    slices = (mirror("db", "c1", *both), mirror("db", "c1", *both_v6, family=IPV6))
    async with DnsServer(zone_of((service_import("db", "Headless"), slices)), "127.0.0.1", 0) as server:
        v4, v6 = (
            data(await answer(server, "db.demo.svc", "A")),
            data(await answer(server, "db.demo.svc", "AAAA")),
        )
    assert [address.rsplit(".", 1)[1] for address in v4] == [address.rsplit(":", 1)[1] for address in v6]


@pytest.mark.spec("practice: clients take the first address", "SHOULD")
@pytest.mark.parametrize("type_", ["A", "SRV"])
async def test_several_records_come_in_a_changing_order(ask: Ask, type_: str) -> None:
    first = {(await ask("db.demo.svc", type_)).answer[0][0].to_text() for _ in range(60)}
    assert len(first) == 4


@pytest.mark.spec("MCS-DNS#2.4.2", "MUST")
async def test_each_ready_endpoint_and_named_port_has_an_srv_record_with_the_endpoints_port(ask: Ask) -> None:
    assert data(await ask("_sql._tcp.db.demo.svc", "SRV")) == [
        f"0 100 5432 {host}.db.demo.svc.clusterset.local."
        for host in ("10-3-0-6.c3", "db-0.c2", "db-0.c3", "db-0.c4.eu")
    ]


@pytest.mark.spec("MCS-DNS#2.4.2", "MUST")
async def test_every_srv_target_resolves_to_the_endpoints_addresses(ask: Ask) -> None:
    response = await ask("_sql._tcp.db.demo.svc", "SRV")
    told = {(rrset.name.to_text(), record.to_text()) for rrset in response.additional for record in rrset}
    found = set()
    for record in response.answer[0]:
        for type_ in ("A", "AAAA"):
            resolved = await ask(record.target.to_text(), type_)
            found |= {(record.target.to_text(), address) for address in data(resolved)}
    assert found == told
    assert {address for _, address in found} == {"10.2.0.5", "fd00:2::5", "10.3.0.5", "10.3.0.6", "10.4.0.5"}


@pytest.mark.spec("MCS-DNS#2.4.2", "MUST NOT")
async def test_an_unnamed_port_of_a_headless_service_has_no_srv_record(ask: Ask) -> None:
    for name in ("_._udp.six.demo.svc", "_udp.six.demo.svc"):
        assert denies(await ask(name, "SRV"), dns.rcode.NXDOMAIN), name


@pytest.mark.spec("MCS-DNS#2.4.4", "MUST NOT")
@pytest.mark.parametrize("name", ["c2.db.demo.svc", "c3.db.demo.svc", "c4.eu.db.demo.svc", "eu.db.demo.svc"])
@pytest.mark.parametrize("type_", ["A", "AAAA", "SRV", "ANY"])
async def test_no_cluster_can_be_singled_out_of_a_headless_service(ask: Ask, name: str, type_: str) -> None:
    assert denies(await ask(name, type_), dns.rcode.NOERROR)


@pytest.mark.spec("practice: the official tests ask for SRV at the service itself", "MUST")
async def test_srv_at_the_service_itself_has_one_record_for_each_target_and_port(ask: Ask) -> None:
    assert data(await ask("dual.demo.svc", "SRV")) == ["0 100 53 dual.demo.svc.clusterset.local."]
    assert len(data(await ask("db.demo.svc", "SRV"))) == 4


@pytest.mark.spec("RFC2308#2.2", "MUST")
@pytest.mark.parametrize(
    ("name", "type_"),
    [("web.demo.svc", type_) for type_ in ("AAAA", "TXT", "MX", "HTTPS", "PTR", "SOA")]
    + [
        ("six.demo.svc", "A"),
        ("db.demo.svc", "TXT"),
        ("db.demo.svc", "SOA"),
        ("db-0.c3.db.demo.svc", "AAAA"),
        ("db-0.c3.db.demo.svc", "SRV"),
        ("_http._tcp.web.demo.svc", "A"),
        ("_tcp.web.demo.svc", "SRV"),
        ("pending.demo.svc", "A"),
        ("pending.demo.svc", "AAAA"),
        ("dns-version", "A"),
        ("dns", "A"),
        ("", "A"),
        ("svc", "A"),
        ("demo.svc", "A"),
        ("quiet.svc", "A"),
    ],
)
async def test_a_name_that_exists_without_the_type_gets_no_data(ask: Ask, name: str, type_: str) -> None:
    assert denies(await ask(name, type_), dns.rcode.NOERROR)


@pytest.mark.spec("RFC2308#2.1", "MUST")
@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("nosuch.demo.svc", "A"),
        ("nosuch.demo.svc", "MX"),
        ("nosuch.demo.svc", "ANY"),
        ("web.nosuch.svc", "A"),
        ("nosuch.svc", "A"),
        ("nosuch", "A"),
        ("_nosuch._tcp.web.demo.svc", "SRV"),
        ("_http._udp.web.demo.svc", "SRV"),
        ("_sql._udp.db.demo.svc", "SRV"),
        ("x.c2.db.demo.svc", "A"),
        ("x.y.c4.eu.db.demo.svc", "AAAA"),
        ("x.dns-version", "TXT"),
    ],
)
async def test_a_name_that_does_not_exist_gets_nxdomain(ask: Ask, name: str, type_: str) -> None:
    response = await ask(name, type_)
    assert denies(response, dns.rcode.NXDOMAIN)
    assert response.question[0].rdtype.name == type_


@pytest.mark.spec("RFC1034#4.2.1", "MUST")
async def test_the_zone_has_its_soa_and_ns_at_the_apex(ask: Ask) -> None:
    (soa,) = data(await ask("", "SOA"))
    assert soa.split()[:2] == ["ns.dns.clusterset.local.", "hostmaster.clusterset.local."]
    assert data(await ask("", "NS")) == ["ns.dns.clusterset.local."]


@pytest.mark.spec("RFC1035#3.3.11", "SHOULD")
async def test_the_name_server_has_the_addresses_that_it_was_given() -> None:
    async with DnsServer(sample_zone(), "127.0.0.1", 0) as server:
        assert data(await answer(server, "ns.dns", "A")) == ["10.96.0.10"]
        assert data(await answer(server, "ns.dns", "AAAA")) == ["fd00:96::10"]
        additional = (await answer(server, "", "NS")).additional
    assert sorted(rrset.to_text().split()[-1] for rrset in additional) == ["10.96.0.10", "fd00:96::10"]


@pytest.mark.spec("RFC2308#2.2", "MUST")
async def test_a_name_server_whose_addresses_are_not_known_exists_without_data() -> None:
    async with DnsServer(Zone.empty(synced=True), "127.0.0.1", 0) as server:
        for type_ in ("A", "AAAA"):
            assert denies(await answer(server, "ns.dns", type_), dns.rcode.NOERROR)
        assert (await answer(server, "", "NS")).additional == []


@pytest.mark.spec("RFC2308#5", "SHOULD")
async def test_denials_are_cached_no_longer_than_answers(ask: Ask) -> None:
    (soa,) = (await ask("nosuch.demo.svc", "A")).authority
    assert (soa.ttl, soa[0].minimum) == (5, 5)


@pytest.mark.spec("practice: a false NXDOMAIN would be cached", "MUST")
@pytest.mark.parametrize("name", ["web.demo.svc", "db.demo.svc", "nosuch.demo.svc", "", "dns-version"])
async def test_before_everything_is_known_the_answer_is_servfail(name: str) -> None:
    async with DnsServer(Zone.empty().with_services(sample_services()), "127.0.0.1", 0) as server:
        response = await answer(server, name, "A")
    assert (response.rcode(), response.authority, response.answer) == (dns.rcode.SERVFAIL, [], [])


@pytest.mark.spec("RFC8482#4.1", "MAY")
async def test_any_gets_one_set_of_records(ask: Ask) -> None:
    assert data(await ask("dual.demo.svc", "ANY")) == ["10.96.0.8"]


@pytest.mark.spec("RFC1034#4.3.1", "MUST")
@pytest.mark.parametrize("name", ["web.demo.svc.cluster.local.", "example.com.", ".", "local."])
async def test_other_zones_are_refused(ask: Ask, name: str) -> None:
    response = await ask(name, "A")
    assert (response.rcode(), response.flags & dns.flags.AA) == (dns.rcode.REFUSED, 0)


@pytest.mark.spec("practice: clients wait for a reply that never comes", "MUST")
async def test_a_denial_arrives_as_fast_as_an_answer(ask: Ask) -> None:
    async with asyncio.timeout(4):
        for _ in range(20):
            await ask("nosuch.demo.svc", "A")
