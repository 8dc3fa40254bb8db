"""Every scenario that real kube-apiservers can play is played on them: the order of events counts, not the times."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
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
PLAYED = [name for name, scenario in SCENARIOS.items() if "sandbox only" not in scenario]
OF_CLUSTERS = {"undefined", "single stack"}
"""What a scenario says of its clusters that holds from their first start on, so that they are its alone."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def three_planes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlanes]:
    """Control planes with our CRDs; each scenario leaves them empty."""
    async with ControlPlanes(CLUSTERS, folder=tmp_path_factory.mktemp("scenarios")) as running:
        await define_in(running, CLUSTERS)
        yield running


@pytest.mark.parametrize("name", [name for name in PLAYED if not OF_CLUSTERS & SCENARIOS[name].keys()])
async def test_scenario_on_real_servers(three_planes: ControlPlanes, name: str) -> None:
    scenario = SCENARIOS[name]
    async with running_real_world(three_planes, scenario["clusters"]) as world:
        await Scenario(world).run(scenario["steps"])


@pytest.mark.parametrize("name", [name for name in PLAYED if OF_CLUSTERS & SCENARIOS[name].keys()])
async def test_scenario_on_real_servers_of_its_own(tmp_path: Path, name: str) -> None:
    scenario = SCENARIOS[name]
    clusters, undefined = scenario["clusters"], scenario.get("undefined", ())
    single_stack = scenario.get("single stack", ())
    async with ControlPlanes(clusters, folder=tmp_path, single_stack=single_stack) as planes:
        await define_in(planes, [name for name in clusters if name not in undefined])
        async with running_real_world(planes, clusters) as world:
            await Scenario(world).run(scenario["steps"])


async def define_in(planes: ControlPlanes, names: Iterable[str]) -> None:
    for name in names:
        async with api_of(planes, name) as api:
            await define(api)
