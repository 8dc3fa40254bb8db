"""Which endpoints come first: in the order of an answer by chance, and in the cut of one too large by their rank.

The order is a weighted shuffle whose first place has the exact shares of the weights. A cut must be the same for A,
AAAA and SRV, in every replica and worker, so it takes no chances: the rank of an endpoint depends on its name and on
the epoch alone, and over many epochs it is first as often as its weight says.

Sources: RFC 2782 (priority, weight); Efraimidis and Spirakis, "Weighted random sampling with a reservoir" (2006);
specification 2.4.1 and 2.4.2 (an implementation may choose a subset, the same for both families).
"""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import groupby
from math import log
from typing import NamedTuple, Protocol

EPOCH_SECONDS = 10
"""How long a cut stays the same, in seconds of the wall clock, which all replicas have in common."""


class Choice(NamedTuple):
    """What decides about the records of one endpoint: its whole name, its weight (not 0) and its priority."""

    endpoint: str
    weight: int
    priority: int = 0


class Shuffle(Protocol):
    """Returns the items in an order by chance: without bias, or by weights as `weighted_key` makes them first.

    The one place where chance comes in.
    """

    def __call__(self, items: Sequence[bytes], weights: Sequence[int] | None, /) -> Sequence[bytes]: ...


def in_order(items: Sequence[bytes], weights: Sequence[int] | None, /) -> Sequence[bytes]:
    """No shuffling: the items as they are."""
    return items


def weighted_key(chance: float, weight: int) -> float:
    """A key by which the item of least key is one of weight `weight` with probability weight / sum of weights.

    `chance` is even in (0, 1].
    """
    return -log(chance) / weight


def ranking(choices: Sequence[Choice], epoch: int) -> list[list[int]]:
    """Positions of the records of each endpoint, endpoints in the order of their rank in `epoch`."""

    def rank(position: int) -> tuple[int, float, str]:
        endpoint, weight, priority = choices[position]
        digest = blake2b(endpoint.encode(), digest_size=8, key=epoch.to_bytes(8)).digest()
        return priority, weighted_key((int.from_bytes(digest) + 1) / 2**64, weight), endpoint

    ranks = {position: rank(position) for position in range(len(choices))}
    ordered = sorted(ranks, key=ranks.__getitem__)
    return [list(positions) for _, positions in groupby(ordered, key=ranks.__getitem__)]
