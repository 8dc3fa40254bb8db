"""KubeFed's user guide on real API servers: a host and two members that joined, and our controller as a process."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from mcs.membership.access import type_role
from mcs.model.federated import TARGET_VERBS
from tests.lab.audit import Right, requests_of, rights_granted, rights_used
from tests.lab.binaries import built
from tests.lab.control_planes import ControlPlanes
from tests.lab.controller_manager import controller_manager
from tests.lab.helm import Helm
from tests.lab.kubectl import Kubectl, kubectl_binary
from tests.lab.mcs import eventually, running
from tests.real.chart_roles import ROLES, chosen
from tests.real.joined import SYSTEM, mcs

Json = dict[str, Any]
CRDS = Path(__file__).parents[2] / "crds"
MEMBERS = ("a", "b")
IN_SHOP = ("--namespace", "shop")
TYPES = ("namespaces", "deployments.apps", "configmaps")


class Guide:
    """What the reader of the guide does, and what he sees."""

    def __init__(self, planes: ControlPlanes, folder: Path) -> None:
        self.planes = planes
        self.kubectl = {plane.name: Kubectl(kubectl_binary(), plane.kubeconfig(), folder) for plane in planes}
        self.host = self.kubectl["host"]
        self._folder = folder

    async def join(self, name: str) -> None:
        """Make a cluster a member that lets types be propagated, one by one."""
        where = ("--context", name, "--host-context", "host", "--no-dns", "--federation")
        await mcs("join", name, *where, kubeconfig=self.planes.kubeconfig())

    async def grant(self) -> Json:
        """Give our user in the host what the chart grants for federation; the role for all namespaces."""
        helm = Helm(built("helm"), self._folder)
        rendered = await helm.template("mcs", SYSTEM[1], ROLES["hub with federation"])
        role = chosen(rendered, "Role", "mcs-controller-registry")
        role["metadata"]["namespace"] = SYSTEM[1]
        everywhere = chosen(rendered, "ClusterRole", "mcs-controller-federation")
        await self.host("apply", "-f", "-", stdin=yaml.safe_dump_all([role, everywhere]))
        user = "--user=controller"
        await self.host(
            "create", "rolebinding", "registry", user, f"--role={role['metadata']['name']}", *SYSTEM
        )
        await self.host(
            "create", "clusterrolebinding", "federation", user, "--clusterrole=mcs-controller-federation"
        )
        return {"rules": [*role["rules"], *everywhere["rules"]]}

    async def enable(self, type_: str) -> None:
        """Apply the definition and the configuration that mcs enable prints."""
        kubeconfig = self.planes.kubeconfig()
        printed = await mcs("enable", type_, "--host-context", "host", "-o", "yaml", kubeconfig=kubeconfig)
        # The definition must be served before there is anything of it.
        await self.host("apply", "-f", "-", stdin=printed)

    async def allow(self, member: str, type_: str) -> None:
        """Let a type be propagated to a member."""
        plural, _, group = type_.partition(".")
        await self.kubectl[member]("apply", "-f", "-", stdin=json.dumps(type_role(group, plural).document))

    async def apply(self, kind: str, name: str, template: Json, **spec: Any) -> None:
        """kubectl apply a federated object; without a placement it goes everywhere."""
        document = {
            "apiVersion": "types.kubefed.io/v1beta1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"template": template, "placement": {"clusterSelector": {}}} | spec,
        }
        await self.host("apply", "-f", "-", stdin=json.dumps(document))

    async def get(self, cluster: str, *what: str) -> Json | None:
        """An object as it stands."""
        text = await self.kubectl[cluster]("get", *what, "--ignore-not-found", "-o", "json")
        return json.loads(text) if text.strip() else None

    async def status(self, what: str) -> dict[str, tuple[str, str]]:
        """Status and message of each cluster, as a federated object tells them."""
        found = await self.get("host", what, *IN_SHOP) or {}
        clusters = found.get("status", {}).get("clusters", ())
        return {each["name"]: (each.get("status", ""), each.get("message", "")) for each in clusters}

    async def replicas(self, cluster: str) -> tuple[int, int]:
        """How many replicas a Deployment is to have in a cluster, and how many Pods there are of it."""
        found = await self.get(cluster, "deployment/web", *IN_SHOP)
        if found is None:
            return (0, 0)
        pods = await self.get(cluster, "pods", *IN_SHOP, "-l", "app=web")
        return found["spec"]["replicas"], len(pods["items"] if pods else ())

    async def told(self, type_: str) -> str:
        """What a type configuration says of its propagation."""
        found = await self.get("host", f"federatedtypeconfig/{type_}", *SYSTEM) or {}
        return str(found.get("status", {}).get("propagationController", ""))


@asynccontextmanager
async def guided(folder: Path) -> AsyncIterator[tuple[Guide, Json]]:
    """Members that have joined, with the controllers of Kubernetes, and ours in a process with the chart's rights."""
    async with ControlPlanes(("host", *MEMBERS), audit=True) as planes, AsyncExitStack() as stack:
        guide = Guide(planes, folder)
        await guide.host("apply", "--server-side", "-f", str(CRDS))
        await guide.host("wait", "--for=condition=Established", "-f", str(CRDS), "--timeout=30s")
        for name in MEMBERS:
            await stack.enter_async_context(controller_manager(planes, planes[name]))
            await guide.join(name)
        rights = await guide.grant()
        await guide.host("create", "namespace", "shop")
        kubeconfig = str(planes["host"].kubeconfig("controller"))
        command = ("controller", "--registry", "--federation", "--kubeconfig", kubeconfig)
        metrics = ("--metrics-listen", "127.0.0.1:0")
        await stack.enter_async_context(running("controller", *command, *metrics, folder=folder))
        yield guide, rights


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
