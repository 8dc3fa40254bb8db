"""Amounts as Kubernetes writes them, `100m`, `1.5Gi`, `12e6`, as exact whole numbers.

Source: Kubernetes, "Quantity" (apimachinery): nothing finer than a billionth is kept, rounded up, and nothing beyond
2^63-1.
"""

import re
from fractions import Fraction
from functools import lru_cache

UNIT = 10**9
"""One of whatever is measured, in billionths."""

_LARGEST = (2**63 - 1) * UNIT
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)"
    r"(?P<suffix>Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE](?P<exponent>[+-]?[0-9]+))?",
    re.ASCII,
)
_FACTORS: dict[str, Fraction] = {
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)},
    **{letter: Fraction(1000) ** power for power, letter in enumerate("num", -3)},
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", 1)},
}
_LARGEST_EXPONENT = 64


@lru_cache(maxsize=4096)
def parse_quantity(written: str | int | float) -> int:
    """The amount in billionths (UNIT). Raises ValueError for what is no quantity.

    JSON may have a number in place of the text.
    """
    found = _QUANTITY.fullmatch(str(written))
    if found is None:
        raise ValueError(
            f'"{str(written)[:40]}" is no quantity; write a number with or without a unit, as 500m or 2Gi'
        )
    number = Fraction(found["number"]) * _factor(found["suffix"], found["exponent"])
    billionths = min(-(-number * UNIT // 1), _LARGEST)
    return -billionths if found["sign"] == "-" else billionths


def _factor(suffix: str | None, exponent: str | None) -> Fraction:
    if exponent is not None:
        # What is beyond is cut or rounded up all the same, and a power of it would take for ever.
        return Fraction(10) ** max(-_LARGEST_EXPONENT, min(int(exponent), _LARGEST_EXPONENT))
    return _FACTORS[suffix] if suffix else Fraction(1)
