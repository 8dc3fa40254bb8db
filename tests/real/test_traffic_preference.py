"""A virtual IP whose exporters prefer endpoints: which pods real kube-proxies send real clients to, in both modes.

The clients are asked from cluster1, whose node is in zone za; that of cluster2 is in zb.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from mcs.model.names import ServiceKey, derived_service_name
from mcs.model.preference import TRAFFIC_ANNOTATION
from mcs.model.registration import ZONE_LABEL
from tests.lab.cluster import Cluster
from tests.lab.clusters import Clusters
from tests.lab.clusterset import Clusterset
from tests.lab.mcs import eventually
from tests.lab.node_files import ProxyMode
from tests.real.workloads import EXPORT, WEB, Family, ask_often, new_namespace, run, zoned

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(420)]

ClustersetWith = Callable[[ProxyMode], Awaitable[Clusterset]]
CONNECTIONS = 30
_PROBE = """
        readinessProbe:
          exec: {command: ["sh", "-c", "test ! -s /tmp/unready"]}
          periodSeconds: 1
          failureThreshold: 1
      - name: udp"""
SERVER = WEB.replace("\n      - name: udp", _PROBE, 1)


class Web:
    """Web pods in both clusters that are exported from both, and a client in cluster1."""

    def __init__(self, clusters: Clusters, namespace: str) -> None:
        self.home, self.other = clusters["cluster1"], clusters["cluster2"]
        self.namespace = namespace
        self.own: frozenset[str] = frozenset()
        self.foreign: frozenset[str] = frozenset()

    async def start(self) -> None:
        """Run and export, with addresses in cluster1 when this returns."""
        for cluster in (self.home, self.other):
            await run(
                cluster, self.namespace, SERVER + "---" + EXPORT.replace("NAME", "web"), "deployment/web"
            )
        self.own = frozenset(await self.home.pod_ips(self.namespace, "app=web"))
        self.foreign = frozenset(await self.other.pod_ips(self.namespace, "app=web"))

        async def has_addresses() -> bool:
            return len(await self._ips()) == 2

        await eventually("the import has both addresses", has_addresses)

    async def prefer(self, preference: str) -> None:
        """Let both exports say the preference."""
        for cluster in (self.home, self.other):
            said = f"{TRAFFIC_ANNOTATION}={preference}"
            await cluster.kubectl(
                "annotate", "--overwrite", "serviceexport/web", said, "--namespace", self.namespace
            )

    async def be_ready(self, cluster: Cluster, *, ready: bool) -> None:
        """Let the pods of a cluster become ready, or not."""
        for pod in await cluster.pod_ips(self.namespace, "app=web"):
            said = ": > /tmp/unready" if ready else "echo yes > /tmp/unready"
            await cluster.exec(self.namespace, pod, "sh", "-c", said)

    async def uses(self, what: str, pods: frozenset[str], family: Family = "IPv4") -> None:
        """Wait until 30 of 30 connections are answered by `pods`, each of which answers one."""
        answers: Counter[str] = Counter()

        async def are_answered() -> bool:
            answers.clear()
            answers.update(await self.answering(family))
            return answers.keys() == pods and answers.total() == CONNECTIONS

        try:
            await eventually(what, are_answered, seconds=45, every=0.5)
        except AssertionError as error:
            raise AssertionError(
                f"{what}: of own {set(self.own)}, foreign {set(self.foreign)}: {answers}"
            ) from error

    async def answering(self, family: Family = "IPv4") -> Counter[str]:
        """Which pods answer 30 connections."""
        target = (await self._ips())[0 if family == "IPv4" else 1]
        return await ask_often(self.home, self.namespace, target, CONNECTIONS, family)

    async def _ips(self) -> list[str]:
        chosen = (
            "service",
            derived_service_name(ServiceKey(self.namespace, "web")),
            "--namespace",
            self.namespace,
        )
        found = await self.home.kubectl(
            "get", *chosen, "--ignore-not-found", "--output=jsonpath={.spec.clusterIPs[*]}"
        )
        return sorted(found.split(), key=lambda ip: ":" in ip)

    async def condition(self) -> str:
        """The reason for which the import in cluster1 says that the preference is not heeded; empty for none."""
        found = await self.home.kubectl(
            "get", "serviceimport", "web", "--namespace", self.namespace, "--output=json"
        )
        conditions = json.loads(found)["status"]["conditions"]
        return next((each["reason"] for each in conditions if each["type"] == "TrafficPreferenceHeeded"), "")


@pytest.mark.parametrize("mode", ["iptables", "nftables"])
async def test_clients_follow_the_preference_as_long_as_preferred_endpoints_are_ready(
    mode: ProxyMode, clusterset_with: ClustersetWith
) -> None:
    clusters = (await clusterset_with(mode)).clusters
    async with new_namespace(clusters) as namespace, zoned(clusters):
        web = Web(clusters, namespace)
        await web.start()
        assert await web.home.proxy_mode() == mode
        both = web.own | web.foreign
        await web.uses("nothing is preferred", both)

        await web.prefer("local")
        await web.uses("local ones", web.own)
        await web.uses("local ones over IPv6", web.own, "IPv6")
        await web.be_ready(web.home, ready=False)
        await web.uses("foreign ones while no local one is ready", web.foreign)
        await web.be_ready(web.home, ready=True)
        await web.uses("local ones again", web.own)

        await web.home.kubectl("label", "node", web.home.node_name, f"{ZONE_LABEL}-")
        await web.uses("without a zone of the node both", both)
        await eventually("the import tells of it", lambda: _says(web, "NoZones"))
        await web.home.kubectl("label", "node", web.home.node_name, f"{ZONE_LABEL}=za")
        await web.uses("with a zone local ones", web.own)
        await eventually("the import tells no more", lambda: _says(web, ""))

        await web.prefer("remote")
        await web.uses("foreign ones first", web.foreign)
        await web.be_ready(web.other, ready=False)
        await web.uses("local ones while no foreign one is ready", web.own)
        await web.be_ready(web.other, ready=True)
        await web.uses("foreign ones again", web.foreign)

        await web.prefer("none")
        await web.uses("both", both)
        await web.prefer("zone")
        await web.uses("those of zone za, which are the local ones", web.own)


@pytest.mark.parametrize("mode", ["iptables", "nftables"])
async def test_clients_follow_the_distribution_where_nothing_is_preferred(
    mode: ProxyMode, clusterset_with: ClustersetWith
) -> None:
    clusters = (await clusterset_with(mode)).clusters
    async with new_namespace(clusters) as namespace, zoned(clusters):
        web = Web(clusters, namespace)
        await web.start()

        async def distribute(value: str) -> None:
            said = f'{{"spec": {{"trafficDistribution": {value}}}}}'
            for cluster in clusters:
                await cluster.kubectl("patch", "service", "web", "--namespace", namespace, "--patch", said)

        for value in ("PreferSameZone", "PreferSameNode"):
            await distribute(f'"{value}"')
            await web.uses(f"{value}, which only local ones are", web.own)
        await web.prefer("remote")
        await web.uses("the preference wins", web.foreign)
        await web.prefer("local")
        await web.uses("the same the other way", web.own)
        await web.be_ready(web.home, ready=False)
        await web.uses("the others when none is on the node nor in the cluster", web.foreign)
        await web.prefer("none")
        await web.be_ready(web.home, ready=True)
        await web.uses("no preference wins too", web.own | web.foreign)

        await distribute("null")
        for cluster in clusters:
            auto = "service.kubernetes.io/topology-mode=Auto"
            await cluster.kubectl("annotate", "service", "web", auto, "--namespace", namespace)
        await web.uses("what Kubernetes hints at the source is left there", web.own | web.foreign)


@pytest.mark.parametrize("mode", ["iptables", "nftables"])
async def test_session_affinity_keeps_to_one_of_the_preferred_endpoints(
    mode: ProxyMode, clusterset_with: ClustersetWith
) -> None:
    clusters = (await clusterset_with(mode)).clusters
    async with new_namespace(clusters) as namespace, zoned(clusters):
        web = Web(clusters, namespace)
        await web.start()
        for cluster in clusters:
            affinity = '{"spec": {"sessionAffinity": "ClientIP"}}'
            await cluster.kubectl("patch", "service", "web", "--namespace", namespace, "--patch", affinity)
        await web.prefer("local")

        async def is_one_of(pods: frozenset[str]) -> bool:
            answers = await web.answering()
            return len(answers) == 1 and answers.keys() <= pods and answers.total() == CONNECTIONS

        await eventually("one local pod", lambda: is_one_of(web.own), every=0.5)
        await web.be_ready(web.home, ready=False)
        await eventually("one foreign pod", lambda: is_one_of(web.foreign), every=0.5)
        await web.be_ready(web.home, ready=True)
        await eventually("one local pod again", lambda: is_one_of(web.own), every=0.5)


async def _says(web: Web, reason: str) -> bool:
    return await web.condition() == reason
