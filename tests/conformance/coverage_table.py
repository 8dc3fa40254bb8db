"""Which sentences the tests of this folder cover, as a table at the end of a run.

Values only: what a run collected and how it ended comes from `conftest`, the sentences from `kep_sentences`.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tests.conformance.kep_sentences import Sentence

Outcome = Literal["passed", "failed", "not run"]
State = Literal["passed", "failed", "not run", "missing", "elsewhere"]


class Mark(NamedTuple):
    """What a test says it checks, by its `spec` mark."""

    sentence: str
    level: str


class Row(NamedTuple):
    """A line of the table; `tests` are those that a run collected."""

    mark: Mark
    state: State
    tests: int
    elsewhere: str = ""


def written_marks(folder: Path) -> Mapping[Mark, list[str]]:
    """The marks in all test files of `folder`, collected or not, each with the names of its tests."""
    found: dict[Mark, list[str]] = {}
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(), filename=str(path))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for decorator in node.decorator_list:
                    if (mark := _mark(decorator)) is not None:
                        found.setdefault(mark, []).append(f"{path.name}::{node.name}")
    return found


def unmarked_tests(folder: Path) -> list[str]:
    """Tests in `folder` that do not say which sentence they check."""
    return [
        f"{path.name}::{node.name}"
        for path in sorted(folder.glob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(), filename=str(path)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not any(_mark(decorator) for decorator in node.decorator_list)
    ]


def _mark(decorator: ast.expr) -> Mark | None:
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) != "pytest.mark.spec":
        return None
    return Mark(*(ast.literal_eval(argument) for argument in decorator.args))


def rows(
    sentences: Sequence[Sentence], written: Iterable[Mark], outcomes: Mapping[Mark, Sequence[Outcome]]
) -> list[Row]:
    """The sentences in their order, then what else was marked; `outcomes` has one entry for each collected test."""
    known, listed = set(written), {Mark(each.sentence, each.level) for each in sentences}
    told = [
        Row(Mark(each.sentence, each.level), "elsewhere", 0, each.tested_in or each.elsewhere)
        if each.elsewhere
        else _row(Mark(each.sentence, each.level), known, outcomes)
        for each in sentences
    ]
    others = sorted((known | outcomes.keys()) - listed)
    return [*told, *(_row(mark, known, outcomes) for mark in others)]


def _row(mark: Mark, known: set[Mark], outcomes: Mapping[Mark, Sequence[Outcome]]) -> Row:
    found = outcomes.get(mark, ())
    if not found:
        return Row(mark, "not run" if mark in known else "missing", 0)
    worst: Outcome = next((each for each in found if each == "failed"), "not run")
    if worst != "failed" and "passed" in found:
        worst = "passed"
    return Row(mark, worst, len(found))


def lines(table: Sequence[Row]) -> list[str]:
    """The table as text, with a last line of counts."""
    width = max((len(row.mark.sentence) for row in table), default=0)
    told = [
        f"{row.mark.sentence:<{width}}  {row.mark.level:<8}  {row.state:<9}  {row.elsewhere or row.tests}"
        for row in table
    ]
    states: tuple[State, ...] = ("passed", "failed", "not run", "missing", "elsewhere")
    counts = [f"{sum(row.state == state for row in table)} {state}" for state in states]
    tests = sum(row.tests for row in table)
    return [*told, f"{len(table)} sentences: {', '.join(counts)}; {tests} tests"]
