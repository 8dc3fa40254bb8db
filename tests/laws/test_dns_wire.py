"""Laws of bytes: whatever comes in, an answer or nothing comes out; and remembering changes no byte."""

from collections.abc import Callable, Sequence

import dns.message
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType
from hypothesis import given, settings
from hypothesis import strategies as st

from mcs.model.names import ServiceKey
from mcs.model.preference import Preference
from mcs.model.slices import IPV6
from mcs_dns.choice import Shuffle
from mcs_dns.responder import Responder
from mcs_dns.wire import MAX_DATAGRAM, STREAM, respond
from mcs_dns.zone import ImportedService, Zone, imported_service
from tests.unit.dns.sample_zone import TYPES, mirror, ready, sample_services, service_import

CROWD = tuple(ready(f"10.9.0.{n}", hostname=f"member-{n}") for n in range(1, 41))
CROWD_IPV6 = tuple(ready(f"fd00:9::{n}", hostname=f"member-{n}") for n in range(1, 41))
SERVICES = sample_services() | {
    ServiceKey("demo", "crowd"): imported_service(
        service_import("crowd", "Headless"), [mirror("crowd", "c1", *CROWD, ports=(("p", "TCP", 1),))]
    ),
    # Too large for a datagram, in both families, from clusters that are not preferred alike.
    ServiceKey("demo", "weighted"): imported_service(
        service_import("weighted", "Headless"),
        [
            mirror("weighted", "c1", *CROWD, ports=(("p", "TCP", 1),), preference=Preference(3)),
            mirror("weighted", "c2", *CROWD_IPV6, family=IPV6, preference=Preference(7)),
            mirror("weighted", "c3", ready("10.8.0.1"), preference=Preference(1, 9)),
        ],
    ),
    ServiceKey("demo", "few"): imported_service(
        service_import("few", "Headless"),
        [
            mirror(
                "few",
                f"c{n}",
                ready(f"10.7.0.{n}"),
                ports=(("p", "TCP", n),),
                preference=Preference(n, n % 2),
            )
            for n in range(4)
        ],
    ),
}
OTHER_ORIGIN = "eu.clusterset.local"
ZONE = Zone.empty("clusterset.local", OTHER_ORIGIN, synced=True).with_services(SERVICES)

RELATIVE_NAMES = (
    "",
    "dns-version.",
    "ns.dns.",
    "dns.",
    "svc.",
    "demo.svc.",
    "quiet.svc.",
    "hostmaster.",
    "nobodyhere.",
    "x.ns.dns.",
    "nobody.svc.",
    "nosuch.demo.svc.",
    "_http._tcp.web.demo.svc.",
    "_sql._tcp.db.demo.svc.",
    "_tcp.db.demo.svc.",
    "db-0.c2.db.demo.svc.",
    "db-0.c4.eu.db.demo.svc.",
    "c4.eu.db.demo.svc.",
    "fd00-1--0.c1.six.demo.svc.",
    *(f"{key.name}.{key.namespace}.svc." for key in SERVICES),
)
# Bytes are cheap to judge, so more of them are than of other inputs, however long is searched.
USUAL = settings().max_examples
LABELS = st.sampled_from(["web", "db", "c2", "x", "_tcp", "svc", "dns", "DB-0", "a" * 63, r"\255", r"a\.b"])


def in_mixed_case(name: str, upper: list[bool]) -> str:
    """`name` with the letters at the places of True in upper case."""
    padded = upper + [False] * len(name)
    return "".join(letter.upper() if up else letter for letter, up in zip(name, padded, strict=False))


