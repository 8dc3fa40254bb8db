"""What is too long for continuous integration: all of it by `make test-nightly`, some by PARTS.

The other Kubernetes minor, conformance again and again, a long chaos, many zones next to CoreDNS, and long searches for
inputs that break a law.
Each part is a pytest of its own, so that none can spoil the next; a part counts as failed when a test of it failed, was
skipped, or when none was collected. What a part prints goes to the terminal and, with its report, to build/nightly.

MCS_SEED repeats a search or a chaos; MCS_CHURN, MCS_KILLS, MCS_CHAOS_MINUTES, MCS_EXAMPLES, MCS_STORMS, MCS_ZONES and
MCS_INPUTS make them shorter or longer.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

FOLDER = Path(__file__).parents[1] / "build" / "nightly"
OTHER_MINOR = "1.37"


@dataclass(frozen=True)
class Part:
    """A run of pytest: its arguments, and variables that hold unless the caller has set them."""

    arguments: tuple[str, ...]
    defaults: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What became of a part; `status` is the exit status of pytest."""

    status: int
    collected: int = 0
    skipped: int = 0
    failed: int = 0
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether everything ran and passed."""
        return self.status == 0 and self.collected > 0 and not self.skipped and not self.failed

    def __str__(self) -> str:
        passed = self.collected - self.skipped - self.failed
        counts = f"{self.collected} collected, {passed} passed, {self.skipped} skipped, {self.failed} failed"
        minutes, seconds = divmod(round(self.seconds), 60)
        return f"{'passed' if self.is_good else 'FAILED'}: {counts} in {minutes} min {seconds} s"


def parts(seed: int) -> dict[str, Part]:
    """All of the night, by name, in the order in which it is run."""
    other = {"MCS_KUBERNETES": OTHER_MINOR}
    conformance = Part(("tests/real/conformance",))
    return {
        "api-servers-other-minor": Part(("tests/real", "-m", "not nodes"), other),
        "nodes-other-minor": Part(("tests/real", "-m", "nodes"), other),
        "conformance-1": conformance,
        "conformance-2": conformance,
        "conformance-3": conformance,
        "chaos": Part(
            ("tests/real/test_killed_controller.py", "tests/real/chaos", "-s"),
            {"MCS_CHURN": "200", "MCS_KILLS": "10", "MCS_CHAOS_MINUTES": "15", "MCS_SEED": str(seed)},
        ),
        "laws": Part(
            ("tests/laws", f"--hypothesis-seed={seed}", "--timeout=7200"),
            {"MCS_EXAMPLES": "5000", "MCS_STORMS": "200"},
        ),
        "zones": Part(
            ("tests/real/test_dns_against_coredns.py", "-s"), {"MCS_ZONES": "20", "MCS_SEED": str(seed)}
        ),
        "fuzz": Part(
            ("tests/fuzz/search.py", "--timeout=43200", "-s"),
            {"MCS_INPUTS": "10000000", "MCS_SEED": str(seed)},
        ),
    }


def run(name: str, part: Part, folder: Path) -> Outcome:
    """Run the part to its end, whatever comes of it."""
    report = folder / f"{name}.xml"
    report.unlink(missing_ok=True)
    variables = {key: os.environ.get(key) or value for key, value in part.defaults.items()}
    command = ("pytest", *part.arguments, f"--junitxml={report}")
    print(
        f"nightly: {name}: {' '.join(f'{key}={value}' for key, value in variables.items())} {' '.join(command)}"
    )
    started = time.monotonic()
    environment = os.environ | variables | {"MCS_REQUIRE_REAL": "1"}
    with (
        (folder / f"{name}.log").open("w") as log,
        subprocess.Popen(
            (sys.executable, "-m", *command), env=environment, stdout=subprocess.PIPE, text=True
        ) as tests,
    ):
        assert tests.stdout is not None
        for line in tests.stdout:
            print(line, end="", flush=True)
            log.write(line)
    return outcome(report, tests.returncode, time.monotonic() - started)


def outcome(report: Path, status: int, seconds: float) -> Outcome:
    """The counts of pytest's report; none where it did not come to write one."""
    if not report.is_file():
        return Outcome(status, seconds=seconds)
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    collected, skipped, failures, errors = (
        sum(int(suite.get(count, "0")) for suite in suites)
        for count in ("tests", "skipped", "failures", "errors")
    )
    return Outcome(status, collected, skipped, failures + errors, seconds)


def night(chosen: Mapping[str, Part], folder: Path) -> int:
    """Run all that is chosen, print what became of each, and return 1 when any of it failed, else 0."""
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = {name: run(name, part, folder) for name, part in chosen.items()}
    for name, each in outcomes.items():
        print(f"nightly: {name}: {each}", flush=True)
    return 0 if all(each.is_good for each in outcomes.values()) else 1


def main(names: Sequence[str]) -> int:
    """The whole night, or the named parts of it. The exit status, with one line where a name is unknown."""
    seed = int(os.environ.get("MCS_SEED") or secrets.randbelow(2**32))
    every = parts(seed)
    if unknown := [name for name in names if name not in every]:
        print(f"nightly: no part {', '.join(unknown)}; there are {', '.join(every)}", file=sys.stderr)
        return 2
    print(f"nightly: MCS_SEED={seed}", flush=True)
    return night({name: part for name, part in every.items() if not names or name in names}, FOLDER)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
