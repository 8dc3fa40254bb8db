"""The roles that the chart is rendered for, what each creates, and how its manifests are read."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]

IMAGE: Manifest = {"image": {"repository": "images.test/mcs"}}
CONTROLLER: Manifest = {
    "clusters": [{"id": "east"}, {"id": "west-1", "context": "west"}],
    "kubeconfigSecret": {"name": "members"},
}
HUB: Manifest = {"controller": CONTROLLER | {"enabled": True}}
MESH: Manifest = {"shape": "mesh", "controller": CONTROLLER | {"self": "east"}}
# Everything that is off by default, and what platforms differ in.
PLACEMENT: Manifest = {
    "podDisruptionBudget": True,
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"operator": "Exists"}],
}
OPTIONS: Manifest = {
    "autoExport": "tier=web,!internal",
    "imagePullSecrets": [{"name": "pull"}],
    "listenAddress": "[::]",
    "runAsUser": None,
    "member": {
        "access": {"subjects": [{"kind": "User", "name": "hub", "apiGroup": "rbac.authorization.k8s.io"}]},
        "dns": {"clusterIP": "10.100.0.53", **PLACEMENT},
    },
    "networkPolicy": {"enabled": True},
    "policy": {"precedence": "first-seen", "defaults": {"caps": {"exports": 500}}},
    "admissionPolicy": {"enabled": True},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
}
REGISTRY: Manifest = {"controller": {"enabled": True, "registry": {"enabled": True, "namespace": "default"}}}
ROLES: dict[str, Manifest] = {
    "member": IMAGE,
    "hub": IMAGE | HUB | {"member": {"enabled": False}},
    "hub with a registry": IMAGE | REGISTRY | {"member": {"enabled": False}},
    "hub with federation": IMAGE
    | {"controller": REGISTRY["controller"] | {"federation": {"enabled": True}}}
    | {"member": {"enabled": False}},
    "both": IMAGE | HUB,
    "both, with every option": IMAGE | OPTIONS | {"controller": HUB["controller"] | PLACEMENT},
    "member without DNS": {"member": {"dns": {"enabled": False}}},
    "member of a federation": IMAGE | {"member": {"access": {"federation": "types"}}},
    "member that allows everything": IMAGE | {"member": {"access": {"federation": "all"}}},
    "mesh": IMAGE | MESH,
    "mesh, with every option": IMAGE | OPTIONS | MESH | {"controller": MESH["controller"] | PLACEMENT},
}
_CONTROLLER = {
    "ServiceAccount/mcs-controller",
    "ConfigMap/mcs-controller",
    "Role/mcs-controller",
    "RoleBinding/mcs-controller",
    "Deployment/mcs-controller",
    "Service/mcs-controller-metrics",
}
_DNS = {
    "ServiceAccount/mcs-dns",
    "ClusterRole/mcs-dns",
    "ClusterRoleBinding/mcs-dns",
    "Deployment/mcs-dns",
    "Service/mcs-dns",
    "Service/mcs-dns-metrics",
}
_OPTIONS = {
    "PodDisruptionBudget/mcs-controller",
    "PodDisruptionBudget/mcs-dns",
    "NetworkPolicy/mcs-controller",
    "NetworkPolicy/mcs-dns",
    "ServiceMonitor/mcs",
    "ConfigMap/mcs-controller-policy",
    "ValidatingAdmissionPolicy/mcs-own-objects-only",
    "ValidatingAdmissionPolicyBinding/mcs-own-objects-only",
    "PrometheusRule/mcs",
}


def _access(account: str) -> set[str]:
    return {f"{kind}/{account}" for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")}


_FEDERATION = {"ClusterRole/mcs-hub-federation", "ClusterRoleBinding/mcs-hub-federation"}

OBJECTS = {
    "member": _access("mcs-hub") | _DNS,
    "hub": _CONTROLLER,
    "hub with a registry": _CONTROLLER
    | {"Role/mcs-controller-registry", "RoleBinding/mcs-controller-registry"},
    "hub with federation": _CONTROLLER
    | {"Role/mcs-controller-registry", "RoleBinding/mcs-controller-registry"}
    | {"ClusterRole/mcs-controller-federation", "ClusterRoleBinding/mcs-controller-federation"},
    "both": _access("mcs-hub") | _DNS | _CONTROLLER,
    "both, with every option": _access("mcs-hub") | _DNS | _CONTROLLER | _OPTIONS,
    "member without DNS": _access("mcs-hub"),
    "member of a federation": _access("mcs-hub") | _FEDERATION | _DNS,
    "member that allows everything": _access("mcs-hub") | _FEDERATION | _DNS,
    "mesh": _access("mcs-reader") | _access("mcs-controller") | _DNS | _CONTROLLER,
}
OBJECTS["mesh, with every option"] = OBJECTS["mesh"] | _OPTIONS

# As much of the Prometheus operator's kinds as the chart writes.
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
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: prometheusrules.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: PrometheusRule, plural: prometheusrules}
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
            properties:
              groups:
                type: array
                items:
                  type: object
                  required: [name, rules]
                  properties:
                    name: {type: string}
                    rules:
                      type: array
                      items:
                        type: object
                        required: [alert, expr]
                        properties:
                          alert: {type: string}
                          expr: {type: string}
                          for: {type: string}
                          labels: {type: object, additionalProperties: {type: string}}
                          annotations: {type: object, additionalProperties: {type: string}}
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
