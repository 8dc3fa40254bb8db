"""The definition of a federated kind, and the configuration of its type, for a kind that an API server serves.

Source: what `kubefedctl enable` makes; status and columns are ours besides. All names come from discovery: none is
guessed. Applying them is left to others.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from mcs.federation.ledger import says
from mcs.model.discovery import ServedKind
from mcs.model.federated import (
    CORE_GROUP,
    FEDERATED_PREFIX,
    FEDERATED_TYPE_CONFIGS,
    FEDERATED_VERSION,
    NAMESPACES_TYPE,
    SCHEDULING_GROUP,
    TARGET_VERBS,
    TYPES_GROUP,
    APIResource,
    FederatedTypeConfig,
)
from mcs.model.names import ANNOTATION_PREFIX, MANAGED_BY, MANAGED_BY_LABEL

REVISION_LABEL = f"{ANNOTATION_PREFIX}/definition-revision"
REVISION = 1
"""Counts up with every change of the schema, so that an older program does not undo a newer one's."""

_FREE: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_STRING = {"type": "string"}


class Verdict(Struct, frozen=True):
    """What becomes of a definition. `remark` says why one is replaced, kept although it differs, or in the way."""

    action: Literal["create", "replace", "keep", "refuse"]
    remark: str = ""


def federated_api(
    target: ServedKind, group: str = TYPES_GROUP, version: str = FEDERATED_VERSION
) -> APIResource:
    """How the federated kind of a target is named."""
    return APIResource(
        group=group,
        version=version,
        kind=f"{FEDERATED_PREFIX}{target.kind}",
        plural_name=f"{FEDERATED_PREFIX.lower()}{target.plural}",
        # A FederatedNamespace is in its namespace.
        scope="Namespaced" if target.namespaced or target.name == NAMESPACES_TYPE else "Cluster",
    )


def type_problem(target: ServedKind, federated: APIResource, present: Iterable[FederatedTypeConfig]) -> str:
    """Why the type cannot be enabled beside those that are there, and what to do; empty when it can."""
    if target.group in (TYPES_GROUP, CORE_GROUP, SCHEDULING_GROUP, federated.group):
        return f"{target.name} is of federation itself, and is not federated; name the kind that members are to have"
    if lacking := [verb for verb in TARGET_VERBS if verb not in target.verbs]:
        return f"{target.name} cannot be federated: its API server does not offer to {', '.join(lacking)} it"
    if "." not in federated.group:
        return (
            f"the group {federated.group!r} of a federated kind needs a dot; give one such as {TYPES_GROUP}"
        )
    for each in present:
        there, made, name = each.spec.target_type, each.spec.federated_type, each.metadata.name
        if name == target.name:
            if (made.group, made.kind, made.plural_name) != (
                federated.group,
                federated.kind,
                federated.plural_name,
            ):
                return (
                    f"{name} is federated as {made.plural_name}.{made.group} already; disable it first, "
                    f"or give --federated-group {made.group}"
                )
        elif there.kind == target.kind:
            # Their ledgers would have the same names.
            return f"the kind {target.kind} is federated already, as that of {name}; disable {name} first"
        elif (made.group, made.plural_name) == (federated.group, federated.plural_name):
            return f"{made.plural_name}.{made.group} is the federated kind of {name}; give another --federated-group"
    return ""


def type_config(target: ServedKind, federated: APIResource, namespace: str) -> dict[str, Any]:
    """The FederatedTypeConfig, in the system namespace, with propagation enabled."""
    return {
        "apiVersion": FEDERATED_TYPE_CONFIGS.api_version,
        "kind": FEDERATED_TYPE_CONFIGS.kind,
        "metadata": {"name": target.name, "namespace": namespace},
        "spec": {
            "federatedType": _api(federated),
            "propagation": "Enabled",
            "targetType": _api(
                APIResource(
                    group=target.group,
                    version=target.version,
                    kind=target.kind,
                    plural_name=target.plural,
                    scope="Namespaced" if target.namespaced else "Cluster",
                )
            ),
        },
    }