@st.composite
def queries(draw: st.DrawFn) -> bytes:
    """Queries for names in the zone, near it or outside, ordinary and with all kinds of EDNS and flags."""
    prefix = ".".join(draw(st.sampled_from([[], [], []]) | st.lists(LABELS, max_size=2)))
    relative = draw(st.sampled_from(RELATIVE_NAMES))
    origin = draw(st.sampled_from(["clusterset.local."] * 9 + [f"{OTHER_ORIGIN}."] * 3 + ["cluster.local."]))
    name = in_mixed_case(
        f"{prefix}{'.' if prefix else ''}{relative}{origin}", draw(st.lists(st.booleans(), max_size=40))
    )
    type_ = RdataType.make(draw(st.sampled_from([*TYPES.values(), 65, 97, 65280])))
    edns = draw(st.sampled_from([None, None, 0, 0, 0, 1]))
    message = dns.message.make_query(
        name,
        type_,
        draw(st.sampled_from([RdataClass.IN] * 4 + [RdataClass.CH])),
        use_edns=-1 if edns is None else edns,
        want_dnssec=edns is not None and draw(st.booleans()),
        payload=draw(st.sampled_from([0, 512, 600, 1232, 4096])),
        id=draw(st.integers(0, 65535)),
        flags=draw(st.sampled_from([0, 0x0100, 0x0120, 0x0110, 0x8000, 0x2900, 0x0600])),
    )
    return message.to_wire()


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A query of which some bytes were replaced, cut off or added."""
    packet = bytearray(draw(queries()))
    for _ in range(draw(st.integers(0, 3))):
        packet[draw(st.integers(0, len(packet) - 1))] = draw(st.integers(0, 255))
    return bytes(packet[: draw(st.integers(0, len(packet)))]) + draw(st.binary(max_size=12))


@settings(max_examples=4 * USUAL)
@given(st.one_of(st.binary(max_size=600), damaged()), st.sampled_from([512, MAX_DATAGRAM, STREAM]))
def test_any_bytes_get_a_response_within_the_limit_or_none(packet: bytes, limit: int) -> None:
    response = respond(packet, ZONE, limit)
    if response is None:
        assert len(packet) < 12 or packet[2] & 0x80
        return
    assert response[:2] == packet[:2]
    assert response[2] & 0x80
    assert len(response) <= limit
    assert dns.message.from_wire(response).id == int.from_bytes(packet[:2])


def backwards(items: Sequence[bytes], weights: Sequence[int] | None, /) -> Sequence[bytes]:
    """Tells apart whether weights were given, and which."""
    if weights is None:
        return items[::-1]
    return [item for _, item in sorted(zip(weights, items, strict=True))]


CHANGES = st.dictionaries(
    st.sampled_from([*SERVICES, ServiceKey("demo", "nosuch"), ServiceKey("late", "web")]),
    st.sampled_from([None, *SERVICES.values()]),
    max_size=3,
)
CHAINS = st.lists(CHANGES, min_size=1, max_size=3)
Chain = list[dict[ServiceKey, ImportedService | None]]


def after(zone: Zone, chain: Chain) -> Zone:
    for changes in chain:
        zone = zone.with_services(changes)
    return zone


@st.composite
def histories(draw: st.DrawFn) -> list[bytes | Chain]:
    """A few packets, each sent again and again, and changes of the zone in between."""
    packets = draw(st.lists(st.one_of(queries(), queries(), queries(), damaged()), min_size=1, max_size=4))
    steps = st.one_of(st.sampled_from(packets), st.sampled_from(packets), CHAINS)
    return draw(st.lists(steps, min_size=1, max_size=20))


def all_backwards(items: Sequence[bytes], weights: Sequence[int] | None, /) -> Sequence[bytes]:
    """The last of all orders, whatever the weights."""
    return items[::-1]


def last_chance() -> float:
    """By which the last order is taken of those that are kept."""
    return 1 - 2**-53


@settings(max_examples=3 * USUAL)
@given(
    histories(),
    st.sampled_from([512, MAX_DATAGRAM, STREAM]),
    st.sampled_from([(backwards, None), (all_backwards, last_chance)]),
)
def test_a_responder_that_remembers_gives_the_bytes_of_one_that_does_not(
    history: list[bytes | Chain], limit: int, order: tuple[Shuffle, Callable[[], float] | None]
) -> None:
    zone = ZONE
    shuffled, chance = order
    responder = Responder(zone, limit, shuffled, chance)
    for epoch, step in enumerate(history):
        responder.epoch, responder.is_stale = epoch // 2, epoch % 3 == 1
        if isinstance(step, bytes):
            pure = respond(step, zone, limit, shuffled, responder.epoch, is_stale=responder.is_stale)
            assert responder.respond(step) == pure
            assert responder.respond(b"id" + step[2:]) == (pure and b"id" + pure[2:])
        else:
            zone = responder.zone = after(zone, step)


PACKETS = [
    dns.message.make_query(
        f"{name}clusterset.local.", RdataType.make(type_), use_edns=edns, payload=4096
    ).to_wire()
    for name in (*RELATIVE_NAMES, f"{'x.' * 109}absent.demo.svc.")
    for type_ in (1, 28, 33, 16, 65, 252, 255)
    for edns in (-1, 0)
] + [dns.message.make_query(f"{name}clusterset.local.", "A", "CH").to_wire() for name in RELATIVE_NAMES]


def test_every_name_is_answered_alike_at_first_from_memory_and_after_each_change() -> None:
    zone = ZONE
    responder = Responder(zone, MAX_DATAGRAM, all_backwards, last_chance)
    web = SERVICES[ServiceKey("demo", "web")]
    for changes in ({}, {}, *({key: new} for key in SERVICES for new in (web, None))):
        zone = responder.zone = zone.with_services(changes)
        for packet in PACKETS:
            assert responder.respond(packet) == respond(packet, zone, MAX_DATAGRAM, all_backwards)


def test_no_name_with_any_payload_gets_more_than_the_limit() -> None:
    for limit in (512, MAX_DATAGRAM):
        assert all(len(respond(packet, ZONE, limit) or b"") <= limit for packet in PACKETS)


def test_memory_does_not_answer_what_the_header_rules_forbid() -> None:
    responder = Responder(ZONE, MAX_DATAGRAM, backwards)
    for packet in PACKETS:
        for flags in (0x00, 0x80, 0x08, 0x28, 0x07, 0xFF):
            flagged = packet[:2] + bytes((flags,)) + packet[3:]
            assert responder.respond(flagged) == respond(flagged, ZONE, MAX_DATAGRAM, backwards)
