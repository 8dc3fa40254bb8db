"""What the spec of a ReplicaSchedulingPreference asks for, in either of its two forms.

KubeFed's form has `clusters` with minima, maxima and weights, and is divided in mode `kubefed` unless it says `fair`.
The other has `overrides`, each with the replicas of one cluster. Its numbers are weights, so that 6 and 4 stay 3 to 2
whatever the total is and whoever is there; clusters that are not listed have no part. It is divided in mode `fair` with
rebalance `always`: a cluster that was lost gets its number back, and what a full one cannot take goes to the others
alone. In mode `kubefed` the full one would be asked for it too, so that more than the total would run once it has room.

In both, `tolerations`, which KubeFed does not have, are of the taints of clusters.

Reading objects and writing their status is left to others.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from mcs.federation.replicas import ClusterPreference, Division, DivisionError, Mode, Rebalance
from mcs.model.names import ClusterId
from mcs.model.taints import Toleration

DEFAULT_TARGET_KIND = "FederatedDeployment"

OVERRIDES_DIFFER = "OverridesDifferFromTotal"


class Finding(Struct, frozen=True):
    """Something about the object that its author should know, as the reason and message of a condition."""

    reason: str
    message: str


class SchedulingPreference(Struct, frozen=True, kw_only=True):
    """What is asked for, whichever form it was written in."""

    target_kind: str
    total: int
    preferences: Mapping[str, ClusterPreference]
    rebalance: Rebalance
    mode: Mode
    intersects_with_selector: bool = False
    tolerations: tuple[Toleration, ...] = ()
    finding: Finding | None = None

    def division(
        self,
        key: str,
        clusters: Iterable[ClusterId],
        current: Mapping[ClusterId, int],
        capacity: Mapping[ClusterId, int],
    ) -> Division:
        """The division to be made of it, for the target `namespace/name` and what is seen of the candidates."""
        return Division(
            total=self.total,
            clusters=clusters,
            key=key,
            preferences=self.preferences,
            current=current,
            capacity=capacity,
            rebalance=self.rebalance,
            mode=self.mode,
        )


class _Preferences(Struct, rename="camel"):
    min_replicas: int = 0
    max_replicas: int | None = None
    weight: int = 0


class _Replicas(Struct):
    replicas: int


class _Override(Struct, rename="camel"):
    cluster_name: str
    spec: _Replicas


class _Template(Struct):
    spec: _Replicas


class _Spec(Struct, rename="camel"):
    target_kind: str = DEFAULT_TARGET_KIND
    total_replicas: int | None = None
    rebalance: bool = False
    intersect_with_cluster_selector: bool = False
    clusters: dict[str, _Preferences] | None = None
    target_template: _Template | None = None
    overrides: tuple[_Override, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    mode: Mode | None = None


def read_scheduling_preference(spec: object) -> SchedulingPreference:
    """What a decoded `spec` asks for. Raises DivisionError, whose message says where it is wrong and what to write."""
    try:
        said = msgspec.convert(spec, _Spec)
    except msgspec.ValidationError as error:
        raise DivisionError(f"spec cannot be read: {str(error).replace('`$', '`spec')}") from error
    if said.overrides is not None or said.target_template is not None:
        return _from_overrides(said)
    if said.total_replicas is None:
        raise DivisionError(
            "spec.totalReplicas is missing; write how many replicas all clusters have together"
        )
    preferences = {
        name: ClusterPreference(
            min_replicas=each.min_replicas, max_replicas=each.max_replicas, weight=each.weight
        )
        for name, each in (said.clusters or {}).items()
    }
    return SchedulingPreference(
        target_kind=said.target_kind,
        total=said.total_replicas,
        preferences=preferences,
        rebalance="always" if said.rebalance else "never",
        mode=said.mode or "kubefed",
        intersects_with_selector=said.intersect_with_cluster_selector,
        tolerations=said.tolerations,
    )


def _from_overrides(said: _Spec) -> SchedulingPreference:
    if said.clusters is not None:
        raise DivisionError(
            "spec has both clusters and overrides or targetTemplate; write one of the two forms"
        )
    if said.mode == "kubefed":
        raise DivisionError("spec.mode kubefed does not go with overrides; remove it, or write clusters")
    overrides = said.overrides or ()
    replicas = {each.cluster_name: each.spec.replicas for each in overrides}
    if not replicas:
        raise DivisionError("spec.overrides is empty; list each cluster with the replicas it should have")
    if len(replicas) < len(overrides):
        names = [each.cluster_name for each in overrides]
        twice = min(name for name in names if names.count(name) > 1)
        raise DivisionError(f"spec.overrides lists {twice} more than once; write one number for each cluster")
    listed = sum(replicas.values())
    total = _total_of(said, listed)
    if total > 0 and listed == 0:
        raise DivisionError(
            f"spec.overrides gives no cluster any of the {total} replicas; "
            "write a number above 0 for one, or totalReplicas: 0"
        )
    return SchedulingPreference(
        target_kind=said.target_kind,
        total=total,
        preferences={name: ClusterPreference(weight=number) for name, number in replicas.items()},
        rebalance="always",
        mode="fair",
        intersects_with_selector=said.intersect_with_cluster_selector,
        tolerations=said.tolerations,
        finding=_finding(total, replicas) if total != listed else None,
    )


def _total_of(said: _Spec, listed: int) -> int:
    if said.total_replicas is not None:
        return said.total_replicas
    return listed if said.target_template is None else said.target_template.spec.replicas


def _finding(total: int, replicas: Mapping[str, int]) -> Finding:
    numbers = ", ".join(f"{number} for {name}" for name, number in sorted(replicas.items()))
    return Finding(
        OVERRIDES_DIFFER,
        f"The overrides add up to {sum(replicas.values())} ({numbers}), the total is {total}: {total} replicas are "
        "divided in the proportion of the overrides. Make the two equal if that is not what is meant.",
    )
