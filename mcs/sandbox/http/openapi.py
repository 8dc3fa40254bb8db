"""OpenAPI as far as `kubectl apply`, `diff` and `explain` read it.

v2 is the smallest valid protobuf document. v3 lists the groups of custom resources only, each with its
true schema: a half-true schema of a built-in kind is worse than none, because kubectl then warns about
every field it misses. Source: Kubernetes API concepts, "OpenAPI interface definition".
"""

import hashlib
from typing import Any

import msgspec

from mcs.sandbox.resources import Registry, ResourceType

V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
V2_DOCUMENT = b"\x0a\x032.0\x12\x0d\x0a\x07sandbox\x12\x02v1"
"""swagger "2.0", info {title "sandbox", version "v1"}, as protobuf."""

_STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
_METADATA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "namespace": {"type": "string"},
        "generateName": {"type": "string"},
        "uid": {"type": "string"},
        "resourceVersion": {"type": "string"},
        "generation": {"type": "integer", "format": "int64"},
        "creationTimestamp": {"type": "string", "format": "date-time"},
        "deletionTimestamp": {"type": "string", "format": "date-time"},
        "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
        "labels": _STRINGS,
        "annotations": _STRINGS,
        "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "ownerReferences": {
            "type": "array",
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
        "managedFields": {
            "type": "array",
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
}
_FIELD_VALIDATION = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}


def v3_index(registry: Registry) -> dict[str, Any]:
    """`GET /openapi/v3`: where the document of each custom group version is."""
    paths: dict[str, Any] = {}
    for group, version in _custom_group_versions(registry):
        document = msgspec.json.encode(v3_document(registry, group, version))
        content = hashlib.sha512(document).hexdigest().upper()
        path = f"apis/{group}/{version}"
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={content}"}
    return {"paths": paths}


def _custom_group_versions(registry: Registry) -> list[tuple[str, str]]:
    return sorted({(r.group, version) for r in registry if r.custom for version in r.served})


def v3_document(registry: Registry, group: str, version: str) -> dict[str, Any] | None:
    """`GET /openapi/v3/apis/GROUP/VERSION`; None for what the index does not list."""
    served = [r for r in registry if r.custom and r.group == group and version in r.served]
    if not served:
        return None
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for resource in served:
        name = ".".join([*reversed(group.split(".")), version, resource.kind])
        schemas[name] = _schema(resource, version)
        paths |= _paths(resource, version, name)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _group_version_kind(resource: ResourceType, version: str) -> dict[str, str]:
    return {"group": resource.group, "version": version, "kind": resource.kind}


def _schema(resource: ResourceType, version: str) -> dict[str, Any]:
    schema = resource.schemas.get(version) or {}
    known = schema.get("properties") or {}
    always: dict[str, dict[str, Any]] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": _METADATA,
    }
    merged = {key: {**known.get(key, {}), **value} for key, value in always.items()}
    return {
        **schema,
        "type": "object",
        "properties": {**known, **merged},
        "x-kubernetes-group-version-kind": [_group_version_kind(resource, version)],
    }


def _paths(resource: ResourceType, version: str, schema: str) -> dict[str, Any]:
    kind = _group_version_kind(resource, version)
    place = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"/apis/{resource.group}/{version}{place}/{resource.plural}"
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}

    def operation(action: str) -> dict[str, Any]:
        return {
            "operationId": f"{action}{resource.kind}",
            "parameters": [_FIELD_VALIDATION],
            "responses": {"200": {"description": "OK", "content": content}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
        }

    return {
        collection: {"get": operation("list"), "post": operation("post")},
        f"{collection}/{{name}}": {verb: operation(verb) for verb in ("get", "put", "patch", "delete")},
    }
