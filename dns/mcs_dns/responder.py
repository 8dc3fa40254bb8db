"""Answers with memory: the bytes of `wire.respond`, without doing again what was done before.

The encoded answers of services are kept from their first question until their service changes, and an ordinary
question (one question, no records but a plain OPT) is answered by a look-up and a few patched bytes. A packet that
came before, but for its id, is not even read. Everything else takes the general path of `wire`; that all of them give
the same bytes is a law in the tests.
"""

from bisect import bisect
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import accumulate, permutations
from math import prod

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

_MOST_READY = 50_000
"""Packets whose response is ready; clients that vary theirs without end make them all be forgotten, no more."""

_MOST_ORDERED = 3
"""Answer records of which all orders are kept, six at most; of more it would be too many."""

_LONGEST_QUESTION = 255 + 4
_CLASS_IN = bytes((0, 1))
_TRANSFERS = frozenset({Type.AXFR.to_bytes(2), Type.IXFR.to_bytes(2)})


class _Kept:
    """An encoded answer made ready to be sent: all but id, RD, question and OPT.

    `start` and `end` enclose what differs from response to response, if anything does: several answers in an order by
    chance, or the serial of an SOA. With `orders` one of them is taken, by a chance below 1 which `shares` divide.
    `counter` is what it counts in; None for a denial, which serves questions of all types. `packets` are those that
    have it ready.
    """

    __slots__ = (
        "answers",
        "counter",
        "encoded",
        "end",
        "epoch",
        "flags",
        "is_fixed",
        "numbers",
        "numbers_with_opt",
        "orders",
        "packets",
        "ranked",
        "shares",
        "size",
        "soa",
        "start",
        "weights",
    )

    def __init__(self, encoded: Encoded, counter: list[int] | None, *, is_ordered: bool = False) -> None:
        self.encoded = encoded
        self.counter = counter
        self.packets: list[bytes] = []
        numbers = (1, len(encoded.answers), len(encoded.authority), len(encoded.additional))
        self.numbers = b"".join(n.to_bytes(2) for n in numbers)
        self.numbers_with_opt = self.numbers[:6] + (numbers[3] + 1).to_bytes(2)
        flags = 0x84 if encoded.is_authoritative else 0x80
        self.flags = (bytes((flags, encoded.rcode)), bytes((flags | 1, encoded.rcode)))
        several = len(encoded.answers) > 1
        self.answers = encoded.answers if several else ()
        before = () if several else encoded.answers
        tail = b"".join((*before, *encoded.authority, *encoded.additional))
        self.size = 12 + len(tail)
        if several:
            self.size += sum(max(len(answer), encoded.counted_as) for answer in encoded.answers)
        self.weights = different_weights(encoded.choices)
        self.ranked = encoded
        self.epoch = -1
        self.soa = bool(encoded.authority)
        self.is_fixed = not several and not self.soa
        # An SOA ends with five numbers, of which the first is the serial.
        self.start, self.end = (tail[:-20], tail[-16:]) if self.soa else (b"", tail)
        self.orders: list[bytes] = []
        self.shares: list[float] = []
        if is_ordered and 1 < len(self.answers) <= _MOST_ORDERED:
            self.orders = [b"".join(order) for order in permutations(self.answers)]
            self.shares = _shares(self.weights or (1,) * len(self.answers))

    def ranked_in(self, epoch: int) -> Encoded:
        """The answer as a cut in `epoch` takes it; worked out once an epoch."""
        if self.epoch != epoch:
            self.ranked, self.epoch = ranked(self.encoded, epoch), epoch
        return self.ranked


@lru_cache
def _shares(weights: tuple[int, ...]) -> list[float]:
    """Where the chance of one order ends and that of the next begins, in the order of `permutations`.

    As in a weighted shuffle each place goes to one of those that are left, by the shares of their weights.
    """
    chances = (
        prod(weight / sum(order[place:]) for place, weight in enumerate(order))
        for order in permutations(weights)
    )
    return list(accumulate(chances))[:-1]


_Ready = tuple[bytes, _Kept, list[int], bytes | None]
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
        self._kept: dict[bytes, _Kept] = {}
        self._questions: dict[ServiceKey, list[bytes]] = {}
        self._denials: dict[tuple[bytes, int], _Kept] = {}
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

    def _kept_anew(self, question: bytes) -> _Kept | None:
        """What answers an ordinary question in lower case that has nothing kept, or None.

        That is the denial of a service, or of what is below one, that the zone does not have, or the answer of one
        that it has, which is kept from now on.
        """
        for below_services in self._below_services:
            if question.endswith(below_services, 0, -4):
                break
        else:
            return None
        end = len(question) - 4 - len(below_services)
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
        key = (
            question[namespace + 1 : end].decode("latin-1"),
            question[service + 1 : namespace].decode("latin-1"),
        )
        if key not in self._zone.services:
            return self._denials.get((below_services, len(question)))
        return self._encoded(question)[1] if _type_of(question) in _KEPT_TYPES else None

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

    def _encoded(self, key: bytes) -> tuple[Encoded, _Kept | None]:
        """The answer of the present zone, and what is kept of it, if anything is."""
        kept = self._kept.get(key)
        if kept is not None:
            return self._with_present_serial(kept.encoded), kept
        answer = resolve(question_of(key), self._zone)
        if answer.rcode == Rcode.NXDOMAIN:
            for below_services in self._below_services:
                if key[:-4].endswith(below_services):
                    # Below `svc` nothing but the length of the name decides where its compression points.
                    denial = self._denials.get((below_services, len(key)))
                    if denial is None:
                        denial = _Kept(encoded_answer(key, answer), None)
                        self._denials[below_services, len(key)] = denial
                    return self._with_present_serial(denial.encoded), denial
        encoded = encoded_answer(key, answer)
        if answer.rcode == Rcode.NOERROR and answer.service is not None and _type_of(key) in _KEPT_TYPES:
            counter = self._counter(_counted_type(key), encoded.rcode)
            kept = self._kept[key] = _Kept(encoded, counter, is_ordered=self._has_chance)
            self._questions.setdefault(answer.service, []).append(key)
        return encoded, kept

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


def _below_services(zone: Zone) -> tuple[bytes, ...]:
    """`svc.<origin>` as a name on the wire, for each origin; one below another first."""
    return tuple(
        b"".join(bytes((len(label),)) + label.encode() for label in ("svc", *origin.split("."))) + b"\0"
        for origin in zone.settings.origins
    )
