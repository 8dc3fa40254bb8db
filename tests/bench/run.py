"""`make bench`: measures, prints ratios, and writes build/bench/NAME.json for each measurement.

Nothing here passes or fails: machines are noisy, so figures are ratios against a baseline of the same run.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from tests.bench import (
    burst,
    decode,
    dns,
    dns_changes,
    dns_features,
    dns_size,
    dns_workers,
    federation,
    federation_plan,
    fleet,
    fleet_size,
    propagation,
)
from tests.bench.dns_load import MissingProgramError
from tests.bench.figures import Figure

BUILD = Path(__file__).parents[2] / "build" / "bench"
MEASUREMENTS: dict[str, Callable[[], Awaitable[Sequence[Figure]]]] = {
    "burst": burst.measure,
    "decode": decode.measure,
    "dns": dns.measure,
    "dns-changes": dns_changes.measure,
    "dns-features": dns_features.measure,
    "dns-size": dns_size.measure,
    "dns-workers": dns_workers.measure,
    "federation": federation.measure,
    "federation-plan": federation_plan.measure,
    "fleet": fleet.measure,
    "fleet-size": fleet_size.measure,
    "propagation": propagation.measure,
}


def main(names: Sequence[str]) -> int:
    """Run the named measurements, or all; 1 when one had to be left out for want of a program."""
    left_out = 0
    for name in names or MEASUREMENTS:
        before = os.getloadavg()[0]
        try:
            figures = asyncio.run(_awaited(MEASUREMENTS[name]))
        except MissingProgramError as missing:
            print(f"\n{name}: left out, {missing}")
            left_out = 1
            continue
        write(name, figures)
        print(f"\n{name} (load average {before:.1f} before, {os.getloadavg()[0]:.1f} after)")
        print(f"  {'':72} {'value':>12} {'baseline':>12} {'ratio':>8}")
        for figure in figures:
            print(
                f"  {figure['name']:72} {figure['value']:>12,.3f} {figure['baseline']:>12,.3f} "
                f"{figure['ratio']:>8.3f}  {figure['unit']}",
                flush=True,
            )
    return left_out


def write(name: str, figures: Sequence[Figure]) -> Path:
    """Put the figures of one measurement where other programs find them; returns the file."""
    BUILD.mkdir(parents=True, exist_ok=True)
    file = BUILD / f"{name}.json"
    file.write_text(json.dumps(figures, indent=2) + "\n")
    return file


async def _awaited(measure: Callable[[], Awaitable[Sequence[Figure]]]) -> Sequence[Figure]:
    return await measure()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
