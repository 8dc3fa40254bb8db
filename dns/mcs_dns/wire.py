"""Packets in, packets out: the header rules of DNS, and the zone's answers as bytes.

`respond` is the whole behaviour as one pure function; `responder` gives the same bytes faster. Which records a
question gets is left to `answer`, sockets to `server`.

Answers are encoded by dnslib, but for the records of `records`. Questions are read here, in a few bounded steps:
dnslib follows compression pointers recursively and refuses labels that are not text, where a server must survive the
first and answer the second.

Sources: RFC 1035 (format), RFC 2181 (truncation, 9), RFC 3225 (DO), RFC 6891 (EDNS), RFC 8914 (extended
errors), RFC 9619 (one question).
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple

from dnslib import RDMAP, RR, DNSBuffer, DNSLabel

from mcs_dns.answer import Answer, Rcode, Record, Type, resolve
from mcs_dns.choice import Choice, Shuffle, in_order, ranking
from mcs_dns.query import Question
from mcs_dns.records import record_bytes
from mcs_dns.zone import Zone

STREAM = 65535
"""The size limit of TCP (RFC 7766, 8); as a limit it says that no datagram has to hold the response."""

MAX_DATAGRAM = 1232
"""Largest UDP response: what crosses every usual path without fragments. Also advertised as our EDNS size."""

MIN_DATAGRAM = 512
"""What every client takes (RFC 1035, 4.2.1)."""

CLASS_IN = 1
OPT = 41
_EXTENDED_ERROR = 15
"""Option code of extended errors (RFC 8914, 2)."""

_MOST_RECORDS = 8
LARGER_FAMILY = 28
"""Bytes of an AAAA record with its name compressed; an A record has 16."""


class InfoCode(IntEnum):
    """Info codes of extended errors (RFC 8914, 4)."""

    STALE_ANSWER = 3
    NOT_READY = 14


class Edns(NamedTuple):
    """What a query's OPT record says (RFC 6891, 6.1)."""

    payload: int
    version: int
    wants_dnssec: bool


class Query(NamedTuple):
    """A query as read: the first three header bytes, the question as it was sent, and its EDNS."""

    head: bytes
    question: bytes
    edns: Edns | None

    @property
    def key(self) -> bytes:
        """The question with its name in lower case; the last four bytes are type and class."""
        return self.question[:-4].lower() + self.question[-4:]

    @property
    def type(self) -> int:
        """The question's type."""
        return int.from_bytes(self.question[-4:-2])

    @property
    def klass(self) -> int:
        """The question's class."""
        return int.from_bytes(self.question[-2:])


class Encoded(NamedTuple):
    """An answer as bytes, to be put behind header and question. Answer records may be put in any order.

    `choices` has one entry for each answer record where they stand for endpoints, else none. Each counts as
    `counted_as` bytes at least when the answer is cut, so that both families are cut alike.
    """

    rcode: Rcode
    is_authoritative: bool
    answers: tuple[bytes, ...] = ()
    authority: tuple[bytes, ...] = ()
    additional: tuple[bytes, ...] = ()
    choices: tuple[Choice, ...] = ()
    counted_as: int = 0


class MalformedQueryError(ValueError):
    """The packet has a header but does not keep to the format."""


def respond(
    packet: bytes,
    zone: Zone,
    limit: int = MAX_DATAGRAM,
    shuffled: Shuffle = in_order,
    epoch: int = 0,
    *,
    is_stale: bool = False,
) -> bytes | None:
    """The response to `packet`, or None when it deserves none.

    `limit` is the largest response in bytes: STREAM on TCP, else the datagram limit, below which the client's own
    size counts. `epoch` counts times of EPOCH_SECONDS. `is_stale` is true when the zone may be out of date. Never
    raises, whatever the bytes. None for what is too short for a header and for responses, which answering could make
    two servers answer each other for ever.
    """
    return response_by_rules(
        packet,
        limit,
        shuffled,
        lambda query: _encoded(query, zone),
        lambda _, encoded: ranked(encoded, epoch),
        is_stale=is_stale,
    )


def response_by_rules(
    packet: bytes,
    limit: int,
    shuffled: Shuffle,
    encoded: Callable[[Query], Encoded],
    in_ranking: Callable[[Query, Encoded], Encoded],
    *,
    is_stale: bool,
) -> bytes | None:
    """The response by the rules of header and format.

    `encoded` gives the answer of what passes them, `in_ranking` the same answer as `ranked` has it, for a cut.
    """
    if len(packet) < 12 or packet[2] & 0x80:
        return None
    if packet[2] & 0x78:
        return _bare(packet, Rcode.NOTIMP)
    try:
        query = read_query(packet)
    except MalformedQueryError:
        return _bare(packet, Rcode.FORMERR)
    answer = encoded(query)
    return assembled(
        query, answer, limit, shuffled, lambda: in_ranking(query, answer), info_code(answer.rcode, is_stale)
    )


