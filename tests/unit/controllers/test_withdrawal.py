"""Outages as they are observed: when they begin and end, by which clock, and when the next verdict is due."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from mcs.controllers.withdrawal import WithdrawalController, touched_by_decisions
from mcs.membership.withdrawal import Decision, Decisions, Terms
from mcs.model.names import ClusterId
from mcs.runtime.demand import Demand
from mcs.runtime.fleet import CRD_MISSING, Fleet, Reachability
from mcs.runtime.queue import WorkQueue
from mcs.testing.virtual_time import START, run_virtual
from tests.unit.controllers.two_clusters import EAST, WEST, Here

SOUTH = ClusterId("south")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class FakeMember:
    """A member that is as it is told to be."""

    def __init__(self, name: ClusterId) -> None:
        self.cluster = name
        self.reachability = Reachability.REACHABLE
        self.problem = ""
        self.queue: WorkQueue[Any] = WorkQueue()
        self.demand = Demand({}, ())
        self._listeners: list[Any] = []

    def on_health(self, listener: Any) -> None:
        self._listeners.append(listener)

    def becomes(self, state: Reachability, problem: str = "") -> None:
        self.reachability, self.problem = state, problem
        for each in self._listeners:
            each()


class FakeFleet(Fleet[Any]):
    def __init__(self) -> None:
        super().__init__()
        self.fakes = {each: FakeMember(each) for each in (EAST, WEST, SOUTH)}
        for each in self.fakes.values():
            fake: Any = each
            self.engage(fake)


class Story:
    """A controller beside three members; `told` are the moments of its decisions on east, by the loop's clock."""

    def __init__(self, grace: float = 100, recorded: str = "") -> None:
        self.fleet = FakeFleet()
        self.east = self.fleet.fakes[EAST]
        self.wall_ahead = timedelta()
        self.told: list[tuple[float, str, str]] = []
        self.controller = WithdrawalController(
            self.fleet,
            self._now,
            self._take,
            lambda _: Terms(grace=timedelta(seconds=grace)),
            lambda cluster: recorded if cluster == EAST else "",
        )

    def _now(self) -> datetime:
        return NOON + timedelta(seconds=asyncio.get_running_loop().time() - START) + self.wall_ahead

    def _take(self, decisions: Decisions) -> None:
        if (found := decisions.of.get(EAST)) is not None:
            self.told.append((asyncio.get_running_loop().time() - START, found.verdict, found.reason))

    @property
    def verdicts(self) -> list[tuple[float, str]]:
        return [(at, verdict) for at, verdict, _ in self.told]


