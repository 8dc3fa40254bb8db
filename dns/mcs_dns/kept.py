"""One encoded answer made ready to be sent many times. When to keep and when to drop it is left to `responder`."""

from functools import lru_cache
from itertools import accumulate, permutations
from math import prod
from struct import Struct

from mcs_dns.answer import Rcode
from mcs_dns.wire import Encoded, different_weights, ranked

_MOST_ORDERED = 3
"""Answer records of which all orders are kept, six at most; of more it would be too many."""

_NUMBERS = Struct("!4H")


class Kept:
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
        self.numbers = _NUMBERS.pack(*numbers)
        self.numbers_with_opt = self.numbers[:6] + (numbers[3] + 1).to_bytes(2)
        self.flags = _flags(encoded.rcode, is_authoritative=encoded.is_authoritative)
        several = len(encoded.answers) > 1
        self.answers = encoded.answers if several else ()
        before = () if several else encoded.answers
        tail = b"".join((*before, *encoded.authority, *encoded.additional))
        self.size = 12 + len(tail)
        if several:
            self.size += sum([max(len(answer), encoded.counted_as) for answer in encoded.answers])
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
def _flags(rcode: Rcode, *, is_authoritative: bool) -> tuple[bytes, bytes]:
    """The header's flags and response code, for questions without RD and with it."""
    flags = 0x84 if is_authoritative else 0x80
    return bytes((flags, rcode)), bytes((flags | 1, rcode))


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
