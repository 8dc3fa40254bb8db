"""The search as a test, for the night: `pytest tests/fuzz/search.py`.

It is too long for every change, so its name keeps it from being collected with the others.

MCS_INPUTS says how many inputs are tried, MCS_SEED repeats a search.
"""

from __future__ import annotations

import os
import secrets

from tests.fuzz.run import FOLDER, search


def test_whatever_bytes_come_nothing_but_answers_or_drops_comes_of_it() -> None:
    inputs = int(os.environ.get("MCS_INPUTS") or 100_000)
    seed = int(os.environ.get("MCS_SEED") or secrets.randbelow(2**31))
    print(f"MCS_INPUTS={inputs} MCS_SEED={seed}")
    assert search(inputs, seed, os.cpu_count() or 1, FOLDER) == 0
