"""KubeFed's user guide on real API servers: a host and two members that joined, and our controller as a process."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from mcs.model.federated import TARGET_VERBS
from tests.lab.audit import Right, requests_of, rights_granted, rights_used
from tests.lab.mcs import eventually
from tests.real.guide import IN_SHOP, MEMBERS, Guide, Json, guided
from tests.real.joined import SYSTEM

TYPES = ("namespaces", "deployments.apps", "configmaps")


def deployment(replicas: int) -> Json:
    labels = {"app": "web"}
    pod = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "images.test/web:1"}]},
    }
    return {"spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}}


def listed(*names: str) -> Json:
    return {"clusters": [{"name": each} for each in names]}


def is_(
    value: object, look: Callable[..., Awaitable[object]], *arguments: str
) -> Callable[[], Awaitable[bool]]:
    """Whether looking finds this value."""

    async def holds() -> bool:
        return await look(*arguments) == value

    return holds


async def test_the_tasks_of_the_user_guide_from_enabling_a_type_to_disabling_it(tmp_path: Path) -> None:
    async with guided(tmp_path) as (guide, rights):
        for type_ in TYPES:
            for member in MEMBERS:
                if (member, type_) != ("b", "configmaps"):
                    await guide.allow(member, type_)
            await guide.enable(type_)
        for type_ in TYPES:
            await eventually(f"{type_} runs", is_("Running", guide.told, type_))
        await guide.apply("FederatedNamespace", "shop", {})
        for member in MEMBERS:
            await eventually("the namespace is there", partial(guide.get, member, "namespace/shop"))
        await placed_overridden_and_orphaned(guide)
        await a_member_without_the_right_holds_up_nobody(guide)
        await selected_deleted_and_disabled(guide)
        await divided(guide)
        await refused_and_gone(guide)
        requests = requests_of("controller", guide.planes["host"].audit_log)
        assert [each for each in requests if each.response_status.code in (401, 403)] == []
        used = rights_used(requests)
        federated = {each for each in used if each.group == "types.kubefed.io"}
        granted = set(rights_granted(rights["rules"]))
        everything = {each for each in granted if each.resource == "*"}
        assert {each.verb for each in federated} == {each.verb for each in everything}
        of_federation = {each for each in granted - everything if "kubefedclusters" not in each.resource}
        assert of_federation - used == {Right("patch", "", "secrets")}


async def placed_overridden_and_orphaned(guide: Guide) -> None:
    """A Deployment in both by a list, with more replicas in one; what it made stays when it is orphaned."""
    more = [{"path": "/spec/replicas", "value": 3}]
    overrides = [{"clusterName": "b", "clusterOverrides": more}]
    await guide.apply(
        "FederatedDeployment", "web", deployment(2), placement=listed("a", "b"), overrides=overrides
    )
    await eventually("a runs as many as the template says", is_((2, 2), guide.replicas, "a"))
    await eventually("b runs as many as its override says", is_((3, 3), guide.replicas, "b"))
    well = {"a": ("", ""), "b": ("", "")}
    await eventually("all is told to be well", is_(well, guide.status, "federateddeployment/web"))
    before = {name: await guide.get(name, "deployment/web", *IN_SHOP) for name in MEMBERS}
    await guide.host("annotate", "federateddeployment/web", "kubefed.io/orphan=true", *IN_SHOP)
    await guide.host("delete", "federateddeployment/web", *IN_SHOP, "--timeout=60s")
    for name in MEMBERS:
        after, present = await guide.get(name, "deployment/web", *IN_SHOP), before[name]
        assert after is not None
        assert present is not None
        assert after["metadata"]["uid"] == present["metadata"]["uid"]
        assert "kubefed.io/managed" not in after["metadata"].get("labels", {})


async def a_member_without_the_right_holds_up_nobody(guide: Guide) -> None:
    """b does not let ConfigMaps be propagated: it says which verb is missing, until it does."""
    await guide.apply("FederatedConfigMap", "settings", {"data": {"colour": "red"}})
    await eventually("a has it", partial(guide.get, "a", "configmap/settings", *IN_SHOP))

    told: dict[str, tuple[str, str]] = {}

    async def is_told() -> bool:
        told.update(await guide.status("federatedconfigmap/settings"))
        verb = re.search(r'cannot (\w+) resource "configmaps"', told.get("b", ("", ""))[1])
        return told.get("a") == ("", "") and verb is not None and verb[1] in TARGET_VERBS

    await eventually("the verb that is missing is told", is_told, seconds=40)
    assert await guide.get("b", "configmap/settings", *IN_SHOP) is None
    await guide.allow("b", "configmaps")
    await eventually("b has it, too", partial(guide.get, "b", "configmap/settings", *IN_SHOP), seconds=120)
    well = {"a": ("", ""), "b": ("", "")}
    await eventually("all is told to be well", is_(well, guide.status, "federatedconfigmap/settings"))


async def selected_deleted_and_disabled(guide: Guide) -> None:
    """A ConfigMap follows the labels of registrations, a disabled type follows nothing, and a deletion reaches all."""
    await guide.host("label", "kubefedcluster/a", "tier=gold", *SYSTEM)
    gold = {"clusterSelector": {"matchLabels": {"tier": "gold"}}}
    await guide.apply("FederatedConfigMap", "settings", {"data": {"colour": "red"}}, placement=gold)
    await eventually("b has it no more", is_(None, guide.get, "b", "configmap/settings", *IN_SHOP))
    of_configmaps = ("federatedtypeconfig/configmaps", *SYSTEM, "--type=merge", "--patch")
    await guide.host("patch", *of_configmaps, '{"spec":{"propagation":"Disabled"}}')
    await eventually("the type rests", is_("NotRunning", guide.told, "configmaps"))
    await guide.apply("FederatedConfigMap", "settings", {"data": {"colour": "blue"}}, placement=gold)
    await guide.apply("FederatedConfigMap", "other", {"data": {}}, placement=gold)
    # Another type is worked on meanwhile, so that there was time for this one.
    await guide.apply("FederatedDeployment", "web", deployment(1), placement=listed("a"))
    await eventually("the other type goes on", is_((1, 1), guide.replicas, "a"))
    found = await guide.get("a", "configmap/settings", *IN_SHOP)
    assert found is not None
    assert found["data"] == {"colour": "red"}
    assert await guide.get("a", "configmap/other", *IN_SHOP) is None
    await guide.host("patch", *of_configmaps, '{"spec":{"propagation":"Enabled"}}')
    await eventually("it is made good", partial(guide.get, "a", "configmap/other", *IN_SHOP))
    await guide.host("delete", "federatedconfigmap/settings", *IN_SHOP, "--timeout=60s")
    assert await guide.get("a", "configmap/settings", *IN_SHOP) is None
    await guide.host("delete", "federatedtypeconfig/configmaps", *SYSTEM, "--timeout=60s")
    assert await guide.get("a", "configmap/other", *IN_SHOP) is not None


async def divided(guide: Guide) -> None:
    """Replicas are divided among both members by a preference."""
    preference = {
        "apiVersion": "scheduling.kubefed.io/v1alpha1",
        "kind": "ReplicaSchedulingPreference",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "targetKind": "FederatedDeployment",
            "totalReplicas": 4,
            "clusters": {"a": {"weight": 1}, "b": {"weight": 3}},
        },
    }
    await guide.host("apply", "-f", "-", stdin=json.dumps(preference))
    for member, count in (("a", 1), ("b", 3)):
        await eventually(f"{member} runs its share", is_((count, count), guide.replicas, member))


async def refused_and_gone(guide: Guide) -> None:
    """A type that cannot run says why; the namespace goes from the members, with what is in it."""
    found = await guide.get("host", "federatedtypeconfig/deployments.apps", *SYSTEM)
    assert found is not None
    wrong = found | {"metadata": {"name": "deployments", "namespace": SYSTEM[1]}}
    await guide.host("apply", "-f", "-", stdin=json.dumps(wrong))
    reasons = ("get", "events", *SYSTEM, "-o", "jsonpath={.items[*].reason}")

    async def is_refused() -> bool:
        return "InvalidName" in (await guide.host(*reasons)).split()

    await eventually("the name is told to be wrong", is_refused)
    await guide.host("delete", "federatednamespace/shop", *IN_SHOP, "--timeout=60s")
    for member in MEMBERS:
        assert await guide.get(member, "namespace/shop") is None
    assert await guide.get("host", "namespace/shop") is not None
