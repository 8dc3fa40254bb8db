"""The records that are encoded here are the bytes that dnslib gives, whatever was written before them."""

import pytest
from dnslib import QTYPE, RDMAP, RR, DNSBuffer, DNSLabel

from mcs_dns.answer import Record, Type
from mcs_dns.records import POINTER_REACH, record_bytes

RECORDS = [
    Record("db.shop.svc.clusterset.local", 5, Type.A, "10.0.0.255"),
    Record("db.shop.svc.clusterset.local", 0, Type.AAAA, "fd00::1"),
    Record("db.shop.svc.clusterset.local", 2**31 - 1, Type.AAAA, "2001:db8:1:2:3:4:5:6"),
    Record(
        "_http._tcp.db.shop.svc.clusterset.local",
        5,
        Type.SRV,
        "0 100 80 a.east.db.shop.svc.clusterset.local.",
    ),
    Record("db.shop.svc.clusterset.local", 5, Type.SRV, "65535 1 65535 db.shop.svc.clusterset.local."),
    Record("a.east.db.shop.svc.clusterset.local", 5, Type.A, "10.0.0.1"),
    Record("b.east.db.shop.svc.clusterset.local", 5, Type.A, "10.0.0.2"),
    Record(f"{'x' * 63}.db.shop.svc.clusterset.local", 5, Type.A, "1.2.3.4"),
    Record("local", 5, Type.A, "10.0.0.3"),
    Record(
        "clusterset.local",
        5,
        Type.SOA,
        "ns.dns.clusterset.local. hostmaster.clusterset.local. 4294967295 7200 1800 86400 5",
    ),
]


def by_dnslib(record: Record, buffer: DNSBuffer) -> bytes:
    start = buffer.offset
    data = RDMAP[record.type.name].fromZone(record.data.split(" "))
    RR(DNSLabel(record.name), getattr(QTYPE, record.type.name), 1, record.ttl, data).pack(buffer)
    return bytes(buffer.data[start:])


@pytest.mark.parametrize("turned", range(len(RECORDS)))
@pytest.mark.parametrize("before", [0, 12, 300])
def test_records_are_the_bytes_of_dnslib(turned: int, before: int) -> None:
    names: dict[tuple[bytes, ...], int] = {}
    message = DNSBuffer(bytes(before))
    message.offset = offset = before
    for record in (*RECORDS[turned:], *RECORDS[:turned], *RECORDS):
        encoded = record_bytes(record, offset, names)
        assert encoded is not None
        assert encoded == by_dnslib(record, message)
        offset += len(encoded)


def test_no_pointer_reaches_further_than_it_can() -> None:
    names: dict[tuple[bytes, ...], int] = {}
    record = Record("db.shop.svc.clusterset.local", 5, Type.A, "10.0.0.1")
    whole = record_bytes(record, POINTER_REACH - 3, names)
    assert whole is not None
    assert whole.startswith(b"\x02db\x04shop\x03svc\x0aclusterset\x05local\0")
    assert sorted(names.values()) == [POINTER_REACH - 3, POINTER_REACH]
    again = record_bytes(record, POINTER_REACH + 30, names)
    assert again is not None
    assert again.startswith((0xC000 | POINTER_REACH - 3).to_bytes(2))


@pytest.mark.parametrize("type_", set(Type) - {Type.A, Type.AAAA, Type.SRV, Type.SOA})
def test_other_types_are_left_to_dnslib(type_: Type) -> None:
    assert record_bytes(Record("local", 5, type_, "?"), 0, {}) is None
