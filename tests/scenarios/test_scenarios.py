"""Every YAML file of this folder is a scenario: clusters in, steps, then objects and DNS answers out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.testing.virtual_time import run_virtual
from tests.scenarios.runner import Scenario
from tests.scenarios.world import running_world

FILES = sorted(Path(__file__).parent.glob("*.yaml"))
SANDBOX_ONLY = {
    "c04-publish-not-ready-addresses",
    "e03-cluster-silent-and-kept",
    "e03-cluster-silent-then-drained",
    "e03-cut-off-from-most",
    "e10-one-that-never-answers",
    "e12-clock-ahead",
    "first-seen-is-not-flipped",
    "member-that-becomes-another",
    "namespace-replaced-while-watches-are-broken",
    "traffic-distribution-refused",
    "watch-ended-by-410",
}


def read(file: Path) -> dict[str, Any]:
    scenario: dict[str, Any] = yaml.safe_load(file.read_text())
    return scenario


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_scenario(file: Path, tmp_path: Path) -> None:
    scenario = read(file)

    async def run() -> None:
        async with running_world(
            scenario["clusters"],
            tmp_path,
            undefined=scenario.get("undefined", ()),
            single_stack=scenario.get("single stack", ()),
            older=scenario.get("older", ()),
            ahead=scenario.get("ahead", {}),
        ) as world:
            await Scenario(world).run(scenario["steps"])

    run_virtual(run())


def test_real_servers_play_all_but_these() -> None:
    reasons = {
        file.stem: scenario["sandbox only"] for file in FILES if "sandbox only" in (scenario := read(file))
    }

    assert set(reasons) == SANDBOX_ONLY
    assert all(len(reason) > 40 for reason in reasons.values())
