"""What the responder keeps, drops and counts. That its bytes are right is a law of its own."""

from collections import Counter
from dataclasses import replace
from itertools import permutations

import dns.message
import pytest

from mcs.model.names import ServiceKey
from mcs.model.preference import Preference
from mcs_dns.choice import in_order
from mcs_dns.responder import OTHER_TYPE, Responder
from mcs_dns.wire import MAX_DATAGRAM, respond
from mcs_dns.zone import Zone, imported_service
from tests.unit.dns.sample_zone import mirror, ready, sample_services, sample_zone, service_import

WEB = "web.demo.svc.clusterset.local."
DB = "db.demo.svc.clusterset.local."


def packet(name: str, type_: str = "A") -> bytes:
    return dns.message.make_query(name, type_, id=7).to_wire()


def responder(zone: Zone | None = None) -> Responder:
    return Responder(zone or sample_zone(), MAX_DATAGRAM, in_order)


def test_a_replaced_service_is_answered_anew_and_the_others_are_kept() -> None:
    zone = sample_zone()
    answering = responder(zone)
    answering.respond(packet(WEB))
    answering.respond(packet(DB))
    moved = imported_service(service_import("web", ips=("10.96.1.1",)), [])
    answering.zone = changed = zone.with_services({ServiceKey("demo", "web"): moved})
    assert answering.kept_questions == 1
    assert answering.respond(packet(WEB)) == respond(packet(WEB), changed)
    assert answering.kept_questions == 2


def test_zones_that_were_skipped_are_caught_up_with() -> None:
    zone = sample_zone()
    answering = responder(zone)
    answering.respond(packet(WEB))
    answering.respond(packet(DB))
    without = zone.with_services({ServiceKey("demo", "web"): None})
    answering.zone = later = without.with_services({ServiceKey("demo", "dual"): None})
    assert answering.kept_questions == 1
    assert answering.respond(packet(WEB)) == respond(packet(WEB), later)


def test_a_zone_of_other_settings_or_one_that_is_not_synced_drops_everything() -> None:
    services = sample_services()
    for zone in (
        Zone.empty(ttl=60).with_services(services).as_synced(),
        Zone.empty().with_services(services),
    ):
        answering = responder()
        answering.respond(packet(WEB))
        answering.zone = zone
        assert answering.kept_questions == 0
        assert answering.respond(packet(WEB)) == respond(packet(WEB), zone)


def test_a_zone_that_is_not_complete_any_more_drops_everything_though_its_settings_are_the_same() -> None:
    answering = responder()
    answering.respond(packet(WEB))
    answering.zone = replace(answering.zone, synced=False)
    assert answering.kept_questions == 0
    assert answering.respond(packet(WEB)) == respond(packet(WEB), answering.zone)


def test_a_kept_denial_carries_the_serial_of_the_present_zone() -> None:
    zone = sample_zone()
    answering = responder(zone)
    for name in (f"nosuch.{DB}", "absent.demo.svc.clusterset.local."):
        answering.respond(packet(name))
    answering.respond(packet(WEB, "AAAA"))
    answering.zone = changed = zone.with_services({ServiceKey("demo", "dual"): None})
    for asked in (packet("abcent.demo.svc.clusterset.local."), packet(WEB, "AAAA"), packet(WEB, "MX")):
        assert answering.respond(asked) == respond(asked, changed)


def test_names_that_do_not_exist_and_rare_types_do_not_fill_the_memory() -> None:
    answering = responder()
    for number in range(300):
        answering.respond(packet(f"x{number}.{DB}"))
        answering.respond(packet(WEB, f"TYPE{1000 + number}"))
    assert answering.kept_questions == 0


def test_a_letter_sized_type_is_not_mistaken_for_its_lower_case() -> None:
    answering = responder()
    for type_ in ("TYPE65", "TYPE97", "TYPE65"):
        asked = packet(WEB.upper(), type_)
        assert answering.respond(asked) == respond(asked, answering.zone)


def test_every_response_is_counted_once_by_type_and_code() -> None:
    answering = responder()
    for asked in [packet(WEB)] * 3 + [
        packet(WEB, "AAAA"),
        packet(f"x.{DB}"),
        packet("example.com."),
        packet(WEB, "TYPE999"),
    ]:
        answering.respond(asked)
    answering.respond(packet(WEB)[:20])
    answering.respond(b"short")
    assert dict(answering.counts) == {
        (1, 0): 3,
        (28, 0): 1,
        (1, 3): 1,
        (1, 5): 1,
        (0, 1): 1,
        (OTHER_TYPE, 0): 1,
    }


