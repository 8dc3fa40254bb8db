"""Whole clusters: that they are such, and that pods reach what another cluster exports, by name and by address.

Everything is asked from inside a pod, so resolv.conf, CoreDNS, kube-proxy and the network take part.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import replace

import pytest
import pytest_asyncio

from tests.lab.cluster import Cluster
from tests.lab.clusters import Clusters
from tests.lab.clusterset import Clusterset
from tests.lab.kubectl import KubectlError
from tests.lab.mcs import eventually
from tests.lab.node_files import ProxyMode
from tests.real.workloads import EXPORT, STATEFUL, WEB, Family, Protocol, ask, new_namespace, run

pytestmark = pytest.mark.nodes

ClustersetWith = Callable[[ProxyMode], Awaitable[Clusterset]]
FAMILIES: tuple[Family, ...] = ("IPv4", "IPv6")
SUBJECT_REVIEW = """
apiVersion: authorization.k8s.io/v1
kind: SelfSubjectAccessReview
spec: {{resourceAttributes: {{verb: {verb}, resource: {resource}, group: "{group}"}}}}
"""
PROXY_MODES: tuple[ProxyMode, ...] = ("iptables", "nftables")
PROTOCOLS: tuple[Protocol, ...] = ("tcp", "udp")


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(clusters: Clusters) -> AsyncIterator[str]:
    """A namespace of this test alone, in both clusters, with a client in each."""
    async with new_namespace(clusters) as name:
        yield name


async def test_every_node_is_ready_and_dual_stack(clusters: Clusters) -> None:
    for cluster in clusters:
        (node,) = json.loads(await cluster.kubectl("get", "nodes", "--output=json"))["items"]
        assert {each["type"]: each["status"] for each in node["status"]["conditions"]}["Ready"] == "True"
        addresses = [each["address"] for each in node["status"]["addresses"] if each["type"] == "InternalIP"]
        assert addresses == [cluster.addresses.node, cluster.addresses.node6]


async def test_a_deployment_runs_and_commands_run_in_its_pods(clusters: Clusters, namespace: str) -> None:
    cluster = clusters["cluster1"]
    await run(cluster, namespace, WEB, "deployment/web")
    pods = await cluster.pod_ips(namespace, "app=web")
    assert len(pods) == 2
    for pod in pods:
        assert await cluster.exec(namespace, pod, "hostname") == f"{pod}\n"
    with pytest.raises(KubectlError, match="exit code 7"):
        await cluster.exec(namespace, next(iter(pods)), "sh", "-c", "exit 7")


async def test_members_of_a_stateful_set_have_hostnames_in_slices(clusters: Clusters, namespace: str) -> None:
    cluster = clusters["cluster2"]
    await run(cluster, namespace, STATEFUL, "statefulset/db")
    selected = ("--namespace", namespace, "--selector", "kubernetes.io/service-name=db", "--output=json")

    async def have_hostnames() -> bool:
        slices = json.loads(await cluster.kubectl("get", "endpointslices", *selected))["items"]
        hostnames = {each["addressType"]: {one["hostname"] for one in each["endpoints"]} for each in slices}
        return hostnames == {"IPv4": {"db-0", "db-1"}, "IPv6": {"db-0", "db-1"}}

    # The controller of slices follows the pods, and nobody says when it has.
    await eventually("both members are in both slices", have_hostnames)


async def test_labs_with_the_same_addresses_run_side_by_side(clusterset_with: ClustersetWith) -> None:
    uids = []
    for mode in PROXY_MODES:
        cluster = (await clusterset_with(mode)).clusters["cluster1"]
        (node,) = json.loads(await cluster.kubectl("get", "nodes", "--output=json"))["items"]
        assert cluster.addresses.node in [each["address"] for each in node["status"]["addresses"]]
        assert await cluster.proxy_mode() == mode
        uids.append(node["metadata"]["uid"])
    assert len(set(uids)) == len(PROXY_MODES)


async def test_a_user_has_only_the_rights_that_were_granted(clusters: Clusters) -> None:
    cluster = clusters["cluster1"]
    for user, verb, resource, is_allowed in (
        ("reader", "list", "services", False),
        ("dns", "list", "serviceimports.multicluster.x-k8s.io", True),
        ("dns", "delete", "serviceimports.multicluster.x-k8s.io", False),
        ("controller", "patch", "endpointslices.discovery.k8s.io", True),
        ("controller", "list", "secrets", False),
    ):
        kubectl = replace(cluster.kubectl, kubeconfig=cluster.kubeconfig(user))
        review = SUBJECT_REVIEW.format(
            verb=verb, resource=resource.partition(".")[0], group=resource.partition(".")[2]
        )
        said = await kubectl(
            "create", "--validate=false", "-f", "-", "--output=jsonpath={.status.allowed}", stdin=review
        )
        assert (said == "true") is is_allowed, (user, verb, resource)


@pytest.mark.parametrize("mode", PROXY_MODES)
async def test_a_cluster_ip_reaches_pods_and_pods_reach_pods_of_the_other_cluster(
    mode: ProxyMode, clusterset_with: ClustersetWith
) -> None:
    clusters = (await clusterset_with(mode)).clusters
    one, two = clusters["cluster1"], clusters["cluster2"]
    async with new_namespace(clusters) as namespace:
        await run(two, namespace, WEB, "deployment/web")
        pods = await two.pod_ips(namespace, "app=web")
        cluster_ips = await two.kubectl(
            "get", "service", "web", "--namespace", namespace, "--output=jsonpath={.spec.clusterIPs[*]}"
        )
        for family, cluster_ip in zip(FAMILIES, cluster_ips.split(), strict=True):
            for protocol in PROTOCOLS:
                await reaches(pods, two, namespace, cluster_ip, protocol, family)
                for pod, ips in pods.items():
                    target = ips[FAMILIES.index(family)]
                    await reaches({pod}, one, namespace, target, protocol, family)


@pytest.mark.parametrize("mode", PROXY_MODES)
async def test_an_export_is_reached_from_the_other_cluster_until_it_is_removed(
    mode: ProxyMode, clusterset_with: ClustersetWith
) -> None:
    clusters = (await clusterset_with(mode)).clusters
    one, two = clusters["cluster1"], clusters["cluster2"]
    async with new_namespace(clusters) as namespace:
        await run(two, namespace, WEB, "deployment/web")
        assert await ask(one, namespace, name_of("web", namespace)) == ""
        await two.kubectl("apply", "--namespace", namespace, "-f", "-", stdin=EXPORT.replace("NAME", "web"))
        pods = await two.pod_ips(namespace, "app=web")
        await reaches(pods, one, namespace, name_of("web", namespace), "tcp", "IPv4")
        clusterset_ips = await imported_ips(one, namespace, "web")
        for family, clusterset_ip in zip(FAMILIES, clusterset_ips, strict=True):
            for protocol in PROTOCOLS:
                for target in (name_of("web", namespace), clusterset_ip):
                    await reaches(pods, one, namespace, target, protocol, family)
                    await reaches(pods, two, namespace, name_of("web", namespace), protocol, family)

        await two.kubectl("delete", "serviceexport", "web", "--namespace", namespace)
        for family, clusterset_ip in zip(FAMILIES, clusterset_ips, strict=True):
            for target in (name_of("web", namespace), clusterset_ip):
                await reaches_nothing(one, namespace, target, family)


async def test_members_of_a_headless_export_are_reached_by_their_own_names(
    clusters: Clusters, namespace: str
) -> None:
    one, two = clusters["cluster1"], clusters["cluster2"]
    await run(two, namespace, STATEFUL, "statefulset/db")
    await two.kubectl("apply", "--namespace", namespace, "-f", "-", stdin=EXPORT.replace("NAME", "db"))
    for member in ("db-0", "db-1"):
        target = f"{member}.cluster2.{name_of('db', namespace)}"
        for family in FAMILIES:
            for protocol in PROTOCOLS:
                await reaches({member}, one, namespace, target, protocol, family)


async def test_core_dns_asks_our_server_or_answers_by_itself(clusterset: Clusterset, namespace: str) -> None:
    one, two = clusterset.clusters["cluster1"], clusterset.clusters["cluster2"]
    name = name_of("web", namespace)
    await run(two, namespace, WEB + "---" + EXPORT.replace("NAME", "web"), "deployment/web")
    pods = await two.pod_ips(namespace, "app=web")
    await reaches(pods, one, namespace, name, "tcp", "IPv4")
    await clusterset.dns["cluster1"].stop()
    try:
        await reaches_nothing(one, namespace, name, "IPv4")
        await one.answer_clusterset_with("multicluster")
        await reaches(pods, one, namespace, name, "tcp", "IPv4")
    finally:
        await clusterset.dns["cluster1"].start()
        await one.answer_clusterset_with("forward")
    await reaches(pods, one, namespace, name, "tcp", "IPv4")


def name_of(service: str, namespace: str) -> str:
    return f"{service}.{namespace}.svc.clusterset.local"


async def imported_ips(cluster: Cluster, namespace: str, service: str) -> list[str]:
    chosen = ("serviceimport", service, "--namespace", namespace)
    return (await cluster.kubectl("get", *chosen, "--output=jsonpath={.spec.ips[*]}")).split()


async def reaches(
    pods: Iterable[str], source: Cluster, namespace: str, target: str, protocol: Protocol, family: Family
) -> None:
    async def answers() -> bool:
        return await ask(source, namespace, target, protocol, family) in pods

    await eventually(f"{target} answers over {protocol} and {family} in {source.name}", answers)


async def reaches_nothing(source: Cluster, namespace: str, target: str, family: Family) -> None:
    async def is_silent() -> bool:
        return await ask(source, namespace, target, "tcp", family) == ""

    await eventually(f"{target} is silent in {source.name}", is_silent)
