"""The bytes of the records that answers about services have: A, AAAA, SRV, and the SOA of a denial.

Everything else is encoded by dnslib, which takes many times as long: too long between two answers when a service of
fifty endpoints changes, or when a thousand do. That both give the same bytes is held by the tests.

Sources: RFC 1035 (3.2.1 format, 3.3.13 SOA, 4.1.4 compression), RFC 3596 (AAAA), RFC 2782 (SRV: its target is not
compressed).
"""

from ipaddress import IPv6Address

from mcs_dns.answer import Record, Type

POINTER_REACH = 0x3FFF
"""The largest offset that a compression pointer has bits for."""

POINTER = 0xC000
CLASS_IN = bytes((0, 1))
_TYPES = {type_: type_.to_bytes(2) + CLASS_IN for type_ in (Type.A, Type.AAAA, Type.SRV, Type.SOA)}


def record_bytes(record: Record, offset: int, names: dict[tuple[bytes, ...], int]) -> bytes | None:
    """The record as it is written at `offset` of a message; None for types that are left to dnslib.

    `names` says at which offsets names begin, by their labels; those that this record adds are added.
    """
    type_and_class = _TYPES.get(record.type)
    if type_and_class is None:
        return None
    name = _compressed(record.name, offset, names)
    match record.type:
        case Type.A:
            data = bytes(map(int, record.data.split(".")))
        case Type.AAAA:
            data = IPv6Address(record.data).packed
        case Type.SOA:
            server, mailbox, *numbers = record.data.split(" ")
            start = offset + len(name) + 10
            data = _compressed(server[:-1], start, names)
            data += _compressed(mailbox[:-1], start + len(data), names)
            data += b"".join([int(number).to_bytes(4) for number in numbers])
        case _:
            priority, weight, port, target = record.data.split(" ")
            labels = target.encode().split(b".")
            data = int(priority).to_bytes(2) + int(weight).to_bytes(2) + int(port).to_bytes(2)
            data += b"".join([bytes((len(label),)) + label for label in labels])
    return name + type_and_class + record.ttl.to_bytes(4) + len(data).to_bytes(2) + data


def _compressed(name: str, offset: int, names: dict[tuple[bytes, ...], int]) -> bytes:
    """The name, with a pointer to the longest end of it that was written before."""
    labels = tuple(name.encode().split(b"."))
    written = b""
    for position in range(len(labels)):
        rest = labels[position:]
        known = names.get(rest)
        if known is not None:
            return written + (POINTER | known).to_bytes(2)
        if offset + len(written) <= POINTER_REACH:
            names[rest] = offset + len(written)
        label = labels[position]
        written += bytes((len(label),)) + label
    return written + b"\0"
