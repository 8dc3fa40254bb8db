"""What runs `mcs dns` in a member: the objects of the chart with its defaults, which a test compares."""

from collections.abc import Iterator
from typing import Any

from mcs.membership.access import COMPONENT_LABEL, DNS, NAME_LABEL, cluster_binding, labels
from mcs.model.installed import CLUSTER_ROLES, DEPLOYMENTS, SERVICE_ACCOUNTS, Manifest, manifest
from mcs.model.resources import SERVICES

ZONE = "clusterset.local"
DNS_NAME = "mcs-dns"
"""Name of the Service that answers, and of all that belongs to it."""
REPLICAS = 2

_SELECTED = {NAME_LABEL: "mcs", COMPONENT_LABEL: "dns"}
_METRICS_PORT = 8081


def dns_objects(namespace: str, image: str) -> Iterator[Manifest]:
    """ServiceAccount, rights, Deployment and Services of `mcs dns`."""
    metadata = {"labels": labels("dns")}
    yield manifest(SERVICE_ACCOUNTS, DNS_NAME, namespace, metadata=metadata)
    yield manifest(CLUSTER_ROLES, DNS_NAME, metadata=metadata, rules=list(DNS))
    yield cluster_binding(DNS_NAME, DNS_NAME, DNS_NAME, namespace, "dns")
    yield manifest(DEPLOYMENTS, DNS_NAME, namespace, metadata=metadata, spec=_deployment(image))
    ports = [_service_port("dns", 53, "UDP"), _service_port("dns-tcp", 53, "TCP")]
    yield manifest(
        SERVICES, DNS_NAME, namespace, metadata=metadata, spec={"selector": _SELECTED, "ports": ports}
    )
    yield manifest(
        SERVICES,
        f"{DNS_NAME}-metrics",
        namespace,
        metadata=metadata,
        spec={
            "clusterIP": "None",
            "selector": _SELECTED,
            "ports": [_service_port("metrics", _METRICS_PORT, "TCP")],
        },
    )


def _service_port(name: str, port: int, protocol: str) -> dict[str, Any]:
    return {"name": name, "port": port, "targetPort": name, "protocol": protocol}


def _deployment(image: str) -> dict[str, Any]:
    selector = {"matchLabels": _SELECTED}
    return {
        "replicas": REPLICAS,
        "selector": selector,
        "template": {
            "metadata": {"labels": _SELECTED},
            "spec": {
                "serviceAccountName": DNS_NAME,
                # The cluster's DNS asks these pods, so they do not depend on it.
                "dnsPolicy": "Default",
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": 65532,
                    "runAsGroup": 65532,
                    "fsGroup": 65532,
                    "seccompProfile": {"type": "RuntimeDefault"},
                    # Port 53 without root and without a capability; one of the sysctls that Kubernetes calls safe.
                    "sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "53"}],
                },
                "containers": [_container(image)],
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "kubernetes.io/hostname",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": selector,
                    }
                ],
            },
        },
    }


def _container(image: str) -> dict[str, Any]:
    def probe(path: str, **bounds: int) -> dict[str, Any]:
        return {"httpGet": {"path": path, "port": "metrics"}, **bounds}

    return {
        "name": "dns",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["mcs"],
        "args": [
            "dns",
            "--listen=0.0.0.0:53",
            f"--metrics-listen=0.0.0.0:{_METRICS_PORT}",
            f"--zone={ZONE}",
            "--ttl=5",
            "--log-level=info",
            "--log-json",
        ],
        "ports": [
            {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
            {"name": "metrics", "containerPort": _METRICS_PORT, "protocol": "TCP"},
        ],
        "startupProbe": probe("/healthz", periodSeconds=1, failureThreshold=60),
        "livenessProbe": probe("/healthz", periodSeconds=10, timeoutSeconds=5),
        "readinessProbe": probe("/readyz", periodSeconds=5, timeoutSeconds=5),
        # Queries still arrive until every node has taken the pod out of the Service.
        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
