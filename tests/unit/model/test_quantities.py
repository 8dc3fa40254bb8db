"""Amounts of Kubernetes as exact numbers."""

from __future__ import annotations

import pytest

from mcs.model.quantities import UNIT, parse_quantity


@pytest.mark.parametrize(
    ("written", "billionths"),
    [
        ("0", 0),
        ("4", 4 * UNIT),
        ("500m", UNIT // 2),
        ("0.1", UNIT // 10),
        (".5", UNIT // 2),
        ("5.", 5 * UNIT),
        ("+1", UNIT),
        ("-1", -UNIT),
        ("1.5Gi", 3 * 2**29 * UNIT),
        ("16Ki", 16384 * UNIT),
        ("1k", 1000 * UNIT),
        ("1M", 10**6 * UNIT),
        ("2E", 2 * 10**18 * UNIT),
        ("2E3", 2000 * UNIT),
        ("12e6", 12 * 10**6 * UNIT),
        ("5e-3", UNIT // 200),
        ("1u", 1000),
        ("3n", 3),
        ("0.1n", 1),
        ("1e-400", 1),
        ("1e999999999999", (2**63 - 1) * UNIT),
        ("100E", (2**63 - 1) * UNIT),
        (2, 2 * UNIT),
        (0.25, UNIT // 4),
    ],
)
def test_a_quantity_is_the_number_that_it_writes(written: str | float, billionths: int) -> None:
    assert parse_quantity(written) == billionths


@pytest.mark.parametrize(
    "written", ["", "1 Gi", "Gi", "1KiB", "1e", "m", "0x10", "1,5", "٣", "1K", ".", "--1"]
)
def test_what_is_no_quantity_is_refused_with_an_example(written: str) -> None:
    with pytest.raises(ValueError, match="is no quantity; write a number"):
        parse_quantity(written)
