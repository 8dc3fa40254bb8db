"""In the mesh shape the cluster that would be the hub may die: pods elsewhere are rolled and reached as ever."""

from __future__ import annotations

import pytest

from tests.lab.clusterset import Clusterset
from tests.lab.mcs import eventually
from tests.real.workloads import EXPORT, WEB, ask, new_namespace, run

pytestmark = pytest.mark.nodes

ASKED = 20


async def test_with_the_hub_dead_a_rolled_deployment_is_reached_at_its_live_pods_only(
    clusterset: Clusterset,
) -> None:
    hub, other = clusterset.clusters
    async with new_namespace(clusterset.clusters) as namespace:
        target = f"web.{namespace}.svc.clusterset.local"
        await clusterset.change_shape("mesh")
        try:
            await run(other, namespace, WEB + "---" + EXPORT.replace("NAME", "web"), "deployment/web")
            old = await other.pod_ips(namespace, "app=web")

            async def is_answered_by(pods: frozenset[str]) -> bool:
                return {await ask(other, namespace, target) for _ in range(ASKED)} == pods

            await eventually("its first pods are reached", lambda: is_answered_by(frozenset(old)))
            await clusterset.controllers[0].kill()
            await hub.kill_apiserver()
            rolled = ("deployment/web", "--namespace", namespace)
            await other.kubectl("rollout", "restart", *rolled)
            await other.kubectl("rollout", "status", *rolled, "--timeout=120s", timeout=150)

            async def live() -> frozenset[str]:
                return frozenset(await other.pod_ips(namespace, "app=web")) - frozenset(old)

            async def only_live_pods_answer() -> bool:
                pods = await live()
                return len(pods) == len(old) and await is_answered_by(pods)

            await eventually("only live pods are reached", only_live_pods_answer)
        finally:
            if hub.apiserver.pid is None:
                await hub.start_apiserver()
            await clusterset.change_shape("hub")
