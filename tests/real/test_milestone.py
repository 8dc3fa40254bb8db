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

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports:
  - {name: http, port: 80, targetPort: 8080}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  labels: {kubernetes.io/service-name: web}
addressType: IPv4
ports:
- {name: http, port: 8080, protocol: TCP}
endpoints:
- addresses: [10.1.0.7]
  conditions: {ready: true}
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec:
  clusterIP: None
  ports:
  - {name: sql, port: 5432}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: db-1
  labels: {kubernetes.io/service-name: db}
addressType: IPv4
ports:
- {name: sql, port: 5432, protocol: TCP}
endpoints:
- addresses: [10.1.0.8]
  hostname: db-0
  conditions: {ready: true}
- addresses: [10.1.0.9]
  hostname: db-1
  conditions: {ready: false}
"""
EXPORTS = """
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {name: web}
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {name: db}
"""


async def test_an_export_in_one_cluster_answers_by_name_in_the_other(
    planes: ControlPlanes, kubectl_for: Callable[[str], Kubectl], namespace: str, tmp_path: Path
) -> None:
    east, west = kubectl_for("east"), kubectl_for("west")
    web, db = (f"{name}.{namespace}.svc.clusterset.local" for name in ("web", "db"))
    dns_port, metrics_port, other_port = free_ports(3)
    await east("apply", "--namespace", namespace, "-f", "-", stdin=SERVICE)
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
        await east("apply", "--namespace", namespace, "-f", "-", stdin=EXPORTS)

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
