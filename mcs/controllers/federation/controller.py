"""Federation as one part of a process: the types, and who divides replicas among clusters beside them."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from mcs.controllers.federation.clusters import FederatedType
from mcs.controllers.federation.drains import DrainController
from mcs.controllers.federation.following import FollowingController
from mcs.controllers.federation.kept import keep
from mcs.controllers.federation.preferences import PreferencesController
from mcs.controllers.federation.registered import RegisteredClusters
from mcs.controllers.federation.synced_type import SyncedType
from mcs.controllers.federation.types import TypesController
from mcs.controllers.registry import RegistryController, RegistryOptions
from mcs.federation.configuration import Settings
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.scheduling import PreferenceStatus
from mcs.runtime.fleet import CRD_MISSING, Fleet
from mcs.runtime.leader import LeaderElector


class Federation:
    """Propagates what is federated in the host of `registry` to its members, which `fleet` holds.

    `on_drains` is called after the drain of a member has come further.
    """

    def __init__(
        self,
        registry: RegistryController,
        options: RegistryOptions,
        fleet: Fleet[Any],
        clock: Callable[[], datetime],
        on_drains: Callable[[], None],
        leader: LeaderElector | None = None,
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
        self.following = FollowingController(
            fleet, lambda: self.types.running.values(), self._preference_of, self._is_known
        )
        self.drains = DrainController(
            fleet,
            self._drained,
            lambda: self.types.running.values(),
            self._preference_of,
            self.following.follows_to,
            self._is_known,
            self._drains_changed,
        )
        registry.conditions.append(self.drains.told)
        self._on_drains = on_drains
        self._preferences: PreferencesController | None = None
        self._open_host = options.open_host
        self._clock = clock
        self._leader = leader
        self._settings: Settings | None = None
        self._is_changed = asyncio.Event()
        self.types.on_settings(self._take_settings)
        self.types.follow(self.following.type_started, lambda _: None)

    async def run(self) -> None:
        """Work until cancelled."""
        end = self.clusters.follow(lambda _: None, lambda _: None, lambda _: None, self._clusters_changed)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.types.run(), name="types")
                tasks.create_task(self._divide(), name="preferences")
                tasks.create_task(self.drains.run(), name="drains")
                tasks.create_task(self.following.run(), name="following")
        finally:
            end()

    def _take_settings(self, settings: Settings) -> None:
        self._settings = settings
        self._is_changed.set()

    async def _divide(self) -> None:
        """Have preferences heeded by the settings of the moment, and not at all where these say so."""
        while True:
            self._is_changed.clear()
            if self._settings is None or not self._settings.divides:
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
        preferences = PreferencesController(
            self.types,
            self.clusters,
            self._open_host,
            self._settings,
            self._clock,
            self.drains,
            self._leader,
        )
        preferences.on_plan(lambda key: self.following.touch(key.namespace))
        self._preferences = preferences
        await preferences.run()

    def _clusters_changed(self) -> None:
        self.types.look_again()
        self.drains.wake()

    # Drains.

    def _drained(self) -> list[ClusterId]:
        registrations = ((each, self.clusters.registration(each)) for each in self.clusters.registered)
        return [cluster for cluster, each in registrations if each is not None and each.is_drained]

    def _preference_of(self, type_: FederatedType, key: ServiceKey) -> PreferenceStatus | None:
        if self._preferences is None:
            return None
        return self._preferences.status_of(type_.config.spec.federated_type.kind, key)

    def _is_known(self) -> bool:
        """Whether types, preferences and federated objects are those of the host; members may be away."""
        if self._settings is None or not self.types.has_settled:
            return False
        is_divided = not self._settings.divides or (
            self._preferences is not None and self._preferences.is_seen
        )
        return is_divided and all(
            each.host.is_seen or each.host.problem == CRD_MISSING for each in self.types.running.values()
        )

    def _drains_changed(self) -> None:
        if self._preferences is not None:
            self._preferences.plan_all()
        self._on_drains()
