"""Our CRDs are those that sigs.k8s.io/mcs-api publishes, and the controller works with either.

The definition of ClusterProperty is published by sigs.k8s.io/about-api, which is not to be had as a Go
module, and so is not compared here.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.model.names import FIELD_MANAGER
from tests.lab.audit import requests_of
from tests.lab.binaries import official_crds
from tests.lab.control_planes import ControlPlanes, free_ports
from tests.lab.crd_comparison import ABSENT, Difference, differences
from tests.lab.kubectl import Kubectl, kubectl_binary
from tests.lab.mcs import eventually, running
from tests.real.conftest import CRDS

EXPORTS, IMPORTS = "serviceexports.multicluster.x-k8s.io", "serviceimports.multicluster.x-k8s.io"
# Optional, and an API server fills in this very name; ours says it, so that what is stored is what is written.
LISTED = {
    EXPORTS: [Difference("spec.names.listKind", ABSENT, "ServiceExportList")],
    IMPORTS: [Difference("spec.names.listKind", ABSENT, "ServiceImportList")],
}
EXPORTED = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  sessionAffinity: ClientIP
  internalTrafficPolicy: Cluster
  trafficDistribution: PreferSameZone
  ports:
  - {name: http, port: 80, targetPort: 8080, appProtocol: kubernetes.io/h2c}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  labels: {kubernetes.io/service-name: web}
addressType: IPv4
ports:
- {name: http, port: 8080, protocol: TCP}
endpoints:
- addresses: [10.1.0.7]
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {name: web}
spec:
  exportedLabels: {tier: front}
  exportedAnnotations: {example.org/owner: shop}
---
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceExport
metadata: {name: without-a-service}
"""


# Version v1beta1 of both.
SCHEMA = ("spec", "versions", 1, "schema", "openAPIV3Schema", "properties")
PORTS = (*SCHEMA, "spec", "properties", "ports")
CONDITIONS = (*SCHEMA, "status", "properties", "conditions")
FAULTS: Mapping[str, tuple[str, tuple[str | int, ...], Any]] = {
    "another scope": (EXPORTS, ("spec", "scope"), "Cluster"),
    "a short name less": (IMPORTS, ("spec", "names", "shortNames"), ["svcim"]),
    "a version not served": (EXPORTS, ("spec", "versions", 0, "served"), False),
    "another version stored": (IMPORTS, ("spec", "versions", 1, "storage"), False),
    "no status of its own": (IMPORTS, ("spec", "versions", 1, "subresources"), ABSENT),
    "another column": (
        IMPORTS,
        ("spec", "versions", 1, "additionalPrinterColumns", 1, "jsonPath"),
        ".spec.ip",
    ),
    "another type": (IMPORTS, (*PORTS, "items", "properties", "port", "type"), "string"),
    "another format": (IMPORTS, (*PORTS, "items", "properties", "port", "format"), "int64"),
    "a default": (IMPORTS, (*PORTS, "items", "properties", "protocol", "default"), "TCP"),
    "a field less": (IMPORTS, (*PORTS, "items", "properties", "appProtocol"), ABSENT),
    "a field not required": (IMPORTS, (*SCHEMA, "spec", "required"), ["type"]),
    "an atomic list that is merged": (IMPORTS, (*PORTS, "x-kubernetes-list-type"), ABSENT),
    "another value of an enum": (
        IMPORTS,
        (*SCHEMA, "spec", "properties", "type", "enum"),
        ["ClusterSetIP", "None"],
    ),
    "a list without its limit": (IMPORTS, (*SCHEMA, "spec", "properties", "ips", "maxItems"), ABSENT),
    "another key of a list": (EXPORTS, (*CONDITIONS, "x-kubernetes-list-map-keys"), ["reason"]),
    "another pattern": (EXPORTS, (*CONDITIONS, "items", "properties", "reason", "pattern"), "^.*$"),
    "a number for a truth": (EXPORTS, ("spec", "versions", 1, "served"), 1),
    "a rule of its own": (EXPORTS, (*SCHEMA, "spec", "x-kubernetes-validations"), [{"rule": "true"}]),
    "unknown fields kept": (EXPORTS, (*SCHEMA, "spec", "x-kubernetes-preserve-unknown-fields"), True),
    "another revision": (EXPORTS, ("metadata", "labels", "multicluster.x-k8s.io/crd-schema-revision"), "1"),
}


def by_name(paths: Iterable[Path]) -> dict[str, Any]:
    found = (yaml.safe_load(path.read_text()) for path in paths)
    return {document["metadata"]["name"]: document for document in found}


def official() -> dict[str, Any]:
    return by_name(official_crds())


def ours() -> dict[str, Any]:
    return by_name(our_files())


def our_files() -> tuple[Path, ...]:
    return tuple(CRDS / f"{name}.yaml" for name in sorted(LISTED))


def test_each_official_crd_is_compared() -> None:
    assert set(official()) == set(LISTED)


@pytest.mark.parametrize("name", sorted(LISTED))
def test_our_crd_differs_from_the_official_one_only_where_it_is_listed(name: str) -> None:
    assert list(differences(official()[name], ours()[name])) == LISTED[name]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_crd_that_is_not_the_official_one_is_seen(fault: str) -> None:
    name, (*parents, last), value = FAULTS[fault]
    spoilt = ours()[name]
    place = spoilt
    for key in parents:
        place = place[key]
    if value == ABSENT:
        del place[last]
    else:
        place[last] = value
    found = [each for each in differences(official()[name], spoilt) if each not in LISTED[name]]
    assert len(found) == 1
    assert str(last) in found[0].path


