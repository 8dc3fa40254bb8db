"""The chart installed as its README says, on real nodes: its pods run as they are written, and do their job."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
import yaml

from tests.lab.binaries import built
from tests.lab.cluster import Cluster
from tests.lab.clusters import Clusters
from tests.lab.helm import CHART, Helm
from tests.lab.kubectl import KubectlError
from tests.lab.mcs import eventually
from tests.lab.mcs_image import REPOSITORY, archive
from tests.lab.node import CONTAINERD
from tests.real.chart_roles import Manifest
from tests.real.workloads import EXPORT, WEB, new_namespace, run

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(600)]

NAMESPACE = ("--namespace", "mcs-system")
Shape = Literal["hub", "mesh"]


async def load_image(cluster: Cluster, image: Path) -> None:
    """Give the node an image, so that its kubelet need not pull it."""
    process = await asyncio.create_subprocess_exec(
        *(
            "nsenter",
            f"--target={cluster.node.pid}",
            "--net",
            "--mount",
            "--",
            "ctr",
            "--address",
            CONTAINERD,
        ),
        *("--namespace", "k8s.io", "images", "import", str(image)),
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert await process.wait() == 0


def kubeconfig_of_members(clusters: Clusters) -> str:
    """What the README has users write: a context for each member, and tokens in files beside it."""
    config: Manifest = yaml.safe_load(clusters.inner_kubeconfig().read_text())
    for user, cluster in zip(config["users"], clusters, strict=True):
        user["user"] = {"tokenFile": f"{cluster.name}.token"}
    return yaml.safe_dump(config)


async def wait_for(cluster: Cluster, component: str) -> None:
    """Return when all pods of a component are Ready; else tell what keeps them."""
    deployment = f"deployment/mcs-{component}"
    try:
        await cluster.kubectl(*NAMESPACE, "rollout", "status", deployment, "--timeout=240s", timeout=270)
    except KubectlError:
        print(await cluster.kubectl(*NAMESPACE, "get", "events"))
        print(await cluster.kubectl(*NAMESPACE, "logs", deployment, "--tail=20"))
        raise


def releases(shape: Shape) -> Iterator[tuple[str, Manifest]]:
    """The clusters that the chart is installed in, each with its values."""
    member: Manifest = {"image": {"repository": REPOSITORY}}
    controller: Manifest = {
        "clusters": [{"id": "one", "context": "cluster1"}, {"id": "two", "context": "cluster2"}],
        "kubeconfigSecret": {"name": "members"},
    }
    if shape == "hub":
        yield "cluster2", member
        yield "cluster1", member | {"controller": controller | {"enabled": True}}
    else:
        for cluster, own in (("cluster1", "one"), ("cluster2", "two")):
            yield cluster, member | {"shape": "mesh", "controller": controller | {"self": own}}


@pytest.mark.parametrize(
    ("shape", "account"),
    [("hub", "mcs-hub"), ("mesh", "mcs-reader")],
)
async def test_pods_of_the_chart_carry_an_export_from_one_cluster_to_a_name_in_the_other(
    shape: Shape, account: str, tmp_path: Path
) -> None:
    helm = Helm(built("helm"), tmp_path)
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    image = await asyncio.to_thread(archive, tmp_path, version)
    async with Clusters() as clusters, new_namespace(clusters) as shop:
        one, two = clusters["cluster1"], clusters["cluster2"]
        for cluster in clusters:
            await load_image(cluster, image)
        for name, values in releases(shape):
            await helm.install(
                "mcs", "mcs-system", values, kubeconfig=clusters[name].kubeconfig(), context=name
            )
        secret = [f"--from-literal=kubeconfig={kubeconfig_of_members(clusters)}"]
        for cluster in clusters:
            token = await cluster.kubectl(*NAMESPACE, "create", "token", account, "--duration", "720h")
            secret.append(f"--from-literal={cluster.name}.token={token}")
        controllers = [one] if shape == "hub" else [one, two]
        for cluster in controllers:
            await cluster.kubectl(*NAMESPACE, "create", "secret", "generic", "members", *secret)
        for cluster in controllers:
            await wait_for(cluster, "controller")
        for cluster in clusters:
            await wait_for(cluster, "dns")
        await run(two, shop, WEB, "deployment/web")
        await run(two, shop, EXPORT.replace("NAME", "web"))
        address = "jsonpath={.spec.clusterIP}"
        server = await one.kubectl(*NAMESPACE, "get", "service", "mcs-dns", "--output", address)

        async def answer(*options: str) -> list[str]:
            web = f"web.{shop}.svc.clusterset.local"
            try:
                said = await one.exec(
                    shop, "client", "dig", f"@{server}", "+short", "+tries=1", *options, web, "A"
                )
            except KubectlError:
                return []
            return said.split()

        await eventually("the name answers over UDP", answer, every=0.5)
        (derived,) = (
            await one.kubectl(
                *("get", "services", "--namespace", shop, "--output", "jsonpath={.items[*].spec.clusterIP}")
            )
        ).split()
        assert await answer() == await answer("+tcp") == [derived]
