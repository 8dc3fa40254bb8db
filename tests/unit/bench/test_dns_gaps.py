"""What counts as a gap: a time without an answer while a question waited, and no other."""

from collections.abc import Sequence

import pytest

from tests.bench.dns_gaps import longest_gap


@pytest.mark.parametrize(
    ("asked", "answered", "longest"),
    [
        pytest.param([], [], 0, id="nothing asked"),
        pytest.param([1.0], [1.5], 0.5, id="the first answer counts from its question"),
        pytest.param([1.0, 2.0, 3.0], [1.5, 2.25, 3.25], 0.5, id="a time without a question is no gap"),
        pytest.param([1.0, 1.0, 1.0], [1.25, 1.5, 3.5], 2.0, id="a time in which a question waits is one"),
        pytest.param([1.0, 2.0], [1.5], 0.5, id="what was never answered is counted elsewhere"),
        pytest.param([1.0, 1.5, 2.0], [1.25, 4.0, 4.0], 2.5, id="it begins with the question that waits"),
    ],
)
def test_the_longest_gap(asked: Sequence[float], answered: Sequence[float], longest: float) -> None:
    assert longest_gap(asked, answered) == pytest.approx(longest)
