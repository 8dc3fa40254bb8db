"""When nothing changes, nothing is written; and the quiet is not deafness: a change in that minute still arrives."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcs.controllers import services as services_controller
from mcs.model.actions import Action, Apply
from mcs.model.resources import SERVICE_IMPORTS
from mcs.services.observed import ObservedTarget
from mcs.services.plan import plan_target
from mcs.testing.virtual_time import run_virtual
from tests.scenarios.objects import expanded
from tests.scenarios.world import World, running_world

CLUSTERS = ("east", "west")
SERVICES = 40


async def _export(world: World, number: int) -> None:
    name = f"web-{number}"
    shorts: list[dict[str, Any]] = [
        {"Service": f"shop/{name}", "ports": ["http 80"], "headless": number % 2 == 1},
        {
            "EndpointSlice": f"shop/{name}-1",
            "service": name,
            "ports": ["http 8080"],
            "ready": [f"10.1.0.{number + 1}"],
        },
        {"ServiceExport": f"shop/{name}"},
    ]
    for short in shorts:
        await world.apis["east"].apply(*expanded(short))


async def _writes_of_a_quiet_minute(folder: Path) -> tuple[dict[str, int], list[str] | str]:
    """Writes of 60 s in which one endpoint changes half-way, and what DNS in west answers for it afterwards."""
    async with running_world(CLUSTERS, folder) as world:
        for cluster in CLUSTERS:
            await world.apis[cluster].apply(*expanded({"Namespace": "shop"}))
        for number in range(SERVICES):
            await _export(world, number)
        await world.start_controller(CLUSTERS)
        await asyncio.sleep(30)
        before = world.writes()
        await asyncio.sleep(30)
        changed: dict[str, Any] = {
            "EndpointSlice": "shop/web-1-1",
            "service": "web-1",
            "ports": ["http 8080"],
            "ready": ["10.1.0.2", "10.1.9.9"],
        }
        await world.apis["east"].apply(*expanded(changed))
        await asyncio.sleep(30)
        after = world.writes()
        answer = await world.ask("west", "web-1.shop.svc", "A")
        return {cluster: after[cluster] - before[cluster] for cluster in CLUSTERS}, answer


def test_steady_state_writes_nothing_and_one_change_arrives(tmp_path: Path) -> None:
    writes, answer = run_virtual(_writes_of_a_quiet_minute(tmp_path))

    assert answer == ["10.1.0.2", "10.1.9.9"]
    # The change itself is one write in east; its mirror is one write in each cluster.
    assert writes == {"east": 2, "west": 1}


def test_a_needless_write_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = 0

    def restless(observed: ObservedTarget) -> tuple[Action, ...]:
        nonlocal planted
        actions = plan_target(observed)
        present = observed.service_import
        if actions or present is None:
            return actions
        planted += 1
        touched = msgspec.structs.replace(
            present.metadata, annotations={**present.metadata.annotations, "touched": observed.now}
        )
        return (
            Apply(
                cluster=observed.target,
                resource=SERVICE_IMPORTS,
                object=msgspec.structs.replace(present, metadata=touched),
            ),
        )

    monkeypatch.setattr(services_controller, "plan_target", restless)
    writes, _ = run_virtual(_writes_of_a_quiet_minute(tmp_path))

    assert planted
    assert writes != {"east": 2, "west": 1}
