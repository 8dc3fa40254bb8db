"""`mcs federate`, `mcs disable` and `mcs orphaning-deletion` as a user runs them, beside a sandbox API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.federation.definitions import federated_api, type_config
from mcs.model.discovery import ServedKind
from mcs.model.federated import (
    FEDERATED_TYPE_CONFIGS,
    ORPHAN_ANNOTATION,
    FederatedObject,
)
from mcs.model.installed import CONFIG_MAPS, DEFINITIONS, ROLES
from mcs.model.resources import NAMESPACES, SERVICES, Resource
from mcs.sandbox.api import WriteOptions
from mcs.sandbox.http.server import ApiServer
from tests.e2e.membership_commands import NAMESPACE, Commands

pytestmark = pytest.mark.timeout(120)
IN_SHOP = ("--namespace", "shop")


def federated(kind: str, plural: str) -> Resource[FederatedObject]:
    return Resource(
        group="types.kubefed.io", version="v1beta1", plural=plural, kind=kind, type=FederatedObject
    )


CONFIG_MAP = federated("FederatedConfigMap", "federatedconfigmaps")


@asynccontextmanager
async def host_with_a_shop(folder: Path) -> AsyncIterator[Commands]:
    """A host with the namespace `shop`, in which there are a ConfigMap, a Service and what every namespace has."""
    async with ApiServer("host") as host:
        mcs = Commands(folder, [host])
        api = mcs.api["host"]
        await api.apply(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        for name in ("settings", "kube-root-ca.crt"):
            await api.apply(CONFIG_MAPS, _object("ConfigMap", name, data={"a": "b"}))
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
        await api.apply(ROLES, {**_object("Role", "reader"), **role, "rules": []})
        spec = {"type": "NodePort", "selector": {"app": "web"}, "ports": [{"port": 80}]}
        await api.apply(SERVICES, _object("Service", "web", spec=spec))
        yield mcs


def _object(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"namespace": "shop", "name": name}, **fields}


async def test_an_object_is_federated_once_and_stays_as_it_is(tmp_path: Path) -> None:
    async with host_with_a_shop(tmp_path) as mcs:
        status, _, errors = await mcs("federate", "cm", "settings", *IN_SHOP)
        assert (status, "not enabled: configmaps; give --enable-type" in errors) == (1, True)
        before = mcs.objects("host")
        status, out, _ = await mcs("federate", "svc", "web", *IN_SHOP, "--output", "yaml")
        template = yaml.safe_load(out)["spec"]["template"]
        assert (status, template["spec"]["ports"]) == (0, [{"port": 80, "targetPort": 80, "protocol": "TCP"}])
        assert "clusterIP" not in template["spec"]
        assert mcs.objects("host") == before

        await mcs("enable", "configmaps")
        status, out, errors = await mcs("federate", "cm", "settings", *IN_SHOP)
        assert (status, out.splitlines(), errors) == (
            0,
            [
                "host: ConfigMap shop/settings is federated, to all members",
                "host: nothing in shop is propagated before it is, too: mcs federate namespace shop",
            ],
            "",
        )
        found = await mcs.api["host"].get(CONFIG_MAP, "shop", "settings")
        assert found is not None
        assert found["spec"] == {"template": {"data": {"a": "b"}}, "placement": {"clusterSelector": {}}}
        # Whoever applies it next is to own it.
        assert [each["operation"] for each in found["metadata"]["managedFields"]] == ["Update"]
        key = "ConfigMap shop/settings"
        assert mcs.objects("host")[key] == before[key]

        there = mcs.objects("host")
        status, out, _ = await mcs("federate", "ConfigMap", "settings", *IN_SHOP)
        assert (status, out.splitlines()[0]) == (
            0, "host: ConfigMap shop/settings is federated already, and was left as it is",
        )  # fmt: skip
        assert mcs.objects("host") == there


async def test_a_namespace_is_federated_with_what_people_have_put_into_it(tmp_path: Path) -> None:
    async with host_with_a_shop(tmp_path) as mcs:
        contents = ("federate", "namespace", "shop", "--contents")
        bare = mcs.objects("host")
        status, out, errors = await mcs(*contents)
        assert (status, out) == (1, "")
        assert "not enabled: configmaps, namespaces, services" in errors
        assert mcs.objects("host") == bare
        status, out, _ = await mcs(*contents, "--enable-type", "--skip-api-resources", "svc", "--dry-run")
        assert (status, mcs.objects("host")) == (0, bare)
        assert [each["kind"] for each in yaml.safe_load_all(out) if each["kind"].startswith("Federated")] == [
            "FederatedTypeConfig", "FederatedTypeConfig", "FederatedNamespace", "FederatedConfigMap",
        ]  # fmt: skip
        status, out, errors = await mcs(*contents, "--enable-type")
        assert (status, errors) == (0, "")
        assert [line for line in out.splitlines() if "is federated" in line] == [
            "host: Namespace shop is federated, to all members",
            "host: ConfigMap shop/settings is federated, to all members",
            "host: Service shop/web is federated, to all members",
        ]
        assert "host: members must allow it: mcs enable services --context MEMBER" in out
        made = {each for each in mcs.objects("host") if each.startswith("Federated")}
        assert {each for each in made if "TypeConfig" not in each} == {
            "FederatedNamespace shop/shop", "FederatedConfigMap shop/settings", "FederatedService shop/web",
        }  # fmt: skip


async def test_a_file_is_federated_without_any_cluster(tmp_path: Path) -> None:
    async with host_with_a_shop(tmp_path) as mcs:
        file = tmp_path / "objects.yaml"
        items = [_object("ConfigMap", "one"), {"apiVersion": "a.test/v1", "kind": "Widget", "metadata": {}}]
        file.write_text(yaml.safe_dump_all([{"kind": "List", "items": items}, _object("Secret", "two")]))
        asked = mcs.servers["host"].requests.total()
        status, out, errors = await mcs("federate", "-f", str(file))
        assert [each["kind"] for each in yaml.safe_load_all(out)] == ["FederatedConfigMap", "FederatedSecret"]
        assert (status, errors) == (
            1, f"mcs: --filename {file}: object 2 lacks apiVersion, kind or metadata.name\n",
        )  # fmt: skip
        assert mcs.servers["host"].requests.total() == asked


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("federate",), "name the object"),
        (("federate", "cm"), "name the object"),
        (("federate", "cm", "none"), "there is no ConfigMap default/none; name the namespace with -n"),
        (("federate", "cm", "settings", *IN_SHOP, "--contents"), "--contents goes with a namespace"),
        (("federate", "cm", "settings", "-o", "yaml", "-t"), "leave --enable-type away"),
        (("federate", "cm", "settings", "-o", "json"), "--output json is not yaml"),
        (("federate", "cm", "settings", "-f", "x"), "--filename says all that there is"),
        (("federate", "-f", "/does/not/exist"), "cannot be read"),
        (
            ("federate", "ns", "shop", "-c", "-s", "widgets"),
            "--skip-api-resources: its API server serves nothing",
        ),
        (("disable", "cm"), "no type that is enabled is called 'cm' (there are: none)"),
        (("orphaning-deletion", "enable", "cm", "settings"), "no type that is enabled is called 'cm'"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
async def test_what_cannot_be_meant_is_told(arguments: tuple[str, ...], told: str, tmp_path: Path) -> None:
    async with host_with_a_shop(tmp_path) as mcs:
        before = mcs.objects("host")
        status, out, errors = await mcs(*arguments)
        assert (status in (1, 2), out, told in errors) == (True, "", True), errors
        assert mcs.objects("host") == before


async def test_orphaning_is_an_annotation_of_the_federated_object(tmp_path: Path) -> None:
    async with host_with_a_shop(tmp_path) as mcs:
        await mcs("federate", "cm", "settings", *IN_SHOP, "--enable-type")
        orphaning = "orphaning-deletion"

        async def told(verb: str, type_: str = "cm") -> tuple[str, Any]:
            status, out, _ = await mcs(orphaning, verb, type_, "settings", *IN_SHOP)
            assert status == 0
            found = await mcs.api["host"].get(CONFIG_MAP, "shop", "settings")
            assert found is not None
            return out, found["metadata"].get("annotations")

        assert await told("status") == ("Disabled\n", None)
        out, annotations = await told("enable", "fcm")
        assert annotations == {ORPHAN_ANNOTATION: "true"}
        assert out == "host: what FederatedConfigMap settings made stays in the members when it is deleted\n"
        assert await told("status", "federatedconfigmaps") == ("Enabled\n", annotations)
        writes = mcs.writes("host")
        await told("enable")
        assert mcs.writes("host") == writes
        out, annotations = await told("disable")
        assert (ORPHAN_ANNOTATION in (annotations or {}), "goes from the members" in out) == (False, True)
        status, _, errors = await mcs(orphaning, "enable", "cm", "none", *IN_SHOP)
        assert (status, errors) == (1, "mcs: host: there is no FederatedConfigMap shop/none\n")


async def test_a_definition_with_objects_is_not_deleted_and_nothing_is_disabled(tmp_path: Path) -> None:
    async with host_with_a_shop(tmp_path) as mcs:
        await mcs("federate", "namespace", "shop", "--enable-type")
        await mcs("federate", "cm", "settings", *IN_SHOP, "--enable-type")
        before = mcs.objects("host")
        status, _, errors = await mcs("disable", "cm", "--delete-crd")
        assert (status, errors) == (
            1,
            "mcs: host: there is the FederatedConfigMap shop/settings; delete them first, or leave --delete-crd away\n",
        )
        assert (await mcs("disable", "cm", "--dry-run"))[0] == 0
        assert mcs.objects("host") == before
        await mcs.api["host"].delete(CONFIG_MAP, "shop", "settings")
        status, out, errors = await mcs("disable", "ns")
        assert (status, errors) == (0, "")
        assert "nothing in a namespace is propagated any more, of configmaps" in out
        # A federated object is left, and stays without its type.
        assert "FederatedNamespace shop/shop" in mcs.objects("host")
        status, out, _ = await mcs("disable", "FederatedConfigMap", "--delete-crd")
        assert (status, out.splitlines()[-1]) == (0, "host: FederatedConfigMap is defined no more")
        assert await mcs.api["host"].get(DEFINITIONS, "", "federatedconfigmaps.types.kubefed.io") is None
        assert await mcs.api["host"].get(FEDERATED_TYPE_CONFIGS, NAMESPACE, "configmaps") is None


async def test_a_type_whose_kinds_are_served_no_longer_is_found_by_their_names(tmp_path: Path) -> None:
    async with host_with_a_shop(tmp_path) as mcs:
        await mcs("enable", "configmaps")
        await mcs.api["host"].delete(DEFINITIONS, "", "federatedconfigmaps.types.kubefed.io")
        gone = ServedKind(group="a.test", version="v1", kind="Widget", plural="widgets", namespaced=True)
        await mcs.api["host"].apply(FEDERATED_TYPE_CONFIGS, type_config(gone, federated_api(gone), NAMESPACE))
        for word in ("FederatedConfigMap", "widget"):
            assert (await mcs("disable", word))[::2] == (0, "")
        assert await mcs.api["host"].list(FEDERATED_TYPE_CONFIGS) == []


async def test_a_type_goes_once_the_controller_has_ended_its_propagation(tmp_path: Path) -> None:
    async with host_with_a_shop(tmp_path) as mcs:
        await mcs("enable", "configmaps")
        api = mcs.api["host"]

        async def controller() -> None:
            """Says that it runs, until the type is disabled, and lets go of it then."""
            while True:
                config = await api.get(FEDERATED_TYPE_CONFIGS, NAMESPACE, "configmaps")
                if config is None:
                    return
                if config["spec"]["propagation"] == "Disabled":
                    await asyncio.sleep(0.5)
                    _say(mcs, "NotRunning")
                    return
                await asyncio.sleep(0.05)

        _say(mcs, "Running")
        running = asyncio.create_task(controller())
        status, _, errors = await mcs("disable", "configmaps")
        assert (status, errors, running.done()) == (0, "", True)
        await running
        assert await api.get(FEDERATED_TYPE_CONFIGS, NAMESPACE, "configmaps") is None


async def test_a_type_that_does_not_end_is_not_deleted(tmp_path: Path) -> None:
    async with host_with_a_shop(tmp_path) as mcs:
        await mcs("enable", "configmaps")
        _say(mcs, "Running")
        status, _, errors = await mcs("disable", "configmaps")
        assert (status, "is mcs controller --federation running?" in errors) == (1, True)
        config = await mcs.api["host"].get(FEDERATED_TYPE_CONFIGS, NAMESPACE, "configmaps")
        assert config is not None
        assert config["spec"]["propagation"] == "Disabled"


def _say(mcs: Commands, running: str) -> None:
    """Write the status as a controller does."""
    api = mcs.servers["host"].api
    resource = api.registry.find("core.kubefed.io", "v1beta1", "federatedtypeconfigs")
    assert resource is not None
    (config,) = api.list(resource)
    api.update_status(
        resource,
        {**config, "status": {"propagationController": running}},
        options=WriteOptions(manager="test"),
    )
