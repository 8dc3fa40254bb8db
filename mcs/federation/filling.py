"""Filling clusters by weight between bounds: the one piece of arithmetic of mode `fair`.

The ideal number of a cluster is `min(max(level * weight, low), high)`, with the one level at which all add up to the
amount. Ideals are made whole by largest remainder, since that is the rounding that always stays within 1 of the ideal,
hence within the bounds. Webster's nearly always does; what it has in exchange, that no cluster loses a replica when the
total grows, is not needed with rebalance `never`, where only differences are filled.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

Bound = Literal["low", "high"]
TieRank = Callable[[int], tuple[int, str]]


class FillingRound(NamedTuple):
    """A level that was tried: what it gives each of those that were not held yet, and who is held after it."""

    amount: int
    shares: dict[int, float]
    held: dict[int, Bound]


class Filled(NamedTuple):
    """What each has, who of them is held at a bound, and the rounds, when they were asked for."""

    amounts: list[int]
    held: dict[int, Bound]
    rounds: list[FillingRound]


def fill(
    amount: int,
    low: Sequence[int],
    high: Sequence[int],
    weights: Sequence[int],
    tie_rank: TieRank,
    *,
    with_rounds: bool = False,
) -> Filled:
    """`amount`, which is between the sums of `low` and of `high`, by `weights`; exact, in whole numbers.

    Clusters of weight 0 are filled after all others, in proportion to the room that each has. Of equal remainders those
    of the lowest `tie_rank` are rounded up.
    """
    weighted = [place for place, weight in enumerate(weights) if weight > 0]
    others = [place for place, weight in enumerate(weights) if weight == 0]
    for_weighted = amount - sum(low[place] for place in others)
    most = sum(high[place] for place in weighted)
    if for_weighted <= most:
        filled = _fill_weighted(for_weighted, weighted, low, high, weights, tie_rank, with_rounds)
        filled.held.update(dict.fromkeys(others, "low"))
        return filled
    rooms = [bound - each for bound, each in zip(high, low, strict=True)]
    extra = _fill_weighted(for_weighted - most, others, [0] * len(low), rooms, rooms, tie_rank, with_rounds)
    amounts = [each + more for each, more in zip(low, extra.amounts, strict=True)]
    for place in weighted:
        amounts[place] = high[place]
    rounds = [
        each._replace(shares={place: low[place] + share for place, share in each.shares.items()})
        for each in extra.rounds
    ]
    held: dict[int, Bound] = dict.fromkeys(weighted, "high")
    if with_rounds and weighted:
        rounds.insert(0, FillingRound(most, {place: float(high[place]) for place in weighted}, held))
    return Filled(amounts, held, rounds)


def _fill_weighted(
    amount: int,
    places: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    weights: Sequence[int],
    tie_rank: TieRank,
    with_rounds: bool,
) -> Filled:
    """As `fill`, for `places` alone; all others have their `low`, which `amount` does not contain.

    Each round lays a level through those that are not held. Were more cut off above than is missing below, the final
    level is higher: then those above their high are certain to be held there, and those below their low otherwise.
    """
    amounts, held, rounds = list(low), dict[int, Bound](), list[FillingRound]()
    live, left = list(places), amount
    while True:
        total = sum(weights[place] for place in live)
        above, below, excess = list[int](), list[int](), 0
        for place in live:
            share = left * weights[place]
            if share > high[place] * total:
                above.append(place)
                excess += share - high[place] * total
            elif share < low[place] * total:
                below.append(place)
                excess += share - low[place] * total
        out: dict[int, Bound] = {}
        if excess >= 0:
            out.update(dict.fromkeys(above, "high"))
        if excess <= 0:
            out.update(dict.fromkeys(below, "low"))
        if with_rounds and live:
            shares = {place: left * weights[place] / total for place in live}
            rounds.append(FillingRound(left, shares, out))
        if not out:
            break
        for place, bound in out.items():
            amounts[place] = high[place] if bound == "high" else low[place]
            left -= amounts[place]
        held |= out
        live = [place for place in live if place not in out]
    remainders = []
    for place in live:
        amounts[place], remainder = divmod(left * weights[place], total)
        remainders.append((remainder, place))
    missing = left - sum(amounts[place] for place in live)
    for place in _rounded_up(remainders, missing, tie_rank):
        amounts[place] += 1
    return Filled(amounts, held, rounds)


def _rounded_up(remainders: list[tuple[int, int]], count: int, tie_rank: TieRank) -> list[int]:
    """The places of the `count` largest remainders."""
    if count == 0:
        return []
    last = sorted(remainder for remainder, _ in remainders)[-count]
    larger = [place for remainder, place in remainders if remainder > last]
    equal = [place for remainder, place in remainders if remainder == last]
    if len(larger) + len(equal) > count:
        equal.sort(key=tie_rank)
    return [*larger, *equal[: count - len(larger)]]
