"""Header rules, EDNS, sizes and case, on bytes; dnspython reads and writes the packets."""

from collections.abc import Sequence

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import pytest

from mcs_dns.wire import MAX_DATAGRAM, STREAM, respond
from mcs_dns.zone import Zone
from tests.unit.dns.sample_zone import mirror, ready, sample_services, sample_zone, service_import, zone_of

ZONE = sample_zone()
WEB = "web.demo.svc.clusterset.local."


def asked(message: dns.message.Message, zone: Zone = ZONE, limit: int = MAX_DATAGRAM) -> dns.message.Message:
    """The response as dnspython reads it."""
    response = respond(message.to_wire(), zone, limit)
    assert response is not None
    assert len(response) <= limit
    return dns.message.from_wire(response)


def query(name: str = WEB, type_: str = "A", **options: object) -> dns.message.Message:
    return dns.message.make_query(name, type_, **options)  # type: ignore[arg-type]


def big_zone(endpoints: int) -> Zone:
    """A headless service with so many endpoints, each with a hostname."""
    members = (ready(f"10.1.{n // 250}.{n % 250 + 1}", hostname=f"member-{n}") for n in range(endpoints))
    return zone_of(
        (service_import("db", "Headless"), (mirror("db", "c1", *members, ports=(("p", "TCP", 1),)),))
    )


@pytest.mark.parametrize("recursion_desired", [True, False])
def test_the_response_is_authoritative_copies_rd_and_offers_no_recursion(recursion_desired: bool) -> None:
    message = query(flags=dns.flags.RD if recursion_desired else 0)
    expected = dns.flags.QR | dns.flags.AA | (dns.flags.RD if recursion_desired else 0)
    assert asked(message).flags == expected


def test_bits_that_only_mean_something_to_resolvers_are_cleared() -> None:
    message = query(flags=dns.flags.AD | dns.flags.CD | dns.flags.TC | dns.flags.AA | dns.flags.RA)
    assert asked(message).flags == dns.flags.QR | dns.flags.AA


@pytest.mark.parametrize("name", ["WeB.dEmO.sVc.ClUsTeRsEt.LoCaL.", WEB])
def test_the_question_comes_back_in_its_own_case_and_owner_names_with_it(name: str) -> None:
    response = asked(query(name))
    assert response.question[0].name.to_text() == name
    assert response.answer[0].name.to_text() == name


def test_a_response_is_dropped_so_that_two_servers_never_answer_each_other() -> None:
    message = query(flags=dns.flags.QR)
    assert respond(message.to_wire(), ZONE) is None


@pytest.mark.parametrize("length", range(12))
def test_what_is_shorter_than_a_header_is_dropped(length: int) -> None:
    assert respond(query().to_wire()[:length], ZONE) is None


@pytest.mark.parametrize("length", range(12, len(query().to_wire())))
def test_a_query_cut_short_is_a_format_error(length: int) -> None:
    response = respond(query(flags=dns.flags.RD).to_wire()[:length], ZONE)
    assert response is not None
    assert (response[2:4], response[4:]) == (b"\x81\x01", bytes(8))


@pytest.mark.parametrize("opcode", [dns.opcode.STATUS, dns.opcode.NOTIFY, dns.opcode.UPDATE, 15])
def test_other_operations_are_not_implemented(opcode: int) -> None:
    packet = bytearray(query().to_wire())
    packet[2] = opcode << 3 | 1
    response = respond(bytes(packet), ZONE)
    assert response == bytes(packet[:2]) + bytes((0x80 | opcode << 3 | 1, 4)) + bytes(8)


@pytest.mark.parametrize("klass", [dns.rdataclass.CH, dns.rdataclass.ANY, dns.rdataclass.NONE])
def test_other_classes_are_refused(klass: dns.rdataclass.RdataClass) -> None:
    response = asked(dns.message.make_query(WEB, "A", klass))
    assert (response.rcode(), response.flags & dns.flags.AA) == (dns.rcode.REFUSED, 0)


@pytest.mark.parametrize("name", ["example.com.", ".", "7.0.96.10.in-addr.arpa."])
def test_other_zones_are_refused_without_authority(name: str) -> None:
    response = asked(query(name))
    assert (response.rcode(), response.flags & dns.flags.AA) == (dns.rcode.REFUSED, 0)
    assert response.question[0].name.to_text() == name


def test_before_the_first_sync_the_answer_is_servfail_without_authority() -> None:
    response = asked(query(), Zone.empty().with_services(sample_services()))
    assert (response.rcode(), response.flags & dns.flags.AA) == (dns.rcode.SERVFAIL, 0)


