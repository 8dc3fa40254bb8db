"""A node dies with its pods: clients of the other cluster are all served again once the dead endpoints are gone.

Gone means from the rules of the clients' kube-proxy, which follows the mirrors within a second or so. Asked then
is a client that has not tried before. One that has may be unlucky for two minutes more: Linux sends a connection
from a source port that lately got no answer to the address that was chosen for the port then, whatever the rules.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable

import pytest

from mcs.model.names import SERVICE_NAME_LABEL, SLICE_SERVICE_LABEL, SOURCE_CLUSTER_LABEL
from mcs.model.preference import TRAFFIC_ANNOTATION
from tests.lab.cluster import Cluster
from tests.lab.clusters import Clusters
from tests.lab.clusterset import Clusterset
from tests.lab.mcs import eventually
from tests.lab.node_files import ProxyMode
from tests.real.workloads import (
    CLIENT,
    EXPORT,
    NOBODY,
    PORT,
    WEB,
    Family,
    ask_often,
    new_namespace,
    run,
    zoned,
)

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(420)]

MODES: tuple[ProxyMode, ...] = ("iptables", "nftables")
FAMILIES: tuple[Family, ...] = ("IPv4", "IPv6")
CONNECTIONS = 30
READY = "--output=jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].addresses[*]}"
IMPATIENT = CLIENT.replace("client", "impatient")
# The same pods by another name, of which those of the client's own cluster come first.
OWN_FIRST = f"""
apiVersion: v1
kind: Service
metadata: {{name: own-first}}
spec:
  ipFamilyPolicy: RequireDualStack
  selector: {{app: web}}
  ports: [{{name: tcp, port: {PORT}}}]
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {{name: own-first, annotations: {{{TRAFFIC_ANNOTATION}: local}}}}
"""


async def test_all_connections_succeed_again_once_the_endpoints_of_a_killed_node_are_gone(
    clusterset_with: Callable[[ProxyMode], Awaitable[Clusterset]],
) -> None:
    # Kubernetes takes its 50 seconds to declare a node dead: both modes wait for that at once.
    clustersets = {mode: await clusterset_with(mode) for mode in MODES}
    async with asyncio.TaskGroup() as losses:
        for mode, clusterset in clustersets.items():
            losses.create_task(_lose_a_node(clusterset.clusters, mode), name=mode)


async def _lose_a_node(clusters: Clusters, mode: ProxyMode) -> None:
    near, far = clusters
    loop = asyncio.get_running_loop()
    async with new_namespace(clusters) as namespace, zoned(clusters):
        await run(near, namespace, IMPATIENT, "pod/impatient")
        served = "---".join((WEB, EXPORT.replace("NAME", "web"), OWN_FIRST))
        for cluster in clusters:
            await run(cluster, namespace, served, "deployment/web")
        own, foreign = [await cluster.pod_ips(namespace, "app=web") for cluster in clusters]
        addresses = {ip for ips in foreign.values() for ip in ips}

        async def answering(name: str, family: Family = "IPv4") -> Counter[str]:
            target = (await _imported_ips(near, namespace, name))[FAMILIES.index(family)]
            return await ask_often(near, namespace, target, CONNECTIONS, family)

        async def all_answer() -> bool:
            return _are_served_by([*own, *foreign], await answering("web"))

        async def all_are_in_rules() -> bool:
            return addresses <= await near.proxy_targets()

        async def own_answer() -> bool:
            return _are_served_by(own, await answering("own-first"))

        await eventually("both are imported", lambda: _are_imported(near, namespace, "web", "own-first"))
        await eventually("pods of both clusters answer", all_answer, every=0.5)
        await eventually("own ones come first", own_answer, every=0.5)
        await eventually("kube-proxy sends to all, over IPv6 too", all_are_in_rules)

        killed = loop.time()
        await far.kill_node()
        try:
            (target, _) = await _imported_ips(near, namespace, "web")

            async def one_is_lost() -> bool:
                return NOBODY in await ask_often(near, namespace, target, 3, client="impatient")

            await eventually("connections are lost", one_is_lost)
            answers = await answering("own-first")
            assert _are_served_by(own, answers), f"{mode}: {answers}"

            times: dict[str, float] = {}

            async def gone(what: str, remaining: Callable[[], Awaitable[object]], seconds: float) -> None:
                async def is_gone() -> bool:
                    return not await remaining()

                await eventually(f"{mode}: {what}", is_gone, seconds=seconds, every=0.2)
                times[what] = loop.time() - killed

            async def in_rules() -> set[str]:
                return addresses & await near.proxy_targets()

            source = f"{SLICE_SERVICE_LABEL}=web"
            mirrors = f"{SERVICE_NAME_LABEL}=web,{SOURCE_CLUSTER_LABEL}={far.name}"
            await gone("not ready in their cluster", lambda: _ready(far, namespace, source), 120)
            await gone("not ready in the mirrors", lambda: _ready(near, namespace, mirrors), 10)
            # kube-proxy writes at most once a second, so the second of two pods waits for the next time.
            await gone("not in the rules", in_rules, 20)
            for family in FAMILIES:
                answers = await answering("web", family)
                targets = sorted(await near.proxy_targets())
                assert _are_served_by(own, answers), f"{mode}, {family}: {answers}, sent to {targets}"
            said = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in times.items())
            print(f"{mode}: after the node was killed {said}")
        finally:
            await far.start_node()
        await eventually("pods of both clusters answer again", all_answer, seconds=120, every=0.5)


async def _ready(cluster: Cluster, namespace: str, selector: str) -> str:
    return await cluster.kubectl(
        "get", "endpointslices", "--namespace", namespace, "--selector", selector, READY
    )


async def _imported_ips(cluster: Cluster, namespace: str, name: str) -> list[str]:
    chosen = ("serviceimport", name, "--namespace", namespace, "--ignore-not-found")
    found = await cluster.kubectl("get", *chosen, "--output=jsonpath={.spec.ips[*]}")
    return sorted(found.split(), key=lambda ip: ":" in ip)


async def _are_imported(cluster: Cluster, namespace: str, *names: str) -> bool:
    return all([len(await _imported_ips(cluster, namespace, name)) == len(FAMILIES) for name in names])


def _are_served_by(pods: Iterable[str], answers: Counter[str]) -> bool:
    """True when each of the pods has answered, and nobody else, all connections."""
    return answers.keys() == set(pods) and answers.total() == CONNECTIONS
