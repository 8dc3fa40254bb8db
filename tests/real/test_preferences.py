"""ReplicaSchedulingPreferences on real API servers: as many replicas for a member as its Nodes have room for."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.lab.mcs import eventually
from tests.real.guide import DELAYS, IN_SHOP, MEMBERS, Guide, guided
from tests.real.kubelet import kubelet

LABELS = {"app": "web"}
TEMPLATE = {
    "metadata": {"labels": LABELS},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {
                "containers": [{"name": "web", "image": "web", "resources": {"requests": {"cpu": "1"}}}],
                # No kubelet says that the Nodes are ready.
                "tolerations": [{"operator": "Exists"}],
            },
        },
    },
}
PREFERENCE = {
    "apiVersion": "scheduling.kubefed.io/v1alpha1",
    "kind": "ReplicaSchedulingPreference",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "targetTemplate": {"spec": {"replicas": 10}},
        "overrides": [
            {"clusterName": "a", "spec": {"replicas": 6}},
            {"clusterName": "b", "spec": {"replicas": 4}},
        ],
        "totalReplicas": 10,
    },
}


async def size(guide: Guide, member: str, cpu: str) -> None:
    """Make the one Node of a member of this size."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}}
    await guide.kubectl[member]("apply", "-f", "-", stdin=json.dumps(node))
    status = {"status": {"allocatable": {"cpu": cpu, "pods": "110"}}}
    await guide.kubectl[member](
        "patch", "node", "node", "--subresource=status", "--type=merge", "-p", json.dumps(status)
    )


async def planned(guide: Guide) -> dict[str, tuple[int, str]]:
    """Plan and reason for each member, as the preference tells them."""
    found = await guide.get("host", "replicaschedulingpreference/web", *IN_SHOP) or {}
    clusters: list[dict[str, Any]] = found.get("status", {}).get("clusters", [])
    return {each["name"]: (each["replicas"], each["reason"]) for each in clusters}


async def test_a_member_gets_as_many_replicas_as_fit_and_its_share_once_there_is_room(tmp_path: Path) -> None:
    async with guided(tmp_path) as (guide, _):
        await size(guide, "a", "50")
        await size(guide, "b", "2500m")
        for type_ in ("namespaces", "deployments.apps"):
            await guide.enable(type_)
            for member in MEMBERS:
                await guide.allow(member, type_)
        await guide.apply("FederatedNamespace", "shop", {})
        await guide.apply("FederatedDeployment", "web", TEMPLATE)
        await guide.host("apply", "-f", "-", stdin=json.dumps(PREFERENCE))

        async def is_told(plan: dict[str, tuple[int, str]]) -> bool:
            wanted = {member: count for member, (count, _) in plan.items()}
            asked = {member: (await guide.replicas(member))[0] for member in MEMBERS}
            return await planned(guide) == plan and asked == wanted

        full = {"a": (8, "Weight"), "b": (2, "Capacity")}
        await eventually("what fits is planned", lambda: is_told(full))
        await size(guide, "b", "9")
        roomy = {"a": (6, "Weight"), "b": (4, "Weight")}
        await eventually("the share is planned", lambda: is_told(roomy))


async def test_three_members_share_with_room_for_two_in_one_while_another_is_lost_and_back(
    tmp_path: Path,
) -> None:
    members = ("a", "b", "c")
    async with guided(tmp_path, members) as (guide, _), AsyncExitStack() as stack:
        await guide.host("apply", "-f", "-", stdin=json.dumps(DELAYS))
        for number, (member, cpu) in enumerate(zip(members, ("50", "2500m", "50"), strict=True)):
            await size(guide, member, cpu)
            await stack.enter_async_context(kubelet(guide.planes[member], "shop", f"10.{number}.0"))
        for type_ in ("namespaces", "deployments.apps"):
            await guide.enable(type_)
            for member in members:
                await guide.allow(member, type_)
        await guide.apply("FederatedNamespace", "shop", {})
        await guide.apply("FederatedDeployment", "web", TEMPLATE)
        equal = {"totalReplicas": 12, "mode": "fair", "rebalance": True}
        await guide.host("apply", "-f", "-", stdin=json.dumps(PREFERENCE | {"spec": equal}))

        async def run(plan: dict[str, tuple[int, str]]) -> bool:
            ready = {
                member: ((await guide.get(member, "deployment/web", *IN_SHOP)) or {})
                .get("status", {})
                .get("readyReplicas", 0)
                for member in members
                if plan[member][1] != "Lost"
            }
            there = {member: count for member, (count, reason) in plan.items() if reason != "Lost"}
            return await planned(guide) == plan and ready == there

        shared = {"a": (5, "Weight"), "b": (2, "Capacity"), "c": (5, "Weight")}
        await eventually("each has its share, b what fits", lambda: run(shared), seconds=90)
        await guide.planes["c"].kill()
        without = {"a": (10, "Weight"), "b": (2, "Capacity"), "c": (0, "Lost")}
        await eventually("a stands in for c", lambda: run(without), seconds=120)
        await guide.planes["c"].start()
        await eventually("each has its share again", lambda: run(shared), seconds=120)
