"""A host and members of a federation: sandbox API servers in virtual time, and types that are synced between them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import yaml
from msgspec.structs import replace

from mcs.controllers.federation.clusters import OpenClient, TargetClient
from mcs.controllers.federation.picture import SyncSettings
from mcs.controllers.federation.synced_type import SyncedType
from mcs.federation.placement import Registered
from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.connection import Connection
from mcs.kube.decode import Page
from mcs.kube.errors import Forbidden, NotLeading
from mcs.model.federated import (
    CLUSTER_PROPAGATED_VERSIONS,
    PROPAGATED_VERSIONS,
    APIResource,
    FederatedTypeConfig,
    FederatedTypeConfigSpec,
    federated_resource,
    target_resource,
)
from mcs.model.meta import KubernetesObject, ObjectMeta, timestamp
from mcs.model.names import ANNOTATION_PREFIX, ClusterId
from mcs.model.registration import READY, ClusterCondition, KubeFedCluster, KubeFedClusterStatus
from mcs.model.resources import EVENTS, NAMESPACES, Resource
from mcs.runtime.leader import LeaderElector
from mcs.sandbox.http.server import ApiServer, kubeconfig
from tests.scenarios.api import Api
from tests.scenarios.world import CRDS, CUSTOM_RESOURCE_DEFINITIONS, virtual_now

Json = dict[str, Any]
T = TypeVar("T", bound=KubernetesObject)
SHOP = "shop"
SYSTEM = "kube-federation-system"
MEMBERS = ("a", "b", "c")
_ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def type_config(group: str, plural: str, kind: str, *, is_namespaced: bool = True) -> FederatedTypeConfig:
    """An enabled type, as `kubefedctl enable` would make it."""
    scope: Any = "Namespaced" if is_namespaced else "Cluster"
    target = APIResource(version="v1", kind=kind, plural_name=plural, scope=scope, group=group)
    federated = APIResource(
        version="v1beta1",
        kind=f"Federated{kind}",
        plural_name=f"federated{plural}",
        scope="Namespaced" if kind == "Namespace" else scope,
        group="types.kubefed.io",
    )
    return FederatedTypeConfig(
        metadata=ObjectMeta(name=f"{plural}.{group}".strip("."), namespace=SYSTEM),
        spec=FederatedTypeConfigSpec(target_type=target, federated_type=federated, propagation="Enabled"),
    )


DEPLOYMENTS = type_config("apps", "deployments", "Deployment")
SERVICES = type_config("", "services", "Service")
CONFIG_MAPS = type_config("", "configmaps", "ConfigMap")
TYPE_NAMESPACES = type_config("", "namespaces", "Namespace", is_namespaced=False)


def definition(config: FederatedTypeConfig) -> Json:
    """The CRD of a federated kind, without a schema of its template."""
    of = config.spec.federated_type
    version = {
        "name": of.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _ANY, "status": _ANY}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{of.plural_name}.{of.group}"},
        "spec": {
            "group": of.group,
            "scope": of.scope,
            "names": {"plural": of.plural_name, "kind": of.kind},
            "versions": [version],
        },
    }


class GivenClusters:
    """Registered clusters, as a test says (`FederatedClusters`)."""

    def __init__(self, opener: Callable[[str], OpenClient]) -> None:
        self._opener = opener
        self._labels: dict[ClusterId, Mapping[str, str]] = {}
        self._ready: set[ClusterId] = set()
        self._registrations: dict[ClusterId, KubeFedCluster] = {}
        self.followers: list[tuple[Callable[..., None], ...]] = []

    @property
    def registered(self) -> Registered:
        return dict(self._labels)

    def is_ready(self, cluster: ClusterId) -> bool:
        return cluster in self._ready

    def registration(self, cluster: ClusterId) -> KubeFedCluster | None:
        return self._registrations.get(cluster)

    def opener(self, cluster: ClusterId) -> OpenClient:
        return self._opener(cluster)

    def follow(self, *callbacks: Callable[..., None], **named: Callable[..., None]) -> Callable[[], None]:
        follower = (*callbacks, *named.values())
        self.followers.append(follower)
        for cluster in self._labels:
            follower[0](cluster)
        return lambda: self.followers.remove(follower)

    def register(self, name: str, **labels: str) -> None:
        """Register a cluster, or change its labels."""
        is_new = name not in self._labels
        self._labels[ClusterId(name)] = labels
        self._ready.add(ClusterId(name))
        if is_new:
            self._record(name, True)
        self._tell(0 if is_new else 3, *([ClusterId(name)] if is_new else []))

    def unregister(self, name: str) -> None:
        """Take a registration away."""
        del self._labels[ClusterId(name)]
        self._ready.discard(ClusterId(name))
        self._tell(1, ClusterId(name))

    def set_ready(self, name: str, is_ready: bool) -> None:
        """Say whether the last probe of a cluster went well."""
        (self._ready.add if is_ready else self._ready.discard)(ClusterId(name))
        self._record(name, is_ready)
        self._tell(3)

    def annotate(self, name: str, **annotations: str) -> None:
        """Annotate the registration of a cluster, as `mcs cordon` and `mcs drain` do."""
        found = self._registrations[ClusterId(name)]
        marked = {f"{ANNOTATION_PREFIX}/{key}": value for key, value in annotations.items()}
        self._registrations[ClusterId(name)] = replace(
            found, metadata=replace(found.metadata, annotations=marked)
        )
        self._tell(3)

    def _record(self, name: str, is_ready: bool) -> None:
        condition = ClusterCondition(
            type=READY, status="True" if is_ready else "False", last_transition_time=timestamp(virtual_now())
        )
        self._registrations[ClusterId(name)] = KubeFedCluster(
            metadata=ObjectMeta(name=name), status=KubeFedClusterStatus(conditions=(condition,))
        )

    def _tell(self, what: int, *arguments: ClusterId) -> None:
        for follower in list(self.followers):
            follower[what](*arguments)


class _Client(Client):
    """A client of a server that may be slow."""

    def __init__(self, connection: Connection, federation: Federation, name: str) -> None:
        super().__init__(connection, permit=federation.permit)
        self._delay = federation.slow.get(name, 0.0)
        self._list_delay = federation.slow_lists.get(name, 0.0)
        self._may_list = name not in federation.unlisted

    async def list_pages(self, resource: Resource[T], **query: Any) -> AsyncGenerator[Page[T], None]:
        await asyncio.sleep(self._list_delay)
        if not self._may_list:
            raise Forbidden(
                403, "Forbidden", f'User "mcs" cannot list resource "{resource}" at the cluster scope'
            )
        async for page in super().list_pages(resource, **query):
            yield page

    async def apply_document(self, resource: Resource[T], document: Mapping[str, Any]) -> T:
        await asyncio.sleep(self._delay)
        return await super().apply_document(resource, document)


class Federation:
    """The servers, what users do with them, and what is synced."""

    def __init__(self, servers: dict[str, ApiServer], config: Path) -> None:
        self.servers = servers
        self.apis = {
            name: Api(server.url, server.token, server.client_tls()) for name, server in servers.items()
        }
        self.writes_left: int | None = None
        """How many more writes any controller may send; None for any number."""
        self.slow: dict[str, float] = {}
        """Seconds that each write in a member takes."""
        self.slow_lists: dict[str, float] = {}
        """Seconds that each list of a member takes."""
        self.unlisted: set[str] = set()
        """Members in which nothing may be listed."""
        self._config = config
        self.clusters = GivenClusters(self.opener)

    @property
    def host(self) -> Api:
        """The host cluster, as its users see it."""
        return self.apis["host"]

    def opener(self, name: str) -> OpenClient:
        """What opens a connection to a server."""

        @asynccontextmanager
        async def opened() -> AsyncIterator[TargetClient]:
            async with await connect([self._config], name, name=name) as connection:
                yield _Client(connection, self, name)

        return opened

    def permit(self) -> float:
        """Whether a write may leave: seconds that it may take."""
        if self.writes_left is not None:
            if self.writes_left <= 0:
                raise NotLeading("the test allows no more writes")
            self.writes_left -= 1
        return 60.0

    @asynccontextmanager
    async def synced(
        self,
        *configs: FederatedTypeConfig,
        settings: SyncSettings | None = None,
        leader: LeaderElector | None = None,
    ) -> AsyncIterator[list[SyncedType]]:
        """Types that are synced until the block ends."""
        used, host = settings or SyncSettings(), self.opener("host")
        types = [SyncedType(config, used, host, self.clusters, virtual_now, leader) for config in configs]
        tasks = [asyncio.create_task(each.run()) for each in types]
        try:
            yield types
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    async def federate(
        self,
        config: FederatedTypeConfig,
        name: str,
        template: Json,
        *,
        namespace: str = SHOP,
        clusters: Sequence[str] | None = MEMBERS,
        selector: Mapping[str, str] | None = None,
        overrides: Mapping[str, Sequence[Json]] | None = None,
        annotations: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> None:
        """Apply a federated object."""
        resource = federated_resource(config)
        placement: Json = {}
        if clusters is not None:
            placement["clusters"] = [{"name": each} for each in clusters]
        if selector is not None:
            placement["clusterSelector"] = {"matchLabels": dict(selector)}
        listed = [
            {"clusterName": each, "clusterOverrides": list(what)} for each, what in (overrides or {}).items()
        ]
        metadata: Json = {"name": name, "annotations": dict(annotations or {})}
        await self.host.apply(
            resource,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": metadata | ({"namespace": namespace} if resource.namespaced else {}),
                "spec": {"template": template, "placement": placement}
                | ({"overrides": listed} if listed else {})
                | spec,
            },
        )

    async def federate_namespace(self, clusters: Sequence[str] = MEMBERS, name: str = SHOP) -> None:
        """Apply the FederatedNamespace of a namespace."""
        await self.federate(TYPE_NAMESPACES, name, {}, namespace=name, clusters=clusters)

    async def federated(self, config: FederatedTypeConfig, name: str, namespace: str = SHOP) -> Json | None:
        """A federated object as it stands."""
        return await self.host.get(federated_resource(config), namespace, name)

    async def status(self, config: FederatedTypeConfig, name: str, namespace: str = SHOP) -> dict[str, str]:
        """What a federated object tells of each cluster; an empty text is well."""
        found = await self.federated(config, name, namespace)
        assert found is not None
        clusters = found.get("status", {}).get("clusters", ())
        return {each["name"]: each.get("status", "") for each in clusters}

    async def message(self, config: FederatedTypeConfig, name: str, cluster: str) -> str:
        """The text that a federated object has for a cluster."""
        found = await self.federated(config, name)
        assert found is not None
        return next(
            str(each.get("message", "")) for each in found["status"]["clusters"] if each["name"] == cluster
        )

    async def made(self, config: FederatedTypeConfig, name: str, namespace: str = SHOP) -> dict[str, Json]:
        """The objects that there are in the members, by cluster; also in those that are stopped."""
        resource = target_resource(config)
        found: dict[str, Json] = {}
        for cluster, server in self.servers.items():
            kind = server.api.registry.find(resource.group, resource.version, resource.plural)
            assert kind is not None
            obj = server.api.store.get(kind, namespace if resource.namespaced else "", name)
            if obj is not None and cluster != "host":
                found[cluster] = obj
        return found

    async def ledger(self, config: FederatedTypeConfig, name: str, namespace: str = SHOP) -> list[str] | None:
        """The clusters that the ledger of an object has; None without one."""
        target = target_resource(config)
        resource: Resource[Any] = PROPAGATED_VERSIONS if target.namespaced else CLUSTER_PROPAGATED_VERSIONS
        where = namespace if target.namespaced else ""
        found = await self.host.get(resource, where, f"{target.kind.lower()}-{name}")
        if found is None:
            return None
        return [each["clusterName"] for each in found.get("status", {}).get("clusterVersions", ())]

    async def tombstones(self) -> list[Json]:
        """The tombstones of namespaced objects."""
        found = await self.host.list(PROPAGATED_VERSIONS)
        return [each for each in found if each["metadata"]["namespace"] == SYSTEM]

    async def events(self) -> set[str]:
        """The reasons of the Events in the host."""
        return {each["reason"] for each in await self.host.list(EVENTS)}

    def writes(self) -> dict[str, Counter[str]]:
        """How often each resource was written in each cluster, Events and Leases left out."""
        found: dict[str, Counter[str]] = {}
        for name, server in self.servers.items():
            found[name] = Counter()
            for (_, resource), count in server.writes().items():
                plural, slash, subresource = resource.partition("/")
                plural = plural.partition(".")[0]
                if plural not in ("events", "leases"):
                    found[name][plural + slash + subresource] += count
        return found


def since(before: dict[str, Counter[str]], after: dict[str, Counter[str]]) -> dict[str, dict[str, int]]:
    """The writes between two moments, of the clusters that were written to."""
    found = {name: dict(after[name] - before[name]) for name in after}
    return {name: counts for name, counts in found.items() if counts}


@asynccontextmanager
async def running_federation(
    folder: Path, members: Sequence[str] = MEMBERS, *, is_namespace_federated: bool = True
) -> AsyncIterator[Federation]:
    """The servers, all members registered and ready, the namespace made everywhere and federated."""
    async with AsyncExitStack() as stack:
        servers = {
            name: await stack.enter_async_context(ApiServer(name, now=virtual_now))
            for name in ("host", *members)
        }
        config = folder / "kubeconfig"
        config.write_text(kubeconfig(list(servers.values())))
        federation = Federation(servers, config)
        for api in federation.apis.values():
            await stack.enter_async_context(api)
        for file in sorted(CRDS.glob("*propagatedversions*.yaml")):
            await federation.host.apply(CUSTOM_RESOURCE_DEFINITIONS, yaml.safe_load(file.read_text()))
        for each in (DEPLOYMENTS, CONFIG_MAPS, TYPE_NAMESPACES):
            await federation.host.apply(CUSTOM_RESOURCE_DEFINITIONS, definition(each))
        for name in (SHOP, SYSTEM):
            await federation.host.apply(NAMESPACES, _namespace(name))
        for name in members:
            await federation.apis[name].apply(NAMESPACES, _namespace(SHOP))
            federation.clusters.register(name)
        if is_namespace_federated:
            await federation.federate_namespace(members)
        yield federation


def _namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def settled(seconds: float = 5.0) -> None:
    """Let virtual time pass."""
    await asyncio.sleep(seconds)
