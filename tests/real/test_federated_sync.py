"""Federated objects kept on real API servers: east is the host and a member, west is a member."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from mcs.controllers.federation.picture import SyncSettings
from mcs.controllers.federation.synced_type import SyncedType
from mcs.controllers.processes import client_opener, utc_now
from mcs.model.federated import FederatedTypeConfig
from mcs.model.names import ClusterId
from mcs.web.requests import RequestCounts
from tests.e2e.federated_world import CONFIG_MAPS, DEPLOYMENTS, TYPE_NAMESPACES, GivenClusters, definition
from tests.e2e.test_federated_sync import deployment
from tests.lab.control_planes import ControlPlanes
from tests.lab.kubectl import Kubectl
from tests.lab.mcs import eventually

Json = dict[str, Any]
BOTH = ("east", "west")


def kubefed_definition(config: FederatedTypeConfig) -> Json:
    """The CRD as KubeFed has it: its status has none of the fields that are ours."""
    made = definition(config)
    text = {"type": "string"}
    condition = dict.fromkeys(("type", "status", "reason", "lastUpdateTime", "lastTransitionTime"), text)
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    schema["status"] = {
        "type": "object",
        "properties": {
            "observedGeneration": {"type": "integer", "format": "int64"},
            "conditions": _list(condition),
            "clusters": _list({"name": text, "status": text}),
        },
    }
    return made


def _list(properties: Json) -> Json:
    return {"type": "array", "items": {"type": "object", "properties": properties}}


class Users:
    """What users do with federated objects in a namespace, by kubectl."""

    def __init__(self, kubectl_for: Callable[[str], Kubectl], namespace: str) -> None:
        self.kubectl = kubectl_for
        self.namespace = namespace

    async def federate(self, kind: str, name: str, template: Json, **spec: Any) -> None:
        """Apply a federated object, which is placed everywhere unless the spec says otherwise."""
        spec = {"template": template, "placement": {"clusterSelector": {}}} | spec
        await self.apply("east", f"Federated{kind}", name, "types.kubefed.io/v1beta1", spec=spec)

    async def apply(
        self, cluster: str, kind: str, name: str, api_version: str, *flags: str, **fields: Any
    ) -> None:
        """kubectl apply."""
        metadata = {"namespace": self.namespace, "name": name} | fields.pop("metadata", {})
        document = {"apiVersion": api_version, "kind": kind, "metadata": metadata} | fields
        await self.kubectl(cluster)("apply", *flags, "-f", "-", stdin=json.dumps(document))

    async def get(self, cluster: str, what: str) -> Json | None:
        """An object as it stands, "kind/name"."""
        arguments = ("get", what, "--namespace", self.namespace, "--ignore-not-found", "-o", "json")
        text = await self.kubectl(cluster)(*arguments, "--show-managed-fields")
        found: Json | None = json.loads(text) if text.strip() else None
        return found

    async def delete(self, *what: str) -> None:
        """Delete objects in the host, and wait until they are gone."""
        await self.kubectl("east")("delete", *what, "--namespace", self.namespace, "--timeout=60s")

    def is_well(self, what: str) -> Callable[[], Awaitable[bool]]:
        """Whether a federated object says of its present generation that all is well."""

        async def asked() -> bool:
            found = await self.get("east", what)
            assert found is not None
            status = found.get("status", {})
            conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
            is_current = status.get("observedGeneration") == found["metadata"]["generation"]
            return is_current and conditions == {"Propagation": "True"}

        return asked

    async def versions(self, *what: str) -> dict[tuple[str, str], str]:
        """The resourceVersions of objects in all clusters that have their kind."""
        found = {
            (cluster, each): await self.get(cluster, each)
            for each in what
            for cluster in (("east",) if each.startswith("federated") else BOTH)
        }
        return {key: obj["metadata"]["resourceVersion"] for key, obj in found.items() if obj is not None}


@asynccontextmanager
async def synced(planes: ControlPlanes, *configs: FederatedTypeConfig) -> AsyncIterator[None]:
    """The types are synced until the block ends."""
    counts = RequestCounts()
    clusters = GivenClusters(lambda name: client_opener(name, [planes.kubeconfig()], name, counts))
    for name in BOTH:
        clusters.register(name)
    settings = SyncSettings(hold_down=1)
    open_host = clusters.opener(ClusterId("east"))
    types = [SyncedType(config, settings, open_host, clusters, utc_now) for config in configs]
    tasks = [asyncio.create_task(each.run()) for each in types]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def users(kubectl_for: Callable[[str], Kubectl], namespace: str) -> AsyncIterator[Users]:
    """The kinds that are federated, and a namespace in which they are."""
    found = Users(kubectl_for, namespace)
    definitions = [definition(CONFIG_MAPS), definition(TYPE_NAMESPACES), kubefed_definition(DEPLOYMENTS)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": definitions})
    await kubectl_for("east")("apply", "-f", "-", stdin=text)
    names = [f"crd/{each['metadata']['name']}" for each in definitions]
    await kubectl_for("east")("wait", "--for=condition=Established", *names, "--timeout=30s")
    await found.federate("Namespace", namespace, {})
    yield found
    await kubectl_for("east")("delete", *names, "--wait=false")


def _image(obj: Json | None) -> str:
    assert obj is not None
    return str(obj["spec"]["template"]["spec"]["containers"][0]["image"])


async def test_objects_are_made_changed_overridden_and_deleted_and_nothing_is_written_in_between(
    planes: ControlPlanes, kubectl_for: Callable[[str], Kubectl], namespace: str
) -> None:
    async with users(kubectl_for, namespace) as user:
        async with synced(planes, DEPLOYMENTS, CONFIG_MAPS):
            await user.federate("Deployment", "web", deployment())
            await user.federate("ConfigMap", "settings", {"data": {"color": "blue"}})
            await eventually("the Deployment is everywhere", user.is_well("federateddeployment/web"))
            await eventually("the ConfigMap is everywhere", user.is_well("federatedconfigmap/settings"))
            for cluster in BOTH:
                assert _image(await user.get(cluster, "deployment/web")) == "web:1"

            everything = (
                "deployment/web",
                "configmap/settings",
                "federateddeployment/web",
                "federatedconfigmap/settings",
                "propagatedversion/deployment-web",
            )
            before = await user.versions(*everything)
            assert len(before) == 7
            await asyncio.sleep(3)
            assert await user.versions(*everything) == before
        async with synced(planes, DEPLOYMENTS, CONFIG_MAPS):
            await asyncio.sleep(4)
            after = await user.versions(*everything)
            # A CRD of KubeFed's drops what its status does not know, and that is found out anew once.
            assert {key for key in after if after[key] != before[key]} <= {
                ("east", "federateddeployment/web")
            }

            override = [{"path": "/spec/template/spec/containers/0/image", "value": "web:2"}]
            overrides = [{"clusterName": "west", "clusterOverrides": override}]
            await user.federate("Deployment", "web", deployment(), overrides=overrides)
            await eventually("the override is there", user.is_well("federateddeployment/web"))
            assert _image(await user.get("west", "deployment/web")) == "web:2"
            changed = await user.versions("deployment/web")
            assert changed["east", "deployment/web"] == before["east", "deployment/web"]

            await user.delete("federateddeployment/web", "federatedconfigmap/settings")
            assert await user.versions(*everything) == {}


async def test_what_kubectl_made_is_taken_over_without_a_new_generation_and_follows_its_template(
    planes: ControlPlanes, kubectl_for: Callable[[str], Kubectl], namespace: str
) -> None:
    async with users(kubectl_for, namespace) as user, synced(planes, DEPLOYMENTS):
        template = deployment(3)
        template["spec"] |= {"minReadySeconds": 7, "revisionHistoryLimit": 4}
        theirs = {"spec": template["spec"] | {"progressDeadlineSeconds": 99}}
        await user.apply("west", "Deployment", "web", "apps/v1", metadata=template["metadata"], **theirs)
        await user.federate("Deployment", "web", template)
        await eventually("it is adopted", user.is_well("federateddeployment/web"))
        made = await user.get("west", "deployment/web")
        assert made is not None
        assert made["metadata"]["generation"] == 1
        assert made["metadata"]["labels"]["kubefed.io/managed"] == "true"

        del template["spec"]["minReadySeconds"]
        await user.federate("Deployment", "web", template)
        await eventually("it is changed", user.is_well("federateddeployment/web"))
        made = await user.get("west", "deployment/web")
        assert made is not None
        assert "minReadySeconds" not in made["spec"]
        assert (made["spec"]["revisionHistoryLimit"], made["spec"]["progressDeadlineSeconds"]) == (4, 99)
        await user.delete("federateddeployment/web")


async def test_what_kubefed_made_follows_its_template_and_retains_what_an_autoscaler_set(
    planes: ControlPlanes, kubectl_for: Callable[[str], Kubectl], namespace: str
) -> None:
    async with users(kubectl_for, namespace) as user, synced(planes, DEPLOYMENTS):
        template = deployment(3)
        template["spec"]["minReadySeconds"] = 7
        labels = template["metadata"]["labels"] | {"kubefed.io/managed": "true"}
        document = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"namespace": namespace, "name": "web", "labels": labels},
            "spec": template["spec"],
        }
        flags = ("create", "--field-manager=controller-manager", "-f", "-")
        await user.federate("Deployment", "web", template, retainReplicas=True)
        await eventually("it is made", user.is_well("federateddeployment/web"))
        await kubectl_for("west")("scale", "deployment/web", "--replicas=9", "--namespace", namespace)
        del template["spec"]["minReadySeconds"]
        await user.federate("Deployment", "web", template, retainReplicas=True)
        await eventually("it is changed", user.is_well("federateddeployment/web"))
        made = await user.get("west", "deployment/web")
        assert made is not None
        assert made["spec"]["replicas"] == 9
        assert "minReadySeconds" not in made["spec"]

        document["metadata"]["name"] = "old"
        document["spec"]["minReadySeconds"] = 5
        await kubectl_for("west")(*flags, stdin=json.dumps(document))
        template["spec"]["minReadySeconds"] = 5
        await user.federate("Deployment", "old", template)
        await eventually("KubeFed's is taken over", user.is_well("federateddeployment/old"))
        del template["spec"]["minReadySeconds"]
        await user.federate("Deployment", "old", template)
        await eventually("it is changed", user.is_well("federateddeployment/old"))
        made = await user.get("west", "deployment/old")
        assert made is not None
        assert "minReadySeconds" not in made["spec"]

        changes = json.dumps({"metadata": {"annotations": {"kubefed.io/orphan": "true"}}})
        arguments = (
            "patch",
            "federateddeployment/old",
            "--namespace",
            namespace,
            "--type=merge",
            "-p",
            changes,
        )
        await kubectl_for("east")(*arguments)
        await user.delete("federateddeployment/old", "federateddeployment/web")
        assert await user.versions("deployment/web", "federateddeployment/old") == {}
        left = await user.get("west", "deployment/old")
        assert left is not None
        assert "kubefed.io/managed" not in left["metadata"]["labels"]
        for cluster in BOTH:
            await kubectl_for(cluster)("delete", "deployment", "--all", "--namespace", namespace)
