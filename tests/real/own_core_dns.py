"""CoreDNS as pods of a whole cluster, configured by the ConfigMap kube-system/coredns as kubeadm and others have it.

The lab's own CoreDNS is a program beside the cluster; a join, which writes that ConfigMap, would not reach it.
"""

from __future__ import annotations

from pathlib import Path

from tests.lab.binaries import built
from tests.lab.cluster import Cluster
from tests.lab.images import Image, layer_of, libraries_of, write_archive

IMAGE = "lab.local/coredns:1"
RELOAD_SECONDS = 2
"""How often it looks whether its Corefile has changed; the least that CoreDNS takes."""
SYNC_SECONDS = 60
"""How often, at least, a kubelet brings the files of a ConfigMap up to date (syncFrequency, by default)."""

COREFILE = f""".:53 {{
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        pods insecure
        ttl 5
    }}
    reload {RELOAD_SECONDS}s 1s
}}
"""
_MANIFEST = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: coredns}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lab-coredns-pods}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: lab-coredns}
subjects: [{kind: ServiceAccount, name: coredns, namespace: kube-system}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: coredns}
data:
  Corefile: |
COREFILE
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: coredns}
spec:
  replicas: 1
  selector: {matchLabels: {k8s-app: kube-dns}}
  template:
    metadata: {labels: {k8s-app: kube-dns}}
    spec:
      serviceAccountName: coredns
      dnsPolicy: Default
      terminationGracePeriodSeconds: 0
      containers:
      - name: coredns
        image: IMAGE
        args: [-conf, /etc/coredns/Corefile]
        volumeMounts: [{name: config, mountPath: /etc/coredns}]
      volumes:
      - name: config
        configMap: {name: coredns}
---
apiVersion: v1
kind: Service
metadata: {name: kube-dns}
spec:
  selector: {k8s-app: kube-dns}
  clusterIP: CLUSTER_DNS
  ports:
  - {name: dns, port: 53, protocol: UDP, targetPort: 53}
  - {name: dns-tcp, port: 53, protocol: TCP, targetPort: 53}
"""


def image(folder: Path) -> Path:
    """A docker-archive with CoreDNS, written into the folder. Raises MissingBinaryError."""
    program = built("coredns")
    files = {"/coredns": program} | {library: Path(library) for library in libraries_of(program)}
    written = folder / "coredns.tar"
    write_archive(written, [Image(IMAGE, layer_of(files), {"Entrypoint": ["/coredns"]})])
    return written


async def run_in(cluster: Cluster) -> None:
    """Have pods of CoreDNS answer in place of the lab's; its image is on the node. Raises KubectlError."""
    in_system = ("--namespace", "kube-system")
    indented = "".join(f"    {line}\n" for line in COREFILE.splitlines())
    manifest = _MANIFEST.replace("COREFILE\n", indented).replace("IMAGE", IMAGE)
    manifest = manifest.replace("CLUSTER_DNS", cluster.addresses.cluster_dns)
    await cluster.kubectl("delete", "endpointslice", "kube-dns-lab", *in_system)
    await cluster.kubectl("delete", "service", "kube-dns", *in_system)
    await cluster.kubectl("apply", *in_system, "-f", "-", stdin=manifest)
    await cluster.kubectl(
        "rollout", "status", "deployment/coredns", *in_system, "--timeout=120s", timeout=150
    )
