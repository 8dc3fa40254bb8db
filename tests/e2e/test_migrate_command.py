"""`mcs migrate kubefed` as a user runs it: it tells what changes, makes the host ready, and touches no member."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from mcs.model.federated import (
    PROPAGATED_VERSIONS,
)
from mcs.model.installed import DEFINITIONS, DEPLOYMENTS
from tests.e2e.kubefed_host import WORKLOADS, KubeFedHost, kubefed_host, resource_of
from tests.e2e.takeover import taken_over

pytestmark = pytest.mark.timeout(120)
MIGRATE = ("migrate", "kubefed")


def rows_of(out: str, title: str) -> list[str]:
    """The rows of a table of what was printed, with single blanks."""
    lines = out.partition(f"{title}\n")[2].splitlines()
    rows = lines[1 : lines.index("")] if "" in lines else lines[1:]
    return [" ".join(row.split()) for row in rows]


async def test_a_report_tells_what_changes_and_writes_nothing(tmp_path: Path) -> None:
    async with kubefed_host(tmp_path) as kubefed:
        await kubefed.lose("us")
        mcs = kubefed.mcs
        before = {name: mcs.objects(name) for name in ("host", "eu")}
        status, out, errors = await mcs(*MIGRATE)
        assert (status, errors) == (0, "")
        assert {name: mcs.objects(name) for name in before} == before
        eu, us = rows_of(out, "Clusters")
        assert (eu.split()[0], eu.split()[-1]) == ("eu", "-")
        assert "us Unknown https://127.0.0.1:1 cannot be reached, and is not compared:" in us
        assert rows_of(out, "Types") == [
            "deployments.apps FederatedDeployment Enabled 1", "namespaces FederatedNamespace Enabled 1",
        ]  # fmt: skip
        findings = rows_of(out, "Otherwise than with KubeFed")
        assert [each.partition(":")[0] for each in findings] == [
            "KubeFedConfig kubefed has no effect here",
            "KubeFed KubeFed's controller runs",
            "FederatedDeployment shop/web annotations of its template, which KubeFed dropped, are propagated",
            "FederatedDeployment shop/web as with KubeFed, metadata.finalizers of the template are not propagated; "
            "an override can set them in one cluster",
        ]
        steps = rows_of(out, "What mcs migrate kubefed --adopt does")
        assert (
            "its definition federateddeployments.types.kubefed.io is KubeFed's; what it lacked was added"
            in steps
        )
        assert any("propagatedversions.core.kubefed.io lacks what is kept here" in each for each in steps)
        assert (
            "1 PropagatedVersions outlive their objects until what these made is gone, and are kept" in steps
        )


async def test_a_change_in_a_member_is_told_by_its_fields(tmp_path: Path) -> None:
    async with kubefed_host(tmp_path) as kubefed:
        await kubefed.member.merge(DEPLOYMENTS, "shop", "web", {"spec": {"replicas": 7}})
        _, out, _ = await kubefed.mcs(*MIGRATE)
        assert "FederatedDeployment shop/web it is changed (/spec/replicas) in eu" in rows_of(
            out, "Otherwise than with KubeFed"
        )
        await kubefed.member.delete(DEPLOYMENTS, "shop", "web")
        _, out, _ = await kubefed.mcs(*MIGRATE)
        assert "FederatedDeployment shop/web it is missing, and is made in eu" in rows_of(
            out, "Otherwise than with KubeFed"
        )


async def test_while_kubefed_runs_nothing_is_adopted(tmp_path: Path) -> None:
    async with kubefed_host(tmp_path) as kubefed:
        before = kubefed.mcs.objects("host")
        status, _, errors = await kubefed.mcs(*MIGRATE, "--adopt")
        assert (status, kubefed.mcs.objects("host")) == (1, before)
        assert (
            "kubectl -n kube-federation-system scale deployment kubefed-controller-manager --replicas=0"
            in errors
        )


async def test_what_is_adopted_is_taken_over_without_a_restart(tmp_path: Path) -> None:
    async with kubefed_host(tmp_path) as kubefed:
        await kubefed.scale(0)
        mcs, before = kubefed.mcs, await kubefed.workload()
        host = mcs.objects("host")
        assert (await mcs(*MIGRATE, "--adopt", "--dry-run"))[0] == 0
        assert mcs.objects("host") == host
        status, out, errors = await mcs(*MIGRATE, "--adopt")
        assert (status, errors) == (0, "")
        assert out.splitlines()[-1].startswith("host: is ready: run mcs controller --registry --federation")
        ledger = await kubefed.host.get(PROPAGATED_VERSIONS, "shop", "deployment-web")
        assert ledger is not None
        assert "ownerReferences" not in ledger["metadata"]
        definition = await kubefed.host.get(DEFINITIONS, "", "federateddeployments.types.kubefed.io")
        assert definition is not None
        assert "percentConverged" in str(definition["spec"])
        assert await kubefed.workload() == before

        writes = mcs.writes("host")
        status, out, _ = await mcs(*MIGRATE, "--adopt")
        assert (status, mcs.writes("host")) == (0, writes)
        assert out.splitlines()[-3:-1] == ["What mcs migrate kubefed --adopt does", "none"]

        await taken_over(mcs.config, partial(is_written, kubefed))
        after = await kubefed.workload()
        # Its pods stay as long as its spec does; annotations count in the generation of a Deployment.
        assert (after["spec"], after["metadata"]["uid"]) == (before["spec"], before["metadata"]["uid"])
        assert after["metadata"]["annotations"]["team"] == "shop"
        web = await kubefed.host.get(resource_of(WORKLOADS), "shop", "web")
        assert web is not None
        assert [each["name"] for each in web["status"]["clusters"]] == ["eu"]


async def is_written(kubefed: KubeFedHost) -> bool:
    ledger = await kubefed.host.get(PROPAGATED_VERSIONS, "shop", "deployment-web")
    web = await kubefed.host.get(resource_of(WORKLOADS), "shop", "web")
    assert ledger is not None
    assert web is not None
    entries = ledger.get("status", {}).get("clusterVersions", ())
    return any(each.get("applied") for each in entries) and "status" in web
