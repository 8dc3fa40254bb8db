"""Zones as values, and what of an import and its slices becomes part of them."""

import re
from typing import NoReturn

import dns.message
import pytest

from mcs.model.meta import ObjectMeta
from mcs.model.names import SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL, ServiceKey
from mcs.model.slices import IPV4, IPV6, AddressType, Endpoint, EndpointPort, EndpointSlice
from mcs_dns.wire import STREAM, respond
from mcs_dns.zone import (
    ImportedService,
    Port,
    ReadyEndpoint,
    Zone,
    imported_service,
    system_assigned_id,
)
from tests.unit.dns.sample_zone import answer_lines, mirror, not_ready, ready, sample_services, service_import

HEADLESS = service_import("db", "Headless")
KEY = HEADLESS.key
LONGEST_ORIGIN = ".".join(["label"] * 40) + "xx"


def names(service: ImportedService) -> list[str]:
    return [".".join(endpoint.labels) for endpoint in service.endpoints]


@pytest.mark.parametrize(
    ("address", "label"),
    [("10.244.0.52", "10-244-0-52"), ("fd00::1", "fd00--1"), ("fd00::", "fd00--0"), ("::5:1", "0--5-1")],
)
def test_the_system_assigned_id_is_the_address_with_dashes_and_a_valid_label(
    address: str, label: str
) -> None:
    assert system_assigned_id(address) == label


def test_endpoints_that_are_not_ready_are_left_out_and_unknown_is_ready() -> None:
    unknown = Endpoint(addresses=("10.1.0.3",))
    service = imported_service(
        HEADLESS, [mirror("db", "c1", ready("10.1.0.1"), not_ready("10.1.0.2"), unknown)]
    )
    assert names(service) == ["10-1-0-1.c1", "10-1-0-3.c1"]


def test_a_ready_endpoint_counts_even_when_another_slice_calls_it_not_ready() -> None:
    slices = [mirror("db", "c1", not_ready("10.1.0.1")), mirror("db", "c1", ready("10.1.0.1"))]
    assert names(imported_service(HEADLESS, slices)) == ["10-1-0-1.c1"]


def test_one_bad_address_spoils_neither_its_endpoint_nor_its_service() -> None:
    endpoints = (ready("127.0.0.1", "10.1.0.1"), ready("nonsense"), ready("10.1.0.2"), ready())
    assert names(imported_service(HEADLESS, [mirror("db", "c1", *endpoints)])) == [
        "10-1-0-1.c1",
        "10-1-0-2.c1",
    ]


@pytest.mark.parametrize("hostname", ["", "under_score", "-dash", "a.b", "x" * 64, "ünicode"])
def test_an_unusable_hostname_is_replaced_by_the_system_assigned_id(hostname: str) -> None:
    service = imported_service(HEADLESS, [mirror("db", "c1", ready("10.1.0.1", hostname=hostname))])
    assert names(service) == ["10-1-0-1.c1"]


@pytest.mark.parametrize("cluster", ["", "a.b.c", "under_score", "x" * 64])
def test_a_slice_without_a_valid_source_cluster_is_left_out(cluster: str) -> None:
    slices = [mirror("db", cluster, ready("10.1.0.1")), mirror("db", "c1", ready("10.1.0.2"))]
    assert names(imported_service(HEADLESS, slices)) == ["10-1-0-2.c1"]


def test_slices_of_other_services_local_slices_and_other_families_are_left_out() -> None:
    local = EndpointSlice(
        address_type=IPV4, metadata=ObjectMeta(namespace="demo"), endpoints=(ready("10.1.0.1"),)
    )
    named = EndpointSlice(
        address_type=IPV4,
        metadata=ObjectMeta(namespace="demo", labels={SERVICE_NAME_LABEL: "db"}),
        endpoints=(ready("10.1.0.2"),),
    )
    domains = mirror("db", "c1", ready("host.example"), family=AddressType("FQDN"))
    slices = [
        mirror("other", "c1", ready("10.1.0.3")),
        mirror("db", "c1", namespace="prod"),
        local,
        named,
        domains,
    ]
    assert imported_service(HEADLESS, slices).endpoints == ()


@pytest.mark.parametrize(
    ("manager", "is_answered"),
    [
        (None, True),
        ("mcs-controller", True),
        ("mesh.example.com", True),
        ("endpointslice-controller.k8s.io", False),
    ],
)
def test_imports_of_any_implementation_are_answered_but_not_what_a_labelled_service_has(
    manager: str | None, is_answered: bool
) -> None:
    labels = mirror("db", "c1").metadata.labels | ({SLICE_MANAGED_BY_LABEL: manager} if manager else {})
    one = EndpointSlice(
        address_type=IPV4,
        metadata=ObjectMeta(namespace="demo", labels=labels),
        endpoints=(ready("10.1.0.1"),),
    )
    assert names(imported_service(HEADLESS, [one])) == (["10-1-0-1.c1"] if is_answered else [])