def test_a_repeated_packet_is_answered_from_memory_only_while_its_service_is_the_same() -> None:
    zone = sample_zone()
    answering = responder(zone)
    for _ in range(3):
        assert answering.respond(packet(WEB)) == respond(packet(WEB), zone)
    answering.zone = without = zone.with_services({ServiceKey("demo", "web"): None})
    assert answering.respond(packet(WEB)) == respond(packet(WEB), without)
    answering.is_stale = True
    asked = dns.message.make_query(DB, "A", id=7, use_edns=0).to_wire()
    for is_stale in (True, True, False, True):
        answering.is_stale = is_stale
        assert answering.respond(asked) == respond(asked, without, is_stale=is_stale)


def test_a_client_that_varies_its_packets_without_end_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcs_dns.responder._MOST_READY", 10)
    answering = responder()
    for payload in range(512, 600):
        asked = dns.message.make_query(WEB, "A", use_edns=0, payload=payload).to_wire()
        assert answering.respond(asked) == answering.respond(asked) == respond(asked, answering.zone)
        assert answering.ready_packets <= 10
    answering.zone = answering.zone.with_services({ServiceKey("demo", "web"): None})
    assert answering.ready_packets == 0
    answering = responder()
    for name in (WEB, WEB.upper(), WEB.title()):
        for _ in range(3):
            assert answering.respond(packet(name)) == respond(packet(name), answering.zone)
    assert answering.ready_packets == 1


@pytest.mark.parametrize("weights", [(1, 1), (1, 3), (5, 5, 5), (1, 2, 3), (65535, 1, 7)])
def test_an_order_that_is_kept_comes_as_often_as_a_weighted_shuffle_gives_it(
    weights: tuple[int, ...],
) -> None:
    slices = [
        mirror("few", f"c{n}", ready(f"10.7.0.{n}"), preference=Preference(weight))
        for n, weight in enumerate(weights)
    ]
    zone = sample_zone().with_services(
        {ServiceKey("demo", "few"): imported_service(service_import("few", "Headless"), slices)}
    )
    steps = 5000
    chances = iter([step / steps for step in range(steps)])
    answering = Responder(zone, MAX_DATAGRAM, in_order, lambda: next(chances))
    asked = packet("few.demo.svc.clusterset.local.")
    orders = Counter(answering.respond(asked)[-16 * len(weights) :][15::16] for _ in range(steps))  # type: ignore[index]
    for order in permutations(range(len(weights))):
        left, share = sum(weights), 1.0
        for place in order:
            share *= weights[place] / left
            left -= weights[place]
        assert abs(orders[bytes(order)] / steps - share) <= 2 / steps


@pytest.mark.parametrize("version", [0, 1])
def test_edns_versions_are_counted_by_their_full_code(version: int) -> None:
    answering = responder()
    answering.respond(dns.message.make_query(WEB, "A", use_edns=version).to_wire())
    assert dict(answering.counts) == {(1, 16 if version else 0): 1}


@pytest.mark.parametrize(
    "labels",
    [b"\x03abc\x00\x02de", b"\x06abcdef\x00", b"\x05abcd\x00\x01e"],
    ids=["root inside", "root at the end", "root inside a label"],
)
def test_what_only_looks_like_an_absent_service_is_read_with_care(labels: bytes) -> None:
    answering = responder()
    below = b"\x04demo\x03svc\x0aclusterset\x05local\x00\x00\x01\x00\x01"
    header = packet(WEB)[:12]
    for first in (bytes((len(labels) - 1,)) + b"y" * (len(labels) - 1), labels):
        asked = header + first + below
        assert answering.respond(asked) == respond(asked, answering.zone)


def test_a_long_label_does_not_reach_into_a_kept_denial() -> None:
    answering = responder()
    header, below = packet(WEB)[:12], b"\x04demo\x03svc\x0aclusterset\x05local\x00\x00\x01\x00\x01"
    for labels in (b"\x1f" + b"a" * 31 + b"\x20" + b"b" * 32, b"\x40" + b"c" * 64):
        asked = header + labels + below
        assert answering.respond(asked) == respond(asked, answering.zone)


def test_another_origin_is_denied_from_memory_too() -> None:
    answering = responder()
    answering.zone = moved = Zone.empty("set.example").as_synced()
    for name in ("one.demo.svc.set.example.", "two.demo.svc.set.example.", "x.d.svc.clusterset.local."):
        assert answering.respond(packet(name)) == respond(packet(name), moved)
    moved_back = answering.zone = sample_zone()
    for name in ("one.demo.svc.clusterset.local.", "two.demo.svc.clusterset.local."):
        assert answering.respond(packet(name)) == respond(packet(name), moved_back)
