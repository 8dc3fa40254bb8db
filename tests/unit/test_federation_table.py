"""The table at the top of docs/federation.md claims nothing that no test shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "federation.md"
ROW = re.compile(r"\| (\d+) \| (.+) \| ((?:(?:yes|part|no) \| ){5})(.+) \|")
YES = re.compile(r"\[yes\]\(\.\./(tests/[\w/]+\.py)#(test_\w+)\)(: .+)?")
ROWS = [row for line in DOCUMENT.read_text().splitlines() if (row := ROW.fullmatch(line))]


def test_all_features_are_there_once_and_in_order() -> None:
    assert [int(row[1]) for row in ROWS] == list(range(1, 64))
    assert len({row[2] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[row[2] for row in ROWS])
def test_what_is_claimed_is_shown_by_a_test_that_exists(row: re.Match[str]) -> None:
    here = row[4]
    if here == "no" or here.startswith("part: "):
        return
    yes = YES.fullmatch(here)
    assert yes is not None, "yes with a link to its test, part with what there is, or no"
    file = ROOT / yes[1]
    assert file.is_file()
    assert re.search(rf"^(async )?def {yes[2]}\(", file.read_text(), re.MULTILINE)
