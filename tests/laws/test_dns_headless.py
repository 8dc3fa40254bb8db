"""A law of headless services: what they answer straight as bytes is what `answer` and `records` make of them."""

from collections.abc import Sequence

import dns.message
import pytest
from dns.rdatatype import RdataType
from hypothesis import given
from hypothesis import strategies as st

from mcs.model.names import ServiceKey
from mcs.model.preference import NO_PREFERENCE, Preference
from mcs.model.slices import IPV4, IPV6, EndpointSlice
from mcs_dns.responder import Responder
from mcs_dns.wire import MAX_DATAGRAM, STREAM, respond
from mcs_dns.zone import Zone, imported_service
from tests.unit.dns.sample_zone import mirror, not_ready, ready, service_import

KEY = ServiceKey("demo", "db")
LONG = "x" * 63
"""Below an origin of some length it makes a target that is no name any more."""

ORIGIN = "clusterset.local"
LONG_ORIGIN = ".".join(["o" * 60] * 3 + ["local"])
RELATIVE_NAMES = (
    "",
    "_p._tcp.",
    "_q._udp.",
    "_tcp.",
    "_._tcp.",
    "_p._.",
    "_p.tcp.",
    "p._tcp.",
    "h.c1.",
    "c1.",
    "x._p._tcp.",
)

PORTS = st.lists(
    st.tuples(st.sampled_from(["", "p", "q"]), st.sampled_from(["TCP", "UDP"]), st.sampled_from([53, 80])),
    max_size=3,
)
PREFERENCES = st.sampled_from(
    [
        NO_PREFERENCE,
        NO_PREFERENCE,
        Preference(0),
        Preference(7),
        Preference(7, 3),
        Preference(is_local_first=True),
    ]
)


@st.composite
def slices(draw: st.DrawFn) -> EndpointSlice:
    family = draw(st.sampled_from([IPV4, IPV6]))
    address = st.integers(1, 3).map(
        lambda number: f"10.0.0.{number}" if family == IPV4 else f"fd00::{number}"
    )
    endpoints = st.builds(
        lambda make, addresses, hostname: make(*addresses, hostname=hostname),
        st.sampled_from([ready, ready, ready, not_ready]),
        st.lists(address, min_size=1, max_size=2),
        st.sampled_from([None, None, "h", "i", "c1", LONG]),
    )
    return mirror(
        KEY.name,
        draw(st.sampled_from(["c1", "c2", "c1.eu", "eu"])),
        *draw(st.lists(endpoints, max_size=3)),
        family=family,
        ports=tuple(draw(PORTS)),
        preference=draw(PREFERENCES),
    )


CROWD = [
    mirror(
        KEY.name,
        f"c{number % 3}",
        *(ready(address % (number + each), hostname=f"h{each}") for each in range(10)),
        family=family,
        ports=(("p", "TCP", 80),),
    )
    for family, address in ((IPV4, "10.0.0.%d"), (IPV6, "fd00::%d"))
    for number in range(10, 50, 10)
]
"""More than a datagram holds, in both families."""


def backwards(items: Sequence[bytes], weights: Sequence[int] | None, /) -> Sequence[bytes]:
    return items[::-1] if weights is None else [item for _, item in sorted(zip(weights, items, strict=True))]


@pytest.mark.parametrize("origin", [ORIGIN, LONG_ORIGIN])
@given(
    st.lists(slices(), max_size=4) | st.just(CROWD),
    st.sampled_from([512, MAX_DATAGRAM, STREAM]),
    st.integers(1, 600),
)
def test_a_headless_service_answers_straight_what_the_general_path_answers(
    origin: str, mirrors: list[EndpointSlice], limit: int, ttl: int
) -> None:
    service = imported_service(service_import(KEY.name, "Headless"), mirrors)
    zone = Zone.empty(origin, ttl=ttl, synced=True).with_services({KEY: service})
    responder = Responder(zone, limit, backwards)
    for relative in RELATIVE_NAMES:
        for type_ in ("A", "AAAA", "SRV"):
            name = f"{relative}db.demo.svc.{origin}."
            packet = dns.message.make_query(name, RdataType.make(type_), use_edns=0, payload=4096).to_wire()
            expected = respond(packet, zone, limit, backwards)
            assert responder.respond(packet) == expected


def test_a_zone_that_is_not_complete_denies_nothing_it_does_not_know() -> None:
    zone = Zone.empty(ORIGIN).with_services(
        {
            KEY: imported_service(
                service_import(KEY.name, "Headless"), [mirror(KEY.name, "c1", ready("10.0.0.1"))]
            )
        }
    )
    responder = Responder(zone, MAX_DATAGRAM, backwards)
    for synced in (zone, zone.as_synced()):
        responder.zone = synced
        for name in ("db", "nosuch"):
            packet = dns.message.make_query(f"{name}.demo.svc.{ORIGIN}.", "A").to_wire()
            assert responder.respond(packet) == respond(packet, synced)