def _encoded(query: Query, zone: Zone) -> Encoded:
    refusal = refusal_of(query)
    return refusal or encoded_answer(query.key, resolve(question_of(query.key), zone))


def refusal_of(query: Query) -> Encoded | None:
    """What a query gets whose EDNS version (RFC 6891, 6.1.3) or class is not served."""
    if query.edns is not None and query.edns.version != 0:
        return Encoded(Rcode.BADVERS, is_authoritative=False)
    if query.klass != CLASS_IN:
        return Encoded(Rcode.REFUSED, is_authoritative=False)
    return None


def question_of(key: bytes) -> Question:
    """The question that `Query.key` stands for."""
    return Question(tuple(label.decode("latin-1") for label in labels_of(key)), int.from_bytes(key[-4:-2]))


def _bare(packet: bytes, rcode: Rcode) -> bytes:
    """A header alone: the packet's id, opcode and RD with `rcode`."""
    return packet[:2] + bytes((0x80 | packet[2] & 0x79, rcode)) + bytes(8)


def read_query(packet: bytes) -> Query:
    """The query in `packet`, which has at least a header.

    Raises MalformedQueryError unless there is exactly one question (RFC 9619) with an uncompressed name, all records
    can be stepped over, at most one of them is an OPT of the root (RFC 6891, 6.1.1), and nothing follows them.
    """
    questions, others = int.from_bytes(packet[4:6]), packet[6:12]
    before = int.from_bytes(others[0:2]) + int.from_bytes(others[2:4])
    additional = int.from_bytes(others[4:6])
    if questions != 1 or before + additional > _MOST_RECORDS:
        raise MalformedQueryError
    name_end = _name_end(packet, 12, may_point=False)
    offset = name_end + 4
    edns: Edns | None = None
    for index in range(before + additional):
        start = offset
        offset = _name_end(packet, start, may_point=True) + 10
        if offset > len(packet):
            raise MalformedQueryError
        if index >= before and int.from_bytes(packet[offset - 10 : offset - 8]) == OPT:
            if edns is not None or packet[start] != 0:
                raise MalformedQueryError
            edns = Edns(
                payload=int.from_bytes(packet[offset - 8 : offset - 6]),
                version=packet[offset - 5],
                wants_dnssec=bool(packet[offset - 4] & 0x80),
            )
        offset += int.from_bytes(packet[offset - 2 : offset])
    if offset != len(packet):
        raise MalformedQueryError
    return Query(head=packet[:3], question=packet[12 : name_end + 4], edns=edns)


def _name_end(packet: bytes, start: int, *, may_point: bool) -> int:
    """Offset after the name at `start`. Raises MalformedQueryError for what is no name of at most 255 bytes."""
    offset = start
    while offset < len(packet) and offset - start < 255:
        length = packet[offset]
        if length == 0:
            return offset + 1
        if length >= 0xC0 and may_point:
            return offset + 2
        if length > 63:
            raise MalformedQueryError
        offset += 1 + length
    raise MalformedQueryError


def labels_of(name: bytes) -> list[bytes]:
    """The labels at the start of `name`, an uncompressed name that was checked before."""
    labels = []
    offset = 0
    while length := name[offset]:
        labels.append(name[offset + 1 : offset + 1 + length])
        offset += 1 + length
    return labels


def encoded_answer(key: bytes, answer: Answer) -> Encoded:
    """`answer` to the question `key` (lower case) as bytes, compressed as if it followed header and question."""
    offset, names = 12, {}
    labels = tuple(labels_of(key))
    for position, label in enumerate(labels):
        names[labels[position:]] = offset
        offset += 1 + len(label)
    offset = 12 + len(key)

    def chunks(records: tuple[Record, ...]) -> tuple[bytes, ...]:
        nonlocal offset
        encoded = []
        for record in records:
            encoded.append(_encoded_record(record, offset, names))
            offset += len(encoded[-1])
        return tuple(encoded)

    return Encoded(
        rcode=answer.rcode,
        is_authoritative=answer.is_authoritative,
        answers=chunks(answer.answers),
        authority=chunks(answer.authority),
        additional=chunks(answer.additional),
        choices=tuple(record.choice for record in answer.answers if record.choice is not None),
        counted_as=LARGER_FAMILY if answer.has_both_families else 0,
    )


def ranked(encoded: Encoded, epoch: int) -> Encoded:
    """`encoded` with its answer records in the order in which a cut takes them, those of an endpoint together."""
    if not encoded.choices:
        return encoded
    order = [position for group in ranking(encoded.choices, epoch) for position in group]
    return encoded._replace(
        answers=tuple(encoded.answers[position] for position in order),
        choices=tuple(encoded.choices[position] for position in order),
    )


