"""Runs a `SyncedType` for each type that is federated, as FederatedTypeConfigs come, change and go.

Which types are to run, and what is written about them, is decided in `mcs.federation.enabled_types`. A type that fails
never stops another, and is tried again. Nothing that was propagated is deleted when a type stops.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Protocol

import structlog
from msgspec import Struct
from msgspec.structs import asdict, replace

from mcs.controllers.federation.clusters import FederatedType, OpenClient
from mcs.controllers.federation.kept import keep
from mcs.controllers.federation.picture import SyncSettings
from mcs.federation.configuration import Settings, configuration_event, settings_of
from mcs.federation.enabled_types import (
    ObservedType,
    Refusal,
    decide_types,
    namespaces_type,
    plan_type,
)
from mcs.kube.errors import Failure, ResourceMissing
from mcs.membership.recording import HOST
from mcs.model.federated import (
    CONFIG_NAME,
    FEDERATED_TYPE_CONFIGS,
    KUBEFED_CONFIGS,
    FederatedTypeConfig,
    KubeFedConfig,
    Running,
    federated_resource,
)
from mcs.model.meta import timestamp
from mcs.model.names import ClusterId, ServiceKey
from mcs.runtime.cache import Cache
from mcs.runtime.demand import Reflected
from mcs.runtime.fleet import CRD_MISSING, Fleet, Member
from mcs.runtime.leader import LeaderElector, while_leading

log = structlog.get_logger(__name__)

TYPES = ""
"""Key of the work of deciding which types run; that of what is written about one is its name."""

CONFIGURATION = "/configuration"
"""Key of the work of telling what is wrong with the KubeFedConfig."""

HOLD_DOWNS = 3.0
"""For how many times the availableDelay nothing that lost its placement is deleted in a cluster that has returned: who
divides replicas places there again after one."""


class RunningType(FederatedType, Protocol):
    """A type that can be run."""

    @property
    def fleet(self) -> Fleet[Any]:
        """The members, as far as this type goes."""

    async def run(self) -> None:
        """Propagate until cancelled."""


NewType = Callable[[FederatedTypeConfig, SyncSettings], RunningType]
"""Makes what propagates a type."""


class _Started(Struct, frozen=True):
    """What a type was begun with: when it is to be another, it is begun again."""

    config: FederatedTypeConfig
    settings: SyncSettings

    def is_same(self, config: FederatedTypeConfig, settings: SyncSettings) -> bool:
        return (self.config.spec, self.settings) == (config.spec, settings)


class _Run:
    """One type that is to run; `type_` is None until it does, and between a failure and the next attempt."""

    def __init__(self, started: _Started) -> None:
        self.started = started
        self.type_: RunningType | None = None
        self.task: asyncio.Task[None] | None = None
        self.has_begun = False
        self.is_ending = False


class TypesController:
    """Keeps what runs equal to the type configurations of the host, once `may_run` tells that members are known."""

    def __init__(
        self,
        open_host: OpenClient,
        namespace: str,
        new_type: NewType,
        clock: Callable[[], datetime],
        leader: LeaderElector | None = None,
        may_run: Callable[[], bool] = lambda: True,
    ) -> None:
        self.settings = Settings(system_namespace=namespace)
        """Those in force, once they have been read."""
        self.refusals: dict[str, Refusal] = {}
        """Why types that are enabled are not propagated, by the name of their configuration."""
        reflected = [
            Reflected(replace(FEDERATED_TYPE_CONFIGS, scope=namespace)),
            Reflected(replace(KUBEFED_CONFIGS, scope=namespace), may_be_forbidden=True),
        ]
        self.host: Member[str] = Member(HOST, open_host, reflected)
        self._host = Fleet([self.host])
        self._new_type = new_type
        self._clock = clock
        self._leader = leader
        self._may_run = may_run
        self._runs: dict[str, _Run] = {}
        self._told: dict[str, Refusal] = {}
        self._problem = ""
        self._told_problem = ""
        self._followers: list[tuple[Callable[[FederatedType], None], Callable[[FederatedType], None]]] = []
        self._settings_listeners: list[Callable[[Settings], None]] = []
        self._announced: Settings | None = None
        self._tasks: asyncio.TaskGroup | None = None
        for cache in self.host.caches.values():
            cache.listen(lambda _: self.look_again())
        self.host.on_seen(lambda _: self.look_again())

    @property
    def configs(self) -> Cache[FederatedTypeConfig]:
        """The type configurations."""
        return self.host.caches[FEDERATED_TYPE_CONFIGS.plural]

    @property
    def running(self) -> dict[str, RunningType]:
        """The types that run, by the name of their configuration."""
        return {name: run.type_ for name, run in sorted(self._runs.items()) if run.type_ is not None}

    @property
    def has_settled(self) -> bool:
        """True when what is to run was begun: types that do not run then cannot."""
        return self._announced is not None and all(run.has_begun for run in self._runs.values())

    def of_kind(self, kind: str) -> FederatedType | None:
        """The type that runs of a federated kind, as "FederatedDeployment"; None when none does."""
        found = (each for each in self.running.values() if each.config.spec.federated_type.kind == kind)
        return next(found, None)

    def follow(
        self, started: Callable[[FederatedType], None], stopped: Callable[[FederatedType], None]
    ) -> Callable[[], None]:
        """Call `started` with every type that runs, those to come included, and `stopped` with each that did.

        What is returned ends it.
        """
        follower = (started, stopped)
        self._followers.append(follower)
        for each in self.running.values():
            started(each)
        return partial(self._followers.remove, follower)

    def on_settings(self, listener: Callable[[Settings], None]) -> None:
        """Call `listener` with the settings when others are in force than before, the first included."""
        self._settings_listeners.append(listener)

    def look_again(self) -> None:
        """Something changed that decides which types run."""
        self.host.queue.add(TYPES)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                await self._host.run(self._reconcile)
            finally:
                self._tasks = None

    async def _reconcile(self, _: ClusterId, key: str) -> None:
        if not self.host.is_seen or not self._may_run():
            return
        if key == TYPES:
            self._take_over()
            for name in (*sorted(each.metadata.name for each in self.configs), CONFIGURATION):
                self.host.queue.add(name)
        else:
            await while_leading(self._leader, partial(self._record, key))

    # Deciding and carrying out: no `await`.

    def _take_over(self) -> None:
        self._read_settings()
        configs = list(self.configs)
        wanted, refused = decide_types(configs, self.settings)
        self._tell_refusals(refused)
        settings = self._sync_settings(configs)
        for name, run in self._runs.items():
            config = wanted.get(name)
            if (config is None or not run.started.is_same(config, settings)) and not run.is_ending:
                run.is_ending = True
                assert run.task is not None
                run.task.cancel()
        for name, config in wanted.items():
            if name not in self._runs:
                self._begin(name, _Started(config, settings))

    def _read_settings(self) -> None:
        cache: Cache[KubeFedConfig] = self.host.caches[KUBEFED_CONFIGS.plural]
        namespace = self.settings.system_namespace
        try:
            self.settings = settings_of(cache.get(ServiceKey(namespace, CONFIG_NAME)), namespace)
            self._problem = ""
        except ValueError as error:
            if str(error) != self._problem:
                log.error("configuration refused: the settings before stay in force", problem=str(error))
            self._problem = str(error)
        if self.settings != self._announced:
            values = {field: str(value) for field, value in asdict(self.settings).items()}
            log.info("settings in force", **values)
            self._announced = self.settings
            for listener in self._settings_listeners:
                listener(self.settings)

    def _sync_settings(self, configs: Iterable[FederatedTypeConfig]) -> SyncSettings:
        settings = SyncSettings(
            system_namespace=self.settings.system_namespace,
            scope=self.settings.scope,
            adopts=self.settings.adopts,
            hold_down=HOLD_DOWNS * self.settings.available_delay.total_seconds(),
        )
        gate = namespaces_type(configs)
        return settings if gate is None else replace(settings, namespaces=federated_resource(gate))

    def _tell_refusals(self, refused: Mapping[str, Refusal]) -> None:
        for name, refusal in refused.items():
            if self.refusals.get(name) != refusal:
                log.error("type refused", type=name, reason=refusal.reason, problem=refusal.message)
        self.refusals = dict(refused)

    def _begin(self, name: str, started: _Started) -> None:
        assert self._tasks is not None
        run = self._runs[name] = _Run(started)
        run.task = self._tasks.create_task(
            keep(f"type {name}", partial(self._run_once, name, run)), name=f"type {name}"
        )
        run.task.add_done_callback(lambda _: self._ended(name))

    def _ended(self, name: str) -> None:
        del self._runs[name]
        log.info("type stopped", type=name)
        # Perhaps it is to begin anew, or its configuration waits for its end.
        self.look_again()

    # Running one type.

    async def _run_once(self, name: str, run: _Run) -> None:
        run.has_begun = True
        # What there is to tell of it is decided anew when it begins, can be read, fails and ends.
        self.host.queue.add(name)
        type_ = self._new_type(run.started.config, run.started.settings)
        run.type_ = type_
        type_.host.on_seen(lambda _: self.host.queue.add(name))
        type_.host.on_health(lambda: self.host.queue.add(name))
        log.info("type started", type=name, kind=run.started.config.spec.federated_type.kind)
        for started, _ in tuple(self._followers):
            started(type_)
        try:
            await type_.run()
        finally:
            run.type_ = None
            self.host.queue.add(name)
            for _, stopped in tuple(self._followers):
                stopped(type_)

    # Telling.

    async def _record(self, key: str) -> None:
        if self.host.executor is None:
            return
        now = timestamp(self._clock())
        if key == CONFIGURATION:
            await self._tell_configuration(now)
            return
        config = self.configs.get(ServiceKey(self.settings.system_namespace, key))
        if config is None:
            self._told.pop(key, None)
            return
        run = self._runs.get(key)
        refusal = self.refusals.get(key) or self._unavailable(run)
        observed = ObservedType(
            config=config,
            running=self._running_of(run, refusal),
            is_stopped=run is None,
            is_wanted=run is not None and not run.is_ending,
            refusal=refusal,
            is_told=refusal is None or self._told.get(key) == refusal,
        )
        await self.host.executor.execute(plan_type(observed, HOST, now))
        if refusal is None:
            self._told.pop(key, None)
        else:
            self._told[key] = refusal

    def _running_of(self, run: _Run | None, refusal: Refusal | None) -> Running | None:
        """Whether objects of a type are propagated; None while it cannot be told."""
        if run is None or refusal is not None or (run.has_begun and run.type_ is None):
            return "NotRunning"
        return "Running" if run.type_ is not None and run.type_.host.is_seen else None

    def _unavailable(self, run: _Run | None) -> Refusal | None:
        """Why the objects of a type that is run cannot be read."""
        if run is None or run.type_ is None:
            return None
        host, kind = run.type_.host, run.started.config.spec.federated_type.kind
        if host.problem == CRD_MISSING:
            lacking = sorted(
                each.resource.plural
                for each in host.reflectors
                if isinstance(each.status.error, ResourceMissing)
            )
            what = ", ".join(lacking) or kind
            advice = "apply their definitions, as mcs enable prints them, and those of crds/"
            return Refusal("FederatedKindUnavailable", f"the host does not serve {what}; {advice}")
        if host.problem == Failure.FORBIDDEN:
            reason = " ".join(host.reason.split())
            return Refusal("FederatedKindUnavailable", f"objects of {kind} cannot be read: {reason}")
        return None

    async def _tell_configuration(self, now: str) -> None:
        namespace, problem = self.settings.system_namespace, self._problem
        cache: Cache[KubeFedConfig] = self.host.caches[KUBEFED_CONFIGS.plural]
        config = cache.get(ServiceKey(namespace, CONFIG_NAME))
        if (
            config is not None
            and problem
            and problem != self._told_problem
            and self.host.executor is not None
        ):
            await self.host.executor.execute((configuration_event(config, problem, HOST, now),))
        self._told_problem = problem
