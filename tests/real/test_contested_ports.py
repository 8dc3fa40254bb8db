"""Ports on which two clusters disagree: connections go only to the pods that serve what was connected to.

KEP-1645, "Service Port". The Services have no client affinity, so that each connection chooses anew among all
endpoints that kube-proxy knows; with it, as in conformance, one client could miss the wrong ones by luck.
"""

from __future__ import annotations

import pytest

from tests.lab.cluster import Cluster
from tests.lab.clusters import Clusters
from tests.lab.mcs import eventually
from tests.real.workloads import EXPORT, PORT, WEB, Family, ask, new_namespace, run

pytestmark = pytest.mark.nodes

CONNECTIONS = 24
CONTESTED, OF_ONE_CLUSTER = 4242, 4343
TCP = f"  - {{name: tcp, port: {PORT}, protocol: TCP}}\n"
# The same name at another number, and beside it a port that only this cluster has.
OTHER_PORTS = f"""
  - {{name: tcp, port: {CONTESTED}, targetPort: {PORT}, protocol: TCP}}
  - {{name: admin, port: {OF_ONE_CLUSTER}, targetPort: {PORT}, protocol: TCP}}
"""


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
async def test_a_port_is_answered_only_by_clusters_that_serve_it_at_that_number(
    clusters: Clusters, family: Family
) -> None:
    one, two = clusters["cluster1"], clusters["cluster2"]
    async with new_namespace(clusters) as namespace:
        exported = WEB + "---" + EXPORT.replace("NAME", "web")
        assert TCP in exported
        await run(one, namespace, exported, "deployment/web")
        chosen = ("serviceexport/web", "--namespace", namespace, "--timeout=50s")
        await one.kubectl("wait", "--for=condition=Ready", *chosen)
        await run(two, namespace, exported.replace(TCP, OTHER_PORTS.lstrip("\n")), "deployment/web")
        await two.kubectl("wait", "--for=condition=Conflict", *chosen)
        of_one = set(await one.pod_ips(namespace, "app=web"))
        of_two = set(await two.pod_ips(namespace, "app=web"))
        for source in clusters:
            # The mirrors that carry UDP carry TCP too: from here on kube-proxy knows the pods of both clusters.
            for pods in (of_one, of_two):
                await are_reached_over_udp(pods, source, namespace, family)
            assert await answerers(source, namespace, PORT, family) == of_one
            assert await answerers(source, namespace, OF_ONE_CLUSTER, family) == of_two
            assert await answerers(source, namespace, CONTESTED, family, connections=1) == set()


async def are_reached_over_udp(pods: set[str], source: Cluster, namespace: str, family: Family) -> None:
    async def one_answers() -> bool:
        return await ask(source, namespace, target(namespace), "udp", family) in pods

    await eventually(f"one of {sorted(pods)} answers over UDP in {source.name}", one_answers)


async def answerers(
    source: Cluster, namespace: str, port: int, family: Family, *, connections: int = CONNECTIONS
) -> set[str]:
    """The pods that answer so many TCP connections to the port of the clusterset's name."""
    once = f"echo hello | nc {'-4' if family == 'IPv4' else '-6'} -N -w 2 {target(namespace)} {port}"
    said = await source.exec(
        namespace, "client", "sh", "-c", f"for each in $(seq {connections}); do {once}; done; true"
    )
    return set(said.split())


def target(namespace: str) -> str:
    return f"web.{namespace}.svc.clusterset.local"
