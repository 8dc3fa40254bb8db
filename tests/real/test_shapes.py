"""One controller for all clusters, or one in each: what changes when the one takes the place of the other."""

from __future__ import annotations

import json

import pytest

from tests.lab.cluster import Cluster
from tests.lab.clusterset import Clusterset
from tests.lab.mcs import eventually
from tests.real.workloads import EXPORT, STATEFUL, WEB, new_namespace, run

pytestmark = pytest.mark.nodes

MIRRORED = "--selector=multicluster.kubernetes.io/source-cluster"
READY = "--output=jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].addresses[*]}"
CONCERNED = "serviceexports,serviceimports,services,endpointslices"
LATER = """
apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {ports: [{port: 80}]}
---
"""


async def test_a_change_of_shape_and_back_rewrites_nothing(clusterset: Clusterset) -> None:
    one, two = clusterset.clusters
    async with new_namespace(clusterset.clusters) as namespace:
        exported = WEB + "---" + EXPORT.replace("NAME", "web")
        await run(two, namespace, exported, "deployment/web")
        await run(one, namespace, exported, "deployment/web")
        await run(two, namespace, STATEFUL + "---" + EXPORT.replace("NAME", "db"), "statefulset/db")
        await settle(clusterset, namespace, "first")
        for cluster in clusterset.clusters:
            await all_are_mirrored(cluster, namespace)
        before = [await versions(cluster, namespace) for cluster in clusterset.clusters]
        try:
            await clusterset.change_shape("mesh")
            await settle(clusterset, namespace, "second")
            after = [await versions(cluster, namespace) for cluster in clusterset.clusters]
            assert [known(each, older) for each, older in zip(after, before, strict=True)] == before
            for process in clusterset.controllers:
                assert "orbidden" not in process.log.read_text(), process.log_tail()
        finally:
            await clusterset.change_shape("hub")
        await settle(clusterset, namespace, "third")
        final = [await versions(cluster, namespace) for cluster in clusterset.clusters]
        assert [known(each, older) for each, older in zip(final, after, strict=True)] == after


async def all_are_mirrored(cluster: Cluster, namespace: str) -> None:
    """Return when there are two pods of web from each cluster and two of db, each with two addresses."""

    async def count() -> bool:
        found = await cluster.kubectl("get", "endpointslices", "--namespace", namespace, MIRRORED, READY)
        return len(found.split()) == 12

    await eventually(f"all pods are mirrored in {cluster.name}", count)


async def settle(clusterset: Clusterset, namespace: str, name: str) -> None:
    """Return when a new export of each cluster is imported everywhere: all work from before it is then done."""
    for cluster in clusterset.clusters:
        own = f"{name}-{cluster.name}"
        manifest = (LATER + EXPORT).replace("NAME", own)
        await cluster.kubectl("apply", "--namespace", namespace, "-f", "-", stdin=manifest)
        chosen = ("--namespace", namespace, f"serviceexport/{own}", "--timeout=50s")
        await cluster.kubectl("wait", "--for=condition=Ready", *chosen)


async def versions(cluster: Cluster, namespace: str) -> dict[str, str]:
    """The resourceVersion of everything in the namespace that controllers may write, by kind and name."""
    listed = await cluster.kubectl("get", CONCERNED, "--namespace", namespace, "--output=json")
    return {
        f"{each['kind']} {each['metadata']['name']}": each["metadata"]["resourceVersion"]
        for each in json.loads(listed)["items"]
    }


def known(versions: dict[str, str], older: dict[str, str]) -> dict[str, str]:
    return {name: version for name, version in versions.items() if name in older}
