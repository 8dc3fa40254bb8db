"""What is logged while nothing happens, and while a cluster stays away: nothing, and nothing twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from mcs.testing.virtual_time import run_virtual
from tests.scenarios.objects import expanded
from tests.scenarios.world import running_world

CLUSTERS = ("east", "west")
TEN_MINUTES = 600


async def _logs(folder: Path) -> tuple[list[Any], list[Any], list[Any]]:
    """What is logged when a change is carried out, in ten quiet minutes, and in ten without one cluster."""
    async with running_world(CLUSTERS, folder) as world:
        for cluster in CLUSTERS:
            await world.apis[cluster].apply(*expanded({"Namespace": "shop"}))
        await world.start_controller(CLUSTERS)
        await asyncio.sleep(5)
        with capture_logs() as working:
            for number in range(10):
                name = f"shop/web-{number}"
                await world.apis["east"].apply(*expanded({"Service": name, "ports": ["http 80"]}))
                await world.apis["east"].apply(*expanded({"ServiceExport": name}))
            await asyncio.sleep(30)
            assert (await world.ask("west", "web-9.shop.svc", "A")) not in ("NXDOMAIN", "NODATA")
        with capture_logs() as quiet:
            await asyncio.sleep(TEN_MINUTES)
        with capture_logs() as away:
            await world.servers["west"].stop()
            await asyncio.sleep(TEN_MINUTES)
        return working, quiet, away


def test_nothing_is_logged_per_piece_of_work_and_a_lasting_trouble_only_once(tmp_path: Path) -> None:
    working, quiet, away = run_virtual(_logs(tmp_path))

    assert working == []
    assert quiet == []
    assert away, "a cluster that goes away is told of"
    times = Counter((entry["event"], entry.get("cluster"), entry.get("resource")) for entry in away)
    # The controller and the DNS server of the cluster both watch two of its resources.
    assert max(times.values()) <= 2, times
    # Six resources, two of them twice; that it is away; that its endpoints are withdrawn.
    assert sum(times.values()) <= 6 + 2 + 1 + 1
