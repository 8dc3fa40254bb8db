"""The federated object that takes the place of an ordinary one, which then goes to every member.

Source: `kubefedctl federate`. Unlike there, annotations are kept, as they are propagated, and a headless Service stays
one. Reading the object and writing the other is left to others.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from mcs.federation.template import OF_THE_CLUSTER
from mcs.model.discovery import ServedKind
from mcs.model.federated import (
    CORE_GROUP,
    FEDERATED_PREFIX,
    FEDERATED_VERSION,
    MANAGED_LABEL,
    SCHEDULING_GROUP,
    TARGET_VERBS,
    TYPES_GROUP,
)
from mcs.model.names import CHANGE_TIME_ANNOTATION, MANAGED_BY, MANAGED_BY_LABEL

Document = dict[str, Any]

_ANNOTATIONS = OF_THE_CLUSTER | {
    CHANGE_TIME_ANNOTATION,
    "batch.kubernetes.io/job-tracking",
    "deprecated.daemonset.template.generation",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "pv.kubernetes.io/provisioned-by",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner",
}
_LABELS = frozenset(
    {
        MANAGED_LABEL,
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
        "controller-revision-hash",
        "controller-uid",
        "job-name",
        "kubernetes.io/metadata.name",
        "pod-template-hash",
        "statefulset.kubernetes.io/pod-name",
    }
)
"""Labels that controllers of a cluster give its objects: they mean something there only."""

_MADE_BY_CONTROLLERS = frozenset(
    {
        "bindings",
        "controllerrevisions.apps",
        "endpoints",
        "endpointslices.discovery.k8s.io",
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
        "pods",
        "serviceimports.multicluster.x-k8s.io",
    }
)
_GROUPS_LEFT_OUT = frozenset({TYPES_GROUP, CORE_GROUP, SCHEDULING_GROUP, "extensions"})
_IN_EVERY_NAMESPACE = frozenset({("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")})
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def federated_document(source: Mapping[str, Any], api_version: str, kind: str) -> Document:
    """The federated object of this apiVersion and kind that makes the source in all members, at once."""
    metadata = source.get("metadata") or {}
    name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    if _is(source, "v1", "Namespace"):
        namespace = name
    where = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, **where},
        "spec": {"template": template_of(source), "placement": {"clusterSelector": {}}},
    }


def federated_by_kind(source: Mapping[str, Any]) -> Document:
    """The same without a configuration that names the federated kind. What is of federation already stays as it is."""
    group = str(source["apiVersion"]).rpartition("/")[0]
    if group in (TYPES_GROUP, CORE_GROUP, SCHEDULING_GROUP):
        return dict(source)
    return federated_document(
        source, f"{TYPES_GROUP}/{FEDERATED_VERSION}", f"{FEDERATED_PREFIX}{source['kind']}"
    )


def template_of(source: Mapping[str, Any]) -> Document:
    """What of an object is to be the same in every cluster."""
    left_out = ("apiVersion", "kind", "metadata", "status")
    made = {name: value for name, value in source.items() if name not in left_out}
    if metadata := _chosen(source.get("metadata") or {}):
        made = {"metadata": metadata, **made}
    change = _OF_KIND.get((str(source.get("apiVersion")), str(source.get("kind"))))
    if change is not None:
        made = change(made)
    return {name: value for name, value in made.items() if value not in (None, {})}


def _chosen(metadata: Mapping[str, Any]) -> Document:
    """Labels and annotations that people have chosen."""
    kept = {}
    for name, ignored in (("labels", _LABELS), ("annotations", _ANNOTATIONS)):
        values = metadata.get(name) or {}
        if chosen := {key: value for key, value in values.items() if key not in ignored}:
            kept[name] = chosen
    return kept


def _is(source: Mapping[str, Any], api_version: str, kind: str) -> bool:
    return (source.get("apiVersion"), source.get("kind")) == (api_version, kind)


def _without(made: Document, *paths: str) -> Document:
    """A copy without fields, each "name" or "spec.name"."""
    for path in paths:
        first, _, rest = path.partition(".")
        if first not in made:
            continue
        if rest and isinstance(made[first], dict):
            made = {**made, first: _without(made[first], rest)}
        elif not rest:
            made = {name: value for name, value in made.items() if name != first}
    return made


def _service(made: Document) -> Document:
    spec = made.get("spec") or {}
    if spec.get("clusterIP") != "None":
        made = _without(made, "spec.clusterIP")
    made = _without(made, "spec.clusterIPs", "spec.healthCheckNodePort")
    if spec.get("ports"):
        ports = [_without(port, "nodePort") for port in spec["ports"]]
        made = {**made, "spec": {**made["spec"], "ports": ports}}
    return made


def _job(made: Document) -> Document:
    """Its selector is that of its own pods, unless it was written by hand."""
    spec = made.get("spec") or {}
    if spec.get("manualSelector"):
        return made
    pod = spec.get("template") or {}
    metadata = {
        **(pod.get("metadata") or {}),
        "labels": None,
        "annotations": None,
        **_chosen(pod.get("metadata") or {}),
    }
    metadata = {name: value for name, value in metadata.items() if value is not None}
    made = {**made, "spec": {**spec, "template": {**pod, "metadata": metadata}}}
    return _without(made, "spec.selector")


def _removing(*paths: str) -> Callable[[Document], Document]:
    return lambda made: _without(made, *paths)


_OF_KIND: Mapping[tuple[str, str], Callable[[Document], Document]] = {
    ("v1", "Namespace"): _removing("spec.finalizers"),
    ("v1", "ServiceAccount"): _removing("secrets"),
    ("v1", "Service"): _service,
    ("v1", "PersistentVolumeClaim"): _removing("spec.volumeName"),
    ("v1", "PersistentVolume"): _removing("spec.claimRef"),
    ("v1", "Pod"): _removing("spec.nodeName"),
    ("batch/v1", "Job"): _job,
}


def is_content(kind: ServedKind) -> bool:
    """Whether people put objects of this kind into a namespace, which other clusters may then have, too."""
    return (
        kind.namespaced
        and kind.group not in _GROUPS_LEFT_OUT
        and kind.name not in _MADE_BY_CONTROLLERS
        and kind.verbs.issuperset(TARGET_VERBS)
    )


def is_of_people(kind: ServedKind, source: Mapping[str, Any]) -> bool:
    """Whether an object was made by people, and not by a controller of its cluster, which others have, too."""
    metadata = source.get("metadata") or {}
    is_controlled = any(each.get("controller") for each in metadata.get("ownerReferences") or ())
    is_ours = (metadata.get("labels") or {}).get(MANAGED_BY_LABEL) == MANAGED_BY
    is_token = kind.name == "secrets" and source.get("type") == "kubernetes.io/service-account-token"
    name = str(metadata.get("name", ""))
    return not (
        is_controlled
        or is_ours
        or is_token
        or metadata.get("deletionTimestamp")
        or (kind.name, name) in _IN_EVERY_NAMESPACE
        or _NAME.fullmatch(name) is None
    )
