"""The roles that the chart is rendered for, what each creates, and how its manifests are read."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]

IMAGE: Manifest = {"image": {"repository": "images.test/mcs"}}
HUB: Manifest = {
    "hub": {
        "enabled": True,
        "clusters": [{"id": "east"}, {"id": "west-1", "context": "west"}],
        "kubeconfigSecret": {"name": "members"},
    }
}
# Everything that is off by default, and what platforms differ in.
OPTIONS: Manifest = {
    "imagePullSecrets": [{"name": "pull"}],
    "listenAddress": "[::]",
    "runAsUser": None,
    "hub": {
        **HUB["hub"],
        "podDisruptionBudget": True,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
    },
    "member": {
        "hub": {"subjects": [{"kind": "User", "name": "hub", "apiGroup": "rbac.authorization.k8s.io"}]},
        "dns": {
            "clusterIP": "10.100.0.53",
            "podDisruptionBudget": True,
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [{"operator": "Exists"}],
        },
    },
    "networkPolicy": {"enabled": True},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
}
ROLES: dict[str, Manifest] = {
    "member": IMAGE,
    "hub": IMAGE | HUB | {"member": {"enabled": False}},
    "both": IMAGE | HUB,
    "both, with every option": IMAGE | OPTIONS,
    "member without DNS": {"member": {"dns": {"enabled": False}}},
}
OBJECTS = {
    "member": {
        "ServiceAccount/mcs-hub",
        "ClusterRole/mcs-hub",
        "ClusterRoleBinding/mcs-hub",
        "ServiceAccount/mcs-dns",
        "ClusterRole/mcs-dns",
        "ClusterRoleBinding/mcs-dns",
        "Deployment/mcs-dns",
        "Service/mcs-dns",
        "Service/mcs-dns-metrics",
    },
    "hub": {"ServiceAccount/mcs-controller", "Deployment/mcs-controller", "Service/mcs-controller-metrics"},
}
OBJECTS["both"] = OBJECTS["hub"] | OBJECTS["member"]
OBJECTS["both, with every option"] = OBJECTS["both"] | {
    "PodDisruptionBudget/mcs-controller",
    "PodDisruptionBudget/mcs-dns",
    "NetworkPolicy/mcs-controller",
    "NetworkPolicy/mcs-dns",
    "ServiceMonitor/mcs",
}
OBJECTS["member without DNS"] = {name for name in OBJECTS["member"] if name.endswith("/mcs-hub")}

# As much of the Prometheus operator's kind as the chart writes.
SERVICE_MONITORS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, plural: servicemonitors}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [endpoints, selector]
            properties:
              selector:
                type: object
                properties:
                  matchLabels: {type: object, additionalProperties: {type: string}}
              endpoints:
                type: array
                items: {type: object, properties: {port: {type: string}}}
"""


def chosen(manifests: list[Manifest], kind: str, name: str) -> Manifest:
    (found,) = (each for each in manifests if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return found


def container(deployment: Manifest) -> Manifest:
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(only)


def option(arguments: list[str], name: str) -> str:
    (value,) = (each.removeprefix(f"{name}=") for each in arguments if each.startswith(f"{name}="))
    return value
