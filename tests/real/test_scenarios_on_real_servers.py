"""Every field case that real kube-apiservers can play is played on them: the order of events counts, not the times."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from tests.lab.control_planes import ControlPlanes
from tests.real.scenario_world import api_of, running_real_world
from tests.scenarios.runner import Scenario
from tests.scenarios.world import define

CLUSTERS = ("east", "west", "south")
SCENARIOS: dict[str, dict[str, Any]] = {
    file.stem: yaml.safe_load(file.read_text())
    for file in sorted((Path(__file__).parents[1] / "scenarios").glob("*.yaml"))
}
FIELD_CASE = re.compile(r"[a-z]\d\d-")
PLAYED = [
    name for name, scenario in SCENARIOS.items() if FIELD_CASE.match(name) and "sandbox only" not in scenario
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def three_planes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlanes]:
    """Control planes with our CRDs; each scenario leaves them empty."""
    async with ControlPlanes(CLUSTERS, folder=tmp_path_factory.mktemp("scenarios")) as running:
        for name in CLUSTERS:
            await define(api_of(running, name))
        yield running


@pytest.mark.parametrize("name", PLAYED)
async def test_scenario_on_real_servers(three_planes: ControlPlanes, name: str) -> None:
    scenario = SCENARIOS[name]
    async with running_real_world(three_planes, scenario["clusters"]) as world:
        await Scenario(world).run(scenario["steps"])