def _encoded_record(record: Record, offset: int, names: dict[tuple[bytes, ...], int]) -> bytes:
    """The bytes of `record` at `offset`; `names` as of `record_bytes`."""
    encoded = record_bytes(record, offset, names)
    if encoded is not None:
        return encoded
    buffer = DNSBuffer(bytes(offset))
    buffer.offset, buffer.names = offset, names
    data = [record.data.strip('"')] if record.type == Type.TXT else record.data.split(" ")
    rdata = RDMAP[record.type.name].fromZone(data)
    RR(DNSLabel(record.name.encode().split(b".")), record.type, CLASS_IN, record.ttl, rdata).pack(buffer)
    return bytes(buffer.data[offset:])


def assembled(
    query: Query,
    encoded: Encoded,
    limit: int,
    shuffled: Shuffle,
    in_ranking: Callable[[], Encoded],
    error: InfoCode | None,
) -> bytes:
    """The response: header, question in the case it was asked in (0x20), what fits of the answer, OPT with `error`.

    What does not fit of the answer or authority section sets TC (RFC 2181, 9); of the additional section it is
    left out silently.
    """
    opt = b"" if query.edns is None else opt_record(query.edns, encoded.rcode, error)
    room = _size_limit(query.edns, limit) - 12 - len(query.question) - len(opt)
    count = _whole_endpoints(encoded, room)
    truncated = count < len(encoded.answers)
    if truncated:
        encoded = in_ranking()
        count = _whole_endpoints(encoded, room)
    taken: Sequence[bytes] = encoded.answers[:count]
    room -= sum(map(len, taken))
    if count > 1:
        taken = shuffled(taken, different_weights(encoded.choices[:count]))
    authority, room = ((), 0) if truncated else _fitting(encoded.authority, room)
    truncated = truncated or len(authority) < len(encoded.authority)
    additional = () if truncated else _fitting(encoded.additional, room)[0]
    flags = 0x80 | query.head[2] & 0x01 | (encoded.is_authoritative and 0x04) | (truncated and 0x02)
    counts = (1, len(taken), len(authority), len(additional) + bool(opt))
    return b"".join(
        (
            query.head[:2],
            bytes((flags, encoded.rcode & 0x0F)),
            *(count.to_bytes(2) for count in counts),
            query.question,
            *taken,
            *authority,
            *additional,
            opt,
        )
    )


def _size_limit(edns: Edns | None, limit: int) -> int:
    if limit == STREAM:
        return limit
    return min(limit, max(MIN_DATAGRAM, edns.payload if edns else 0))


def different_weights(choices: Sequence[Choice]) -> tuple[int, ...] | None:
    """The weights by which records are shuffled; None where they are all the same."""
    weights = tuple(choice.weight for choice in choices)
    return weights if len(set(weights)) > 1 else None


def _whole_endpoints(encoded: Encoded, room: int) -> int:
    """How many answer records fit into `room` bytes, of the last endpoint all or none."""
    for count, record in enumerate(encoded.answers):
        size = max(len(record), encoded.counted_as)
        if size > room:
            choices = encoded.choices
            while choices and 0 < count < len(choices) and choices[count - 1] == choices[count]:
                count -= 1
            return count
        room -= size
    return len(encoded.answers)


def _fitting(records: Sequence[bytes], room: int) -> tuple[Sequence[bytes], int]:
    """The first records that fit into `room` bytes together, and what is left of it."""
    for index, record in enumerate(records):
        if len(record) > room:
            return records[:index], room
        room -= len(record)
    return records, room


def info_code(rcode: Rcode, is_stale: bool) -> InfoCode | None:
    """What an extended error tells of a response (RFC 8914): only what the response code cannot say."""
    if rcode == Rcode.SERVFAIL:
        return InfoCode.NOT_READY
    return InfoCode.STALE_ANSWER if is_stale and rcode in (Rcode.NOERROR, Rcode.NXDOMAIN) else None


def opt_record(edns: Edns, rcode: Rcode, error: InfoCode | None = None) -> bytes:
    """Our OPT: our size, the upper bits of `rcode`, version 0, DO as it was asked (RFC 3225, 3), `error` if any."""
    ttl = bytes((rcode >> 4, 0, 0x80 if edns.wants_dnssec else 0, 0))
    options = b"" if error is None else b"".join(part.to_bytes(2) for part in (_EXTENDED_ERROR, 2, error))
    length = len(options).to_bytes(2)
    return b"\0" + OPT.to_bytes(2) + MAX_DATAGRAM.to_bytes(2) + ttl + length + options
