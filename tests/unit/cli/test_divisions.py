"""`mcs plan division`: what is printed for the rows of a file, and what is said of rows and files that are wrong."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.cli.divisions import divided_row
from mcs.cli.main import main

ROWS = """
[
 {"key": "", "total": 50, "prefs": {"*": {"w": 1}}, "clusters": ["A", "B", "C"],
  "current": {}, "capacity": {"C": 10}, "rebalance": true, "origin": "anywhere", "plan": {"A": 1}},
 {"total": 10, "prefs": {"A": {"w": 1, "min": 5, "max": 3}, "B": {"w": 1}}, "clusters": ["A", "B"]},
 {"total": 10, "prefs": {"A": {"w": 1, "min": 5, "max": 3}, "B": {"w": 1}}, "clusters": ["A", "B"], "mode": "fair"},
 {"total": 50, "clusters": ["A", "B"], "current": {"A": 10, "B": 70}, "mode": "fair", "rebalance": "never"},
 {"total": 9, "clusters": ["A", "B"], "current": {"A": 9}, "mode": "fair", "rebalance": "gradual", "moves": 2},
 {"total": 1, "clusters": []}
]
"""
RESULTS: list[dict[str, Any]] = [
    {"plan": {"A": 20, "B": 20, "C": 10}, "overflow": {"C": 7}},
    {"plan": {"A": 3, "B": 7}, "overflow": {}},
    {
        "error": "row 3: minReplicas of A is 5 and its maxReplicas 3; write a minimum that is not above the maximum"
    },
    {"plan": {"A": 10, "B": 40}, "overflow": {}},
    {"plan": {"A": 7, "B": 2}, "overflow": {}},
    {"plan": {}, "overflow": {}},
]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    monkeypatch.setattr(sys, "argv", ["mcs", "plan", "division", *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    return exit_.value.code or 0


@pytest.mark.parametrize("output", ["json", "yaml"])
@pytest.mark.parametrize("is_yaml", [False, True])
def test_each_row_is_divided_and_a_wrong_one_stops_no_other(
    output: str,
    is_yaml: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "rows"
    file.write_text(yaml.safe_dump(json.loads(ROWS)) if is_yaml else ROWS)
    status = run(monkeypatch, "-f", str(file), "-o", output)
    printed, errors = capsys.readouterr()
    assert (json.loads(printed) if output == "json" else yaml.safe_load(printed)) == RESULTS
    assert errors == f"mcs: {RESULTS[2]['error']}\n"
    assert status == 1


def test_rows_are_read_from_standard_input_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('[{"total": 3, "clusters": ["A"]}]'))
    assert run(monkeypatch, "-f", "-") == 0
    assert json.loads(capsys.readouterr().out) == [{"plan": {"A": 3}, "overflow": {}}]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "row 7: Object missing required field `total`; write total, clusters and prefs"),
        ("nine", "row 7: Expected `object`, got `str`; write"),
        (
            {"total": 9, "clusters": ["A"], "prefs": {"A": {"weight": 1}}},
            "unknown field `weight` - at `prefs",
        ),
        ({"total": 9, "clusters": ["A"], "mode": "best"}, "Invalid enum value 'best' - at `mode`"),
        ({"total": -9, "clusters": ["A"]}, "row 7: total is -9; write 0 or more"),
    ],
)
def test_a_wrong_row_is_told_by_its_number_with_what_to_write(row: object, said: str) -> None:
    assert said in divided_row(7, row)["error"]


@pytest.mark.parametrize(
    ("text", "arguments", "status", "said"),
    [
        (None, (), 1, "cannot be read: "),
        ("total: 9", (), 1, "has no list; write one, of one division a row"),
        ("[", (), 1, "is neither JSON nor YAML: "),
        ("[]", ("-o", "table"), 2, "--output table is neither json nor yaml"),
    ],
)
def test_a_wrong_file_is_told_in_one_line(
    text: str | None,
    arguments: tuple[str, ...],
    status: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "rows"
    if text is not None:
        file.write_text(text)
    assert run(monkeypatch, "-f", str(file), *arguments) == status
    printed, errors = capsys.readouterr()
    assert printed == ""
    assert errors.startswith("mcs: ")
    assert errors.count("\n") == 1
    assert said in errors
