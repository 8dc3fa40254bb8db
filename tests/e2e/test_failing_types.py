"""Types that fail by a mistake of ours: each by itself, and again and again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from structlog.testing import capture_logs

from mcs.controllers.federation.clusters import OpenClient
from mcs.controllers.federation.types import TypesController
from mcs.controllers.processes import client_opener
from mcs.model.federated import FederatedTypeConfig
from mcs.model.names import ClusterId
from mcs.runtime.cache import Cache
from mcs.runtime.fleet import Fleet, Member
from mcs.testing.virtual_time import run_virtual
from tests.e2e.federated_world import CONFIG_MAPS, TYPE_NAMESPACES
from tests.e2e.registry_world import SYSTEM, running_registry, settled
from tests.e2e.types_world import RUNS, Host
from tests.scenarios.world import virtual_now


class StandIn:
    """A type that fails as often as a test says, and then runs."""

    failures: ClassVar[dict[str, int]] = {}

    def __init__(self, config: FederatedTypeConfig, opener: OpenClient) -> None:
        self.config = config
        self.host: Member[Any] = Member(ClusterId("host"), opener, [])
        self.fleet: Fleet[Any] = Fleet()
        self.federated: Cache[Any] = Cache()
        name = config.metadata.name
        if self.failures.get(name, 0) > 0:
            self.failures[name] -= 1
            raise RuntimeError("planted")

    def present(self, cluster: ClusterId) -> None: ...

    def is_seen(self, cluster: ClusterId) -> bool:
        return False

    async def run(self) -> None:
        await asyncio.Event().wait()


def test_a_type_that_fails_is_begun_again_and_again_and_stops_no_other(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry([], tmp_path) as registry:
            host = Host(registry)
            opener = client_opener("host", [tmp_path / "kubeconfig"], "host", registry.world.counts)
            StandIn.failures = {"configmaps": 3}
            types = TypesController(opener, SYSTEM, lambda config, _: StandIn(config, opener), virtual_now)
            task = asyncio.create_task(types.run())
            with capture_logs() as logs:
                await host.enable(TYPE_NAMESPACES, CONFIG_MAPS)
                await settled(5)
                assert sorted(types.running) == ["namespaces"]
                assert await host.status(TYPE_NAMESPACES) == RUNS
                assert await host.status(CONFIG_MAPS) == RUNS | {"propagationController": "NotRunning"}
                await settled(5)
            assert sorted(types.running) == ["configmaps", "namespaces"]
            assert await host.status(CONFIG_MAPS) == RUNS
            failed = [each for each in logs if each["event"].startswith("begun again")]
            assert [each["what"] for each in failed] == 3 * ["type configmaps"]
            task.cancel()
            await asyncio.wait([task])
            assert types.running == {}

    run_virtual(run())


def test_no_type_runs_before_it_is_known_who_is_a_member(tmp_path: Path) -> None:
    """What is placed nowhere, as far as is known, would be deleted everywhere."""

    async def run() -> None:
        async with running_registry([], tmp_path) as registry:
            host = Host(registry)
            opener = client_opener("host", [tmp_path / "kubeconfig"], "host", registry.world.counts)
            StandIn.failures = {}
            known: set[str] = set()
            types = TypesController(
                opener,
                SYSTEM,
                lambda config, _: StandIn(config, opener),
                virtual_now,
                None,
                lambda: bool(known),
            )
            task = asyncio.create_task(types.run())
            await host.enable(TYPE_NAMESPACES)
            await settled(5)
            assert (types.running, types.has_settled) == ({}, False)
            known.add("members")
            types.look_again()
            await settled(5)
            assert (sorted(types.running), types.has_settled) == (["namespaces"], True)
            task.cancel()
            await asyncio.wait([task])

    run_virtual(run())
