"""A storm of faults over real API servers and our programs, in which whatever stays exported goes on being answered.

MCS_CHAOS_MINUTES says how long it lasts (3 unless told); MCS_SEED repeats a storm. A run leaves its report in
build/chaos, and when it fails also its schedule, the observer's record and all logs.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

import pytest

from tests.real.chaos.cast import Cast
from tests.real.chaos.measures import growth
from tests.real.chaos.play import Seen, play
from tests.real.chaos.report import report

MINUTES = float(os.environ.get("MCS_CHAOS_MINUTES") or 3)
FOLDER = Path(__file__).parents[3] / "build" / "chaos"
WARM = 180.0
"""Seconds after which the memory of a program may grow no more but by this part of itself:"""
GROWTH = 0.05


@pytest.mark.timeout(MINUTES * 60 + 420)
async def test_in_a_storm_what_stays_exported_is_answered_and_after_it_all_is_as_before(
    tmp_path: Path,
) -> None:
    seed = os.environ.get("MCS_SEED") or secrets.token_hex(4)
    print(f"MCS_SEED={seed} MCS_CHAOS_MINUTES={MINUTES:g}", flush=True)
    seen = Seen(seed, MINUTES * 60)
    folder = tmp_path / "cast"
    folder.mkdir()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    is_good = False
    try:
        async with Cast(folder) as cast:
            await play(cast, seen)
        check(seen)
        is_good = True
    finally:
        text = report(seen)
        print(text, flush=True)
        (FOLDER / "report.md").write_text(text)
        if not is_good:
            (FOLDER / "schedule.txt").write_text("".join(f"{each}\n" for each in seen.schedule))
            for file in (*folder.glob("*.log"), *folder.glob("*.jsonl")):
                shutil.copy(file, FOLDER)


def check(seen: Seen) -> None:
    """Raise AssertionError for whatever must not be."""
    assert [str(each) for each in seen.wrong[:20]] == []
    assert seen.left == []
    assert set(seen.happened) == {each.kind for each in seen.schedule}
    for name, before in seen.before.items():
        after = seen.after[name]
        assert after.tasks == before.tasks, f"tasks of {name}"
        assert after.sockets == before.sockets, f"sockets of {name}"
    for name, samples in seen.samples.items():
        grown = growth(samples, WARM)
        assert grown is None or grown <= GROWTH, (
            f"{name} grew by {grown:.1%} after the first {WARM / 60:g} minutes"
        )
