"""What a measurement gives: a value next to its baseline of the same run, and their ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict


class Figure(TypedDict):
    """`value` and `baseline` are in `unit`; `ratio` is value / baseline."""

    name: str
    value: float
    unit: str
    baseline: float
    ratio: float


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample below which `share` of the others lie (nearest rank)."""
    ordered = sorted(samples)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def ratio_figure(name: str, value: float, unit: str, baseline: float) -> Figure:
    """One figure, rounded to what such a measurement can tell."""
    return {
        "name": name,
        "value": round(value, 3),
        "unit": unit,
        "baseline": round(baseline, 3),
        "ratio": round(value / baseline, 3),
    }
