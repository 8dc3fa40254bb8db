"""Ends a run that collected tests of this folder with the table of sentences that they cover."""

from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.conformance.coverage_table import Mark, Outcome, lines, rows, written_marks
from tests.conformance.kep_sentences import SENTENCES

_outcomes = pytest.StashKey[dict[str, tuple[Mark, Outcome]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_outcomes] = {}


def pytest_itemcollected(item: pytest.Item) -> None:
    mark = item.get_closest_marker("spec")
    if mark is not None:
        item.config.stash[_outcomes][item.nodeid] = (Mark(*mark.args), "not run")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    result = yield
    if (found := item.config.stash[_outcomes].get(item.nodeid)) is not None:
        if result.failed:
            item.config.stash[_outcomes][item.nodeid] = (found[0], "failed")
        elif result.passed and call.when == "call":
            item.config.stash[_outcomes][item.nodeid] = (found[0], "passed")
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found: dict[Mark, list[Outcome]] = defaultdict(list)
    for mark, outcome in config.stash[_outcomes].values():
        found[mark].append(outcome)
    if found:
        terminalreporter.section("sentences covered")
        for line in lines(rows(SENTENCES, written_marks(Path(__file__).parent), found)):
            terminalreporter.write_line(line)
