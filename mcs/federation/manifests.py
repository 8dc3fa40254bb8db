"""Reads the set from manifests, as KubeFed's users have them, or as `kubectl get -o yaml` prints them.

Kinds that federation does not look at are passed over, so a whole folder may be read. What is malformed is told, and
stops nothing else. Of a status is read what plans need: whether a cluster is ready, where objects are, and the
`current` and `capacity` of each cluster that a ReplicaSchedulingPreference was divided by.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from mcs.federation.replica_overrides import replicas_asked
from mcs.federation.replicas import DivisionError
from mcs.federation.scheduling_preference import SchedulingPreference, read_scheduling_preference
from mcs.federation.snapshot import ObjectKey, Preferred, RegisteredCluster, Snapshot
from mcs.model.federated import (
    FEDERATED_PREFIX,
    TYPES_GROUP,
    FederatedObject,
    FederatedTypeConfig,
    KubeFedConfig,
)
from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId
from mcs.model.registration import (
    DEFAULT_SYSTEM_NAMESPACE,
    READY,
    KubeFedCluster,
)
from mcs.model.scheduling import ReplicaSchedulingPreference

T = TypeVar("T", bound=KubernetesObject)
Document = Mapping[str, Any]


class Found(Struct, frozen=True, kw_only=True):
    """The objects that make up a set. Federated objects come with their kinds."""

    clusters: list[KubeFedCluster] = []
    types: list[FederatedTypeConfig] = []
    objects: list[tuple[str, FederatedObject]] = []
    preferences: list[ReplicaSchedulingPreference] = []
    settings: list[KubeFedConfig] = []
    problems: list[str] = []


def read_manifests(
    documents: Iterable[object], *, system_namespace: str = DEFAULT_SYSTEM_NAMESPACE
) -> Snapshot:
    """The set that decoded documents make up; lists of objects are taken apart.

    A cluster of which no condition is known is supposed to be ready.
    """
    found = Found()
    for document in _single(documents):
        _read(document, found)
    return snapshot_of(found, system_namespace=system_namespace, is_unprobed_ready=True)


def snapshot_of(found: Found, *, system_namespace: str, is_unprobed_ready: bool = False) -> Snapshot:
    """The set that objects make up; of several of one name the last counts."""
    objects = {
        ObjectKey(kind, object_.metadata.namespace, object_.metadata.name): object_
        for kind, object_ in found.objects
    }
    clusters = {each.cluster: registered_cluster(each, is_unprobed_ready) for each in found.clusters}
    return Snapshot(
        clusters=dict(sorted(clusters.items())),
        types={each.spec.federated_type.kind: each for each in found.types},
        objects=dict(sorted(objects.items())),
        preferences=dict(_preferred(each, objects) for each in found.preferences),
        needs_federated_namespace=all(each.spec.scope != "Namespaced" for each in found.settings),
        system_namespace=system_namespace,
        problems=tuple(found.problems),
    )


def _read(document: Document, found: Found) -> None:
    group, kind = _group(document), str(document.get("kind"))
    match group, kind:
        case "core.kubefed.io", "KubeFedCluster":
            _convert(document, KubeFedCluster, found.clusters, found)
        case "core.kubefed.io", "FederatedTypeConfig":
            _convert(document, FederatedTypeConfig, found.types, found)
        case "core.kubefed.io", "KubeFedConfig":
            _convert(document, KubeFedConfig, found.settings, found)
        case "scheduling.kubefed.io", "ReplicaSchedulingPreference":
            _convert(document, ReplicaSchedulingPreference, found.preferences, found)
        case _ if kind.startswith(FEDERATED_PREFIX) and (
            group == TYPES_GROUP or {"template", "placement"} & _spec(document).keys()
        ):
            objects: list[FederatedObject] = []
            _convert(document, FederatedObject, objects, found)
            found.objects.extend((kind, each) for each in objects)
        case _:
            pass


def _spec(document: Document) -> Document:
    spec = document.get("spec")
    return spec if isinstance(spec, Mapping) else {}


def _single(documents: Iterable[object]) -> Iterable[Document]:
    """Each object by itself, whether it came in a list or alone."""
    for document in documents:
        if not isinstance(document, Mapping):
            continue
        items = document.get("items")
        if isinstance(items, list) and str(document.get("kind", "List")).endswith("List"):
            yield from _single(items)
        else:
            yield document


def _group(document: Document) -> str:
    group, slash, _ = str(document.get("apiVersion", "")).partition("/")
    return group if slash else ""


def _convert(document: Document, type_: type[T], into: list[T], found: Found) -> None:
    try:
        object_ = msgspec.convert(document, type_)
    except msgspec.ValidationError as error:
        said = str(error).replace("`$.", "`").replace(" - at `$`", "")
        found.problems.append(f"{_named(document)} cannot be read: {said}")
        return
    if object_.metadata.name:
        into.append(object_)
    else:
        found.problems.append(f"{_named(document)} cannot be read: metadata.name is missing")


def _named(document: Document) -> str:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    where = "/".join(str(metadata[part]) for part in ("namespace", "name") if metadata.get(part))
    return f"{document.get('kind')} {where}".rstrip()


def registered_cluster(registration: KubeFedCluster, is_unprobed_ready: bool) -> RegisteredCluster:
    """A cluster as its registration tells of it; as in KubeFed, one without a condition Ready is not ready."""
    ready, is_probed = registration.condition(READY), bool(registration.status.conditions)
    is_ready = ready is not None and ready.status == "True"
    return RegisteredCluster(
        labels=registration.metadata.labels,
        is_ready=is_ready if is_probed else is_unprobed_ready,
        is_probed=is_probed,
        is_cordoned=registration.is_cordoned,
        is_drained=registration.is_drained,
        taints=registration.spec.taints,
    )


def _preferred(
    preference: ReplicaSchedulingPreference, objects: Mapping[ObjectKey, FederatedObject]
) -> tuple[ObjectKey, Preferred]:
    asked, problem = _asked(preference.spec)
    spec = preference.spec if isinstance(preference.spec, dict) else {}
    kind = asked.target_kind if asked is not None else str(spec.get("targetKind") or "FederatedDeployment")
    key = ObjectKey(kind, preference.metadata.namespace, preference.metadata.name)
    target, seen = objects.get(key), preference.status.clusters
    running = {} if target is None else _running(target)
    return key, Preferred(
        asked=asked,
        problem=problem,
        current=running | {each.name: each.current for each in seen if each.current is not None},
        capacity={each.name: each.capacity for each in seen if each.capacity is not None},
        asked_of={} if target is None else _asked_of(target),
    )


def _asked(spec: object) -> tuple[SchedulingPreference | None, str]:
    try:
        return read_scheduling_preference(spec), ""
    except DivisionError as error:
        return None, str(error)


def _asked_of(target: FederatedObject) -> dict[ClusterId, int]:
    """What the object's overrides ask of each cluster; where the planner has not written a list yet, what is there."""
    asked = replicas_asked(target)
    if target.spec.placement.clusters is not None:
        return asked
    counted = ((ClusterId(each.name), each.workload) for each in target.status.clusters)
    return {name: counts.wanted for name, counts in counted if counts is not None} | asked


def _running(target: FederatedObject) -> dict[ClusterId, int]:
    """The ready replicas of each cluster as the object's own status has them."""
    counted = ((each.name, each.workload) for each in target.status.clusters)
    return {ClusterId(name): counts.ready for name, counts in counted if counts is not None}
