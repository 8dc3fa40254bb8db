"""A verdict counts every answer, and no listed difference hides another."""

from typing import Any

import pytest

from tests.replay.comparison import Known, judge


def answers(**bodies: Any) -> dict[str, list[dict[str, Any]]]:
    return {"file": [{"name": name, "code": 200, "body": body} for name, body in bodies.items()]}


RECORDED = answers(one={"reason": "Conflict", "list": [1, 2]}, two={"a/b": "x"})


def test_equal_answers_are_counted() -> None:
    verdict = judge(RECORDED, RECORDED, ())
    assert (verdict.requests, verdict.equal, verdict.listed, verdict.unlisted) == (2, 2, 0, ())


@pytest.mark.parametrize(
    ("one", "path"),
    [
        ({"reason": "Invalid", "list": [1, 2]}, "/body/reason"),
        ({"reason": "Conflict", "list": [1]}, "/body/list/1"),
        ({"reason": "Conflict", "list": [1, 2], "more": None}, "/body/more"),
        ({"reason": "Conflict", "list": [1, True]}, "/body/list/1"),
        ({"reason": "Conflict", "list": [1.0, 2]}, "/body/list/0"),
    ],
)
def test_each_difference_has_its_path(one: Any, path: str) -> None:
    verdict = judge(RECORDED, answers(one=one, two={"a/b": "x"}), ())
    assert [(found.request, found.path) for found in verdict.unlisted] == [("file/one", path)]


def test_a_listed_difference_covers_what_lies_beneath_and_nothing_beside() -> None:
    other = answers(one={"reason": "Invalid", "list": [3, 2]}, two={"a/b": "y"})
    known = (Known("file/*", "/body/list", "why"), Known("file/two", "/body/a~1b", "why"))
    verdict = judge(RECORDED, other, known)
    assert (verdict.equal, verdict.listed) == (0, 1)
    assert [found.path for found in verdict.unlisted] == ["/body/reason"]


def test_a_listed_difference_that_is_gone_is_stale() -> None:
    known = (Known("file/one", "/body/reason", "why"),)
    assert judge(RECORDED, RECORDED, known).stale == known


def test_an_answer_that_was_not_recorded_and_one_that_did_not_come_are_differences() -> None:
    verdict = judge(answers(one=1), answers(two=2), ())
    assert (verdict.requests, verdict.equal, len(verdict.unlisted)) == (2, 0, 2)