class Cluster:
    """One real cluster without CRDs of ours, and a kubectl to which a warning is an error."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    async def apply(self, *arguments: str, stdin: str = "") -> None:
        strictly = ("--server-side", "--warnings-as-errors", "--validate=strict")
        await self._kubectl("apply", *strictly, *arguments, stdin=stdin)

    async def install(self, crds: Sequence[Path]) -> None:
        files = [argument for path in crds for argument in ("--filename", str(path))]
        await self.apply(*files)
        await self._kubectl("wait", "--for=condition=Established", "--timeout=30s", *files)

    async def get(self, what: str, *arguments: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(
            await self._kubectl("get", what, *arguments, "--show-managed-fields", "-o", "json")
        )["items"]
        return found

    async def is_exported(self, name: str, slices_are: str | None = "Present") -> bool:
        """Whether export, import and slice are as they should be for good."""
        exports = {each["metadata"]["name"]: conditions(each) for each in await self.get("svcex")}
        imports = {each["metadata"]["name"]: each for each in await self.get("svcim")}
        slices = await self.get("endpointslices", "-l", f"multicluster.kubernetes.io/service-name={name}")
        return (
            exports[name] == {"Valid": "True", "Ready": "True", "Conflict": "False"}
            and name in imports
            and conditions(imports[name]) == {"Ready": "True"}
            and imports[name]["status"]["clusters"] == [{"cluster": "alone"}]
            and imports[name]["status"].get("endpointSliceObjects") == slices_are
            and len(imports[name]["spec"]["ips"]) > 0
            and len(slices) == 1
        )


def conditions(obj: dict[str, Any]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in obj.get("status", {}).get("conditions", ())}


def exported_as(name: str) -> str:
    return EXPORTED.replace("name: web", f"name: {name}")


@asynccontextmanager
async def controlled(folder: Path, crds: Sequence[Path]) -> AsyncIterator[tuple[Cluster, Path]]:
    """A cluster with these CRDs and our controller, and its audit log."""
    async with ControlPlanes(("alone",), folder=folder, audit=True) as planes:
        plane = planes["alone"]
        cluster = Cluster(Kubectl(kubectl_binary(), plane.kubeconfig(), folder))
        await cluster.install(crds)
        (port,) = free_ports(1)
        controller = ("controller", "--kubeconfig", str(plane.kubeconfig()), "--cluster", "alone")
        metrics = ("--metrics-listen", f"127.0.0.1:{port}")
        async with running("controller", *controller, *metrics, folder=folder):
            yield cluster, plane.audit_log


async def test_the_controller_works_with_the_official_crds_with_ours_over_them_and_back(
    tmp_path: Path,
) -> None:
    async with controlled(tmp_path, official_crds()) as (cluster, log):
        as_published = await stored(cluster)
        await cluster.apply("-f", "-", stdin=exported_as("first"))
        await eventually("the first export is complete", lambda: cluster.is_exported("first"))
        told = {each["metadata"]["name"]: conditions(each) for each in await cluster.get("svcex")}
        assert told["without-a-service"]["Valid"] == "False"
        await everything_sent_is_accepted_without_a_warning(cluster, log)

        before = await cluster.get("svcex,svcim")
        await cluster.install(our_files())
        assert list(differences(as_published, await stored(cluster))) == []
        assert await cluster.get("svcex,svcim") == before
        await cluster.apply("-f", "-", stdin=exported_as("second"))
        await eventually("an export under our CRDs is complete", lambda: cluster.is_exported("second"))
        await everything_sent_is_accepted_without_a_warning(cluster, log)

        before = await cluster.get("svcex,svcim")
        await cluster.install(official_crds())
        assert await cluster.get("svcex,svcim") == before
        await cluster.apply("-f", "-", stdin=exported_as("third"))
        await eventually("an export after the way back is complete", lambda: cluster.is_exported("third"))


async def test_an_official_crd_of_an_older_release_lacks_its_newest_field_and_nothing_else(
    tmp_path: Path,
) -> None:
    older = official()
    for version in older[IMPORTS]["spec"]["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["endpointSliceObjects"]
    files = [tmp_path / f"{name}.yaml" for name in older]
    for path in files:
        path.write_text(yaml.safe_dump(older[path.stem]))
    async with controlled(tmp_path, files) as (cluster, _):
        for name in ("first", "second"):
            await cluster.apply("-f", "-", stdin=exported_as(name))
            await eventually("the export is complete", partial(cluster.is_exported, name, slices_are=None))


async def stored(cluster: Cluster) -> dict[str, Any]:
    """What the API server made of the definitions of exports and imports, by name."""
    return {each["metadata"]["name"]: each["spec"] for each in await cluster.get("crd")}


async def everything_sent_is_accepted_without_a_warning(cluster: Cluster, log: Path) -> None:
    """Ask the API server again, strictly, for whatever the controller has applied to exports and imports."""
    asked: set[str] = set()
    for request in requests_of("admin", log):
        sent, target = request.request_object, request.object_ref
        if (
            sent is None
            or target is None
            or f"fieldManager={FIELD_MANAGER}&" not in f"{request.request_uri}&"
        ):
            continue
        part = (f"--subresource={target.subresource}",) if target.subresource else ()
        again = ("--dry-run=server", "--field-manager=judge", "--force-conflicts", "-f", "-")
        await cluster.apply(*part, *again, stdin=json.dumps(sent))
        asked.add(f"{target.resource}/{target.subresource}")
    assert asked >= {"serviceimports/", "serviceimports/status", "serviceexports/status"}
