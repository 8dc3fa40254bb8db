"""Whatever happens, and in whatever order: once it is over, the clusterset is right, and stays as it is.

The real processes run in virtual time over sandbox API servers. `MCS_STORMS=200` runs that many storms instead of a
few, `MCS_STORM=17` runs the one of that seed, `MCS_STORM_LENGTH=60` makes them longer.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcs.sandbox.store import Object
from mcs.testing.virtual_time import run_virtual
from tests.laws.clusterset_truth import complaints
from tests.laws.storms import CLUSTERS, SERVICES, Step, Storm, is_ours, objects_of, storm
from tests.scenarios.world import World, running_world

LENGTH = int(os.environ.get("MCS_STORM_LENGTH", "40"))
FAMOUS = (0, 1, 2, 7, 113, 2007)
"""A few of any kind, and those that once found faults."""


def _seeds() -> Sequence[int]:
    if one := os.environ.get("MCS_STORM"):
        return [int(one)]
    return range(int(many)) if (many := os.environ.get("MCS_STORMS")) else FAMOUS


LONGEST_DELAY = 150.0
"""Seconds after which whatever backs off has been tried again, with some to spare."""


async def weather(steps: list[Step], folder: Path) -> list[str]:
    """What is wrong after the steps, once all is quiet; nothing when the law holds."""
    async with running_world(CLUSTERS, folder) as world:
        storm_ = Storm(world)
        await storm_.begin()
        before = _strangers(world)
        await storm_.run(steps)
        await storm_.calm()
        await asyncio.sleep(LONGEST_DELAY)
        found = await complaints(world, SERVICES)
        found += await _needless_writes(world, "in a quiet minute")
        await world.stop_controller()
        await world.start_controller(CLUSTERS)
        found += await _needless_writes(world, "by a fresh controller")
        if _strangers(world) != before:
            found.append("objects of strangers were touched")
        assert world.controller is not None
        if not world.controller.fleet.is_idle:
            found.append("the controller still has work")
    return found + _left_tasks()


def _strangers(world: World) -> list[Object]:
    return [
        obj
        for kind in ("Service", "EndpointSlice", "ServiceImport")
        for obj in objects_of(world.servers["west"].api, kind)
        if not is_ours(obj) and obj["metadata"].get("labels", {}).get("owner") == "stranger"
    ]


async def _needless_writes(world: World, when: str) -> list[str]:
    before = world.writes()
    await asyncio.sleep(60)
    after = world.writes()
    return [
        f"{cluster}: {after[cluster] - before[cluster]} writes {when}"
        for cluster in after
        if after[cluster] != before[cluster]
    ]


def _left_tasks() -> list[str]:
    return [f"task {each.get_name()} is left" for each in asyncio.all_tasks() - {asyncio.current_task()}]


@pytest.mark.parametrize("seed", _seeds())
def test_after_any_storm_the_clusterset_is_right_and_quiet(seed: int, tmp_path: Path) -> None:
    steps = storm(seed, LENGTH)
    found = run_virtual(weather(steps, tmp_path))
    assert not found, f"seed {seed}: {found}\n" + "\n".join(map(str, steps))
