"""Whole clusters can be hurt and mended: what the chaos tests rely on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.lab.clusters import Clusters
from tests.lab.kubectl import KubectlError
from tests.lab.mcs import eventually
from tests.real.workloads import WEB, ask, new_namespace, run

pytestmark = pytest.mark.nodes


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(clusters: Clusters) -> AsyncIterator[str]:
    """A namespace of this test alone, in both clusters, with two web pods in cluster2."""
    async with new_namespace(clusters) as name:
        await run(clusters["cluster2"], name, WEB, "deployment/web")
        yield name


async def test_a_killed_node_comes_back_with_its_pods(clusters: Clusters, namespace: str) -> None:
    cluster = clusters["cluster2"]
    before = await cluster.pod_ips(namespace, "app=web")
    await cluster.kill_node()
    with pytest.raises((KubectlError, TimeoutError)):
        await cluster.exec(namespace, next(iter(before)), "true", timeout=5)
    await cluster.start_node()

    async def all_answer() -> bool:
        try:
            said = [await cluster.exec(namespace, pod, "hostname", timeout=5) for pod in before]
        except (KubectlError, TimeoutError):
            return False
        return said == [f"{pod}\n" for pod in before]

    await eventually("commands run in the same pods again", all_answer, seconds=120, every=0.5)


async def test_a_killed_api_server_comes_back_with_its_data(clusters: Clusters, namespace: str) -> None:
    cluster = clusters["cluster2"]
    await cluster.kill_apiserver()
    with pytest.raises(KubectlError):
        await cluster.kubectl("get", "namespace", namespace)
    await cluster.start_apiserver()
    assert namespace in await cluster.kubectl("get", "namespace", namespace)


async def test_a_paused_api_server_does_not_answer_until_it_goes_on(
    clusters: Clusters, namespace: str
) -> None:
    cluster = clusters["cluster2"]
    cluster.pause_apiserver()
    try:
        with pytest.raises((KubectlError, TimeoutError)):
            await cluster.kubectl("get", "--request-timeout=2s", "namespace", namespace, timeout=10)
    finally:
        cluster.resume_apiserver()
    assert namespace in await cluster.kubectl("get", "namespace", namespace)


async def test_a_cut_link_parts_the_clusters_until_it_is_mended(clusters: Clusters, namespace: str) -> None:
    one, two = clusters["cluster1"], clusters["cluster2"]
    pods = await two.pod_ips(namespace, "app=web")
    pod, (ip, ip6) = next(iter(pods.items()))
    assert await ask(one, namespace, ip) == pod
    await two.cut_link()
    try:
        assert await ask(one, namespace, ip) == ""
        assert await ask(one, namespace, ip6, family="IPv6") == ""
    finally:
        await two.mend_link()

    async def answers() -> bool:
        return (await ask(one, namespace, ip), await ask(one, namespace, ip6, family="IPv6")) == (pod, pod)

    await eventually("the pod answers again", answers)
