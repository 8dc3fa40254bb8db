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


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_scenario(file: Path, tmp_path: Path) -> None:
    scenario: dict[str, Any] = yaml.safe_load(file.read_text())

    async def run() -> None:
        async with running_world(
            scenario["clusters"],
            tmp_path,
            undefined=scenario.get("undefined", ()),
            single_stack=scenario.get("single stack", ()),
            older=scenario.get("older", ()),
        ) as world:
            await Scenario(world).run(scenario["steps"])

    run_virtual(run())
