"""The files a node reads: its own settings and the configurations of containerd, CNI, kubelet and kube-proxy.

What is unusual in them makes two nodes live on one machine, under cgroup v1 and without CAP_SYS_RESOURCE.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.lab import binaries, images
from tests.lab.addresses import HOST, HOST6, ClusterAddresses
from tests.lab.node import CNI_PLUGINS, CONTAINERD

ProxyMode = Literal["iptables", "nftables"]


@dataclass(frozen=True)
class NodeSetup:
    """A node before it runs: where its files are, what it is called and who may talk to it."""

    folder: Path
    name: str
    cgroup: str
    addresses: ClusterAddresses
    peers: Sequence[ClusterAddresses]
    proxy_mode: ProxyMode
    images: Path
    ca_file: Path
    kubelet_kubeconfig: Path
    proxy_kubeconfig: Path

    def write(self) -> None:
        """Write all files into the folder, which must exist."""
        (self.folder / "cni").mkdir(exist_ok=True)
        (self.folder / "containerd.toml").write_text(self._containerd())
        self._write("cni/10-lab.conflist", self._cni())
        (self.folder / "resolv.conf").write_text(f"nameserver {HOST}\n")
        self._write("kubelet.json", self._kubelet())
        self._write("kube-proxy.json", self._proxy())
        self._write("node.json", self._settings())

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        (self.folder / name).write_text(json.dumps(content, indent=1))

    def _settings(self) -> Mapping[str, Any]:
        own = self.addresses
        network = [
            f"address add {own.node}/24 dev eth0",
            f"address add {own.node6}/64 dev eth0 nodad",
            # Nothing is forwarded there: a ClusterIP needs a route before kube-proxy's rules see the packet.
            f"route add default via {HOST}",
            f"route add ::/0 via {HOST6}",
        ]
        for peer in self.peers:
            network += (
                f"route add {peer.pods} via {peer.node}",
                f"route add {peer.pods6} via {peer.node6}",
            )
        return {
            "hostname": self.name,
            "cgroup": self.cgroup,
            "images": str(self.images),
            "network": network,
            "sysctls": {
                "net/ipv4/ip_forward": "1",
                "net/ipv4/conf/all/route_localnet": "1",
                "net/ipv6/conf/all/forwarding": "1",
                "net/ipv6/conf/default/accept_dad": "0",
                "net/bridge/bridge-nf-call-iptables": "1",
                "net/bridge/bridge-nf-call-ip6tables": "1",
            },
            "programs": {
                "containerd": ["containerd", "--config", str(self.folder / "containerd.toml")],
                "kubelet": [
                    str(binaries.built("kubelet")),
                    f"--config={self.folder / 'kubelet.json'}",
                    f"--kubeconfig={self.kubelet_kubeconfig}",
                    f"--hostname-override={self.name}",
                    f"--node-ip={own.node},{own.node6}",
                ],
                "kube-proxy": [
                    str(binaries.built("kube-proxy")),
                    f"--config={self.folder / 'kube-proxy.json'}",
                ],
            },
        }

    def _containerd(self) -> str:
        return f"""
version = 2
root = "{self.folder / "state" / "containerd"}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "{CONTAINERD}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{self.folder / "state" / "opt"}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{images.PAUSE}"
  disable_apparmor = true
  # Lowering a score needs CAP_SYS_RESOURCE; without it every sandbox would fail.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PLUGINS}"
    conf_dir = "{self.folder / "cni"}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""

    def _cni(self) -> Mapping[str, Any]:
        own = self.addresses
        ipam = {
            "type": "host-local",
            "dataDir": "/run/cni-ipam",
            "ranges": [[{"subnet": own.pods}], [{"subnet": own.pods6}]],
            "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
        }
        bridge = {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            # Pods of the other clusters must see the pod's own address.
            "ipMasq": False,
            "hairpinMode": True,
            "ipam": ipam,
        }
        return {"cniVersion": "0.4.0", "name": "lab", "plugins": [bridge]}

    def _kubelet(self) -> Mapping[str, Any]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self.addresses.node,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(self.ca_file)},
            },
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": f"unix://{CONTAINERD}",
            "clusterDNS": [self.addresses.cluster_dns],
            "clusterDomain": "cluster.local",
            "resolvConf": str(self.folder / "resolv.conf"),
            "volumePluginDir": str(self.folder / "state" / "volume-plugins"),
            "readOnlyPort": 0,
            "maxPods": 200,
            "nodeStatusUpdateFrequency": "5s",
            # The rest is about cgroup v1, and about a disk and a memory that the node shares with the machine.
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "localStorageCapacityIsolation": False,
            "failSwapOn": False,
            "evictionHard": {
                "memory.available": "1Mi",
                "nodefs.available": "0%",
                "nodefs.inodesFree": "0%",
                "imagefs.available": "0%",
            },
            "imageGCHighThresholdPercent": 100,
        }

    def _proxy(self) -> Mapping[str, Any]:
        own = self.addresses
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": self.proxy_mode,
            "hostnameOverride": self.name,
            "clusterCIDR": f"{own.pods},{own.pods6}",
            "bindAddress": own.node,
            "healthzBindAddress": f"{own.node}:10256",
            "metricsBindAddress": f"{own.node}:10249",
            "clientConnection": {"kubeconfig": str(self.proxy_kubeconfig)},
            # These are the whole machine's and cannot be written in a network namespace.
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
            },
        }
