"""A KubeFed host on real API servers is taken over: webhooks that nobody answers, objects that KubeFed has written."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcs.cli.enabling import own_definitions
from mcs.federation.definitions import federated_api, type_config
from mcs.model.names import FIELD_MANAGER
from tests.e2e.kubefed_host import SPACES, TEMPLATE, WORKLOADS, kubefeds_definition, without_ours
from tests.e2e.takeover import taken_over
from tests.lab.control_planes import ControlPlanes
from tests.lab.kubectl import Kubectl, KubectlError, kubectl_binary
from tests.real.joined import SYSTEM, mcs

ADMIN = "cluster-admin"
HOOK: dict[str, Any] = {
    "name": "kubefedclusters.core.kubefed.io",
    "failurePolicy": "Fail",
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "clientConfig": {"url": "https://127.0.0.1:1/validate"},
    "rules": [
        {"apiGroups": ["core.kubefed.io"], "apiVersions": ["v1beta1"], "resources": ["kubefedclusters"],
         "operations": ["CREATE", "UPDATE"]}
    ],
}  # fmt: skip


def _object(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    where = {"namespace": namespace} if namespace else {}
    metadata = {"name": name, **where, **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


class KubeFed:
    """The two clusters; every object is created, and none applied, as KubeFed does."""

    def __init__(self, planes: ControlPlanes, folder: Path) -> None:
        self.kubeconfig = planes.kubeconfig()
        self.host, self.member = (
            Kubectl(kubectl_binary(), planes[name].kubeconfig(), folder) for name in ("host", "eu")
        )
        self._endpoint = {
            "apiEndpoint": planes["eu"].url,
            "caBundle": base64.b64encode(planes["eu"].ca_file.read_bytes()).decode(),
        }

    async def mcs(self, *arguments: str) -> str:
        return await mcs("migrate", "kubefed", *arguments, kubeconfig=self.kubeconfig)

    async def prepare(self) -> None:
        definitions = [*own_definitions(), *(kubefeds_definition(each) for each in (WORKLOADS, SPACES))]
        for each in definitions:
            await self._create(self.host, without_ours(each))
        for each in definitions:
            await self.host("wait", "--for=condition=Established", f"crd/{each['metadata']['name']}")
        for name in (SYSTEM[1], "shop"):
            await self._create(self.host, _object("v1", "Namespace", name))
        for kind in (WORKLOADS, SPACES):
            await self._create(self.host, type_config(kind, federated_api(kind), SYSTEM[1]))
        await self._register()
        await self._federate()
        webhooks = _object(
            "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validations.core.kubefed.io",
            webhooks=[HOOK],
        )  # fmt: skip
        await self._create(self.host, webhooks)

    async def _create(self, kubectl: Kubectl, document: dict[str, Any]) -> None:
        await kubectl("create", "--field-manager=controller-manager", "-f", "-", stdin=json.dumps(document))

    async def _register(self) -> None:
        await self._create(self.member, _object("v1", "Namespace", SYSTEM[1]))
        await self.member("create", "serviceaccount", "eu-host", *SYSTEM)
        await self.member(
            "create", "clusterrolebinding", "kubefed", f"--clusterrole={ADMIN}", f"--serviceaccount={SYSTEM[1]}:eu-host"
        )  # fmt: skip
        token = await self.member("create", "token", "eu-host", *SYSTEM)
        data = {"token": base64.b64encode(token.strip().encode()).decode()}
        await self._create(self.host, _object("v1", "Secret", "eu-abc12", SYSTEM[1], data=data))
        spec = {**self._endpoint, "secretRef": {"name": "eu-abc12"}}
        await self._create(
            self.host, _object("core.kubefed.io/v1beta1", "KubeFedCluster", "eu", SYSTEM[1], spec=spec)
        )

    async def _federate(self) -> None:
        api = "types.kubefed.io/v1beta1"
        everywhere: dict[str, Any] = {"clusterSelector": {"matchLabels": {}}}
        spec: dict[str, Any] = {"template": {}, "placement": everywhere}
        await self._create(self.host, _object(api, "FederatedNamespace", "shop", "shop", spec=spec))
        template = {"metadata": {"labels": {"app": "web"}}, "spec": TEMPLATE["spec"]}
        spec = {"template": template, "placement": everywhere}
        await self._create(self.host, _object(api, "FederatedDeployment", "web", "shop", spec=spec))
        web = json.loads(await self.host("get", "fdeploy", "web", "-n", "shop", "-o", "json"))
        owner = {
            "apiVersion": api,
            "kind": "FederatedDeployment",
            "name": "web",
            "uid": web["metadata"]["uid"],
        }
        ledger = _object(
            "core.kubefed.io/v1alpha1", "PropagatedVersion", "deployment-web", "shop",
            metadata={"ownerReferences": [owner]},
        )  # fmt: skip
        await self._create(self.host, ledger)
        managed = {"kubefed.io/managed": "true"}
        await self._create(self.member, _object("v1", "Namespace", "shop", metadata={"labels": managed}))
        labels = {"labels": managed | {"app": "web"}}
        made = _object("apps/v1", "Deployment", "web", "shop", metadata=labels, spec=TEMPLATE["spec"])
        await self._create(self.member, made)

    async def workload(self) -> dict[str, Any]:
        what = ("deployment", "web", "-n", "shop", "--show-managed-fields", "-o", "json")
        found: dict[str, Any] = json.loads(await self.member("get", *what))
        return found

    async def is_written(self) -> bool:
        found = await self.host("get", "propagatedversion", "deployment-web", "-n", "shop", "-o", "json")
        entries = json.loads(found).get("status", {}).get("clusterVersions", ())
        status = await self.host(
            "get", "fdeploy", "web", "-n", "shop", "-o", "jsonpath={.status.clusters[*].name}"
        )
        return any(each.get("applied") for each in entries) and status == "eu"


@asynccontextmanager
async def kubefed_host(folder: Path) -> AsyncIterator[KubeFed]:
    async with ControlPlanes(("host", "eu")) as planes:
        ready = KubeFed(planes, folder)
        await ready.prepare()
        yield ready


async def test_what_kubefed_wrote_is_taken_over_as_it_is(tmp_path: Path) -> None:
    async with kubefed_host(tmp_path) as kubefed:
        label = ("label", "kubefedcluster", "eu", *SYSTEM, "region=eu")
        with pytest.raises(KubectlError, match="failed calling webhook"):
            await kubefed.host(*label)
        report = await kubefed.mcs()
        assert "is changed" not in report
        assert "ValidatingWebhookConfiguration validations.core.kubefed.io is deleted" in report
        before = await kubefed.workload()
        assert "is ready" in await kubefed.mcs("--adopt")
        await kubefed.host(*label)
        await taken_over(kubefed.kubeconfig, kubefed.is_written)
        after = await kubefed.workload()
        metadata, was = after["metadata"], before["metadata"]
        # The same generation: the API server itself says that nothing of it has changed.
        assert (metadata["uid"], metadata["generation"]) == (was["uid"], was["generation"])
        owners = {
            each["manager"]: each["operation"]
            for each in metadata["managedFields"]
            if "f:replicas" in each["fieldsV1"].get("f:spec", {})
        }
        assert owners == {FIELD_MANAGER: "Apply"}
        ledger = json.loads(
            await kubefed.host("get", "propagatedversion", "deployment-web", "-n", "shop", "-o", "json")
        )
        assert "ownerReferences" not in ledger["metadata"]
        versions = await kubefed.host("get", "crd,propagatedversions,ftc", "-A", "-o", "json")
        assert "is ready" in await kubefed.mcs("--adopt")
        assert await kubefed.host("get", "crd,propagatedversions,ftc", "-A", "-o", "json") == versions
