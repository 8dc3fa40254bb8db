"""A federation whose members run pods on nodes of a given size, and preferences that divide replicas among them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from mcs.controllers.federation.clusters import FederatedType
from mcs.controllers.federation.preferences import PreferencesController
from mcs.controllers.federation.synced_type import SyncedType
from mcs.federation.configuration import Settings
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.resources import NODES
from mcs.model.scheduling import REPLICA_SCHEDULING_PREFERENCES
from mcs.sandbox.workloads.simulator import Simulator
from tests.e2e.federated_world import DEPLOYMENTS, SHOP, Federation, running_federation
from tests.scenarios.world import CRDS, CUSTOM_RESOURCE_DEFINITIONS, virtual_now

Json = dict[str, Any]
CLOUDS = ("cluster-aws", "cluster-azure")
FOUNDING = """
targetTemplate: {spec: {replicas: 10}}
overrides:
- {clusterName: cluster-aws, spec: {replicas: 6}}
- {clusterName: cluster-azure, spec: {replicas: 4}}
totalReplicas: 10
"""
GRACE, HOLD_DOWN = 60.0, 20.0
SETTINGS = Settings(unavailable_delay=timedelta(seconds=GRACE), available_delay=timedelta(seconds=HOLD_DOWN))


class _Types:
    """The types that a test syncs (`FederatedTypes`)."""

    def __init__(self, types: list[SyncedType]) -> None:
        self._types = types

    def of_kind(self, kind: str) -> FederatedType | None:
        found = (each for each in self._types if each.config.spec.federated_type.kind == kind)
        return next(found, None)


class _NothingIsHeldUp:
    """Drains of clusters whose replicas may go at once (`Drains`)."""

    def is_removed(self, cluster: ClusterId, workload: ServiceKey) -> bool:
        return True


class Preferring:
    """What a test asks of such a federation."""

    def __init__(self, federation: Federation, types: list[SyncedType]) -> None:
        self.federation = federation
        self.types = types
        """Those that are enabled, as long as they are in here."""
        self._task: asyncio.Task[None] | None = None

    async def restart(self) -> None:
        """Begin with a controller of preferences that remembers nothing."""
        await self.end()
        federation = self.federation
        controller = PreferencesController(
            _Types(self.types),
            federation.clusters,
            federation.opener("host"),
            SETTINGS,
            virtual_now,
            _NothingIsHeldUp(),
        )
        self._task = asyncio.create_task(controller.run())

    async def end(self) -> None:
        """End it."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def prefer(self, spec: str, name: str = "app") -> None:
        """Apply a preference."""
        resource = REPLICA_SCHEDULING_PREFERENCES
        await self.federation.host.apply(
            resource,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": name, "namespace": SHOP},
                "spec": yaml.safe_load(spec),
            },
        )

    async def status(self, name: str = "app") -> Json:
        """The status of a preference."""
        found = await self.federation.host.get(REPLICA_SCHEDULING_PREFERENCES, SHOP, name)
        assert found is not None
        status: Json = found.get("status", {})
        return status

    async def plan(self) -> dict[str, int]:
        """The replicas that the status of the preference tells of."""
        return {each["name"]: each["replicas"] for each in (await self.status())["clusters"]}

    async def reasons(self) -> dict[str, str]:
        """Why each cluster has so many."""
        return {each["name"]: each["reason"] for each in (await self.status())["clusters"]}

    async def conditions(self, name: str = "app") -> dict[str, str]:
        """The reasons of the conditions by their types."""
        return {each["type"]: each["reason"] for each in (await self.status(name)).get("conditions", ())}

    async def asked(self) -> dict[str, int]:
        """The replicas that the members' Deployments ask for."""
        made = await self.federation.made(DEPLOYMENTS, "app")
        return {cluster: each["spec"]["replicas"] for cluster, each in made.items()}

    async def ready(self) -> dict[str, int]:
        """The replicas that are ready in the members."""
        made = await self.federation.made(DEPLOYMENTS, "app")
        return {cluster: each.get("status", {}).get("readyReplicas", 0) for cluster, each in made.items()}


def template(cpu: str = "1") -> Json:
    """A Deployment whose pods ask for so much."""
    labels = {"app": "app"}
    container = {"name": "app", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


@asynccontextmanager
async def preferring(
    folder: Path, nodes: Mapping[str, str] | None = None, *, with_pods: bool = True
) -> AsyncIterator[Preferring]:
    """Members with one node of so many CPUs each (50 unless told), the app federated, and its controllers running."""
    sizes = {**dict.fromkeys(CLOUDS, "50"), **(nodes or {})}
    async with running_federation(folder, tuple(sizes)) as federation:
        definition = CRDS / "replicaschedulingpreferences.scheduling.kubefed.io.yaml"
        await federation.host.apply(CUSTOM_RESOURCE_DEFINITIONS, yaml.safe_load(definition.read_text()))
        for cluster, cpu in sizes.items():
            await set_node(federation, cluster, cpu)
        tasks = [
            asyncio.create_task(Simulator(federation.servers[each].api).run()) for each in sizes if with_pods
        ]
        try:
            async with federation.synced(DEPLOYMENTS) as types:
                await federation.federate(DEPLOYMENTS, "app", template(), clusters=None)
                world = Preferring(federation, types)
                await world.restart()
                try:
                    yield world
                finally:
                    await world.end()
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def set_node(federation: Federation, cluster: str, cpu: str) -> None:
    """Make the one node of a cluster of this size."""
    api = federation.apis[cluster]
    await api.apply(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}})
    # What every new Node is tainted with until somebody finds it ready.
    await api.merge(NODES, "", "node", {"spec": {"taints": None}})
    status = {"allocatable": {"cpu": cpu, "pods": "110"}}
    await api.merge(NODES, "", "node/status", {"status": status})
