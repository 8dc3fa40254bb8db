"""What each kind's storage does with an object before it is stored: status kept apart, generation counted.

Source: API conventions, "Spec and Status" and "Metadata" (generation); "Create a CustomResourceDefinition",
Status subresource. Metadata rules shared by all kinds are in `meta`, defaults in `apply.defaults`.
"""

from typing import Any

from mcs.sandbox.resources import DEPLOYMENTS, NAMESPACES, NODES, PODS, ResourceType
from mcs.sandbox.store import Object

_CREATE_ON_UPDATE = {"services", "endpoints", "events", "leases.coordination.k8s.io"}
_NEEDS_VERSION = {
    "leases.coordination.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
}
_RETURNS_DELETED = {"services", "pods", "serviceaccounts"}


def creates_on_update(resource: ResourceType) -> bool:
    """Whether PUT of a missing name creates it."""
    return resource.group_resource in _CREATE_ON_UPDATE


def updates_need_a_version(resource: ResourceType) -> bool:
    """Whether an update must name the resourceVersion it is based on."""
    return resource.custom or resource.group_resource in _NEEDS_VERSION


def returns_the_deleted(resource: ResourceType) -> bool:
    """Whether DELETE answers with the object instead of a Status."""
    return resource.group_resource in _RETURNS_DELETED


def has_status(resource: ResourceType) -> bool:
    """Whether status is written through its own subresource only."""
    return "status" in resource.subresources


def prepared_for_create(resource: ResourceType, obj: Object) -> Object:
    """The object as a create stores it: no status, generation 1, a namespace with its finalizer."""
    obj = settable_at_creation(resource, obj)
    match resource.group_resource:
        case NAMESPACES.group_resource:
            spec = {**(obj.get("spec") or {}), "finalizers": ["kubernetes"]}
            obj = {**obj, "spec": spec, "status": {"phase": "Active"}}
        case "services":
            obj = {**obj, "status": {"loadBalancer": {}}}
        case PODS.group_resource:
            spec = _admitted_pod(obj.get("spec") or {})
            obj = {**obj, "spec": spec, "status": {"phase": "Pending", "qosClass": _quality_of_service(obj)}}
        case NODES.group_resource:
            obj = {**obj, "spec": _tainted(obj)}
        case "deployments.apps":
            obj = {**obj, "status": {}}
        case "replicasets.apps":
            obj = {**obj, "status": {"replicas": 0}}
        case "statefulsets.apps":
            obj = {**obj, "status": {"availableReplicas": 0, "replicas": 0}}
        case _:
            pass
    if resource.has_generation or resource.custom:
        obj = {**obj, "metadata": {**obj["metadata"], "generation": 1}}
    return obj


def without_status(obj: Object) -> Object:
    """The object with everything but its status."""
    return {key: value for key, value in obj.items() if key != "status"}


def settable_at_creation(resource: ResourceType, obj: Object) -> Object:
    """The part of a new object that belongs to its creator, before the server adds the rest."""
    if has_status(resource) and resource is not NODES:
        obj = without_status(obj)
    if resource.kind == "EndpointSlice":
        return {**obj, "endpoints": _without_topology(obj.get("endpoints"))}
    return {**obj, "spec": {}} if resource is NAMESPACES else obj


def _without_topology(endpoints: Any) -> Any:
    """Endpoints without `deprecatedTopology`, which v1 shows and does not take."""
    if not endpoints:
        return endpoints
    return [{key: each[key] for key in each if key != "deprecatedTopology"} for each in endpoints]


def prepared_for_update(resource: ResourceType, old: Object, new: Object, subresource: str) -> Object:
    """The new object, with what this endpoint may not change as it was, and the next generation."""
    match subresource:
        case "status":
            return _status_update(resource, old, new)
        case "finalize":
            spec = {key: value for key, value in old.get("spec", {}).items() if key != "finalizers"}
            if finalizers := (new.get("spec") or {}).get("finalizers"):
                spec["finalizers"] = finalizers
            return {**old, "metadata": new["metadata"], "spec": spec}
        case _:
            pass
    if has_status(resource):
        new = without_status(new)
        if "status" in old:
            new = {**new, "status": old["status"]}
    if resource is NAMESPACES:
        new = {**new, "spec": old.get("spec", {})}
    if (resource.has_generation or resource.custom) and _counts(resource, old) != _counts(resource, new):
        generation = old["metadata"].get("generation", 0) + 1
        new = {**new, "metadata": {**new["metadata"], "generation": generation}}
    return new


