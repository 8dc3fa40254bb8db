"""The night is told as it was: a part that fails stops no other, and makes the whole fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nightly import Outcome, Part, main, night, outcome, parts

SAMPLES = {
    "good": "def test_it(): pass",
    "bad": "def test_it(): assert False",
    "skipping": "import pytest\ndef test_it(): pytest.skip('no reason')",
    "broken": "import nothing_of_this_name",
    "empty": "",
}


def part(folder: Path, sample: str) -> Part:
    path = folder / f"test_{sample}.py"
    path.write_text(SAMPLES[sample])
    return Part((str(path), f"--rootdir={folder}", "-p", "no:cacheprovider"))


def test_a_part_that_fails_is_told_and_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = night({name: part(tmp_path, name) for name in ("bad", "good")}, tmp_path / "reports")
    first, second = (line for line in capsys.readouterr().out.splitlines() if "collected," in line)
    assert first.startswith("nightly: bad: FAILED: 1 collected, 0 passed, 0 skipped, 1 failed in 0 min ")
    assert second.startswith("nightly: good: passed: 1 collected, 1 passed, 0 skipped, 0 failed in 0 min ")
    assert status == 1


def test_a_night_in_which_all_went_well_is_good(tmp_path: Path) -> None:
    assert night({"good": part(tmp_path, "good")}, tmp_path / "reports") == 0


@pytest.mark.parametrize("sample", ["skipping", "broken", "empty"])
def test_tests_that_did_not_run_are_no_success(sample: str, tmp_path: Path) -> None:
    assert night({sample: part(tmp_path, sample)}, tmp_path / "reports") == 1


def test_a_pytest_that_wrote_no_report_counts_for_nothing_and_fails(tmp_path: Path) -> None:
    found = outcome(tmp_path / "none.xml", status=0, seconds=61.0)
    assert found == Outcome(0, seconds=61.0)
    assert str(found) == "FAILED: 0 collected, 0 passed, 0 skipped, 0 failed in 1 min 1 s"


def test_an_unknown_part_is_refused_with_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chaoss"]) == 2
    assert capsys.readouterr().err.startswith("nightly: no part chaoss; there are api-servers-other-minor, ")


def test_what_a_part_searches_can_be_repeated() -> None:
    assert "--hypothesis-seed=7" in parts(7)["laws"].arguments
    assert parts(7)["chaos"].defaults["MCS_SEED"] == "7"
