"""Why one federated object is where it is: which rule keeps it out of a cluster, or how its number there came about."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from mcs.federation.division import divide
from mcs.federation.overrides import NotMade
from mcs.federation.placement import Exclusion, exclusion, is_protected_namespace, namespace_problem
from mcs.federation.planned import ObjectPlan
from mcs.federation.plans import SELECTS_ALL, division_of, plan_object
from mcs.federation.replicas import (
    ANY_CLUSTER,
    REASONS,
    ClusterPreference,
    Divided,
    Division,
    Mode,
    Reason,
    Rebalance,
    Round,
)
from mcs.federation.snapshot import (
    FEDERATED_NAMESPACE,
    ObjectKey,
    RegisteredCluster,
    Snapshot,
    target_kind,
)
from mcs.federation.template import member_object
from mcs.model.federated import Placement, target_resource
from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId
from mcs.model.resources import Resource

Rule = Exclusion | Literal["InvalidName", "ProtectedNamespace", "NotReady", "Cordoned", "NoPreference"]
"""The rule that keeps an object out of a cluster; empty where it is placed."""

RULES: Mapping[Rule, str] = {
    "": "placed",
    "NoPlacement": "the placement has neither clusters nor clusterSelector",
    "NotListed": "placement.clusters does not list it",
    "NotSelected": "placement.clusterSelector does not select its labels",
    "NamespaceNotFederated": "the namespace has no FederatedNamespace",
    "NamespaceNotPlaced": "the FederatedNamespace is not placed there",
    "PlacementFailed": "the placement cannot be read",
    "InvalidName": "a FederatedNamespace must have the name of the namespace that it is in",
    "ProtectedNamespace": "this namespace belongs to each cluster alone",
    "NotReady": "it is not ready, and replicas are divided among clusters that are",
    "Cordoned": "it is cordoned, and has nothing of it yet",
    "NoPreference": "the ReplicaSchedulingPreference does not name it",
}
"""What each rule says, in words."""


class ClusterExplanation(Struct, frozen=True, kw_only=True):
    """One cluster. Numbers are None where there are none.

    `reason` is why it has so many replicas, with what bound them in `preference`, `capacity` and `current`. `problem`
    is what stands in the way of the object there, although it is placed.
    """

    cluster: ClusterId
    rule: Rule
    replicas: int | None = None
    overflow: int = 0
    reason: Reason | None = None
    preference: ClusterPreference | None = None
    capacity: int | None = None
    current: int | None = None
    is_ready: bool = True
    problem: str = ""

    @property
    def why(self) -> str:
        """The rule, or the reason of its number, in words."""
        if self.rule:
            return RULES[self.rule]
        said = [] if self.reason is None else [REASONS[self.reason]]
        if not self.is_ready and self.reason is None:
            said.append("it is not ready; placement does not look at that")
        return "; ".join([*said, *([self.problem] if self.problem else [])]) or RULES[""]


class DividedAs(Struct, frozen=True, kw_only=True):
    """The division of the object's replicas. `rounds` are its steps, each with the share of each cluster."""

    total: int
    mode: Mode
    rebalance: Rebalance
    unplaced: int
    rounds: tuple[Round, ...]


class Explanation(Struct, frozen=True, kw_only=True):
    """One object. `division` is None for one whose replicas nobody divides. `notes` is what its author should know."""

    object_: ObjectKey
    clusters: tuple[ClusterExplanation, ...]
    division: DividedAs | None = None
    notes: tuple[str, ...] = ()


def explain(snapshot: Snapshot, key: ObjectKey) -> Explanation:
    """The explanation of an object of the snapshot; the plan that it explains is that of `plans`. Raises KeyError."""
    preferred = snapshot.preferences.get(key)
    plan, candidates = plan_object(snapshot, key)
    division = divided = None
    if preferred is not None and preferred.asked is not None and candidates is not None and not plan.problem:
        division = division_of(key, preferred.asked, preferred, candidates)
        divided = divide(division, with_rounds=True)
    target = _target(snapshot, key)
    return Explanation(
        object_=key,
        clusters=tuple(
            _explained(snapshot, key, cluster, plan, division, divided, target)
            for cluster in snapshot.clusters
        ),
        division=None
        if division is None or divided is None
        else DividedAs(
            total=division.total,
            mode=division.mode,
            rebalance=division.rebalance,
            unplaced=divided.unplaced,
            rounds=divided.rounds,
        ),
        notes=tuple(_notes(snapshot, key, plan)),
    )


