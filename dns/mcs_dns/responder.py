"""Answers with memory: the bytes of `wire.respond`, without doing again what was done before.

The encoded answers of services are kept from their first question until their service changes, and an ordinary
question (one question, no records but a plain OPT) is answered by a look-up and a few patched bytes. Everything else
takes the general path of `wire`; that both give the same bytes is a law in the tests.
"""

from collections import defaultdict

from mcs.model.names import ServiceKey
from mcs_dns.answer import Rcode, Type, resolve
from mcs_dns.choice import Shuffle
from mcs_dns.wire import (
    MIN_DATAGRAM,
    OPT,
    STREAM,
    Edns,
    Encoded,
    Query,
    different_weights,
    encoded_answer,
    info_code,
    opt_record,
    question_of,
    ranked,
    refusal_of,
    response_by_rules,
)
from mcs_dns.zone import Zone

_ONE_QUESTION = bytes((0, 1, 0, 0, 0, 0, 0, 0))
_ONE_QUESTION_AND_OPT = bytes((0, 1, 0, 0, 0, 0, 0, 1))
_OPT_NAME_AND_TYPE = bytes((0, 0, OPT))
_OPT_ENDS = {bytes(6): False, bytes((0, 0, 0x80, 0, 0, 0)): True}
"""The last six bytes of an ordinary OPT (version 0, no options, DO clear or set), and whether DO is set."""

_OPT_ANSWERS = {
    is_stale: {
        end: opt_record(Edns(0, 0, wants_dnssec), Rcode.NOERROR, info_code(Rcode.NOERROR, is_stale))
        for end, wants_dnssec in _OPT_ENDS.items()
    }
    for is_stale in (False, True)
}
"""What answers an ordinary OPT, by those bytes."""

_KEPT_TYPES = frozenset({Type.A, Type.AAAA, Type.SRV, Type.ANY, 65})
"""Types that clients ask for all day (65: HTTPS) or that are costly; keeping all would let anyone fill the memory."""

_COUNTED_TYPES = frozenset(Type)
OTHER_TYPE = -1
"""Counts all types that have no rule of their own, so that no client can make up ever more counters."""

_CLASS_IN = bytes((0, 1))
_TRANSFERS = frozenset({Type.AXFR.to_bytes(2), Type.IXFR.to_bytes(2)})


class _Kept:
    """An encoded answer made ready to be sent: all but id, RD, question and OPT.

    `counted` is what it counts as; None for a denial, which serves questions of all types.
    """

    __slots__ = (
        "answers",
        "counted",
        "encoded",
        "epoch",
        "flags",
        "numbers",
        "numbers_with_opt",
        "ranked",
        "size",
        "soa",
        "tail",
        "weights",
    )

    def __init__(self, encoded: Encoded, counted: tuple[int, int] | None) -> None:
        self.encoded = encoded
        self.counted = counted
        numbers = (1, len(encoded.answers), len(encoded.authority), len(encoded.additional))
        self.numbers = b"".join(n.to_bytes(2) for n in numbers)
        self.numbers_with_opt = self.numbers[:6] + (numbers[3] + 1).to_bytes(2)
        flags = 0x84 if encoded.is_authoritative else 0x80
        self.flags = (bytes((flags, encoded.rcode)), bytes((flags | 1, encoded.rcode)))
        several = len(encoded.answers) > 1
        self.answers = encoded.answers if several else ()
        before = () if several else encoded.answers
        self.tail = b"".join((*before, *encoded.authority, *encoded.additional))
        self.size = 12 + len(self.tail)
        if several:
            self.size += sum(max(len(answer), encoded.counted_as) for answer in encoded.answers)
        self.weights = different_weights(encoded.choices)
        self.ranked = encoded
        self.epoch = -1
        self.soa = bool(encoded.authority)

    def ranked_in(self, epoch: int) -> Encoded:
        """The answer as a cut in `epoch` takes it; worked out once an epoch."""
        if self.epoch != epoch:
            self.ranked, self.epoch = ranked(self.encoded, epoch), epoch
        return self.ranked


