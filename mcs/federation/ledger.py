"""The ledger of one object: every cluster that it was written to, until it is verified gone there.

An entry is written before the first write to its cluster, so that a write whose answer never came is known all the
same. It is what deletion goes by. A ledger has no owner reference: it outlives its federated object while a cluster
that is away may hold something. Since it would not outlive its namespace, it is then kept in the system namespace, as
a tombstone.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from mcs.federation.overrides import Document
from mcs.model.federated import (
    CLUSTER_PROPAGATED_VERSIONS,
    DELETE_OPTION_ANNOTATION,
    ORPHAN_ANNOTATION,
    PROPAGATED_VERSIONS,
    ClusterObjectVersion,
    FederatedObject,
    PropagatedVersion,
    PropagatedVersionSpec,
    PropagatedVersionStatus,
    TargetReference,
)
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId, name_hash, text_hash
from mcs.model.resources import Resource

Entries = tuple[ClusterObjectVersion, ...]
"""In the order of the clusters' names."""


class LedgerPlace(Struct, frozen=True):
    """Where the ledger of an object is kept."""

    resource: Resource[PropagatedVersion]
    namespace: str
    name: str


def ledger_place(target: Resource[Any], federated: FederatedObject) -> LedgerPlace:
    """As KubeFed has it: "deployment-web" beside the federated object, or at cluster scope for such a target."""
    name = f"{target.kind.lower()}-{federated.metadata.name}"
    if target.namespaced:
        return LedgerPlace(PROPAGATED_VERSIONS, federated.metadata.namespace, name)
    return LedgerPlace(CLUSTER_PROPAGATED_VERSIONS, "", name)


def new_ledger(target: Resource[Any], federated: FederatedObject) -> PropagatedVersion:
    """The ledger before anything was written."""
    place = ledger_place(target, federated)
    return PropagatedVersion(
        metadata=ObjectMeta(namespace=place.namespace, name=place.name),
        spec=PropagatedVersionSpec(target=_reference(target, federated)),
    )


def tombstone_place(target: Resource[Any], federated: FederatedObject, system_namespace: str) -> LedgerPlace:
    """Where the tombstone of an object is kept: in the system namespace, or at cluster scope for such a target."""
    reference = _reference(target, federated)
    identity = name_hash(reference.group, reference.kind, reference.namespace, reference.name)
    namespace = system_namespace if target.namespaced else ""
    return LedgerPlace(
        ledger_place(target, federated).resource, namespace, f"{target.kind.lower()}-{identity}"
    )


def tombstone(
    target: Resource[Any], federated: FederatedObject, entries: Entries, system_namespace: str
) -> PropagatedVersion:
    """What is kept of the ledger of an object whose federated object goes: only by one is it known that it went.

    Its annotations tell how what is left is to be deleted. Where the object is federated again, the entries are
    `joined` with those of its new ledger, and nothing is deleted by the tombstone.
    """
    place = tombstone_place(target, federated, system_namespace)
    told = federated.metadata.annotations
    return PropagatedVersion(
        metadata=ObjectMeta(
            namespace=place.namespace,
            name=place.name,
            annotations={
                each: told[each] for each in (ORPHAN_ANNOTATION, DELETE_OPTION_ANNOTATION) if each in told
            },
        ),
        spec=PropagatedVersionSpec(target=_reference(target, federated)),
        status=PropagatedVersionStatus(cluster_versions=entries),
    )


def _reference(target: Resource[Any], federated: FederatedObject) -> TargetReference:
    return TargetReference(
        group=target.group,
        version=target.version,
        kind=target.kind,
        plural_name=target.plural,
        namespace=federated.metadata.namespace if target.namespaced else "",
        name=federated.metadata.name,
    )


def recorded(entries: Entries) -> frozenset[ClusterId]:
    """The clusters that may hold the object."""
    return frozenset(each.cluster_name for each in entries)


def before_writes(entries: Entries, clusters: Iterable[ClusterId]) -> Entries:
    """With an entry for each cluster that is going to be written to; `entries` itself when they all have one."""
    missing = frozenset(clusters) - recorded(entries)
    if not missing:
        return entries
    return _sorted([*entries, *(ClusterObjectVersion(cluster_name=each) for each in missing)])


def after_write(entries: Entries, written: ClusterObjectVersion) -> Entries:
    """With what was written, in place of what was known of that cluster."""
    return _sorted([*(each for each in entries if each.cluster_name != written.cluster_name), written])


def without(entries: Entries, gone: Collection[ClusterId]) -> Entries:
    """Without clusters where the object was seen to be gone, or is ours no more."""
    return tuple(each for each in entries if each.cluster_name not in gone)


def joined(entries: Entries, others: Entries) -> Entries:
    """With the entries of another ledger of the same object for clusters that have none."""
    return _sorted([*entries, *without(others, recorded(entries))])


def _sorted(entries: Iterable[ClusterObjectVersion]) -> Entries:
    return tuple(sorted(entries, key=lambda each: each.cluster_name))


def object_version(metadata: ObjectMeta) -> str:
    """What tells whether an object has changed, as KubeFed writes it: its generation, else its resourceVersion."""
    return f"gen:{metadata.generation}" if metadata.generation else f"rv:{metadata.resource_version}"


def written(cluster: ClusterId, answer: ObjectMeta, document: Mapping[str, Any]) -> ClusterObjectVersion:
    """The entry for what was applied, given the metadata that the server answered with."""
    return ClusterObjectVersion(
        cluster_name=cluster, version=object_version(answer), applied=applied_hash(document)
    )


def applied_hash(document: Mapping[str, Any]) -> str:
    """The same for documents that are equal, in whatever order their keys are."""
    return text_hash(msgspec.json.encode(document, order="deterministic").decode(), length=26)


def needs_update(entry: ClusterObjectVersion | None, desired: Document, present: Mapping[str, Any]) -> bool:
    """Whether the object is to be applied again over what the cluster has.

    What was applied last must be what is desired now, and the object as it was then; where it has changed since,
    it must still say all that is desired. Labels and annotations change without a generation, so they are looked at in
    any case. A server may write a value in another way than it was given ("1000m"): that is told from a change by the
    version, as long as nobody else changes the object.
    """
    if entry is None or entry.applied != applied_hash(desired):
        return True
    metadata = present.get("metadata") or {}
    seen = ObjectMeta(
        generation=metadata.get("generation") or 0, resource_version=metadata.get("resourceVersion") or ""
    )
    if object_version(seen) == entry.version:
        return not says(metadata, _of_people(desired["metadata"]))
    return not says(present, {**desired, "metadata": _of_people(desired["metadata"])})


def _of_people(metadata: Mapping[str, Any]) -> Document:
    return {each: metadata[each] for each in ("labels", "annotations") if metadata.get(each)}


def says(present: Any, desired: Any) -> bool:
    """Whether everything desired is there; more may be. Each item of a list must be found, wherever in it."""
    if isinstance(desired, Mapping):
        return isinstance(present, Mapping) and all(
            # A null is dropped by the server.
            said is None or (name in present and says(present[name], said))
            for name, said in desired.items()
        )
    if isinstance(desired, list):
        return isinstance(present, list) and all(any(says(has, said) for has in present) for said in desired)
    return bool(present == desired)
