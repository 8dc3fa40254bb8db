"""`mcs enable` as a user runs it, beside sandbox API servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.membership.access import type_role
from mcs.model.federated import FEDERATED_TYPE_CONFIGS
from mcs.model.installed import CLUSTER_ROLES, DEFINITIONS
from mcs.sandbox.http.server import ApiServer
from tests.e2e.membership_commands import NAMESPACE, Commands

pytestmark = pytest.mark.timeout(120)
DEFINED = "federateddeployments.types.kubefed.io"


async def test_a_type_is_enabled_once_and_printed_is_what_members_must_allow(tmp_path: Path) -> None:
    async with ApiServer("host") as host:
        mcs = Commands(tmp_path, [host])
        status, out, errors = await mcs("enable", "deploy")
        assert (status, errors) == (0, "")
        assert "# host: deployments.apps is enabled, as FederatedDeployment\n" in out
        assert "# host: nothing in a namespace is propagated before namespaces is enabled, too\n" in out
        assert list(yaml.safe_load_all(out)) == [type_role("apps", "deployments").document]
        found = await mcs.api["host"].get(FEDERATED_TYPE_CONFIGS, NAMESPACE, "deployments.apps")
        assert found is not None
        assert found["spec"]["propagation"] == "Enabled"
        # Others are to own it: an apply by us would take back what another apply of ours has set.
        assert [each["operation"] for each in found["metadata"]["managedFields"]] == ["Update"]
        definition = await mcs.api["host"].get(DEFINITIONS, "", DEFINED)
        assert definition is not None
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert "retainReplicas" in schema["properties"]["spec"]["properties"]

        before = mcs.objects("host"), mcs.writes("host")
        status, out, _ = await mcs("enable", "Deployment")
        assert (status, out.splitlines()[0]) == (
            0, "# host: deployments.apps is enabled already, as FederatedDeployment",
        )  # fmt: skip
        assert (await mcs("enable", "namespaces", "--dry-run"))[0] == 0
        assert (await mcs("enable", "configmaps", "-o", "yaml"))[0] == 0
        assert (mcs.objects("host"), mcs.writes("host")) == before

        status, out, _ = await mcs("enable", "namespaces")
        assert "nothing in a namespace" not in out


async def test_a_dry_run_prints_what_is_then_made(tmp_path: Path) -> None:
    async with ApiServer("host") as host:
        mcs = Commands(tmp_path, [host])
        bare = mcs.objects("host").keys()
        _, out, _ = await mcs("enable", "configmaps", "--dry-run")
        printed = {_named(each) for each in yaml.safe_load_all(out) if each}
        await mcs("enable", "configmaps")
        assert mcs.objects("host").keys() - bare == printed - {"ClusterRole /mcs-federation-configmaps"}


def _named(document: dict[str, Any]) -> str:
    metadata = document["metadata"]
    return f"{document['kind']} {metadata.get('namespace', '')}/{metadata['name']}"


async def test_a_type_that_was_switched_off_is_enabled_again(tmp_path: Path) -> None:
    async with ApiServer("host") as host:
        mcs = Commands(tmp_path, [host])
        await mcs("enable", "configmaps")
        config = await mcs.api["host"].get(FEDERATED_TYPE_CONFIGS, NAMESPACE, "configmaps")
        assert config is not None
        config["spec"]["propagation"] = "Disabled"
        del config["metadata"]["managedFields"]
        await mcs.api["host"].apply(FEDERATED_TYPE_CONFIGS, config)
        _, out, _ = await mcs("enable", "configmaps")
        assert "configmaps is enabled again, as FederatedConfigMap" in out
        config = await mcs.api["host"].get(FEDERATED_TYPE_CONFIGS, NAMESPACE, "configmaps")
        assert config is not None
        assert config["spec"]["propagation"] == "Enabled"


async def test_members_are_given_the_right_and_roles_to_none(tmp_path: Path) -> None:
    async with ApiServer("host") as host, ApiServer("eu") as eu:
        mcs = Commands(tmp_path, [host, eu])
        status, out, errors = await mcs("enable", "secrets", "--context", "eu")
        assert (status, out.splitlines(), errors) == (
            0,
            [
                "host: secrets is enabled, as FederatedSecret",
                "host: nothing in a namespace is propagated before namespaces is enabled, too",
                "eu: allows secrets, once it has joined with --federation",
            ],
            "",
        )
        role = await mcs.api["eu"].get(CLUSTER_ROLES, "", "mcs-federation-secrets")
        assert role is not None
        assert role["metadata"]["labels"]["mcs-controller/aggregate-to-federation"] == "true"
        assert role["rules"] == [
            {"apiGroups": [""], "resources": ["secrets"],
             "verbs": ["get", "list", "watch", "create", "patch", "delete"]}
        ]  # fmt: skip
        before = mcs.objects("eu")
        assert "ClusterRole" not in (await mcs("enable", "clusterroles"))[1].replace(
            "FederatedClusterRole", ""
        )
        status, _, errors = await mcs("enable", "clusterroles", "--context", "eu")
        assert (status, "--federation=all" in errors, mcs.objects("eu")) == (1, True, before)


async def test_a_member_that_leaves_keeps_no_right_to_a_type(tmp_path: Path) -> None:
    async with ApiServer("host") as host, ApiServer("eu") as eu:
        mcs = Commands(tmp_path, [host, eu])
        bare = mcs.objects("eu")
        await mcs("join", "eu", "--no-dns")
        await mcs("enable", "secrets", "--context", "eu")
        assert "ClusterRole /mcs-federation-secrets" in mcs.objects("eu")
        assert (await mcs("leave", "eu"))[0] == 0
        left = mcs.objects("eu").keys() - bare.keys()
        assert {each for each in left if "Role" in each} == set()


async def test_what_is_in_the_way_is_told_before_anything_is_written(tmp_path: Path) -> None:
    async with ApiServer("host") as host:
        mcs = Commands(tmp_path, [host])
        await mcs.api["host"].apply(DEFINITIONS, _stranger())
        before = mcs.objects("host")
        rows = {
            ("enable", "widgets"): "serves nothing called 'widgets'",
            ("enable", "deploy"): f"there is a definition {DEFINED} of somebody else",
            ("enable", "deploy", "-o", "json"): "--output json is not yaml",
            ("enable", "deploy", "-o", "yaml", "--context", "eu"): "leave --context away, or --output",
        }
        for arguments, told in rows.items():
            status, out, errors = await mcs(*arguments)
            assert (status in (1, 2), out, told in errors) == (True, "", True), errors
        assert mcs.objects("host") == before


def _stranger() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": DEFINED},
        "spec": {
            "group": "types.kubefed.io",
            "scope": "Namespaced",
            "names": {"kind": "FederatedDeployment", "plural": "federateddeployments"},
            "versions": [version],
        },
    }
