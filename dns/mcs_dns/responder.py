"""Answers with memory: the bytes of `wire.respond`, without doing again what was done before.

The encoded answers of services are kept from their first question until their service changes, and an ordinary
question (one question, no records but a plain OPT) is answered by a look-up and a few patched bytes. A packet that
came before, but for its id, is not even read. Everything else takes the general path of `wire`; that all of them give
the same bytes is a law in the tests.
"""

from bisect import bisect
from collections.abc import Callable, Mapping

from mcs.model.names import ServiceKey
from mcs_dns.answer import Answer, Rcode, Type, resolve, soa
from mcs_dns.choice import Shuffle
from mcs_dns.headless import answer_of_endpoints
from mcs_dns.kept import Kept
from mcs_dns.wire import (
    MIN_DATAGRAM,
    OPT,
    STREAM,
    Edns,
    Encoded,
    Query,
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

_ENDPOINT_TYPES = frozenset({Type.A, Type.AAAA, Type.SRV})
_COUNTED_TYPES = frozenset(Type)
OTHER_TYPE = -1
"""Counts all types that have no rule of their own, so that no client can make up ever more counters."""

_MOST_READY = 50_000
"""Packets whose response is ready; clients that vary theirs without end make them all be forgotten, no more."""

_LONGEST_QUESTION = 255 + 4
_CLASS_IN = bytes((0, 1))
_TRANSFERS = frozenset({Type.AXFR.to_bytes(2), Type.IXFR.to_bytes(2)})


_Ready = tuple[bytes, Kept, list[int], bytes | None]
"""What answers a packet, behind its id: two ends of what differs, or the first alone; the answer and its counter."""


class Responder:
    """`respond` for one transport, with memory: encoded answers are kept until their service changes.

    Gives the very bytes that `respond` gives for the present zone. `epoch` is for others to move on. `chance` gives
    even numbers of 0 to below 1, by which the order of a few records is chosen without shuffling them. Not safe for
    several threads.
    """

    def __init__(
        self, zone: Zone, limit: int, shuffled: Shuffle, chance: Callable[[], float] | None = None
    ) -> None:
        self.epoch = 0
        self._limit = limit
        self._shuffled = shuffled
        self._chance = chance or float
        self._has_chance = chance is not None
        self._counters: dict[tuple[int, int], list[int]] = {}
        self._ready: dict[bytes, _Ready] = {}
        self._zone = zone
        self._serial = zone.serial.to_bytes(4)
        self._kept: dict[bytes, Kept] = {}
        self._questions: dict[ServiceKey, list[bytes]] = {}
        self._denials: dict[tuple[str, int], Kept] = {}
        self._below_services = _below_services(zone)
        self._is_stale = False
        self._opts = _OPT_ANSWERS[False]

    @property
    def counts(self) -> Mapping[tuple[int, int], int]:
        """The number of responses by (query type, response code).

        Type 0 stands for packets without a readable question, OTHER_TYPE for types that have no rule of their own.
        """
        return {counted: counter[0] for counted, counter in self._counters.items() if counter[0]}

    @property
    def is_stale(self) -> bool:
        """Whether responses say that the zone may be out of date, to clients that understand it."""
        return self._is_stale

    @is_stale.setter
    def is_stale(self, is_stale: bool) -> None:
        if is_stale != self._is_stale:
            self._is_stale = is_stale
            self._opts = _OPT_ANSWERS[is_stale]
            self._forget_ready()

    @property
    def zone(self) -> Zone:
        """The zone that is answered from; assigning another drops what is kept of services that differ."""
        return self._zone

    @zone.setter
    def zone(self, zone: Zone) -> None:
        before, self._zone = self._zone, zone
        self._serial = zone.serial.to_bytes(4)
        if zone.settings is not before.settings or not zone.synced:
            self._forget_ready()
            self._kept.clear()
            self._questions.clear()
            self._denials.clear()
            self._below_services = _below_services(zone)
            return
        for key in zone.changed_since(before, self._questions):
            for question in self._questions.pop(key, ()):
                for packet in self._kept.pop(question).packets:
                    del self._ready[packet]

    def _forget_ready(self) -> None:
        for _, kept, _, _ in self._ready.values():
            kept.packets.clear()
        self._ready.clear()

    @property
    def kept_questions(self) -> int:
        """How many questions have an answer ready."""
        return len(self._kept)

    @property
    def ready_packets(self) -> int:
        """How many packets have a response ready."""
        return len(self._ready)

    def respond(self, packet: bytes) -> bytes | None:
        """The response to `packet`, or None when it deserves none."""
        ready = self._ready.get(packet[2:]) or self._made_ready(packet)
        if ready is None:
            return self._respond_generally(packet)
        head, kept, counter, end = ready
        counter[0] += 1
        if end is None:
            return packet[:2] + head
        if kept.orders:
            differing = kept.orders[bisect(kept.shares, self._chance())]
        elif kept.soa:
            differing = self._serial
        else:
            differing = b"".join(self._shuffled(kept.answers, kept.weights))
        return packet[:2] + head + differing + end

    def _made_ready(self, packet: bytes) -> _Ready | None:
        """What answers an ordinary packet from memory, else None; kept unless it denies or spells in its own way."""
        numbers = packet[4:12]
        opt: bytes | None = b""
        room = MIN_DATAGRAM
        if numbers == _ONE_QUESTION:
            question = packet[12:]
        elif numbers == _ONE_QUESTION_AND_OPT and packet[-11:-8] == _OPT_NAME_AND_TYPE:
            question = packet[12:-11]
            opt = self._opts.get(packet[-6:])
            room = max(packet[-8] << 8 | packet[-7], MIN_DATAGRAM)
        else:
            return None
        limit = self._limit
        if limit != STREAM and room < limit:
            limit = room
        if opt is None or packet[2] & 0xF8:
            return None
        key = question[:-4].lower() + question[-4:]
        kept = self._kept.get(key) or self._kept_anew(key)
        if kept is None or kept.size + len(question) + len(opt) > limit:
            return None
        numbers = kept.numbers_with_opt if opt else kept.numbers
        head = kept.flags[packet[2] & 1] + numbers + question + kept.start
        end: bytes | None = kept.end + opt
        if kept.is_fixed:
            head, end = head + kept.end + opt, None
        if kept.counter is None:
            return head, kept, self._counter(_counted_type(question), Rcode.NXDOMAIN), end
        ready = head, kept, kept.counter, end
        if question == key:
            self._keep_ready(packet[2:], ready)
        return ready

    def _keep_ready(self, packet: bytes, ready: _Ready) -> None:
        if len(self._ready) >= _MOST_READY:
            self._forget_ready()
        self._ready[packet] = ready
        ready[1].packets.append(packet)

    def _kept_anew(self, question: bytes) -> Kept | None:
        """What answers an ordinary question in lower case that has nothing kept, or None.

        That is the denial of a service, or of what is below one, that the zone does not have, or the answer of one
        that it has, which is kept from now on.
        """
        origin = self._origin_of_services(question)
        if origin is None or not self._zone.synced:
            return None
        end = len(question) - 4 - len(self._below_services[origin])
        if question[-2:] != _CLASS_IN or len(question) > _LONGEST_QUESTION:
            return None
        service = namespace = -1
        offset = 0
        while offset < end:
            service, namespace = namespace, offset
            length = question[offset]
            if not 0 < length < 64:
                return None
            offset += 1 + length
        if offset != end or service < 0 or question[-4:-2] in _TRANSFERS:
            return None
        key = ServiceKey(
            question[namespace + 1 : end].decode("latin-1"),
            question[service + 1 : namespace].decode("latin-1"),
        )
        found = self._zone.services.get(key)
        if found is None:
            return self._denial(question, origin)
        type_ = _type_of(question)
        if type_ not in _KEPT_TYPES:
            return None
        if type_ in _ENDPOINT_TYPES and found.type == "Headless" and found.endpoints:
            encoded = answer_of_endpoints(question, max(service, 0), found, self._zone.settings.ttl)
            if encoded is not None and encoded.answers:
                return self._keep(question, key, encoded)
            if encoded is not None:
                authority = self._denial(question, origin).encoded.authority
                return self._keep(question, key, encoded._replace(authority=authority))
        return self._encoded(question)[1]

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
            self._counter(0, response[3])[0] += 1
        return response

    def _encoded_and_counted(self, query: Query) -> Encoded:
        encoded = refusal_of(query) or self._encoded(query.key)[0]
        self._counter(_counted_type(query.question), encoded.rcode)[0] += 1
        return encoded

    def _counter(self, type_: int, rcode: int) -> list[int]:
        """The one number that counts responses of this kind."""
        return self._counters.setdefault((type_, rcode), [0])

    def _in_ranking(self, query: Query, encoded: Encoded) -> Encoded:
        kept = self._kept.get(query.key)
        return ranked(encoded, self.epoch) if kept is None else kept.ranked_in(self.epoch)

    def _encoded(self, key: bytes) -> tuple[Encoded, Kept | None]:
        """The answer of the present zone, and what is kept of it, if anything is."""
        kept = self._kept.get(key)
        if kept is not None:
            return self._with_present_serial(kept.encoded), kept
        answer = resolve(question_of(key), self._zone)
        if answer.rcode == Rcode.NXDOMAIN and (origin := self._origin_of_services(key)) is not None:
            denial = self._denial(key, origin)
            return self._with_present_serial(denial.encoded), denial
        encoded = encoded_answer(key, answer)
        if answer.rcode == Rcode.NOERROR and answer.service is not None and _type_of(key) in _KEPT_TYPES:
            kept = self._keep(key, answer.service, encoded)
        return encoded, kept

    def _keep(self, question: bytes, service: ServiceKey, encoded: Encoded) -> Kept:
        """`encoded` made ready, until `service` changes."""
        counter = self._counter(_counted_type(question), encoded.rcode)
        kept = self._kept[question] = Kept(encoded, counter, is_ordered=self._has_chance)
        self._questions.setdefault(service, []).append(question)
        return kept

    def _origin_of_services(self, question: bytes) -> str | None:
        """The origin below whose `svc` a name is that was asked for, if it is."""
        for origin, below in self._below_services.items():
            if question.endswith(below, 0, -4):
                return origin
        return None

    def _denial(self, question: bytes, origin: str) -> Kept:
        """What says that a name below `svc` does not exist.

        Nothing but the length of the name decides where its compression points.
        """
        denial = self._denials.get((origin, len(question)))
        if denial is None:
            answer = Answer(Rcode.NXDOMAIN, authority=(soa(self._zone.under(origin)),))
            denial = self._denials[origin, len(question)] = Kept(encoded_answer(question, answer), None)
        return denial

    def _with_present_serial(self, encoded: Encoded) -> Encoded:
        """`encoded` as of the present zone: an SOA ends with five numbers, of which the first is the serial."""
        if not encoded.authority:
            return encoded
        (soa,) = encoded.authority
        return encoded._replace(authority=(soa[:-20] + self._serial + soa[-16:],))


def _type_of(question: bytes) -> int:
    return question[-4] << 8 | question[-3]


def _counted_type(question: bytes) -> int:
    type_ = _type_of(question)
    return type_ if type_ in _COUNTED_TYPES else OTHER_TYPE


def _below_services(zone: Zone) -> dict[str, bytes]:
    """`svc.<origin>` as a name on the wire, by origin; one below another first."""
    return {
        origin: b"".join(bytes((len(label),)) + label.encode() for label in ("svc", *origin.split(".")))
        + b"\0"
        for origin in zone.settings.origins
    }
