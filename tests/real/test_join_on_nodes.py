"""`mcs join` of a bare whole cluster: a pod there resolves an exported name through its own CoreDNS, nothing applied by
hand.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcs import __version__
from tests.lab.clusters import Clusters
from tests.lab.kubectl import KubectlError
from tests.lab.mcs import MCS, eventually
from tests.lab.mcs_image import REPOSITORY, archive
from tests.lab.processes import LabProcess
from tests.real import own_core_dns
from tests.real.conftest import CRDS
from tests.real.test_chart_pods import load_image
from tests.real.workloads import EXPORT, WEB, new_namespace, run

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(900)]

PATIENCE = 240.0


async def test_a_pod_of_a_cluster_that_joins_resolves_an_exported_name_through_its_own_core_dns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = await asyncio.to_thread(archive, tmp_path, __version__)
    core_dns = await asyncio.to_thread(own_core_dns.image, tmp_path)
    async with Clusters() as clusters, new_namespace(clusters) as shop:
        one, two = clusters["cluster1"], clusters["cluster2"]
        for image in (ours, core_dns):
            await load_image(two, image)
        await own_core_dns.run_in(two)
        # As bare as a cluster that has never heard of multi-cluster Services.
        await two.kubectl("delete", "-f", str(CRDS))
        kubeconfig = str(clusters.inner_kubeconfig())

        async def mcs(*arguments: str) -> str:
            options = ("--host-context", "cluster1", "--kubeconfig", kubeconfig)
            return await clusters.namespace.run(*MCS, *arguments, *options, timeout=120)

        assert "has joined" in await mcs("join", "cluster1", "--no-dns", "--clusterset", "lab")
        command = clusters.namespace.inside(
            *(*MCS, "controller", "--registry", "--host-context", "cluster1", "--kubeconfig", kubeconfig),
            *("--metrics-listen", "127.0.0.1:5590"),
        )
        controller = LabProcess("mcs-controller", command, tmp_path / "controller.log")
        await controller.start()
        try:
            await run(one, shop, WEB, "deployment/web")
            await run(one, shop, EXPORT.replace("NAME", "web"))

            async def answer() -> list[str]:
                controller.check_running()
                name = f"web.{shop}.svc.clusterset.local"
                try:
                    said = await two.exec(shop, "client", "dig", "+short", "+tries=1", "+time=1", name, "A")
                except KubectlError:
                    return []
                return [line for line in said.split() if line[0].isdigit()]

            async def own_names_answer() -> str:
                try:
                    return await two.exec(
                        shop, "client", "dig", "+short", "kubernetes.default.svc.cluster.local"
                    )
                except KubectlError:
                    return ""

            await eventually("the newcomer's own names answer", own_names_answer, every=0.5)
            assert await answer() == []
            clock = asyncio.get_running_loop().time
            began = clock()
            said = await mcs("join", "cluster2", "--image", f"{REPOSITORY}:{__version__}")
            assert said == "cluster2: has joined lab\n"
            joined = clock() - began
            await eventually("the name answers", answer, seconds=PATIENCE, every=0.5)
            taken = clock() - began
            path = "jsonpath={.items[*].spec.clusterIP}"
            derived = await two.kubectl("get", "services", "--namespace", shop, "--output", path)
            assert await answer() == derived.split()
            bound = own_core_dns.SYNC_SECONDS + own_core_dns.RELOAD_SECONDS
            with capsys.disabled():
                print(
                    f"\nfrom join to first answer: {taken:.1f} s, of which {joined:.1f} s is the command itself; "
                    f"{taken / bound:.2f} times the {bound} s in which a kubelet and CoreDNS take in a Corefile"
                )
            left = await mcs("leave", "cluster2", "--wait")
            assert left == "cluster2: has left\n"
            system = await two.kubectl("get", "namespace", "kube-federation-system", "--ignore-not-found")
            assert system == ""
            corefile = await two.kubectl(
                *("get", "configmap", "coredns", "-n", "kube-system", "-o", "jsonpath={.data.Corefile}")
            )
            assert corefile == own_core_dns.COREFILE
            assert await two.kubectl("get", "services", "--namespace", shop, "--output", path) == ""
        finally:
            await controller.stop()