class Responder:
    """`respond` for one transport, with memory: encoded answers are kept until their service changes.

    Gives the very bytes that `respond` gives for the present zone. `counts` is the number of responses by (query
    type, response code); type 0 stands for packets without a readable question, OTHER_TYPE for types that have no
    rule of their own. `epoch` is for others to move on. Not safe for several threads.
    """

    def __init__(self, zone: Zone, limit: int, shuffled: Shuffle) -> None:
        self.counts: defaultdict[tuple[int, int], int] = defaultdict(int)
        self.epoch = 0
        self._limit = limit
        self._shuffled = shuffled
        self._zone = zone
        self._serial = zone.serial.to_bytes(4)
        self._kept: dict[bytes, _Kept] = {}
        self._questions: dict[ServiceKey, list[bytes]] = {}
        self._denials: dict[tuple[bytes, int], _Kept] = {}
        self._below_services = _below_services(zone)
        self._is_stale = False
        self._opts = _OPT_ANSWERS[False]

    @property
    def is_stale(self) -> bool:
        """Whether responses say that the zone may be out of date, to clients that understand it."""
        return self._is_stale

    @is_stale.setter
    def is_stale(self, is_stale: bool) -> None:
        self._is_stale = is_stale
        self._opts = _OPT_ANSWERS[is_stale]

    @property
    def zone(self) -> Zone:
        """The zone that is answered from; assigning another drops what is kept of services that differ."""
        return self._zone

    @zone.setter
    def zone(self, zone: Zone) -> None:
        before, self._zone = self._zone, zone
        self._serial = zone.serial.to_bytes(4)
        if zone.settings is not before.settings or not zone.synced:
            self._kept.clear()
            self._questions.clear()
            self._denials.clear()
            self._below_services = _below_services(zone)
            return
        for key in zone.changed_since(before, self._questions):
            for question in self._questions.pop(key, ()):
                del self._kept[question]

    @property
    def kept_questions(self) -> int:
        """How many questions have an answer ready."""
        return len(self._kept)

    def respond(self, packet: bytes) -> bytes | None:
        """The response to `packet`, or None when it deserves none."""
        numbers = packet[4:12]
        opt: bytes | None = b""
        room = MIN_DATAGRAM
        if numbers == _ONE_QUESTION:
            question = packet[12:]
        elif numbers == _ONE_QUESTION_AND_OPT and packet[-11:-8] == _OPT_NAME_AND_TYPE:
            question = packet[12:-11]
            opt = self._opts.get(packet[-6:])
            payload = packet[-8] << 8 | packet[-7]
            room = max(payload, MIN_DATAGRAM)
        else:
            return self._respond_generally(packet)
        limit = self._limit
        if limit != STREAM and room < limit:
            limit = room
        if opt is None or packet[2] & 0xF8:
            return self._respond_generally(packet)
        kept = self._kept.get(question) or self._kept.get(question[:-4].lower() + question[-4:])
        if kept is None:
            kept = self._denial_of_absent_service(question)
            if kept is None:
                return self._respond_generally(packet)
        if kept.size + len(question) + len(opt) > limit:
            return self._respond_generally(packet)
        self.counts[kept.counted or (_counted_type(question), Rcode.NXDOMAIN)] += 1
        tail = kept.tail
        if kept.answers:
            tail = b"".join(self._shuffled(kept.answers, kept.weights)) + tail
        elif kept.soa:
            tail = tail[:-20] + self._serial + tail[-16:]
        flags = kept.flags[packet[2] & 1]
        return packet[:2] + flags + (kept.numbers_with_opt if opt else kept.numbers) + question + tail + opt

    def _denial_of_absent_service(self, question: bytes) -> _Kept | None:
        """What denies an ordinary question for a service, or below one, that the zone does not have; else None."""
        name = question[:-4].lower()
        for below_services in self._below_services:
            if name.endswith(below_services):
                break
        else:
            return None
        kept = self._denials.get((below_services, len(question)))
        end = len(name) - len(below_services)
        if kept is None or question[-2:] != _CLASS_IN:
            return None
        service = namespace = -1
        offset = 0
        while offset < end:
            service, namespace = namespace, offset
            if not 0 < name[offset] < 64:
                return None
            offset += 1 + name[offset]
        if offset != end or service < 0 or question[-4:-2] in _TRANSFERS:
            return None
        key = (name[namespace + 1 : end].decode("latin-1"), name[service + 1 : namespace].decode("latin-1"))
        return None if key in self._zone.services else kept

    def _respond_generally(self, packet: bytes) -> bytes | None:
        response = response_by_rules(
            packet,
            self._limit,
            self._shuffled,
            self._encoded_and_counted,
            self._in_ranking,
            is_stale=self._is_stale,
        )
        if response is not None and len(response) == 12:
            self.counts[(0, response[3])] += 1
        return response

    def _encoded_and_counted(self, query: Query) -> Encoded:
        encoded = refusal_of(query) or self._encoded(query)
        self.counts[(_counted_type(query.question), encoded.rcode)] += 1
        return encoded

    def _in_ranking(self, query: Query, encoded: Encoded) -> Encoded:
        kept = self._kept.get(query.key)
        return ranked(encoded, self.epoch) if kept is None else kept.ranked_in(self.epoch)

    def _encoded(self, query: Query) -> Encoded:
        key = query.key
        kept = self._kept.get(key)
        if kept is not None:
            return self._with_present_serial(kept.encoded)
        question = question_of(key)
        answer = resolve(question, self._zone)
        if answer.rcode == Rcode.NXDOMAIN:
            for below_services in self._below_services:
                if key[:-4].endswith(below_services):
                    # Below `svc` nothing but the length of the name decides where its compression points.
                    denial = self._denials.get((below_services, len(key)))
                    if denial is None:
                        denial = _Kept(encoded_answer(key, answer), None)
                        self._denials[below_services, len(key)] = denial
                    return self._with_present_serial(denial.encoded)
        encoded = encoded_answer(key, answer)
        if answer.rcode == Rcode.NOERROR and answer.service is not None and query.type in _KEPT_TYPES:
            self._kept[key] = _Kept(encoded, (_counted_type(key), encoded.rcode))
            self._questions.setdefault(answer.service, []).append(key)
        return encoded

    def _with_present_serial(self, encoded: Encoded) -> Encoded:
        """`encoded` as of the present zone: an SOA ends with five numbers, of which the first is the serial."""
        if not encoded.authority:
            return encoded
        (soa,) = encoded.authority
        return encoded._replace(authority=(soa[:-20] + self._serial + soa[-16:],))


def _counted_type(question: bytes) -> int:
    type_ = question[-4] << 8 | question[-3]
    return type_ if type_ in _COUNTED_TYPES else OTHER_TYPE


def _below_services(zone: Zone) -> tuple[bytes, ...]:
    """`svc.<origin>` as a name on the wire, for each origin; one below another first."""
    return tuple(
        b"".join(bytes((len(label),)) + label.encode() for label in ("svc", *origin.split("."))) + b"\0"
        for origin in zone.settings.origins
    )
