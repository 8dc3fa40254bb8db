"""The defaults a real server stores with objects of built-in kinds.

Pods and pod templates have their own module, `defaults_pod`; cluster addresses, node ports and what a
controller or admission adds later belong to others. Custom kinds take their defaults from their schema,
not from here. (Kubernetes API reference, the defaults named in the description of each field.)
"""

import base64
from collections.abc import Callable, Mapping

from mcs.sandbox.apply.defaults_pod import (
    fill_claim,
    fill_host_ports,
    fill_pod_spec,
    filled,
    limits_requested,
)
from mcs.sandbox.apply.schemas import Object, schema_of
from mcs.sandbox.apply.stored import stored_form

AFFINITY_SECONDS = 10800
NAMESPACE_LABEL = "kubernetes.io/metadata.name"


def with_defaults(group: str, kind: str, obj: Object) -> Object:
    """The object as a real server stores it: empty values dropped, quantities canonical, defaults filled in.

    Kinds without a table come back as they are. An object that has been through it comes back equal.
    """
    schema = schema_of(group, kind)
    if schema is None:
        return obj
    result = stored_form(obj, schema)
    fill = _FILLS.get(kind)
    if fill is not None:
        fill(result)
    return result


def _fill_service(service: Object) -> None:
    spec = service["spec"]
    filled(spec, type="ClusterIP", sessionAffinity="None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    if spec["sessionAffinity"] == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {})
        filled(config.setdefault("clientIP", {}), timeoutSeconds=AFFINITY_SECONDS)
    for port in spec.get("ports", ()):
        filled(port, protocol="TCP")
        if port.get("targetPort", 0) in (0, ""):
            port["targetPort"] = port["port"]
    external = spec["type"] in ("NodePort", "LoadBalancer") or bool(spec.get("externalIPs"))
    if external:
        filled(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in ("ClusterIP", "NodePort", "LoadBalancer"):
        filled(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        filled(spec, allocateLoadBalancerNodePorts=True)
        for ingress in (service["status"].get("loadBalancer") or {}).get("ingress") or ():
            if ingress.get("ip"):
                filled(ingress, ipMode="VIP")


def _fill_deployment(deployment: Object) -> None:
    spec = deployment["spec"]
    filled(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec["strategy"]
    filled(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        filled(strategy.setdefault("rollingUpdate", {}), maxUnavailable="25%", maxSurge="25%")
    fill_pod_spec(spec["template"]["spec"])


def _fill_replica_set(replica_set: Object) -> None:
    filled(replica_set["spec"], replicas=1)
    fill_pod_spec(replica_set["spec"]["template"]["spec"])


def _fill_stateful_set(stateful_set: Object) -> None:
    spec = stateful_set["spec"]
    filled(spec, replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady")
    strategy = spec["updateStrategy"]
    filled(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        filled(strategy.setdefault("rollingUpdate", {}), partition=0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    filled(retention, whenDeleted="Retain", whenScaled="Retain")
    for claim in spec.get("volumeClaimTemplates", ()):
        claim.update(kind="PersistentVolumeClaim", apiVersion="v1")
        filled(claim["status"], phase="Pending")
        fill_claim(claim["spec"])
    fill_pod_spec(spec["template"]["spec"])


def _fill_pod(pod: Object) -> None:
    spec = pod["spec"]
    limits_requested(spec)
    filled(spec, enableServiceLinks=True)
    fill_host_ports(spec)
    fill_pod_spec(spec)


def _fill_endpoint_slice(endpoint_slice: Object) -> None:
    for port in endpoint_slice["ports"] or ():
        filled(port, name="", protocol="TCP")


def _fill_endpoints(endpoints: Object) -> None:
    for subset in endpoints.get("subsets", ()):
        for port in subset.get("ports", ()):
            filled(port, protocol="TCP")


def _fill_namespace(namespace: Object) -> None:
    if name := namespace["metadata"].get("name"):
        namespace["metadata"].setdefault("labels", {})[NAMESPACE_LABEL] = name
    filled(namespace["status"], phase="Active")


def _fill_node(node: Object) -> None:
    status, spec = node["status"], node["spec"]
    if "capacity" in status:
        filled(status, allocatable=dict(status["capacity"]))
    if "podCIDR" in spec:
        filled(spec, podCIDRs=[spec["podCIDR"]])


def _fill_secret(secret: Object) -> None:
    filled(secret, type="Opaque")
    texts = secret.pop("stringData", None) or {}
    if texts:
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        secret["data"] = {**secret.get("data", {}), **encoded}


def _fill_crd(crd: Object) -> None:
    spec = crd["spec"]
    names = spec["names"]
    filled(names, singular=names["kind"].lower(), listKind=f"{names['kind']}List")
    conversion = spec.setdefault("conversion", {})
    if conversion.get("strategy", "") == "":
        conversion["strategy"] = "None"
    service = conversion.get("webhook", {}).get("clientConfig", {}).get("service")
    if service is not None:
        filled(service, port=443)


_FILLS: Mapping[str, Callable[[Object], None]] = {
    "CustomResourceDefinition": _fill_crd,
    "Deployment": _fill_deployment,
    "EndpointSlice": _fill_endpoint_slice,
    "Endpoints": _fill_endpoints,
    "Namespace": _fill_namespace,
    "Node": _fill_node,
    "Pod": _fill_pod,
    "ReplicaSet": _fill_replica_set,
    "Secret": _fill_secret,
    "Service": _fill_service,
    "StatefulSet": _fill_stateful_set,
}
