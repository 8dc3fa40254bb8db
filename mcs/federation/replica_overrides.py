"""How many replicas a federated object asks each cluster for, read and written as KubeFed's scheduler does.

A number is an override of `/spec/replicas`, and the clusters that have one are the placement. Everything else in the
object is its author's and stays: the other overrides, their order, the selector.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from mcs.model.federated import ClusterOverrides, ClusterReference, FederatedObject, FederatedSpec, Override
from mcs.model.names import ClusterId

REPLICAS_PATH = "/spec/replicas"


def replicas_asked(federated: FederatedObject) -> dict[ClusterId, int]:
    """What is asked of each cluster by its override; of one that the list of the placement lacks, nothing is."""
    clusters = federated.spec.placement.clusters
    listed = None if clusters is None else {each.name for each in clusters}
    asked: dict[ClusterId, int] = {}
    for each in federated.spec.overrides:
        for override in each.cluster_overrides:
            is_listed = listed is None or each.cluster_name in listed
            # bool is an int, and no number of replicas.
            if is_listed and override.path == REPLICAS_PATH and type(override.value) is int:
                asked[ClusterId(each.cluster_name)] = override.value
    return asked


def with_replicas(spec: FederatedSpec, numbers: Mapping[ClusterId, int]) -> FederatedSpec:
    """The spec that asks for these numbers in these clusters and nowhere else; equal to `spec` when that does.

    A cluster of 0 replicas stays in the placement, and its object in the cluster.
    """
    missing = dict(numbers)
    overrides: list[ClusterOverrides] = []
    for each in spec.overrides:
        replicas = missing.pop(ClusterId(each.cluster_name), None)
        kept = _with_number(each.cluster_overrides, replicas)
        if kept or not each.cluster_overrides:
            overrides.append(replace(each, cluster_overrides=kept))
    for cluster, replicas in sorted(missing.items()):
        overrides.append(ClusterOverrides(cluster_name=cluster, cluster_overrides=_with_number((), replicas)))
    names = tuple(ClusterReference(name=cluster) for cluster in sorted(numbers))
    listed = spec.placement.clusters
    if listed is not None and {each.name for each in listed} == set(numbers) and len(listed) == len(names):
        names = listed
    return replace(spec, placement=replace(spec.placement, clusters=names), overrides=tuple(overrides))


def _with_number(overrides: tuple[Override, ...], replicas: int | None) -> tuple[Override, ...]:
    """With the number where one was, else at the end; without any for None."""
    wanted = Override(path=REPLICAS_PATH, value=replicas)
    changed: list[Override] = []
    for each in overrides:
        if each.path != REPLICAS_PATH:
            changed.append(each)
        elif replicas is not None and wanted not in changed:
            changed.append(each if each.op in ("", "replace") and each.value == replicas else wanted)
    if replicas is not None and all(each.path != REPLICAS_PATH for each in changed):
        changed.append(wanted)
    return tuple(changed)


def changes_of(before: FederatedObject, spec: FederatedSpec) -> dict[str, Any]:
    """The merge patch that makes the spec so, and only of the object as it was seen."""
    return {
        "metadata": {"resourceVersion": before.metadata.resource_version},
        "spec": {
            "placement": {"clusters": _as_json(spec.placement.clusters)},
            "overrides": _as_json(spec.overrides),
        },
    }


def _as_json(structs: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(structs))
