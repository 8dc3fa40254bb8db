"""The addresses of the lab's clusters: one flat network, in which pods of all clusters reach each other.

Everything follows from a cluster's index. The addresses exist only in the lab's own network namespace.
"""

from __future__ import annotations

from dataclasses import dataclass

# The bridge that all nodes hang on; API servers and DNS servers listen at its own address.
BRIDGE = "lab0"
HOST = "172.30.0.1"
HOST6 = "fd00:30::1"
ETCD_PORT = 2379


@dataclass(frozen=True)
class ClusterAddresses:
    """What one cluster occupies; index 0 is the first cluster."""

    index: int

    @property
    def api_port(self) -> int:
        """Where the API server listens, at HOST."""
        return 6443 + self.index

    @property
    def node(self) -> str:
        """IPv4 address of the node."""
        return f"172.30.0.{11 + self.index}"

    @property
    def node6(self) -> str:
        """IPv6 address of the node."""
        return f"fd00:30::{11 + self.index}"

    @property
    def pods(self) -> str:
        """IPv4 range of the pods."""
        return f"10.{244 + self.index}.1.0/24"

    @property
    def pods6(self) -> str:
        """IPv6 range of the pods."""
        return f"fd00:10:{244 + self.index}:1::/64"

    @property
    def services(self) -> str:
        """IPv4 range of cluster IPs."""
        return f"10.{96 + self.index}.0.0/16"

    @property
    def services6(self) -> str:
        """IPv6 range of cluster IPs."""
        return f"fd00:10:{96 + self.index}::/112"

    @property
    def first_services(self) -> tuple[str, str]:
        """The cluster IPs of the Service `kubernetes`."""
        return f"10.{96 + self.index}.0.1", f"fd00:10:{96 + self.index}::1"

    @property
    def cluster_dns(self) -> str:
        """The cluster IP of the Service `kube-dns`."""
        return f"10.{96 + self.index}.0.10"

    @property
    def coredns_port(self) -> int:
        """Where the cluster's CoreDNS listens, at HOST."""
        return 1053 + self.index

    @property
    def clusterset_dns_port(self) -> int:
        """Where the cluster's CoreDNS looks for `mcs dns`, at HOST."""
        return 5400 + self.index

    @property
    def mac(self) -> str:
        """Hardware address of the node; it keeps it over restarts, as neighbours remember it for a while."""
        return f"02:00:00:00:00:{11 + self.index:02x}"

    @property
    def link(self) -> str:
        """The node's end at the bridge."""
        return f"node{self.index}"
