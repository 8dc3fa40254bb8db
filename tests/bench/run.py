"""`make bench`: measures, prints ratios, and writes build/bench/NAME.json for each measurement.

Nothing here passes or fails: machines are noisy, so figures are ratios against a baseline of the same run.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from tests.bench import burst, decode, dns, propagation
from tests.bench.figures import Figure

BUILD = Path(__file__).parents[2] / "build" / "bench"
MEASUREMENTS: dict[str, Callable[[], Awaitable[Sequence[Figure]]]] = {
    "burst": burst.measure,
    "decode": decode.measure,
    "dns": dns.measure,
    "propagation": propagation.measure,
}


def main(names: Sequence[str]) -> None:
    """Run the named measurements, or all."""
    for name in names or MEASUREMENTS:
        figures = asyncio.run(_awaited(MEASUREMENTS[name]))
        write(name, figures)
        print(f"\n{name}")
        print(f"  {'':56} {'value':>12} {'baseline':>12} {'ratio':>8}")
        for figure in figures:
            print(
                f"  {figure['name']:56} {figure['value']:>12,.3f} {figure['baseline']:>12,.3f} "
                f"{figure['ratio']:>8.3f}  {figure['unit']}"
            )


def write(name: str, figures: Sequence[Figure]) -> Path:
    """Put the figures of one measurement where other programs find them; returns the file."""
    BUILD.mkdir(parents=True, exist_ok=True)
    file = BUILD / f"{name}.json"
    file.write_text(json.dumps(figures, indent=2) + "\n")
    return file


async def _awaited(measure: Callable[[], Awaitable[Sequence[Figure]]]) -> Sequence[Figure]:
    return await measure()


if __name__ == "__main__":
    main(sys.argv[1:])
