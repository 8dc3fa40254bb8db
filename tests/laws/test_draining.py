"""The law of a drain: no importer ever has fewer living endpoints than before, or than are wanted, whichever is less.

A cluster is drained while endpoints elsewhere become ready, importers learn of them, lose sight of those that are
withdrawn, and replicas go, all of it in any order and as late as they like. An answer that a resolver got may be used
for as long as its TTL.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from mcs.federation.draining import (
    Drain,
    DrainedService,
    DrainedWorkload,
    ObservedDrain,
    Stage,
    decide_drain,
)
from mcs.model.names import ClusterId
from mcs.testing.builders import WEB

IMPORTERS = (ClusterId("east"), ClusterId("west"))
TTL = 5.0


class Happening(NamedTuple):
    """Something that may come at any time: it does nothing where it cannot happen."""

    kind: str
    importer: int
    endpoint: int
    seconds: float


happenings = st.lists(
    st.builds(
        Happening,
        st.sampled_from(("start", "see", "withdraw", "remove", "wait")),
        st.integers(0, len(IMPORTERS) - 1),
        st.integers(0, 2),
        st.sampled_from((0.5, 2.0, TTL)),
    ),
    min_size=20,
    max_size=40,
)


class World:
    """`here` endpoints in the cluster, `there` in others, who are to have `wanted` in the end; what importers show."""

    def __init__(self, here: int, there: int, wanted: int) -> None:
        self.now = 0.0
        self.wanted = wanted
        self.here = {f"here-{number}" for number in range(here)}
        self.there = {f"there-{number}" for number in range(there)}
        self.shown = {each: {*self.here, *self.there} for each in IMPORTERS}
        self.shown_at: dict[str, float] = {}
        self.unseen_since: float | None = None
        self.first = here + there
        self._look()

    @property
    def drain(self) -> Drain:
        shown = frozenset(each for each, names in self.shown.items() if names & self.here)
        elsewhere = {each: len(names & self.there) for each, names in self.shown.items()}
        service = DrainedService(key=WEB, wanted=self.wanted, elsewhere=elsewhere, shown=shown)
        workload = DrainedWorkload(name="web", wanted=self.wanted, ready=len(self.there), here=len(self.here))
        since = self.unseen_since
        return decide_drain(
            ObservedDrain(
                services=(service,),
                workloads=(workload,),
                unseen_for=None if since is None else self.now - since,
                longest_ttl=TTL,
            )
        )

    def happen(self, what: Happening) -> None:
        drain, importer, name = self.drain, IMPORTERS[what.importer], f"there-{what.endpoint}"
        match what.kind:
            case "start" if what.endpoint < self.wanted:
                self.there.add(name)
            case "see":
                self.shown[importer] |= self.there
                if not drain.is_withdrawn:
                    self.shown[importer] |= self.here
            case "withdraw" if drain.is_withdrawn and self.wanted:
                self.shown[importer] -= self.here
            case "remove" if drain.is_removed and self.wanted and self.here:
                self._remove(min(self.here))
            case "wait":
                self.now += what.seconds
        self._look()

    def _remove(self, name: str) -> None:
        assert self.now - self.shown_at[name] >= TTL, f"{name} is gone, and may still be answered"
        self.here.discard(name)

    def _look(self) -> None:
        for names in self.shown.values():
            for each in names:
                self.shown_at[each] = self.now
            assert len(names & (self.here | self.there)) >= min(self.first, self.wanted or self.first)
        is_shown = any(names & self.here for names in self.shown.values())
        self.unseen_since = (
            None if is_shown else (self.now if self.unseen_since is None else self.unseen_since)
        )


@given(st.integers(1, 3), st.integers(0, 2), st.integers(0, 3), happenings)
def test_no_importer_has_fewer_endpoints_than_before_or_than_are_wanted(
    here: int, there: int, wanted: int, events: list[Happening]
) -> None:
    world = World(here, there, max(there, wanted))
    for each in events:
        world.happen(each)


@given(st.integers(1, 3), st.integers(0, 2), st.integers(1, 3), happenings)
def test_a_drain_comes_to_its_end_whatever_happened(
    here: int, there: int, wanted: int, events: list[Happening]
) -> None:
    world = World(here, there, max(there, wanted))
    for each in events:
        world.happen(each)
    for _ in range(2):
        for endpoint in range(3):
            world.happen(Happening("start", 0, endpoint, 0))
        for kind in ("see", "withdraw"):
            for importer in range(len(IMPORTERS)):
                world.happen(Happening(kind, importer, 0, 0))
        world.happen(Happening("wait", 0, 0, TTL))
        for _ in range(3):
            world.happen(Happening("remove", 0, 0, 0))
    assert world.drain.stage is Stage.DRAINED
    assert not world.here
