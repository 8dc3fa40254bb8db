"""A host cluster as KubeFed leaves it, with a member `eu`: definitions, types, registrations, objects, ledgers."""

from __future__ import annotations

import base64
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcs.cli.enabling import own_definitions
from mcs.federation.definitions import federated_api, federated_definition, type_config
from mcs.model.discovery import ServedKind
from mcs.model.federated import (
    FEDERATED_TYPE_CONFIGS,
    KUBEFED_CONFIGS,
    PROPAGATED_VERSIONS,
    TARGET_VERBS,
    APIResource,
    FederatedObject,
)
from mcs.model.installed import DEFINITIONS, DEPLOYMENTS
from mcs.model.resources import KUBEFED_CLUSTERS, NAMESPACES, SECRETS, Resource
from mcs.sandbox.http.server import ApiServer
from tests.e2e.membership_commands import NAMESPACE, Commands

Json = dict[str, Any]
OURS = ("applied", "workload", "percentConverged", "message", "target", "zones", "region", "taints")
"""Names of fields that KubeFed's definitions lack."""

WORKLOADS = ServedKind(
    group="apps", version="v1", kind="Deployment", plural="deployments", short_names=("deploy",),
    namespaced=True, verbs=frozenset(TARGET_VERBS),
)  # fmt: skip
SPACES = ServedKind(
    group="", version="v1", kind="Namespace", plural="namespaces", short_names=("ns",), namespaced=False,
    verbs=frozenset(TARGET_VERBS),
)  # fmt: skip

TEMPLATE: Json = {
    "metadata": {"labels": {"app": "web"}, "annotations": {"team": "shop"}, "finalizers": ["a.test/f"]},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}


def without_ours(schema: Any) -> Any:
    """A schema as KubeFed has it."""
    if isinstance(schema, list):
        return [without_ours(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: without_ours(each) for name, each in schema.items()}
    if isinstance(made.get("properties"), dict):
        made["properties"] = {name: each for name, each in made["properties"].items() if name not in OURS}
    return made


def resource_of(kind: ServedKind) -> Resource[FederatedObject]:
    api = federated_api(kind)
    return Resource(
        group=api.group, version=api.version, plural=api.plural_name, kind=api.kind, type=FederatedObject
    )


def kubefeds_definition(kind: ServedKind, federated: APIResource | None = None) -> Json:
    """What `kubefedctl enable` would have made."""
    made = federated_definition(kind, federated or federated_api(kind), has_replicas=kind is WORKLOADS)
    made = copy.deepcopy(made)
    del made["metadata"]["labels"]
    found: Json = without_ours(made)
    return found


class KubeFedHost:
    """The host and its member, and `mcs` beside them."""

    def __init__(self, mcs: Commands, member: ApiServer) -> None:
        self.mcs = mcs
        self._member = member
        self.host = mcs.api["host"]
        self.member = mcs.api["eu"]

    async def prepare(self) -> None:
        definitions = [*own_definitions(), *(kubefeds_definition(each) for each in (WORKLOADS, SPACES))]
        for each in definitions:
            await self.host.apply(DEFINITIONS, without_ours(each))
        for name in (NAMESPACE, "shop"):
            await self.host.apply(NAMESPACES, _object("v1", "Namespace", "", name))
        for kind in (WORKLOADS, SPACES):
            await self.host.apply(FEDERATED_TYPE_CONFIGS, type_config(kind, federated_api(kind), NAMESPACE))
        await self._register("eu", self._member.url)
        config = {"scope": "Cluster", "syncController": {"maxConcurrentReconciles": 5}}
        await self.host.apply(
            KUBEFED_CONFIGS,
            _object(KUBEFED_CONFIGS.api_version, "KubeFedConfig", NAMESPACE, "kubefed", spec=config),
        )
        await self._federate()
        await self.scale(2)

    async def _register(self, name: str, url: str) -> None:
        token = base64.b64encode(self._member.token.encode()).decode()
        await self.host.apply(
            SECRETS, _object("v1", "Secret", NAMESPACE, f"{name}-abc12", data={"token": token})
        )
        spec = {
            "apiEndpoint": url,
            "caBundle": base64.b64encode(self._member.ca_pem).decode(),
            "secretRef": {"name": f"{name}-abc12"},
        }
        await self.host.apply(
            KUBEFED_CLUSTERS,
            _object(KUBEFED_CLUSTERS.api_version, "KubeFedCluster", NAMESPACE, name, spec=spec),
        )

    async def lose(self, name: str) -> None:
        """Register a member that nobody can reach."""
        await self._register(name, "https://127.0.0.1:1")

    async def _federate(self) -> None:
        api = "types.kubefed.io/v1beta1"
        everywhere: Json = {"clusterSelector": {"matchLabels": {}}}
        spec: Json = {"template": {}, "placement": everywhere}
        await self.host.apply(
            resource_of(SPACES), _object(api, "FederatedNamespace", "shop", "shop", spec=spec)
        )
        spec = {"template": TEMPLATE, "placement": everywhere}
        await self.host.apply(
            resource_of(WORKLOADS), _object(api, "FederatedDeployment", "shop", "web", spec=spec)
        )
        web = await self.host.get(resource_of(WORKLOADS), "shop", "web")
        assert web is not None
        owner = {
            "apiVersion": api,
            "kind": "FederatedDeployment",
            "name": "web",
            "uid": web["metadata"]["uid"],
        }
        ledger = _object(PROPAGATED_VERSIONS.api_version, "PropagatedVersion", "shop", "deployment-web")
        ledger["metadata"]["ownerReferences"] = [owner]
        await self.host.apply(PROPAGATED_VERSIONS, ledger)
        managed = {"kubefed.io/managed": "true"}
        space = _object("v1", "Namespace", "", "shop")
        space["metadata"]["labels"] = managed
        await self.member.apply(NAMESPACES, space)
        made = _object("apps/v1", "Deployment", "shop", "web", spec=TEMPLATE["spec"])
        made["metadata"]["labels"] = {"app": "web"} | managed
        await self.member.apply(DEPLOYMENTS, made)

    async def scale(self, replicas: int) -> None:
        """Run KubeFed's controller with so many replicas."""
        labels = {"app": "kubefed"}
        spec = {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        }
        await self.host.apply(
            DEPLOYMENTS, _object("apps/v1", "Deployment", NAMESPACE, "kubefed-controller-manager", spec=spec)
        )

    async def workload(self) -> Json:
        """The Deployment in the member."""
        found = await self.member.get(DEPLOYMENTS, "shop", "web")
        assert found is not None
        return found


def _object(api_version: str, kind: str, namespace: str, name: str, **fields: Any) -> Json:
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **where}, **fields}


@asynccontextmanager
async def kubefed_host(folder: Path) -> AsyncIterator[KubeFedHost]:
    """The host and the member, ready."""
    async with ApiServer("host") as host, ApiServer("eu") as eu:
        made = KubeFedHost(Commands(folder, [host, eu]), eu)
        await made.prepare()
        yield made
