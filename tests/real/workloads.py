"""Pods of the whole clusters' tests: servers that answer with their own name over TCP and UDP, and a client."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Literal

from mcs.model.registration import ZONE_LABEL
from tests.lab.cluster import Cluster
from tests.lab.images import NETSHOOT, SOCAT
from tests.lab.kubectl import KubectlError

Protocol = Literal["tcp", "udp"]
Family = Literal["IPv4", "IPv6"]

PORT = 42
# What `ask_often` counts the connections under that no pod answers.
NOBODY = "nobody"

# The servers read before they answer: one that closes first makes the client's write fail now and then.
_CONTAINERS = f"""
      terminationGracePeriodSeconds: 0
      containers:
      - name: tcp
        image: {SOCAT}
        args: ["TCP6-LISTEN:{PORT},ipv6only=0,reuseaddr,fork", "SYSTEM:read line; hostname"]
      - name: udp
        image: {SOCAT}
        args: ["UDP6-LISTEN:{PORT},ipv6only=0,reuseaddr,fork", "SYSTEM:read line; hostname"]
"""
_PORTS = f"""
  ports:
  - {{name: tcp, port: {PORT}, protocol: TCP}}
  - {{name: udp, port: {PORT}, protocol: UDP}}
"""
WEB = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:{_CONTAINERS}
---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec:
  ipFamilyPolicy: RequireDualStack
  selector: {{app: web}}{_PORTS}
"""
STATEFUL = f"""
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db}}
spec:
  replicas: 2
  serviceName: db
  podManagementPolicy: Parallel
  selector: {{matchLabels: {{app: db}}}}
  template:
    metadata: {{labels: {{app: db}}}}
    spec:{_CONTAINERS}
---
apiVersion: v1
kind: Service
metadata: {{name: db}}
spec:
  clusterIP: None
  ipFamilyPolicy: RequireDualStack
  selector: {{app: db}}{_PORTS}
"""
CLIENT = f"""
apiVersion: v1
kind: Pod
metadata: {{name: client}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: client
    image: {NETSHOOT}
    command: ["sleep", "86400"]
"""
EXPORT = """
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {name: NAME}
"""


@asynccontextmanager
async def new_namespace(clusters: Iterable[Cluster]) -> AsyncIterator[str]:
    """A namespace in all clusters, with a client in each, until the block ends."""
    name = f"test-{secrets.token_hex(4)}"
    async with asyncio.TaskGroup() as calls:
        for cluster in clusters:
            calls.create_task(_create_namespace(cluster, name), name=f"namespace in {cluster.name}")
    try:
        yield name
    finally:
        for cluster in clusters:
            await cluster.kubectl("delete", "namespace", name, "--wait=false")


@asynccontextmanager
async def zoned(clusters: Iterable[Cluster]) -> AsyncIterator[None]:
    """The node of the first cluster is in zone za, that of the second in zb, until the block ends."""
    labelled = tuple(zip(clusters, ("za", "zb"), strict=True))
    for cluster, zone in labelled:
        await cluster.kubectl("label", "--overwrite", "node", cluster.node_name, f"{ZONE_LABEL}={zone}")
    try:
        yield
    finally:
        for cluster, _ in labelled:
            await cluster.kubectl("label", "node", cluster.node_name, f"{ZONE_LABEL}-")


async def _create_namespace(cluster: Cluster, name: str) -> None:
    await cluster.kubectl("create", "namespace", name)
    await cluster.kubectl(
        "wait", "--for=create", "--namespace", name, "serviceaccount/default", "--timeout=60s", timeout=90
    )
    await run(cluster, name, CLIENT, "pod/client")


async def run(cluster: Cluster, namespace: str, manifest: str, *ready: str) -> None:
    """Apply, and wait until every resource named is rolled out, or Ready if it is a pod."""
    await cluster.kubectl("apply", "--namespace", namespace, "-f", "-", stdin=manifest)
    for resource in ready:
        if resource.startswith("pod/"):
            wait = ("wait", "--for=condition=Ready", resource)
        else:
            wait = ("rollout", "status", resource)
        await cluster.kubectl(*wait, "--namespace", namespace, "--timeout=120s", timeout=150)


async def ask(
    cluster: Cluster, namespace: str, target: str, protocol: Protocol = "tcp", family: Family = "IPv4"
) -> str:
    """Name of the pod that answers the client of this namespace; empty when none does within 2 seconds."""
    # -N ends the sending side, or a TCP client would wait for the server for ever; -W 1 ends with one datagram.
    options = ("-4" if family == "IPv4" else "-6") + (" -u -W 1 -w 2" if protocol == "udp" else " -N -w 2")
    try:
        said = await cluster.exec(
            namespace, "client", "sh", "-c", f"echo hello | nc {options} {target} {PORT}"
        )
    except KubectlError:
        return ""
    return said.strip()


async def ask_often(
    cluster: Cluster,
    namespace: str,
    target: str,
    times: int,
    family: Family = "IPv4",
    *,
    client: str = "client",
) -> Counter[str]:
    """How many of `times` TCP connections each pod answers, one after the other; NOBODY if none within 2 seconds."""
    option = "-4" if family == "IPv4" else "-6"
    once = f"echo hello | nc {option} -N -w 2 {target} {PORT} || echo {NOBODY}"
    script = f"for each in $(seq {times}); do {once}; done"
    said = await cluster.exec(namespace, client, "sh", "-c", script, timeout=90)
    return Counter(said.split())