def _explained(
    snapshot: Snapshot,
    key: ObjectKey,
    cluster: ClusterId,
    plan: ObjectPlan,
    division: Division | None,
    divided: Divided | None,
    target: Resource[Any],
) -> ClusterExplanation:
    registered, there = snapshot.clusters[cluster], plan.in_cluster(cluster)
    preferred = snapshot.preferences.get(key)
    preference = None if division is None else division.preference_of(cluster)
    made = member_object(snapshot.objects[key], target, cluster) if there.is_placed else None
    return ClusterExplanation(
        cluster=cluster,
        rule="" if there.is_placed else _rule(snapshot, key, cluster, registered, division),
        replicas=there.replicas,
        overflow=there.overflow,
        reason=None if divided is None else divided.reasons.get(cluster),
        preference=preference,
        capacity=None if preferred is None else preferred.capacity.get(cluster),
        current=None if preferred is None else preferred.current.get(cluster),
        is_ready=registered.is_ready,
        problem=made.message if isinstance(made, NotMade) else "",
    )


def _rule(
    snapshot: Snapshot,
    key: ObjectKey,
    cluster: ClusterId,
    registered: RegisteredCluster,
    division: Division | None,
) -> Rule:
    """The first rule that keeps the object out."""
    federated = snapshot.objects[key]
    placement = federated.spec.placement
    if key.kind == FEDERATED_NAMESPACE:
        if namespace_problem(federated) is not None:
            return "InvalidName"
        if is_protected_namespace(key.name, snapshot.system_namespace):
            return "ProtectedNamespace"
    if division is not None:
        preferred = snapshot.preferences[key]
        asked = preferred.asked
        selects = asked is not None and asked.intersects_with_selector
        selector = placement.cluster_selector if selects else SELECTS_ALL.cluster_selector
        placement = Placement(cluster_selector=selector)
    rule = exclusion(placement, cluster, registered.labels, snapshot.gate_of(key))
    if rule:
        return rule
    if division is None:
        return "Cordoned"
    if division.preference_of(cluster) is None:
        return "NoPreference"
    return "Cordoned" if registered.is_ready else "NotReady"


def _target(snapshot: Snapshot, key: ObjectKey) -> Resource[Any]:
    config = snapshot.types.get(key.kind)
    if config is not None:
        return target_resource(config)
    kind = target_kind(key, snapshot.types)
    is_namespaced = bool(key.namespace) and key.kind != FEDERATED_NAMESPACE
    return Resource(
        group="", version="", plural="", kind=kind, type=KubernetesObject, namespaced=is_namespaced
    )


def _notes(snapshot: Snapshot, key: ObjectKey, plan: ObjectPlan) -> Iterable[str]:
    federated, preferred = snapshot.objects[key], snapshot.preferences.get(key)
    if plan.problem:
        yield plan.problem
    if preferred is not None and preferred.asked is not None and preferred.asked.finding is not None:
        yield preferred.asked.finding.message
    if federated.is_terminating:
        yield "it is being deleted: what it made is deleted in every cluster, wherever it is placed"
    config = snapshot.types.get(key.kind)
    if snapshot.types and (config is None or not config.is_enabled):
        yield f"no FederatedTypeConfig has {key.kind} with propagation Enabled, so nothing of it is propagated"
    spec = federated.spec
    named = {
        "placement.clusters": [each.name for each in spec.placement.clusters or ()],
        "overrides": [each.cluster_name for each in spec.overrides],
        "the ReplicaSchedulingPreference": []
        if preferred is None or preferred.asked is None
        else [name for name in preferred.asked.preferences if name != ANY_CLUSTER],
    }
    for where, names in named.items():
        if unknown := sorted({name for name in names if ClusterId(name) not in snapshot.clusters}):
            yield f"{where} names what is not registered: {', '.join(unknown)}"
