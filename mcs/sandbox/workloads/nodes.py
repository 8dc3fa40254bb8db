"""The Nodes of a sandbox cluster: zones, addresses and the pod ranges they hand out."""

from collections.abc import Sequence
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network

from mcs.sandbox.rules.addresses import Network
from mcs.sandbox.rules.meta import timestamp
from mcs.sandbox.store import Object, Objects

VERSION = "v1.34.4"
_NODE_PREFIX = {4: 24, 6: 64}


def node_objects(
    cluster: str, count: int, pod_ranges: Sequence[Network], node_ranges: Sequence[Network], now: datetime
) -> Objects:
    """`count` Nodes named CLUSTER-1 …, each in its own zone, with a /24 and /64 of the cluster's pod ranges.

    Their status is theirs to write after creation.
    """
    return [_node(cluster, number, pod_ranges, node_ranges, now) for number in range(1, count + 1)]


def _node(
    cluster: str, number: int, pod_ranges: Sequence[Network], node_ranges: Sequence[Network], now: datetime
) -> Object:
    name = f"{cluster}-{number}"
    ranges = [_part(network, number) for network in pod_ranges]
    internal = [str(network.network_address + 10 + number) for network in node_ranges]
    addresses = [{"type": "InternalIP", "address": address} for address in internal]
    resources = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastHeartbeatTime": timestamp(now),
        "lastTransitionTime": timestamp(now),
    }
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/region": cluster,
                "topology.kubernetes.io/zone": f"{cluster}-{chr(ord('a') + number - 1)}",
            },
        },
        "spec": {"podCIDR": ranges[0], "podCIDRs": ranges},
        "status": {
            "addresses": [*addresses, {"type": "Hostname", "address": name}],
            "capacity": resources,
            "allocatable": resources,
            "conditions": [ready],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "sandbox://1",
                "kernelVersion": "6.1.0",
                "kubeProxyVersion": "",
                "kubeletVersion": VERSION,
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "Sandbox",
                "systemUUID": "",
            },
        },
    }


def _part(network: Network, number: int) -> str:
    prefix = _NODE_PREFIX[network.version]
    start = int(network.network_address) + (number << (network.max_prefixlen - prefix))
    kind = IPv4Network if network.version == 4 else IPv6Network
    return str(kind((start, prefix)))
