"""Dividing replicas among clusters, in the mode that is asked for. Which clusters may have any is left to placement."""

from mcs.federation.fair_division import divide_fairly
from mcs.federation.kubefed_division import divide_as_kubefed
from mcs.federation.replicas import Divided, Division, check


def divide(division: Division, *, with_rounds: bool = False) -> Divided:
    """What each cluster gets, and why; `with_rounds` also how that came about, which costs more than the division.

    The same question has the same answer, in whatever order clusters are named. Raises DivisionError.
    """
    check(division)
    if division.mode == "fair":
        return divide_fairly(division, with_rounds=with_rounds)
    return divide_as_kubefed(division, with_rounds=with_rounds)
