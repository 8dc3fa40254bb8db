"""Telling Events: in order, at a bounded rate, given up rather than in the way."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from mcs.kube.errors import AlreadyExists, Forbidden, KubeError, Unreachable
from mcs.model.events import Event
from mcs.model.meta import ObjectMeta
from mcs.runtime.events import BURST, MOST_WAITING, PER_SECOND, EventRecorder
from mcs.testing.virtual_time import run_virtual


class Teller:
    """Takes Events, or answers each with the next of `errors`."""

    def __init__(self, *errors: KubeError | None) -> None:
        self.told: list[str] = []
        self._errors = list(errors)

    async def create(self, resource: Any, obj: Any) -> Any:
        if self._errors and (error := self._errors.pop(0)) is not None:
            raise error
        self.told.append(obj.metadata.name)
        return obj


def event(name: str) -> Event:
    return Event(metadata=ObjectMeta(name=name, namespace="shop"))


async def told_after(teller: Teller, recorder: EventRecorder, seconds: float) -> int:
    task = asyncio.create_task(recorder.run())
    await asyncio.sleep(seconds)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return len(teller.told)


def run(count: int, seconds: float, *errors: KubeError | None) -> tuple[Teller, EventRecorder]:
    teller = Teller(*errors)
    recorder = EventRecorder(teller, cluster="east")
    for number in range(count):
        recorder.record(event(f"e{number}"))
    run_virtual(told_after(teller, recorder, seconds))
    return teller, recorder


def test_events_are_told_in_their_order() -> None:
    assert run(3, 1)[0].told == ["e0", "e1", "e2"]


def test_a_flood_is_told_at_a_bounded_rate() -> None:
    told = len(run(500, 10.0)[0].told)
    assert abs(told - (BURST + 10 * PER_SECOND)) <= 1


def test_what_waits_is_bounded_and_the_rest_is_counted() -> None:
    _, recorder = run(MOST_WAITING + 7, 0)
    assert recorder.given_up == 7


def test_what_was_told_before_is_told() -> None:
    teller, recorder = run(2, 1, AlreadyExists(409))
    assert (teller.told, recorder.given_up) == (["e1"], 0)


def test_a_server_that_is_away_costs_the_event_and_nothing_else() -> None:
    teller, recorder = run(2, 1, Unreachable("no answer"))
    assert (teller.told, recorder.given_up) == (["e1"], 1)


def test_where_events_are_not_allowed_one_line_says_so() -> None:
    with capture_logs() as logs:
        run(3, 1, *[Forbidden(403, "Forbidden", "no")] * 3)
    assert [entry["event"] for entry in logs] == ["events cannot be told"]