@pytest.mark.parametrize(
    ("address", "family"),
    [
        ("127.0.0.1", IPV4),
        ("169.254.169.254", IPV4),
        ("224.0.0.251", IPV4),
        ("0.0.0.0", IPV4),
        ("::1", IPV6),
        ("fe80::1", IPV6),
        ("ff02::fb", IPV6),
        ("::", IPV6),
        ("::ffff:127.0.0.1", IPV6),
    ],
)
def test_an_address_that_means_the_client_its_link_or_a_group_is_never_answered(
    address: str, family: AddressType
) -> None:
    headless = imported_service(
        HEADLESS, [mirror("db", "c1", ready(address, hostname="db-0"), family=family)]
    )
    assert headless == ImportedService(type="Headless")
    assert imported_service(service_import("web", ips=(address,)), []).ips == ()


def test_lists_that_kubernetes_wrote_as_null_are_empty() -> None:
    bare = EndpointSlice(address_type=IPV4, metadata=mirror("db", "c1").metadata, endpoints=None, ports=None)
    assert imported_service(HEADLESS, [bare]) == ImportedService(type="Headless")


def test_ports_that_no_record_can_name_are_left_out_and_the_others_have_defaults() -> None:
    ports = (
        EndpointPort(name="any"),
        EndpointPort(name="zero", port=0),
        EndpointPort(name="big", port=65536),
        EndpointPort(port=9, name=None),
        EndpointPort(name="DNS", port=53, protocol="UDP"),
    )
    one = EndpointSlice(
        address_type=IPV4, metadata=mirror("db", "c1").metadata, endpoints=(ready("10.1.0.1"),), ports=ports
    )
    service = imported_service(HEADLESS, [one])
    expected = (Port("", "tcp", 9), Port("dns", "udp", 53))
    assert service.endpoints == (ReadyEndpoint(("10-1-0-1", "c1"), IPV4, ("10.1.0.1",), expected),)


def test_services_of_the_same_meaning_are_equal_whatever_order_their_slices_came_in() -> None:
    slices = [mirror("db", "c2", ready("10.2.0.1"), ready("10.2.0.2")), mirror("db", "c1", ready("10.1.0.1"))]
    other = [slices[1], mirror("db", "c2", ready("10.2.0.2"), ready("10.2.0.1")), slices[0]]
    assert imported_service(HEADLESS, slices) == imported_service(HEADLESS, other)


def test_clusterset_ips_keep_both_families_and_drop_what_is_no_address() -> None:
    service = imported_service(
        service_import("web", ips=("10.96.0.7", "junk", "fd00:96::7", "10.96.0.7")), []
    )
    assert service.ips == ((IPV4, "10.96.0.7"), (IPV6, "fd00:96::7"))


def test_an_unchanged_service_gives_the_very_same_zone() -> None:
    service = ImportedService(type="ClusterSetIP")
    zone = Zone.empty().with_services({KEY: service})
    assert zone.with_services({KEY: ImportedService(type="ClusterSetIP")}) is zone
    assert zone.with_services({ServiceKey("demo", "absent"): None}) is zone


def test_the_zone_before_a_change_stays_as_it_was() -> None:
    before = Zone.empty().with_services({KEY: ImportedService(type="ClusterSetIP")})
    after = before.with_services({KEY: None})
    assert (KEY in before.services, "demo" in before.namespaces) == (True, True)
    assert (KEY in after.services, "demo" in after.namespaces) == (False, False)


def test_a_namespace_exists_until_its_last_service_goes() -> None:
    service, other = ImportedService(type="ClusterSetIP"), ServiceKey("demo", "other")
    zone = Zone.empty().with_services({KEY: service, other: service})
    zone = zone.with_services({KEY: ImportedService(type="Headless")}).with_services({KEY: None})
    assert dict(zone.namespaces) == {"demo": 1}
    assert dict(zone.with_services({other: None}).namespaces) == {}


@pytest.mark.parametrize("key", [ServiceKey("demo", "a.b"), ServiceKey("UP", "web"), ServiceKey("demo", "")])
def test_a_service_that_cannot_be_named_does_not_spoil_the_zone(key: ServiceKey) -> None:
    good = ImportedService(type="ClusterSetIP")
    assert set(Zone.empty().with_services({key: good, KEY: good}).services) == {KEY}


