"""The scale subresource: an `autoscaling/v1` Scale seen in, and written into, a workload or custom object.

Source: Kubernetes API reference, Scale v1; "Create a CustomResourceDefinition", Scale subresource.
"""

from typing import Any

from mcs.sandbox.errors import Cause, bad_request, invalid
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.rules.openapi_schema import type_name
from mcs.sandbox.store import Object

SCALE = ResourceType("autoscaling", "v1", "scales", "scale", "Scale", namespaced=True)
_PATHS = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
}


def scale_of(resource: ResourceType, version: str, obj: Object) -> Object:
    """The Scale of an object."""
    paths = resource.scale_paths.get(version, _PATHS)
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": _at(obj, paths.get("statusReplicasPath", "")) or 0}
    selector = _selector(resource, paths, obj)
    if selector:
        status["selector"] = selector
    replicas = _at(obj, paths["specReplicasPath"])
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: obj["metadata"][key] for key in kept if key in obj["metadata"]},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def scaled(resource: ResourceType, version: str, obj: Object, scale: Object) -> Object:
    """The object with the replicas of a Scale; raises BadRequest or Invalid."""
    if scale.get("kind", "Scale") != "Scale":
        raise bad_request(f"expected a Scale, got {scale.get('kind')}")
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request("spec.replicas of a Scale must be an integer")
    if replicas < 0:
        told = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise invalid(SCALE, obj["metadata"]["name"], [Cause("FieldValueInvalid", told, "spec.replicas")])
    paths = resource.scale_paths.get(version, _PATHS)
    version_seen = (scale.get("metadata") or {}).get("resourceVersion")
    if version_seen:
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": version_seen}}
    return _with(obj, paths["specReplicasPath"].strip(".").split("."), replicas)


def unreadable_replicas(resource: ResourceType, version: str, obj: Object) -> list[Cause]:
    """The cause, when the replicas of a custom object are no integer; nothing without a scale subresource."""
    path = resource.scale_paths.get(version, {}).get("specReplicasPath", "")
    value = _at(obj, path)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return []
    told = f"{path} accessor error: {value} is of the type {type_name(value)}, expected int64"
    return [Cause("FieldValueInvalid", f"Invalid value: 0: {told}", path)]


def _selector(resource: ResourceType, paths: dict[str, str], obj: Object) -> str:
    if resource.custom:
        return str(_at(obj, paths.get("labelSelectorPath", "")) or "")
    selector = _at(obj, ".spec.selector") or {}
    terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for each in selector.get("matchExpressions") or ():
        values = ",".join(sorted(each.get("values") or ()))
        match each["operator"]:
            case "In" | "NotIn" as word:
                terms.append(f"{each['key']} {word.lower()} ({values})")
            case "Exists":
                terms.append(each["key"])
            case _:
                terms.append(f"!{each['key']}")
    return ",".join(sorted(terms))


def _at(obj: Any, path: str) -> Any:
    if not path:
        return None
    for step in path.strip(".").split("."):
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def _with(obj: Object, steps: list[str], value: int) -> Object:
    first, *rest = steps
    return {**obj, first: _with(obj.get(first) or {}, rest, value) if rest else value}
