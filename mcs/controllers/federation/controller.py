"""Federation as one part of a process: the types, and who divides replicas among clusters beside them."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from mcs.controllers.federation.clusters import FederatedClusters, OpenClient
from mcs.controllers.federation.kept import keep
from mcs.controllers.federation.registered import RegisteredClusters
from mcs.controllers.federation.synced_type import SyncedType
from mcs.controllers.federation.types import TypesController
from mcs.controllers.registry import RegistryController, RegistryOptions
from mcs.federation.configuration import Settings
from mcs.runtime.fleet import Fleet
from mcs.runtime.leader import LeaderElector


class Preferences(Protocol):
    """Who divides replicas as preferences ask, by writing what a human could also write into federated objects."""

    async def run(self) -> None:
        """Work until cancelled."""


NewPreferences = Callable[
    [
        TypesController,
        FederatedClusters,
        OpenClient,
        Settings,
        Callable[[], datetime],
        LeaderElector | None,
    ],
    Preferences,
]


class Federation:
    """Propagates what is federated in the host of `registry` to its members, which `fleet` holds."""

    def __init__(
        self,
        registry: RegistryController,
        options: RegistryOptions,
        fleet: Fleet[Any],
        clock: Callable[[], datetime],
        leader: LeaderElector | None = None,
        new_preferences: NewPreferences | None = None,
    ) -> None:
        clusters = self.clusters = RegisteredClusters(registry, fleet)
        self.types = TypesController(
            options.open_host,
            options.namespace,
            lambda config, settings: SyncedType(config, settings, options.open_host, clusters, clock, leader),
            clock,
            leader,
            lambda: clusters.is_known,
        )
        self._open_host = options.open_host
        self._clock = clock
        self._leader = leader
        self._new_preferences = new_preferences
        self._settings: Settings | None = None
        self._is_changed = asyncio.Event()
        self.types.on_settings(self._take_settings)

    async def run(self) -> None:
        """Work until cancelled."""
        look_again = self.types.look_again
        end = self.clusters.follow(lambda _: None, lambda _: None, lambda _: None, look_again)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.types.run(), name="types")
                tasks.create_task(self._divide(), name="preferences")
        finally:
            end()

    def _take_settings(self, settings: Settings) -> None:
        self._settings = settings
        self._is_changed.set()

    async def _divide(self) -> None:
        """Have preferences heeded by the settings of the moment, and not at all where these say so."""
        while True:
            self._is_changed.clear()
            if self._settings is None or not self._settings.divides or self._new_preferences is None:
                await self._is_changed.wait()
                continue
            task = asyncio.create_task(keep("preferences", self._divide_by), name="preferences kept")
            try:
                await self._is_changed.wait()
            finally:
                task.cancel()
                await asyncio.wait([task])

    async def _divide_by(self) -> None:
        assert self._settings is not None
        assert self._new_preferences is not None
        preferences = self._new_preferences(
            self.types, self.clusters, self._open_host, self._settings, self._clock, self._leader
        )
        await preferences.run()
