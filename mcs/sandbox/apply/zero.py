"""The parts of each built-in kind that an object has before anyone sets a field.

A typed server starts a new object from these, so they count as present, and not as written, when
ownership of a created object is recorded. Defaults, which do belong to the creator, are in `defaults`.
"""

from collections.abc import Mapping
from typing import Any

from mcs.sandbox.apply.schemas import Object, Schema

_TEMPLATE: Object = {"metadata": {}, "spec": {"containers": None}}
_ZERO: Mapping[str, Object] = {
    "Namespace": {"spec": {}, "status": {}},
    "Node": {"spec": {}, "status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": {}}},
    "Pod": {"spec": {"containers": None}, "status": {}},
    "PersistentVolumeClaim": {"spec": {"resources": {}}, "status": {}},
    "Service": {"spec": {}, "status": {"loadBalancer": {}}},
    "Event": {"involvedObject": {}, "source": {}},
    "Deployment": {"spec": {"selector": None, "template": _TEMPLATE, "strategy": {}}, "status": {}},
    "ReplicaSet": {"spec": {"selector": None, "template": _TEMPLATE}, "status": {"replicas": 0}},
    "StatefulSet": {
        "spec": {"selector": None, "serviceName": "", "template": _TEMPLATE, "updateStrategy": {}},
        "status": {"replicas": 0, "availableReplicas": 0},
    },
    "EndpointSlice": {"addressType": "", "endpoints": None, "ports": None},
    "Lease": {"spec": {}},
    "CustomResourceDefinition": {
        "spec": {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": None},
        "status": {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None},
    },
    "Scale": {"spec": {}, "status": {"replicas": 0}},
}


def zero_object(obj: Object, schema: Schema) -> dict[str, Any]:
    """The empty object of the same kind as `obj`: a fresh value with apiVersion and kind, nothing that
    anyone wrote.
    """
    metadata: Object = {"metadata": {}} if schema.name else {}
    kind = {"apiVersion": obj.get("apiVersion", ""), "kind": obj.get("kind", "")}
    return {**kind, **metadata, **_ZERO.get(schema.name, {})}