def _api(resource: APIResource) -> dict[str, str]:
    group = {"group": resource.group} if resource.group else {}
    return {
        **group,
        "version": resource.version,
        "kind": resource.kind,
        "pluralName": resource.plural_name,
        "scope": resource.scope,
    }


def federated_definition(target: ServedKind, federated: APIResource, *, has_replicas: bool) -> dict[str, Any]:
    """The CustomResourceDefinition; with `has_replicas` a template's replicas may be left to the members."""
    schema = {
        "description": f"{federated.kind} is a {target.kind} for members: what it is, where it goes, how it differs.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": _STRING,
            "kind": _STRING,
            "metadata": {"type": "object"},
            "spec": _spec(target, has_replicas=has_replicas),
            "status": _status(),
        },
    }
    names: dict[str, Any] = {
        "kind": federated.kind,
        "listKind": f"{federated.kind}List",
        "plural": federated.plural_name,
        "singular": federated.kind.lower(),
    }
    if target.short_names:
        names["shortNames"] = [f"f{name}" for name in target.short_names]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{federated.plural_name}.{federated.group}",
            "labels": {MANAGED_BY_LABEL: MANAGED_BY, REVISION_LABEL: str(REVISION)},
        },
        "spec": {
            "group": federated.group,
            "scope": federated.scope,
            "names": names,
            "versions": [
                {
                    "name": federated.version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _columns(has_replicas=has_replicas),
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def verdict_on(wanted: Mapping[str, Any], present: Mapping[str, Any] | None) -> Verdict:
    """What to do with a definition where the host cluster has `present` in its place.

    What is neither ours nor has the fields of a federated kind is not overwritten; nor is a newer one of ours, nor one
    with versions that ours lacks.
    """
    if present is None:
        return Verdict("create")
    name, ours, theirs = wanted["metadata"]["name"], wanted["spec"], present.get("spec") or {}
    labels = (present.get("metadata") or {}).get("labels") or {}
    is_ours = labels.get(MANAGED_BY_LABEL) == MANAGED_BY
    kind = (theirs.get("names") or {}).get("kind")
    if not is_ours and (kind != ours["names"]["kind"] or not _is_federated(theirs)):
        return Verdict(
            "refuse", f"there is a definition {name} of somebody else; give another --federated-group"
        )
    if theirs.get("scope") != ours["scope"]:
        return Verdict(
            "refuse", f"its definition {name} has another scope, which cannot be changed; delete it first"
        )
    if is_ours and _revision(labels) > REVISION:
        return Verdict("keep", f"its definition {name} is newer and was left")
    versions = {each["name"] for each in ours["versions"]}
    if lacking := sorted({each.get("name") for each in theirs.get("versions") or ()} - versions):
        return Verdict(
            "refuse",
            f"its definition {name} has the versions {', '.join(lacking)} besides; upgrade it by hand",
        )
    if says(present, wanted):
        return Verdict("keep")
    return Verdict(
        "replace", "" if is_ours else f"its definition {name} is KubeFed's; what it lacked was added"
    )


def _is_federated(spec: Mapping[str, Any]) -> bool:
    """Whether a version has the fields that KubeFed gives every federated kind."""
    schemas = [(each.get("schema") or {}).get("openAPIV3Schema") or {} for each in spec.get("versions") or ()]
    fields = [((each.get("properties") or {}).get("spec") or {}).get("properties") or {} for each in schemas]
    return any({"template", "placement", "overrides"} <= each.keys() for each in fields)


def _revision(labels: Mapping[str, str]) -> int:
    told = labels.get(REVISION_LABEL, "")
    return int(told) if told.isascii() and told.isdecimal() else 0


def _spec(target: ServedKind, *, has_replicas: bool) -> dict[str, Any]:
    fields = {
        "template": {
            "description": f"The {target.kind} that members get; it has the name and namespace of this object.",
            **_FREE,
        },
        "placement": _object(
            "Which members get it: those that are listed, else those that are selected, else none.",
            {
                "clusters": _list(
                    "Members by name. An empty list is one, too.",
                    _object("One member.", {"name": _text("Its name.")}, ["name"]),
                ),
                "clusterSelector": _selector(),
            },
        ),
        "overrides": _list("What differs in some members.", _overrides()),
    }
    if has_replicas:
        fields["retainReplicas"] = {
            "description": "Whether the number of replicas is left to each member, for an autoscaler there.",
            "type": "boolean",
        }
    return _object("What goes where.", fields)


def _selector() -> dict[str, Any]:
    requirement = {
        "key": _text("Key of the label."),
        "operator": _text("In, NotIn, Exists or DoesNotExist."),
        "values": _list("What the label is compared with.", _STRING),
    }
    return _object(
        "Labels that a member's registration must have; an empty selector means all members.",
        {
            "matchLabels": {
                "description": "Labels and their values.",
                "type": "object",
                "additionalProperties": _STRING,
            },
            "matchExpressions": _list(
                "Requirements, which must all hold.",
                _object("One requirement.", requirement, ["key", "operator"]),
            ),
        },
    )


def _overrides() -> dict[str, Any]:
    operation = {
        "op": {"description": "What is done; replace, if empty.", **_choice("", "add", "remove", "replace")},
        "path": _text("A JSON pointer into the object, as /spec/replicas."),
        "value": {
            "description": "What is put there.",
            "x-kubernetes-preserve-unknown-fields": True,
        },
    }
    return _object(
        "The overrides of one member.",
        {
            "clusterName": _text("Its name."),
            "clusterOverrides": _list(
                "Operations of a JSON patch, in their order.",
                _object("One operation.", operation, ["path"]),
            ),
        },
        ["clusterName"],
    )


def _status() -> dict[str, Any]:
    counts = {
        "wanted": _count("How many there should be."),
        "ready": _count("How many are ready."),
        "updated": _count("How many are of the newest template."),
        "available": _count("How many have been ready long enough."),
    }
    condition = {
        "type": _text("Propagation."),
        "status": {
            "description": "Whether all members have what they should.",
            **_choice("True", "False", "Unknown"),
        },
        "reason": _text("Why not; empty when they do."),
        "message": _text("The same in words."),
        "lastUpdateTime": _text("When it was written last."),
        "lastTransitionTime": _text("When the status changed last."),
    }
    cluster = {
        "name": _text("Its name."),
        "status": _text("What keeps the object from being there as wanted; empty when nothing does."),
        "message": _text("The same in words."),
        "remoteStatus": {"description": "The status of the object there.", **_FREE},
        "workload": _object("Its pods there.", counts),
    }
    return _object(
        "How the members do, written by the controller.",
        {
            "observedGeneration": {
                "description": "The generation that the rest is of.",
                "type": "integer",
                "format": "int64",
            },
            "conditions": _list(
                "One, of the type Propagation.", _object("How it went.", condition, ["type", "status"])
            ),
            "clusters": _list(
                "Each member that it is to be in, or to leave.", _object("One member.", cluster, ["name"])
            ),
            "workload": _object("The pods of all members together.", counts),
            "percentConverged": _count("How much of what was asked for is done."),
        },
    )


def _columns(*, has_replicas: bool) -> list[dict[str, str]]:
    counts = (("wanted", ".status.workload.wanted"), ("ready", ".status.workload.ready"))
    columns = (
        ("propagated", "string", '.status.conditions[?(@.type=="Propagation")].status'),
        ("reason", "string", '.status.conditions[?(@.type=="Propagation")].reason'),
        ("percent", "integer", ".status.percentConverged"),
        *((name, "integer", path) for name, path in counts if has_replicas),
        ("age", "date", ".metadata.creationTimestamp"),
    )
    return [{"name": name, "type": type_, "jsonPath": path} for name, type_, path in columns]


def _object(description: str, properties: Mapping[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    needed = {"required": list(required)} if required else {}
    return {"description": description, "type": "object", **needed, "properties": dict(properties)}


def _list(description: str, items: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": description, "type": "array", "items": dict(items)}


def _text(description: str) -> dict[str, Any]:
    return {"description": description, **_STRING}


def _count(description: str) -> dict[str, Any]:
    return {"description": description, "type": "integer", "format": "int32"}


def _choice(*words: str) -> dict[str, Any]:
    return {**_STRING, "enum": list(words)}
