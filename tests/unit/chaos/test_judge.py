"""The judge of the chaos run finds planted faults, and none in what is right."""

from __future__ import annotations

import pytest

from tests.real.chaos.judge import Answer, Interval, Outage, Promise, counts, judge, undisturbed

STEADY = Promise("east", "web", 0, 100, frozenset({"10.0.0.1"}), frozenset({"10.0.0.1", "10.0.0.2"}))
FLEETING = Promise("east", "job", 0, 100, frozenset(), frozenset({"10.0.0.9"}), may_be_absent=True)
OUTAGE = Outage("east", 40, 42, 44)


def answer(
    rcode: str = "NOERROR", *addresses: str, name: str = "web", at: float = 10, lasting: float = 0.01
) -> Answer:
    return Answer("east", name, at, at + lasting, rcode, addresses)


GOOD = answer("NOERROR", "10.0.0.1")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(answer("NOERROR", "10.0.0.1"), [], id="what stays is answered"),
        pytest.param(answer("NOERROR", "10.0.0.1", "10.0.0.2"), [], id="what comes and goes may be too"),
        pytest.param(answer("NXDOMAIN"), ["NXDOMAIN"], id="a name that stays must exist"),
        pytest.param(answer("NXDOMAIN", at=43), ["NXDOMAIN"], id="also while DNS starts again"),
        pytest.param(answer("NOERROR"), ["lacks 10.0.0.1"], id="it has an address"),
        pytest.param(answer("NOERROR", "10.0.0.2"), ["lacks 10.0.0.1"], id="that of the one that stays"),
        pytest.param(answer("NOERROR", "10.0.0.1", "1.1.1.1"), ["strange 1.1.1.1"], id="and nobody else's"),
        pytest.param(answer("SERVFAIL"), ["SERVFAIL"], id="DNS that runs knows its zone"),
        pytest.param(answer("SERVFAIL", at=41), [], id="DNS that is not running may fail"),
        pytest.param(answer("SERVFAIL", at=43.9), [], id="and until it is ready"),
        pytest.param(answer("SERVFAIL", at=44.1), ["SERVFAIL"], id="but no longer"),
        pytest.param(answer("REFUSED"), ["REFUSED"], id="no other failure is right"),
        pytest.param(answer("", lasting=1), [], id="a packet may be lost"),
        pytest.param(answer("NXDOMAIN", at=100), [], id="after the promise anything may be"),
        pytest.param(answer("NXDOMAIN", name="job"), [], id="what need not exist may be absent"),
        pytest.param(answer("NOERROR", name="job"), [], id="or have no address"),
        pytest.param(answer("NOERROR", "10.0.0.9", name="job"), [], id="or its own"),
        pytest.param(answer("NOERROR", "10.0.0.1", name="job"), ["strange 10.0.0.1"], id="but not another's"),
    ],
)
def test_an_answer_is_judged_by_what_was_promised(given: Answer, expected: list[str]) -> None:
    others = [GOOD, answer("NXDOMAIN", name="job")]
    assert [each.what for each in judge([*others, given], [STEADY, FLEETING], [OUTAGE])] == expected


def test_a_promise_to_an_address_that_may_change_is_broken_by_an_empty_answer() -> None:
    rolling = Promise("east", "web", 0, 100, frozenset(), frozenset({"10.0.0.1"}))
    assert [each.what for each in judge([GOOD, answer()], [rolling], [])] == ["no address"]


def test_a_promise_that_nobody_asked_about_counts_as_broken() -> None:
    other = answer("NXDOMAIN", name="job")
    assert [each.what for each in judge([other], [STEADY], [])] == ["nobody asked, or no answer ever came"]
    unheard = Answer("west", "web", 10, 10.01, "NOERROR", ("10.0.0.1",))
    assert len(judge([unheard], [STEADY], [])) == 1


def test_a_server_that_is_silent_for_long_is_told_once() -> None:
    silent = [answer("", at=each, lasting=1) for each in range(10, 20)]
    (found,) = judge([GOOD, *silent], [STEADY], [OUTAGE])
    assert str(found) == "10.00: all names at east: silent for more than 3 s"
    assert judge([GOOD, *silent], [STEADY], [Outage("east", 9, 20, 21)]) == []
    broken_by_answers = [
        each
        for pair in zip(
            silent, [answer("NOERROR", "10.0.0.1", at=a + 0.9) for a in range(10, 20)], strict=True
        )
        for each in pair
    ]
    assert judge(broken_by_answers, [STEADY], []) == []


def test_a_restart_may_take_long_only_while_something_hinders_it() -> None:
    slow = Outage("east", 40, 41, 90)
    assert [each.what for each in judge([GOOD], [STEADY], [slow])] == [
        "not ready for 49.0 s after its restart"
    ]
    assert judge([GOOD], [STEADY], [slow], [Interval("east", 30, 65)]) == []
    assert len(judge([GOOD], [STEADY], [slow], [Interval("west", 30, 65)])) == 1


@pytest.mark.parametrize(
    ("hindrances", "expected"),
    [
        ((), 10.0),
        (((0, 5),), 10.0),
        (((5, 14),), 6.0),
        (((12, 14), (13, 16)), 4.0),
        (((18, 30),), 8.0),
        (((0, 30),), 0.0),
    ],
)
def test_the_longest_time_without_hindrance(
    hindrances: tuple[tuple[float, float], ...], expected: float
) -> None:
    given = [Interval("east", *each) for each in hindrances]
    assert undisturbed(10, 20, given) == pytest.approx(expected)


def test_questions_are_counted_by_how_they_ended() -> None:
    assert counts([GOOD, GOOD, answer("NXDOMAIN"), answer("")]) == {
        "NOERROR": 2,
        "NXDOMAIN": 1,
        "no answer": 1,
    }
