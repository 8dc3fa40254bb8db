"""The main job on real API servers: an export in one cluster answers by name in the other.

Endpoints are written by hand, since no kube-controller-manager runs here. kubectl writes, dig asks, and our two
programs run as users run them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.lab.control_planes import ControlPlanes, free_ports
from tests.lab.kubectl import Kubectl
from tests.lab.mcs import dig, eventually, rcode, running
from tests.real.handwritten import HEADLESS_DB, WEB, exports_of


async def test_an_export_in_one_cluster_answers_by_name_in_the_other(
    planes: ControlPlanes, kubectl_for: Callable[[str], Kubectl], namespace: str, tmp_path: Path
) -> None:
    east, west = kubectl_for("east"), kubectl_for("west")
    web, db = (f"{name}.{namespace}.svc.clusterset.local" for name in ("web", "db"))
    dns_port, metrics_port, other_port = free_ports(3)
    await east("apply", "--namespace", namespace, "-f", "-", stdin=f"{WEB}---{HEADLESS_DB}")
    controller = (
        "controller",
        "--kubeconfig",
        str(planes.kubeconfig()),
        "--cluster",
        "east",
        "--cluster",
        "west",
    )
    dns = ("dns", "--kubeconfig", str(planes["west"].kubeconfig()), "--listen", f"127.0.0.1:{dns_port}")
    async with (
        running("controller", *controller, "--metrics-listen", f"127.0.0.1:{metrics_port}", folder=tmp_path),
        running("dns", *dns, "--metrics-listen", f"127.0.0.1:{other_port}", folder=tmp_path),
    ):

        async def absent() -> bool:
            return await rcode(dns_port, web, "A") == "NXDOMAIN"

        await eventually("the zone of west is served, without the name", absent)
        await east("apply", "--namespace", namespace, "-f", "-", stdin=exports_of("web", "db"))

        async def address_of_web() -> list[str]:
            return await dig(dns_port, web, "A")

        await eventually("the exported name answers in west", address_of_web)
        imported = await west(
            "get", "svcim", "web", "--namespace", namespace, "-o", "jsonpath={.spec.ips[0]}"
        )
        assert await address_of_web() == [imported]
        assert imported.startswith("10.101."), "a clusterset IP of west's own service range"
        assert await dig(dns_port, f"_http._tcp.{web}", "SRV") == sorted(["0", "100", "80", f"{web}."])

        async def ready_members() -> bool:
            return await dig(dns_port, db, "A") == ["10.1.0.8"]

        await eventually("the headless name answers its ready endpoint", ready_members)
        assert await dig(dns_port, f"db-0.east.{db}", "A") == ["10.1.0.8"]
        assert await rcode(dns_port, f"db-1.east.{db}", "A") == "NXDOMAIN"

        await east("delete", "svcex", "web", "db", "--namespace", namespace)
        await eventually("the name goes with its last export", absent)
