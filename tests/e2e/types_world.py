"""A host with types that are enabled and disabled by its users, in virtual time, and the controller of `mcs`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from mcs.controllers.processes import ControllerProcess
from mcs.model.federated import (
    FEDERATED_TYPE_CONFIGS,
    KUBEFED_CONFIGS,
    FederatedTypeConfig,
    federated_resource,
    target_resource,
)
from tests.e2e.federated_world import CONFIG_MAPS, TYPE_NAMESPACES, definition
from tests.e2e.registry_world import SHOP, SYSTEM, Registry, joined, running_registry, settled
from tests.scenarios.world import CUSTOM_RESOURCE_DEFINITIONS

Json = dict[str, Any]
ALL: Json = {"clusterSelector": {}}
RUNS = {"observedGeneration": 1, "propagationController": "Running", "statusController": "NotRunning"}
"""What a type configuration says of itself while all is well."""


class Host:
    """What users do with types and federated objects, and what comes of it."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.api = registry.host

    async def define(self, *configs: FederatedTypeConfig) -> None:
        """Apply the definitions of federated kinds."""
        for config in configs:
            await self.api.apply(CUSTOM_RESOURCE_DEFINITIONS, definition(config))

    async def enable(self, *configs: FederatedTypeConfig, name: str = "", **spec: Any) -> None:
        """Apply type configurations."""
        for config in configs:
            found = msgspec.to_builtins(config)
            await self.api.apply(
                FEDERATED_TYPE_CONFIGS,
                {
                    "apiVersion": "core.kubefed.io/v1beta1",
                    "kind": "FederatedTypeConfig",
                    "metadata": {"namespace": SYSTEM, "name": name or config.metadata.name},
                    "spec": found["spec"] | spec,
                },
            )

    async def config(self, config: FederatedTypeConfig) -> Json | None:
        """A type configuration as it stands."""
        return await self.api.get(FEDERATED_TYPE_CONFIGS, SYSTEM, config.metadata.name)

    async def status(self, config: FederatedTypeConfig) -> Any:
        """What a type configuration says of itself."""
        found = await self.config(config)
        assert found is not None
        return found.get("status")

    async def federate(
        self, config: FederatedTypeConfig, name: str, template: Json, placement: Json | None = None
    ) -> None:
        """Apply a federated object, for all clusters unless a placement is given."""
        resource = federated_resource(config)
        await self.api.apply(
            resource,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": name, "namespace": SHOP},
                "spec": {"template": template, "placement": placement or ALL},
            },
        )

    async def made(self, config: FederatedTypeConfig, name: str, cluster: str) -> Json | None:
        """An object in a member."""
        return await self.registry.world.apis[cluster].get(target_resource(config), SHOP, name)

    async def value(self, name: str, cluster: str) -> str | None:
        """What a ConfigMap of a member says."""
        found = await self.made(CONFIG_MAPS, name, cluster)
        return found["data"]["value"] if found is not None else None

    async def told(self, name: str) -> set[str]:
        """The reasons of the Events about an object of the system namespace."""
        return {reason for about, reason in await self.registry.events() if about == name}

    async def configure(self, **spec: Any) -> None:
        """Apply the KubeFedConfig."""
        await self.api.apply(
            KUBEFED_CONFIGS,
            {
                "apiVersion": "core.kubefed.io/v1beta1",
                "kind": "KubeFedConfig",
                "metadata": {"namespace": SYSTEM, "name": "kubefed"},
                "spec": spec,
            },
        )


@asynccontextmanager
async def federating(
    folder: Path, members: Sequence[str] = ("a", "b")
) -> AsyncIterator[tuple[Host, ControllerProcess]]:
    """The namespace federated everywhere, a definition of FederatedConfigMaps, and a controller."""
    async with running_registry(members, folder) as registry:
        host = Host(registry)
        await host.define(TYPE_NAMESPACES, CONFIG_MAPS)
        async with registry.controlled(federates=True) as process:
            await joined(registry, *members)
            await host.enable(TYPE_NAMESPACES)
            await host.federate(TYPE_NAMESPACES, SHOP, {})
            await settled()
            yield host, process