@pytest.mark.parametrize("count", [0, 2, 65535])
def test_anything_but_one_question_is_a_format_error(count: int) -> None:
    packet = query().to_wire()
    question = packet[12:]
    response = respond(packet[:4] + count.to_bytes(2) + packet[6:12] + question * min(count, 2), ZONE)
    assert response is not None
    assert response[3] == dns.rcode.FORMERR


@pytest.mark.parametrize(
    "name",
    [
        b"\xc0\x0c",
        b"\x03web\xc0\x0c",
        b"\x40" + b"x" * 64 + b"\0",
        b"\x80\0",
        (b"\x3f" + b"x" * 63) * 4 + b"\0",
    ],
    ids=["pointer to itself", "pointer", "label type 01", "label type 10", "more than 255 bytes"],
)
def test_a_question_with_an_impossible_name_is_a_format_error(name: bytes) -> None:
    response = respond(query().to_wire()[:12] + name + b"\0\1\0\1", ZONE)
    assert response is not None
    assert response[3] == dns.rcode.FORMERR


def test_a_name_of_255_bytes_is_answered() -> None:
    name = "x." * 111 + WEB
    assert len(dns.message.make_query(name, "A").question[0].name.to_wire() or b"") == 253
    assert asked(query(name)).rcode() == dns.rcode.NXDOMAIN


def test_labels_may_hold_any_byte() -> None:
    name = rb"\255\000\046." + WEB.encode()
    assert asked(query(name.decode())).rcode() == dns.rcode.NXDOMAIN


def test_bytes_after_the_last_record_are_a_format_error() -> None:
    response = respond(query().to_wire() + b"\0", ZONE)
    assert response is not None
    assert response[3] == dns.rcode.FORMERR


def test_without_edns_there_is_no_opt_in_the_response() -> None:
    assert asked(query()).edns == -1


@pytest.mark.parametrize("wants_dnssec", [True, False])
def test_edns_is_answered_with_our_size_and_the_clients_do_bit(wants_dnssec: bool) -> None:
    response = asked(query(use_edns=0, payload=4096, want_dnssec=wants_dnssec))
    assert (response.edns, response.payload, bool(response.ednsflags)) == (0, MAX_DATAGRAM, wants_dnssec)


def test_unknown_edns_options_are_ignored() -> None:
    options = [dns.edns.GenericOption(dns.edns.OptionType.make(code), b"x" * 40) for code in (10, 65001)]
    response = asked(query(use_edns=0, options=options))
    assert (response.rcode(), len(response.answer), response.options) == (dns.rcode.NOERROR, 1, ())


def test_an_unknown_edns_version_gets_badvers_with_the_version_we_speak() -> None:
    response = asked(query(use_edns=1))
    assert (response.rcode(), response.edns, response.answer) == (dns.rcode.BADVERS, 0, [])


@pytest.mark.parametrize("opts", [b"\0\0\x29\x04\xd0" + bytes(6)] * 1)
def test_two_opts_or_an_opt_with_a_name_are_format_errors(opts: bytes) -> None:
    packet = query().to_wire()
    for extra, count in ((opts * 2, 2), (b"\x01x" + opts, 1)):
        response = respond(packet[:11] + bytes((count,)) + packet[12:] + extra, ZONE)
        assert response is not None
        assert response[3] == dns.rcode.FORMERR


def test_more_records_than_any_query_needs_are_a_format_error() -> None:
    packet = query().to_wire()
    for count, rcode in ((8, dns.rcode.NOERROR), (9, dns.rcode.FORMERR)):
        record = b"\0" + (250).to_bytes(2) + bytes(8)
        response = respond(packet[:11] + bytes((count,)) + packet[12:] + record * count, ZONE)
        assert response is not None
        assert response[3] == rcode


def test_records_that_we_do_not_know_are_stepped_over() -> None:
    packet = query().to_wire()
    tsig = b"\x01k\0" + (250).to_bytes(2) + (255).to_bytes(2) + bytes(4) + (3).to_bytes(2) + b"abc"
    response = respond(packet[:11] + b"\1" + packet[12:] + tsig, ZONE)
    assert response is not None
    assert dns.message.from_wire(response).rcode() == dns.rcode.NOERROR


@pytest.mark.parametrize(
    ("payload", "bound"), [(0, 512), (100, 512), (512, 512), (900, 900), (1232, 1232), (65535, 1232)]
)
def test_a_datagram_is_no_larger_than_the_client_and_we_allow_and_says_so_when_cut(
    payload: int, bound: int
) -> None:
    message = query("db.demo.svc.clusterset.local.", use_edns=0, payload=payload)
    response = respond(message.to_wire(), big_zone(200))
    assert response is not None
    assert bound - 16 < len(response) <= bound
    read = dns.message.from_wire(response)
    assert read.flags & dns.flags.TC
    assert 20 < len(read.answer[0]) < 80