def play(story: Story, *steps: tuple[float, Any]) -> Story:
    """Run the controller for 1000 s; each step is carried out that many seconds after the one before."""

    async def run() -> None:
        task = asyncio.create_task(story.controller.run())
        for seconds, step in steps:
            await asyncio.sleep(seconds)
            step()
        await asyncio.sleep(1000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with capture_logs():
        run_virtual(run())
    return story


def away(story: Story, problem: str = "timeout") -> Any:
    return lambda: story.east.becomes(Reachability.UNREACHABLE, problem)


def back(story: Story) -> Any:
    return lambda: story.east.becomes(Reachability.REACHABLE)


def test_a_member_is_withdrawn_at_the_end_of_its_grace_and_served_when_it_is_back() -> None:
    story = Story()
    play(story, (50, away(story)), (300, back(story)))

    assert story.verdicts == [(0, "serve"), (50, "leave"), (150, "withdraw"), (350, "serve")]
    assert story.told[2][2] == "is unreachable since 2026-01-01T12:00:50Z (timeout)"


def test_a_member_that_is_back_within_its_grace_begins_anew_with_the_next_outage() -> None:
    story = Story()
    play(story, (0, away(story)), (90, back(story)), (5, away(story)), (99, back(story)))

    assert "withdraw" not in [verdict for _, verdict in story.verdicts]


@pytest.mark.parametrize("state", [Reachability.CONNECTING, Reachability.SYNCING])
def test_an_outage_goes_on_while_the_member_is_only_connecting(state: Reachability) -> None:
    story = Story()
    play(story, (0, away(story)), (50, lambda: story.east.becomes(state)))

    assert story.verdicts[-1] == (100, "withdraw")


def test_a_wall_clock_that_is_set_withdraws_nothing() -> None:
    story = Story()

    def set_clock() -> None:
        story.wall_ahead = timedelta(hours=5)
        story.controller.wake()

    play(story, (0, away(story)), (10, set_clock))

    assert story.verdicts[-1] == (100, "withdraw")


@pytest.mark.parametrize(
    ("recorded", "withdrawn_at"),
    [
        ("2026-01-01T11:59:00Z", 40),
        ("2025-12-31T00:00:00Z", 0),
        ("2026-01-01T13:00:00Z", 100),
        ("no time", 100),
        ("", 100),
    ],
)
def test_an_outage_that_is_recorded_began_when_that_says(recorded: str, withdrawn_at: float) -> None:
    """Not in the future, however: then a clock has been set."""
    story = Story(recorded=recorded)
    story.east.becomes(Reachability.UNREACHABLE, "timeout")
    play(story)

    assert story.verdicts[-1] == (withdrawn_at, "withdraw")


def test_who_comes_back_last_after_most_were_away_is_not_withdrawn_for_it() -> None:
    story = Story()
    others = [story.fleet.fakes[each] for each in (WEST, SOUTH)]

    def all_away() -> None:
        for each in (story.east, *others):
            each.becomes(Reachability.UNREACHABLE, "timeout")

    def others_back() -> None:
        for each in others:
            each.becomes(Reachability.REACHABLE)

    play(story, (0, all_away), (500, others_back), (50, back(story)))
    assert story.verdicts == [(0, "serve"), (0, "leave"), (500, "leave"), (550, "serve")]

    story = Story()
    others = [story.fleet.fakes[each] for each in (WEST, SOUTH)]
    play(story, (0, all_away), (500, others_back))
    assert story.verdicts[-1] == (600, "withdraw")


def test_the_last_problem_before_the_verdict_is_told_and_stays() -> None:
    """The first error is that of a watch that broke."""
    story = Story()
    play(story, (0, away(story, "network")), (5, away(story, "refused")), (200, away(story, "timeout")))

    assert story.told[-1] == (100, "withdraw", "is unreachable since 2026-01-01T12:00:00Z (refused)")


def test_a_member_that_only_lacks_definitions_is_there() -> None:
    story = Story()
    play(story, (0, away(story, CRD_MISSING)))

    assert {verdict for _, verdict in story.verdicts} <= {"serve", "leave"}
    assert story.controller.outages == {}


def test_a_member_that_ceases_to_be_one_is_not_counted_any_more_and_begins_anew_as_another() -> None:
    story, counted = Story(), list[set[ClusterId]]()
    again: Any = story.east
    play(
        story,
        (0, away(story)),
        (5, lambda: story.fleet.disengage(EAST)),
        (1, lambda: counted.append({*story.controller.decisions.of})),
        (4, lambda: story.fleet.engage(again)),
    )

    assert counted == [{WEST, SOUTH}]
    assert story.verdicts[-1] == (110, "withdraw")


WITHDRAW, LEAVE, SERVE = Decision("withdraw", "is away"), Decision("leave", "is away"), Decision("serve")


@pytest.mark.parametrize(
    ("sentence", "before", "now", "touched"),
    [
        ("withdrawn", SERVE, WITHDRAW, {EAST, WEST}),
        ("withdrawn while it is away itself", LEAVE, Decision("withdraw", "is away", is_away=True), {WEST}),
        ("served again", WITHDRAW, SERVE, {EAST, WEST}),
        ("for another reason", WITHDRAW, Decision("withdraw", "is drained"), {EAST, WEST}),
        ("undecided: as it is", WITHDRAW, LEAVE, set()),
        ("nothing new", WITHDRAW, WITHDRAW, set()),
        ("served at first: nothing here is withdrawn", None, SERVE, set()),
        ("back in time: nothing was withdrawn", LEAVE, SERVE, set()),
    ],
)
def test_which_clusters_a_new_verdict_on_an_exporter_touches(
    sentence: str, before: Decision | None, now: Decision, touched: set[ClusterId]
) -> None:
    caches = Here().controller._caches
    was = Decisions({} if before is None else {EAST: before})

    found = {target for target, keys in touched_by_decisions(caches, was, Decisions({EAST: now})) if keys}
    assert found == touched, sentence
