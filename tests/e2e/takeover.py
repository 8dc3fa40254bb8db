"""Controllers of the two types of a KubeFed host with the member `eu`, run until they have taken over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from mcs.controllers.federation.clusters import OpenClient, TargetClient
from mcs.controllers.federation.picture import SyncSettings
from mcs.controllers.federation.synced_type import SyncedType
from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.model.federated import FEDERATED_TYPE_CONFIGS
from tests.e2e.federated_world import GivenClusters
from tests.e2e.kubefed_host import SPACES, WORKLOADS
from tests.e2e.membership_commands import NAMESPACE

SECONDS = 60


def _opener(config: Path, name: str) -> OpenClient:
    @asynccontextmanager
    async def opened() -> AsyncIterator[TargetClient]:
        async with await connect([config], name, name=name) as connection:
            yield Client(connection)

    return opened


async def taken_over(config: Path, is_done: Callable[[], Awaitable[bool]]) -> None:
    """Run the controllers by the contexts `host` and `eu` of a kubeconfig until that is done."""
    given = GivenClusters(partial(_opener, config))
    given.register("eu")
    async with await connect([config], "host", name="host") as connection:
        client = Client(connection)
        configs = [
            await client.get(FEDERATED_TYPE_CONFIGS, NAMESPACE, each.name) for each in (SPACES, WORKLOADS)
        ]
    now = partial(datetime.now, UTC)
    types = [SyncedType(each, SyncSettings(), _opener(config, "host"), given, now) for each in configs]
    tasks = [asyncio.create_task(each.run()) for each in types]
    try:
        async with asyncio.timeout(SECONDS):
            while not await is_done():  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
