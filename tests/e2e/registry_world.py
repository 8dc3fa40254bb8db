"""A host cluster with registrations and member clusters that come and go, in virtual time, over TLS on the loopback."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from mcs.controllers.processes import ControllerProcess, client_opener
from mcs.controllers.registry import RegistryOptions
from mcs.model.names import ClusterId
from mcs.model.resources import (
    ENDPOINT_SLICES,
    EVENTS,
    KUBEFED_CLUSTERS,
    NAMESPACES,
    SECRETS,
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
)
from tests.scenarios.world import LOOPBACK, World, running_world, virtual_now

SYSTEM = "kube-federation-system"
SHOP = "shop"
READY = {"Ready": ("True", "ClusterReady")}
"""The conditions of a member that is well, as `Registry.conditions` tells them."""
Json = dict[str, Any]


class Registry:
    """What operators do with registrations, and what comes of it."""

    def __init__(self, world: World, config: Path) -> None:
        self.world = world
        self.host = world.apis["host"]
        self._config = config

    async def register(
        self, name: str, *, of: str = "", annotations: Mapping[str, str] | None = None, **spec: Any
    ) -> None:
        """Register a cluster as `name`, with its own token and address unless the spec says otherwise."""
        server = self.world.servers[of or name]
        await self.write_token(name, server.token)
        await self.host.apply(
            KUBEFED_CLUSTERS,
            {
                "apiVersion": "core.kubefed.io/v1beta1",
                "kind": "KubeFedCluster",
                "metadata": {"namespace": SYSTEM, "name": name, "annotations": dict(annotations or {})},
                "spec": {
                    "apiEndpoint": server.url,
                    "caBundle": base64.b64encode(server.ca_pem).decode(),
                    "secretRef": {"name": f"{name}-token"},
                }
                | spec,
            },
        )

    async def write_token(self, name: str, token: str) -> None:
        """Write the Secret of a registration."""
        await self.host.apply(
            SECRETS,
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"namespace": SYSTEM, "name": f"{name}-token"},
                "data": {"token": base64.b64encode(token.encode()).decode()},
            },
        )

    async def write_status(self, name: str, status: Json) -> None:
        """Change the status of a registration, as nobody but the controller should."""
        api = self.world.servers["host"].api
        kind = api.registry.find(KUBEFED_CLUSTERS.group, KUBEFED_CLUSTERS.version, KUBEFED_CLUSTERS.plural)
        assert kind is not None
        present = await self.registration(name)
        assert present is not None
        api.update_status(kind, present | {"status": present["status"] | status})

    async def leave(self, name: str) -> None:
        """Delete a registration; our finalizer holds it until the cluster has left."""
        await self.host.delete(KUBEFED_CLUSTERS, SYSTEM, name)

    async def lose(self, name: str) -> None:
        """Take a registration away as a restored backup lacks it: nobody asked for its deletion."""
        api = self.world.servers["host"].api
        kind = api.registry.find(KUBEFED_CLUSTERS.group, KUBEFED_CLUSTERS.version, KUBEFED_CLUSTERS.plural)
        assert kind is not None
        api.store.remove(kind, SYSTEM, name)

    async def registration(self, name: str) -> Json | None:
        """A registration as it stands."""
        return await self.host.get(KUBEFED_CLUSTERS, SYSTEM, name)

    async def conditions(self, name: str) -> dict[str, tuple[str, str]]:
        """Status and reason of its conditions, by type."""
        found = await self.registration(name)
        assert found is not None
        return {
            each["type"]: (each["status"], each["reason"])
            for each in found.get("status", {}).get("conditions", ())
        }

    async def export(self, cluster: str, name: str = "web", address: str = "10.1.0.1") -> None:
        """A headless Service with one endpoint in a cluster, and its export."""
        api = self.world.apis[cluster]
        metadata = {"namespace": SHOP, "name": name}
        await api.apply(
            SERVICES,
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": metadata,
                "spec": {"clusterIP": "None", "ports": [{"name": "http", "port": 80}]},
            },
        )
        await api.apply(
            ENDPOINT_SLICES,
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": metadata | {"name": f"{name}-1", "labels": {"kubernetes.io/service-name": name}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
                "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
            },
        )
        await api.apply(
            SERVICE_EXPORTS,
            {"apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceExport", "metadata": metadata},
        )

    async def sources(self, cluster: str) -> dict[str, list[str]]:
        """Where what a cluster has imported came from: by service, the clusters of its mirrors."""
        found: dict[str, list[str]] = {}
        for each in await self.world.apis[cluster].list(SERVICE_IMPORTS):
            found[each["metadata"]["name"]] = []
        for each in await self.world.apis[cluster].list(ENDPOINT_SLICES):
            labels = each["metadata"].get("labels", {})
            if "multicluster.kubernetes.io/source-cluster" in labels:
                source = labels["multicluster.kubernetes.io/source-cluster"]
                found.setdefault(labels["multicluster.kubernetes.io/service-name"], []).append(source)
        return {name: sorted(clusters) for name, clusters in found.items()}

    async def events(self) -> list[tuple[str, str]]:
        """About what and with which reason Events were told in the system namespace."""
        found = await self.host.list(EVENTS)
        return sorted(
            (each["involvedObject"]["name"], each["reason"])
            for each in found
            if each["metadata"]["namespace"] == SYSTEM
        )

    @asynccontextmanager
    async def controlled(
        self, given: Sequence[str] = (), kubeconfigs: tuple[Path, ...] = (), *, federates: bool = False
    ) -> AsyncIterator[ControllerProcess]:
        """A controller whose host is the host cluster, until the block ends."""
        process = self._controller(given, kubeconfigs, federates=federates)
        process.serve_metrics(LOOPBACK)
        task = asyncio.create_task(process.run(), name="controller")
        try:
            await process.started.wait()
            yield process
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def _controller(
        self, given: Sequence[str], kubeconfigs: tuple[Path, ...], *, federates: bool
    ) -> ControllerProcess:
        counts = self.world.counts

        def opener(name: str) -> Any:
            return client_opener(name, [self._config], name, counts)

        return ControllerProcess(
            {ClusterId(name): opener(name) for name in given},
            clock=virtual_now,
            requests=counts,
            registered=RegistryOptions(opener("host"), SYSTEM, kubeconfigs=kubeconfigs),
            federates=federates,
        )


@asynccontextmanager
async def running_registry(members: Sequence[str], folder: Path) -> AsyncIterator[Registry]:
    """The clusters, with the namespaces that are needed; no cluster is registered yet."""
    async with running_world(["host", *members], folder) as world:
        for name, api in world.apis.items():
            for namespace in [SHOP, *([SYSTEM] if name == "host" else [])]:
                await api.apply(
                    NAMESPACES,
                    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
                )
        yield Registry(world, folder / "kubeconfig")


async def settled(seconds: float = 15) -> None:
    """Let virtual time pass."""
    await asyncio.sleep(seconds)


async def joined(registry: Registry, *names: str) -> None:
    """Register clusters, and wait until they are worked with."""
    for name in names:
        await registry.register(name)
    await settled()
