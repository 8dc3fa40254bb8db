"""Which fault happens when and to whom: drawn from a seed, so that a storm can be repeated.

Pure. What a fault does to a running process or connection is left to the storm.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

CALM = 2.0
"""Seconds without a fault at the beginning."""

GAPS = (0.8, 3.2)
"""Bounds of the seconds between the beginnings of two faults."""

DAY = 86400.0


class Kind(StrEnum):
    """What happens."""

    KILL_API_SERVER = "API server killed"
    STOP_API_SERVER = "API server stopped"
    KILL_ETCD = "etcd killed"
    STOP_ETCD = "etcd stopped"
    KILL_CONTROLLER = "controller killed"
    STOP_CONTROLLER = "controller stopped"
    KILL_DNS = "DNS killed"
    STOP_DNS = "DNS stopped"
    CUT_WATCHES = "watches cut"
    WATCHES_GONE = "watches ended with 410"
    ANSWER_410 = "410 to every watch"
    ANSWER_429 = "429 to everything"
    ANSWER_500 = "500 to everything"
    DELAY = "answers delayed"
    BLACK_HOLE = "black hole"
    REFUSE = "connections refused"
    REVOKE_TOKEN = "token revoked"
    STEP_CLOCK = "clock stepped"
    LEAVE = "member left and joined again"


LASTING: Mapping[Kind, tuple[float, float]] = {
    Kind.KILL_API_SERVER: (0.5, 6),
    Kind.STOP_API_SERVER: (1, 12),
    Kind.KILL_ETCD: (0.2, 4),
    Kind.STOP_ETCD: (1, 8),
    Kind.KILL_CONTROLLER: (0, 4),
    Kind.STOP_CONTROLLER: (1, 20),
    Kind.KILL_DNS: (0, 2),
    Kind.STOP_DNS: (0.5, 3),
    Kind.CUT_WATCHES: (0, 0),
    Kind.WATCHES_GONE: (0, 0),
    Kind.ANSWER_410: (1, 6),
    Kind.ANSWER_429: (1, 8),
    Kind.ANSWER_500: (1, 8),
    Kind.DELAY: (3, 12),
    Kind.BLACK_HOLE: (3, 20),
    Kind.REFUSE: (1, 15),
    # An API server goes on taking a token for 10 s after its owner is gone.
    Kind.REVOKE_TOKEN: (13, 20),
    Kind.STEP_CLOCK: (0, 0),
    Kind.LEAVE: (5, 15),
}
"""Bounds of the seconds until a fault is mended; 0 for what happens at one moment."""

AMOUNTS: Mapping[Kind, Sequence[float]] = {
    Kind.DELAY: (0.2, 0.5, 1.0, 2.0),
    Kind.STEP_CLOCK: (0, 1, -1, 3600, -3600, DAY, -DAY, 400 * DAY, -400 * DAY),
}
"""Seconds: by which answers are late, or by how much a process's clock is wrong from then on."""

Victims = Mapping[Kind, Sequence[str]]
"""To whom each kind may happen; a kind that is missing, or happens to nobody, is left out."""


class Fault(Struct, frozen=True):
    """`at` and `lasting` are seconds, `at` from the beginning of the storm."""

    at: float
    kind: Kind
    victim: str
    lasting: float
    amount: float = 0.0

    @property
    def end(self) -> float:
        """When it is mended, in seconds from the beginning."""
        return self.at + self.lasting


def schedule(seed: str, seconds: float, victims: Victims) -> tuple[Fault, ...]:
    """The faults of a storm, in their order, all mended when it ends.

    Every kind comes once before any comes again, so that a short storm has them all. No two faults meet in a victim.
    """
    chance = random.Random(seed)
    kinds = [kind for kind in Kind if victims.get(kind)]
    faults: list[Fault] = []
    bag: list[Kind] = []
    now = CALM
    while kinds and now < seconds:
        bag = bag or chance.sample(kinds, len(kinds))
        fault = _drawn(chance, bag.pop(), now, victims, faults)
        if fault is not None and fault.end <= seconds:
            faults.append(fault)
        now = round(now + chance.uniform(*GAPS), 2)
    return tuple(faults)


def _drawn(
    chance: random.Random, kind: Kind, at: float, victims: Victims, faults: Sequence[Fault]
) -> Fault | None:
    """One fault of that kind; None when all its victims have enough to bear."""
    busy = {each.victim for each in faults if each.end >= at}
    free = [victim for victim in victims[kind] if victim not in busy]
    victim = chance.choice(free) if free else ""
    lasting = round(chance.uniform(*LASTING[kind]), 2)
    amount = chance.choice(AMOUNTS.get(kind, (0.0,)))
    return Fault(at, kind, victim, lasting, amount) if victim else None