def _status_update(resource: ResourceType, old: Object, new: Object) -> Object:
    status = {"status": new["status"]} if "status" in new else {}
    kept = without_status(old)
    if resource.custom:
        metadata = {**old["metadata"], "resourceVersion": new["metadata"]["resourceVersion"]}
        if "managedFields" in new["metadata"]:
            metadata["managedFields"] = new["metadata"]["managedFields"]
        return {**kept, "metadata": metadata, **status}
    metadata = dict(new["metadata"])
    if resource is DEPLOYMENTS:
        metadata.pop("labels", None)
        if "labels" in old["metadata"]:
            metadata["labels"] = old["metadata"]["labels"]
    return {**kept, "metadata": metadata, **status}


def _counts(resource: ResourceType, obj: Object) -> Object:
    """The part of an object whose change is a new generation."""
    if resource.custom or resource.kind == "EndpointSlice":
        apart = {"metadata", "status"} if has_status(resource) else {"metadata"}
        counted = {key: value for key, value in obj.items() if key not in apart}
        if resource.kind == "EndpointSlice":
            counted["labels"] = obj["metadata"].get("labels")
        return counted
    counted = {"spec": obj.get("spec")}
    if resource.group == "apps" and resource is DEPLOYMENTS:
        counted["annotations"] = obj["metadata"].get("annotations")
    return counted


_NOT_READY = "node.kubernetes.io/not-ready"
_LEFT_AFTER = 300
"""Seconds that a pod stays on a node that is not ready or out of reach."""


def _admitted_pod(spec: Object) -> Object:
    """What the Priority and DefaultTolerationSeconds admission plugins add."""
    tolerations = list(spec.get("tolerations") or ())
    for key in (_NOT_READY, "node.kubernetes.io/unreachable"):
        if not any(
            t.get("key") in (key, None) and t.get("effect") in ("NoExecute", None) for t in tolerations
        ):
            stays = {
                "effect": "NoExecute",
                "key": key,
                "operator": "Exists",
                "tolerationSeconds": _LEFT_AFTER,
            }
            tolerations.append(stays)
    return {"preemptionPolicy": "PreemptLowerPriority", "priority": 0, **spec, "tolerations": tolerations}


def _tainted(node: Object) -> Object:
    """The spec of a new node: no pods go there before it is ready (admission plugin TaintNodesByCondition)."""
    spec = node.get("spec") or {}
    conditions = (node.get("status") or {}).get("conditions") or ()
    taints = list(spec.get("taints") or ())
    if any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions):
        return spec
    if not any(t.get("key") == _NOT_READY for t in taints):
        taints.append({"effect": "NoSchedule", "key": _NOT_READY})
    return {**spec, "taints": taints}


def _quality_of_service(pod: Object) -> str:
    """BestEffort, Burstable or Guaranteed (Kubernetes, "Pod Quality of Service Classes")."""
    resources = [c.get("resources") or {} for c in (pod.get("spec") or {}).get("containers") or []]
    if not any(r.get("requests") or r.get("limits") for r in resources):
        return "BestEffort"
    limits = [r.get("limits") or {} for r in resources]
    requests = [r.get("requests") or r.get("limits") or {} for r in resources]
    full = all({"cpu", "memory"} <= lim.keys() for lim in limits)
    return "Guaranteed" if full and requests == limits else "Burstable"


def is_held(obj: Object) -> bool:
    """Whether finalizers keep an object whose deletion began."""
    spec = obj.get("spec")
    in_spec = obj.get("kind") == NAMESPACES.kind and isinstance(spec, dict) and spec.get("finalizers")
    return bool(obj["metadata"].get("finalizers") or in_spec)


def is_finished(obj: Object) -> bool:
    """Whether an object's deletion began and nothing holds it any more."""
    metadata = obj["metadata"]
    deleting = "deletionTimestamp" in metadata and not metadata.get("deletionGracePeriodSeconds")
    return deleting and not is_held(obj)


def means_the_same(old: Object, new: Object) -> bool:
    """Whether nothing but times of field ownership differs, in which case nothing is stored."""
    return old == new or _timeless(old) == _timeless(new)


def _timeless(obj: Object) -> Object:
    metadata = dict(obj["metadata"])
    entries = metadata.pop("managedFields", None) or ()
    timeless = [{key: value for key, value in entry.items() if key != "time"} for entry in entries]
    return {**obj, "metadata": metadata, "managed": timeless}
