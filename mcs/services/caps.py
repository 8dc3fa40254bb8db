"""Which exports of one member are within its caps: the oldest, of equally old ones the first by name.

A line is drawn: behind the first export that finds no room none is admitted, however small. So what is admitted depends
on what the member exports and on nothing else, and a flood of new exports disturbs no older one.
"""

from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import NamedTuple

from mcs.model.names import ServiceKey
from mcs.model.policy import Caps
from mcs.services.observed import Cap


class Claim(NamedTuple):
    """An export as far as caps go. Claims are in the order in which they are admitted."""

    created: str
    key: ServiceKey


def admitted(claims: Sequence[Claim], endpoints: dict[ServiceKey, int], total: int, caps: Caps) -> int:
    """How many of `claims`, which are in order, are within the caps. `total` is the sum of all `endpoints`."""
    most = min(len(claims), caps.exports)
    if total <= caps.endpoints:
        return most
    sums = accumulate(endpoints.get(claim.key, 0) for claim in claims[:most])
    return sum(1 for _ in takewhile(lambda so_many: so_many <= caps.endpoints, sums))


def lacking(place: int, caps: Caps) -> Cap:
    """The cap that an export in this place of the order, which is not admitted, is beyond."""
    return "exports" if place >= caps.exports else "endpoints"