def test_the_serial_counts_changes_and_wraps() -> None:
    zone = Zone.empty()
    assert zone.with_services({KEY: ImportedService(type="ClusterSetIP")}).serial == zone.serial + 1
    last = Zone(zone.settings, zone.services, zone.namespaces, serial=2**32 - 1)
    assert last.with_services({KEY: ImportedService(type="ClusterSetIP")}).serial == 0


def test_a_zone_tells_what_changed_since_its_predecessor_and_since_any_other() -> None:
    one, two = ServiceKey("demo", "one"), ServiceKey("demo", "two")
    first = Zone.empty().with_services({one: ImportedService(type="ClusterSetIP")})
    second = first.with_services({two: ImportedService(type="ClusterSetIP")})
    third = second.with_services({one: ImportedService(type="Headless")})
    assert second.changed_since(first, [one, two]) == {two}
    assert third.changed_since(first, [one, two]) == {one, two}
    assert third.as_synced().changed_since(third, [one, two]) == frozenset()


def test_what_changed_is_told_without_a_look_at_all_that_anybody_keeps() -> None:
    class Untouchable:
        def __iter__(self) -> NoReturn:
            raise AssertionError("every key was looked at")

    first = Zone.empty().with_services({KEY: ImportedService(type="ClusterSetIP")})
    second = first.with_services({KEY: ImportedService(type="Headless")})
    assert second.changed_since(first, Untouchable()) == {KEY}
    assert second.changed_since(second, Untouchable()) == frozenset()


@pytest.mark.parametrize(
    "origin", ["", ".", "under_score.local", "a..b", "x" * 64, ".".join(["label"] * 50), LONGEST_ORIGIN + "x"]
)
def test_an_origin_that_is_no_name_is_refused(origin: str) -> None:
    with pytest.raises(ValueError, match="is not a DNS name"):
        Zone.empty(origin)


@pytest.mark.parametrize("ttl", [-1, 2**31])
def test_a_ttl_outside_the_protocol_is_refused(ttl: int) -> None:
    with pytest.raises(ValueError, match="RFC 2181"):
        Zone.empty(ttl=ttl)


def test_the_longest_origin_leaves_room_for_the_names_of_the_zone_itself() -> None:
    zone = Zone.empty(LONGEST_ORIGIN, nameserver_addresses=("10.0.0.53",), synced=True)
    for name, type_ in (("", "SOA"), ("", "NS"), ("dns-version.", "TXT"), ("ns.dns.", "A")):
        response = respond(dns.message.make_query(f"{name}{LONGEST_ORIGIN}.", type_).to_wire(), zone, STREAM)
        assert response is not None
        assert len(dns.message.from_wire(response).answer) == 1


def test_an_origin_is_read_without_final_dot_and_in_lower_case() -> None:
    assert Zone.empty("ClusterSet.Example.").settings.origin == "clusterset.example"


EUROPE = (
    Zone.empty("clusterset.local", "Eu.Clusterset.Local.", "svc.example")
    .with_services(sample_services())
    .as_synced()
)


@pytest.mark.parametrize("origin", ["clusterset.local", "eu.clusterset.local", "svc.example"])
def test_a_service_has_the_same_names_in_every_zone(origin: str) -> None:
    one = Zone.empty(origin, synced=True).with_services(sample_services())
    for relative in (
        "",
        "ns.dns.",
        "nosuch.demo.svc.",
        "web.demo.svc.",
        "db-0.c2.db.demo.svc.",
        "_sql._tcp.db.demo.svc.",
    ):
        for type_ in ("A", "SRV", "SOA", "NS", "TXT"):
            found = answer_lines(EUROPE, f"{relative}{origin}.", type_)
            assert found == answer_lines(one, f"{relative}{origin}.", type_)


@pytest.mark.parametrize(
    ("origins", "problem"),
    [
        (("a.test", "b..test"), "zone 'b..test' is not a DNS name"),
        (("a.test", "svc.a.test"), "zone 'svc.a.test' is among the names of services of zone 'a.test'"),
        (("x.shop.svc.a.test", "a.test"), "zone 'x.shop.svc.a.test' is among the names"),
    ],
)
def test_zones_that_cannot_be_told_apart_are_refused(origins: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        Zone.empty(*origins)


def test_a_zone_that_is_named_twice_is_one_zone() -> None:
    assert Zone.empty("a.test", "A.test.").settings == Zone.empty("a.test").settings
