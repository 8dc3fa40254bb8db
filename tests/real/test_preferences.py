"""A ReplicaSchedulingPreference on real API servers: as many replicas for a member as its Nodes have room for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.lab.mcs import eventually
from tests.real.test_federation import IN_SHOP, MEMBERS, Guide, guided

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