def test_without_edns_a_datagram_has_at_most_512_bytes() -> None:
    response = respond(query("db.demo.svc.clusterset.local.").to_wire(), big_zone(200))
    assert response is not None
    assert 496 < len(response) <= 512


def test_what_just_fits_is_not_cut() -> None:
    # 12 header, 34 question, 16 for each record: 29 of them make 510 bytes.
    assert not asked(query("db.demo.svc.clusterset.local."), big_zone(29), 512).flags & dns.flags.TC
    assert asked(query("db.demo.svc.clusterset.local."), big_zone(30), 512).flags & dns.flags.TC


def test_an_additional_section_that_does_not_fit_is_shortened_silently() -> None:
    response = asked(query("db.demo.svc.clusterset.local.", "SRV", use_edns=0, payload=700), big_zone(8))
    assert not response.flags & dns.flags.TC
    assert len(response.answer[0]) == 8
    assert 0 < len(response.additional) < 8


def test_a_stream_holds_a_thousand_members_with_names_that_point_right() -> None:
    response = respond(query("db.demo.svc.clusterset.local.", "SRV").to_wire(), big_zone(600), STREAM)
    assert response is not None
    assert len(response) > 2 * 0x3FFF
    read = dns.message.from_wire(response)
    assert not read.flags & dns.flags.TC
    targets = {record.target for record in read.answer[0]}
    assert (len(targets), {rrset.name for rrset in read.additional}) == (600, targets)


def test_what_is_too_large_even_for_a_stream_is_cut_and_says_so() -> None:
    response = respond(query("db.demo.svc.clusterset.local.", "SRV").to_wire(), big_zone(1500), STREAM)
    assert response is not None
    assert len(response) <= STREAM
    assert dns.message.from_wire(response).flags & dns.flags.TC


def test_several_records_are_shuffled_by_the_given_chance_and_one_record_is_not() -> None:
    def backwards(items: Sequence[bytes], weights: Sequence[int] | None, /) -> Sequence[bytes]:
        assert len(items) > 1
        assert weights is None
        return items[::-1]

    def addresses(shuffled: bool) -> list[str]:
        packet = query("db.demo.svc.clusterset.local.").to_wire()
        response = respond(packet, ZONE, shuffled=backwards) if shuffled else respond(packet, ZONE)
        assert response is not None
        return [record.address for record in dns.message.from_wire(response).answer[0]]

    assert addresses(shuffled=True) == addresses(shuffled=False)[::-1]
    respond(query().to_wire(), ZONE, shuffled=backwards)


def test_no_more_records_are_shuffled_than_fit() -> None:
    asked_for = []

    def counting(items: Sequence[bytes], weights: Sequence[int] | None, /) -> Sequence[bytes]:
        asked_for.append(len(items))
        return items

    response = respond(query("db.demo.svc.clusterset.local.").to_wire(), big_zone(1000), shuffled=counting)
    assert response is not None
    found = dns.message.from_wire(response)
    assert found.flags & dns.flags.TC
    assert asked_for == [len(found.answer[0])]


def test_names_are_compressed() -> None:
    response = respond(query().to_wire(), ZONE)
    assert response is not None
    assert len(response) == len(query().to_wire()) + 16


@pytest.mark.parametrize(
    ("case", "name", "is_synced", "is_stale", "code"),
    [
        ("an answer of now", WEB, True, False, None),
        ("a stale answer", WEB, True, True, dns.edns.EDECode.STALE_ANSWER),
        ("a stale denial", "nosuch.demo.svc.clusterset.local.", True, True, dns.edns.EDECode.STALE_ANSWER),
        ("not ready", WEB, False, False, dns.edns.EDECode.NOT_READY),
        ("not ready, whatever else", WEB, False, True, dns.edns.EDECode.NOT_READY),
        ("not ours, so not stale", "example.org.", True, True, None),
    ],
)
def test_an_extended_error_tells_what_the_response_code_cannot(
    case: str, name: str, is_synced: bool, is_stale: bool, code: int | None
) -> None:
    zone = ZONE if is_synced else Zone.empty()
    for edns in (0, -1):
        packet = query(name, use_edns=edns).to_wire()
        response = respond(packet, zone, is_stale=is_stale)
        assert response is not None
        found = [
            each.code
            for each in dns.message.from_wire(response).options
            if isinstance(each, dns.edns.EDEOption)
        ]
        assert found == ([code] if edns == 0 and code is not None else []), case
