"""Which records a question gets, as zone-file lines, over the sample zone."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from mcs.model.names import ServiceKey
from mcs_dns.answer import Rcode, resolve
from mcs_dns.zone import ReadyEndpoint, Zone, imported_service
from tests.unit.dns.sample_zone import (
    answer_lines,
    lines,
    mirror,
    question,
    ready,
    sample_services,
    sample_zone,
    service_import,
    zone_of,
)

ZONE = sample_zone()
SOA = (
    "clusterset.local. 5 IN SOA ns.dns.clusterset.local. hostmaster.clusterset.local. "
    f"{ZONE.serial} 7200 1800 86400 5"
)

FOUND = [
    ("", "SOA", [SOA]),
    ("", "NS", ["clusterset.local. 5 IN NS ns.dns.clusterset.local."]),
    ("dns-version", "TXT", ['dns-version.clusterset.local. 28800 IN TXT "1.0.0"']),
    ("ns.dns", "A", ["ns.dns.clusterset.local. 5 IN A 10.96.0.10"]),
    ("web.demo.svc", "A", ["web.demo.svc.clusterset.local. 5 IN A 10.96.0.7"]),
    ("dual.demo.svc", "AAAA", ["dual.demo.svc.clusterset.local. 5 IN AAAA fd00:96::8"]),
    (
        "_http._tcp.web.demo.svc",
        "SRV",
        ["_http._tcp.web.demo.svc.clusterset.local. 5 IN SRV 0 100 80 web.demo.svc.clusterset.local."],
    ),
    (
        "web.demo.svc",
        "SRV",
        [
            "web.demo.svc.clusterset.local. 5 IN SRV 0 100 443 web.demo.svc.clusterset.local.",
            "web.demo.svc.clusterset.local. 5 IN SRV 0 100 80 web.demo.svc.clusterset.local.",
        ],
    ),
    # One of two ports with the same number: the specification's tests count records by (target, port).
    (
        "dual.demo.svc",
        "SRV",
        ["dual.demo.svc.clusterset.local. 5 IN SRV 0 100 53 dual.demo.svc.clusterset.local."],
    ),
    (
        "unnamed.demo.svc",
        "SRV",
        ["unnamed.demo.svc.clusterset.local. 5 IN SRV 0 100 8080 unnamed.demo.svc.clusterset.local."],
    ),
    (
        "db.demo.svc",
        "A",
        [f"db.demo.svc.clusterset.local. 5 IN A 10.{n}" for n in ("2.0.5", "3.0.5", "3.0.6", "4.0.5")],
    ),
    ("db.demo.svc", "AAAA", ["db.demo.svc.clusterset.local. 5 IN AAAA fd00:2::5"]),
    ("db-0.c2.db.demo.svc", "A", ["db-0.c2.db.demo.svc.clusterset.local. 5 IN A 10.2.0.5"]),
    ("db-0.c2.db.demo.svc", "AAAA", ["db-0.c2.db.demo.svc.clusterset.local. 5 IN AAAA fd00:2::5"]),
    ("DB-0.C3.db.demo.svc", "A", ["db-0.c3.db.demo.svc.clusterset.local. 5 IN A 10.3.0.5"]),
    ("db-0.c4.eu.db.demo.svc", "A", ["db-0.c4.eu.db.demo.svc.clusterset.local. 5 IN A 10.4.0.5"]),
    ("10-3-0-6.c3.db.demo.svc", "A", ["10-3-0-6.c3.db.demo.svc.clusterset.local. 5 IN A 10.3.0.6"]),
    ("fd00-1--0.c1.six.demo.svc", "AAAA", ["fd00-1--0.c1.six.demo.svc.clusterset.local. 5 IN AAAA fd00:1::"]),
    (
        "_sql._tcp.db.demo.svc",
        "SRV",
        [
            f"_sql._tcp.db.demo.svc.clusterset.local. 5 IN SRV 0 100 5432 {host}.db.demo.svc.clusterset.local."
            for host in ("10-3-0-6.c3", "db-0.c2", "db-0.c3", "db-0.c4.eu")
        ],
    ),
    (
        "six.demo.svc",
        "SRV",
        [
            f"six.demo.svc.clusterset.local. 5 IN SRV 0 100 9 {host}.c1.six.demo.svc.clusterset.local."
            for host in ("fd00-1--0", "fd00-1--a")
        ],
    ),
    # A minimal answer to ANY is one of the sets that the name has (RFC 8482).
    ("web.demo.svc", "ANY", ["web.demo.svc.clusterset.local. 5 IN A 10.96.0.7"]),
    ("dns-version", "ANY", ['dns-version.clusterset.local. 28800 IN TXT "1.0.0"']),
]


@pytest.mark.parametrize(("name", "type_", "records"), FOUND)
def test_a_name_with_records_of_the_type_gets_them_all(name: str, type_: str, records: list[str]) -> None:
    assert answer_lines(ZONE, name, type_) == ("NOERROR", records)


NO_DATA = [
    ("", "A"),
    ("", "AAAA"),
    ("svc", "A"),
    ("dns", "A"),
    ("demo.svc", "A"),
    ("quiet.svc", "ANY"),
    ("dns-version", "A"),
    ("ns.dns", "TXT"),
    ("web.demo.svc", "AAAA"),
    ("web.demo.svc", "TXT"),
    ("web.demo.svc", "MX"),
    ("web.demo.svc", "HTTPS"),
    ("web.demo.svc", "PTR"),
    ("web.demo.svc", "SOA"),
    ("web.demo.svc", "NS"),
    ("web.demo.svc", 65280),
    ("_tcp.web.demo.svc", "SRV"),
    ("_http._tcp.web.demo.svc", "A"),
    ("pending.demo.svc", "A"),
    ("pending.demo.svc", "SRV"),
    ("_http._tcp.pending.demo.svc", "SRV"),
    ("portless.demo.svc", "SRV"),
    ("six.demo.svc", "A"),
    ("db-0.c2.db.demo.svc", "SRV"),
    ("db-0.c3.db.demo.svc", "AAAA"),
    ("c2.db.demo.svc", "A"),
    ("c2.db.demo.svc", "SRV"),
    ("c2.db.demo.svc", "ANY"),
    ("c4.eu.db.demo.svc", "A"),
    ("eu.db.demo.svc", "AAAA"),
]


@pytest.mark.parametrize(("name", "type_"), NO_DATA)
def test_a_name_that_exists_without_the_type_gets_no_data_and_the_soa(name: str, type_: str | int) -> None:
    answer = resolve(question(name, type_), ZONE)
    assert (answer.rcode, answer.answers, lines(answer.authority)) == (Rcode.NOERROR, (), [SOA])


ABSENT = [
    ("pod", "A"),
    ("nosuch.demo.svc", "A"),
    ("nosuch.demo.svc", "MX"),
    ("nosuch.demo.svc", "ANY"),
    ("web.nosuch.svc", "A"),
    ("nosuch.svc", "A"),
    ("x.dns-version", "TXT"),
    ("_nosuch._tcp.web.demo.svc", "SRV"),
    ("_http._udp.web.demo.svc", "SRV"),
    ("_udp.web.demo.svc", "SRV"),
    ("_._tcp.unnamed.demo.svc", "SRV"),
    ("_tcp.unnamed.demo.svc", "SRV"),
    ("_._udp.six.demo.svc", "SRV"),
    ("c1.web.demo.svc", "A"),
    ("c1.web.demo.svc", "SRV"),
    ("10-1-0-1.c1.web.demo.svc", "A"),
    ("db-0.db.demo.svc", "A"),
    ("db-0.c9.db.demo.svc", "A"),
    ("c9.db.demo.svc", "A"),
    ("db-0.eu.db.demo.svc", "A"),
    ("db-1.c2.db.demo.svc", "A"),
    ("x.db-0.c4.eu.db.demo.svc", "A"),
    ("down.demo.svc", "A"),
    ("down.demo.svc", "AAAA"),
    ("_sql._tcp.down.demo.svc", "SRV"),
    ("c1.down.demo.svc", "A"),
    ("asleep.quiet.svc", "A"),
]


@pytest.mark.parametrize(("name", "type_"), ABSENT)
def test_a_name_that_does_not_exist_gets_nxdomain_and_the_soa(name: str, type_: str) -> None:
    answer = resolve(question(name, type_), ZONE)
    assert (answer.rcode, answer.answers, lines(answer.authority)) == (Rcode.NXDOMAIN, (), [SOA])


@pytest.mark.parametrize(
    ("name", "type_", "records"),
    [
        (
            "",
            "NS",
            ["ns.dns.clusterset.local. 5 IN A 10.96.0.10", "ns.dns.clusterset.local. 5 IN AAAA fd00:96::10"],
        ),
        (
            "_dns._udp.dual.demo.svc",
            "SRV",
            [
                "dual.demo.svc.clusterset.local. 5 IN A 10.96.0.8",
                "dual.demo.svc.clusterset.local. 5 IN AAAA fd00:96::8",
            ],
        ),
        (
            "db.demo.svc",
            "SRV",
            [
                "10-3-0-6.c3.db.demo.svc.clusterset.local. 5 IN A 10.3.0.6",
                "db-0.c2.db.demo.svc.clusterset.local. 5 IN A 10.2.0.5",
                "db-0.c2.db.demo.svc.clusterset.local. 5 IN AAAA fd00:2::5",
                "db-0.c3.db.demo.svc.clusterset.local. 5 IN A 10.3.0.5",
                "db-0.c4.eu.db.demo.svc.clusterset.local. 5 IN A 10.4.0.5",
            ],
        ),
        ("db.demo.svc", "A", []),
        ("web.demo.svc", "ANY", []),
    ],
)
def test_the_addresses_of_targets_come_along(name: str, type_: str, records: list[str]) -> None:
    assert lines(resolve(question(name, type_), ZONE).additional) == records


@pytest.mark.parametrize(
    "name",
    ["web.demo.svc.cluster.local.", "1.0.96.10.in-addr.arpa.", "local.", "example.com."],
)
def test_other_zones_are_refused(name: str) -> None:
    assert resolve(question(name, "A"), ZONE).rcode is Rcode.REFUSED


@pytest.mark.parametrize("type_", ["AXFR", "IXFR"])
def test_transfers_are_refused(type_: str) -> None:
    assert resolve(question("", type_), ZONE).rcode is Rcode.REFUSED


@pytest.mark.parametrize("name", ["web.demo.svc", "nosuch.demo.svc", "", "dns-version"])
def test_before_everything_is_known_the_answer_is_servfail_and_never_nxdomain(name: str) -> None:
    unsynced = Zone.empty().with_services(sample_services())
    answer = resolve(question(name, "A"), unsynced)
    assert (answer.rcode, answer.authority) == (Rcode.SERVFAIL, ())


def test_two_clusters_with_the_same_address_give_one_record() -> None:
    twice = (mirror("db", "c1", ready("10.0.0.1")), mirror("db", "c2", ready("10.0.0.1")))
    zone = zone_of((service_import("db", "Headless"), twice))
    assert answer_lines(zone, "db.demo.svc", "A") == (
        "NOERROR",
        ["db.demo.svc.clusterset.local. 5 IN A 10.0.0.1"],
    )


def test_a_hostname_with_several_addresses_gets_them_all() -> None:
    slices = (mirror("db", "c1", ready("10.0.0.1", hostname="a"), ready("10.0.0.2", hostname="a")),)
    zone = zone_of((service_import("db", "Headless"), slices))
    expected = [f"a.c1.db.demo.svc.clusterset.local. 5 IN A 10.0.0.{n}" for n in (1, 2)]
    assert answer_lines(zone, "a.c1.db.demo.svc", "A") == ("NOERROR", expected)


def test_two_labels_may_name_an_endpoint_or_a_cluster_and_the_endpoint_wins() -> None:
    slices = (
        mirror("db", "b", ready("10.0.0.1", hostname="a")),
        mirror("db", "a.b", ready("10.0.0.2", hostname="x")),
    )
    zone = zone_of((service_import("db", "Headless"), slices))
    expected = ["a.b.db.demo.svc.clusterset.local. 5 IN A 10.0.0.1"]
    assert answer_lines(zone, "a.b.db.demo.svc", "A") == ("NOERROR", expected)
    assert answer_lines(zone, "b.db.demo.svc", "A") == ("NOERROR", [])


def test_srv_targets_too_long_for_a_name_are_left_out_and_the_rest_answers() -> None:
    long = "n" * 63
    slices = (
        mirror(
            long,
            f"{'c' * 31}.{'d' * 31}",
            ready("10.0.0.1", hostname="h" * 63),
            ports=(("p", "TCP", 1),),
            namespace=long,
        ),
        mirror(long, "c1", ready("10.0.0.2", hostname="h"), ports=(("p", "TCP", 1),), namespace=long),
    )
    zone = zone_of((service_import(long, "Headless", namespace=long), slices))
    _, records = answer_lines(zone, f"_p._tcp.{long}.{long}.svc", "SRV")
    assert [record.rsplit(" ", 1)[1].split(".")[0] for record in records] == ["h"]
    assert len(answer_lines(zone, f"{long}.{long}.svc", "A")[1]) == 2


class Read(tuple[ReadyEndpoint, ...]):
    """Endpoints that count how often somebody goes through them."""

    times = 0

    def __iter__(self) -> Iterator[ReadyEndpoint]:
        self.times += 1
        return super().__iter__()


def test_what_a_large_service_does_not_have_is_a_look_up() -> None:
    members = mirror("db", "c1", ready("10.0.0.1", hostname="h"), ports=(("p", "TCP", 1),))
    service = imported_service(service_import("db", "Headless"), [members])
    endpoints = Read(service.endpoints)
    service = replace(service, endpoints=endpoints)
    zone = Zone.empty().with_services({ServiceKey("demo", "db"): service}).as_synced()
    questions = [
        *(
            (f"{below}.db.demo.svc", "A")
            for below in ("absent.c1", "c1", "c2", "x.y.z", "_absent._tcp", "_udp")
        ),
        *((f"{below}db.demo.svc", type_) for below in ("", "h.c1.", "_p._tcp.") for type_ in ("MX", "TXT")),
    ]
    assert [lines for question_ in questions if (lines := answer_lines(zone, *question_)[1])] == []
    read_at_first = endpoints.times
    assert [lines for question_ in questions if (lines := answer_lines(zone, *question_)[1])] == []
    assert endpoints.times == read_at_first


def test_another_origin_and_ttl_are_used_throughout() -> None:
    zone = Zone.empty("set.example", ttl=30).with_services(sample_services()).as_synced()
    assert answer_lines(zone, "web.demo.svc.set.example.", "A")[1] == [
        "web.demo.svc.set.example. 30 IN A 10.96.0.7"
    ]
    assert resolve(question("web.demo.svc", "A"), zone).rcode is Rcode.REFUSED
    (soa,) = resolve(question("set.example.", "SOA"), zone).answers
    assert (soa.ttl, soa.data.rsplit(" ", 1)[-1]) == (30, "30")
