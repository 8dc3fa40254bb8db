"""Why one federated object is where it is: which rule keeps it out of a cluster, or how its number there came about."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from mcs.federation.division import divide
from mcs.federation.fail_over import Standing, Stands
from mcs.federation.overrides import NotMade
from mcs.federation.placement import Exclusion, exclusion, is_protected_namespace, namespace_problem
from mcs.federation.planned import ObjectPlan
from mcs.federation.plans import division_of, grounds_of, planned
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
from mcs.federation.sites import SELECTS_ALL, Sites
from mcs.federation.snapshot import (
    FEDERATED_NAMESPACE,
    ObjectKey,
    Snapshot,
    target_kind,
)
from mcs.federation.template import member_object
from mcs.model.federated import Placement, target_resource
from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId
from mcs.model.resources import Resource

Rule = (
    Exclusion | Literal["InvalidName", "ProtectedNamespace", "NotReady", "Evicted", "Drained", "NoPreference"]
)
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
    "NotReady": "it is not ready; once its grace is over its replicas are elsewhere",
    "Evicted": "it has a taint that drives out what does not tolerate it",
    "Drained": "it is drained",
    "NoPreference": "the ReplicaSchedulingPreference does not name it",
}
"""What each rule says, in words."""


KEPT: Mapping[Standing, str] = {
    "Cordoned": "it is cordoned, and gets nothing new",
    "Tainted": "it has a taint, and gets nothing new",
    "NotProbed": "it was never seen ready, and gets nothing new until it is",
    "CutOff": "more than half of the clusters are away, which is taken for a fault of the host, so nothing moves",
}
"""What is said of a cluster that keeps what it has."""

_LEFT_OUT: Mapping[Standing, Rule] = {"Lost": "NotReady", "Evicted": "Evicted", "Drained": "Drained"}


class ClusterExplanation(Struct, frozen=True, kw_only=True):
    """One cluster. Numbers are None where there are none.

    `reason` is why it has so many replicas, with what bound them in `preference`, `capacity` and `current`; `standing`
    is what part it takes in the division. `problem` is what stands in the way of the object there, although it is
    placed.
    """

    cluster: ClusterId
    rule: Rule
    replicas: int | None = None
    overflow: int = 0
    reason: Reason | None = None
    standing: Standing | None = None
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
        if self.standing is not None and self.standing in KEPT:
            said.insert(0, KEPT[self.standing])
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
    explaining = _Explaining(snapshot, key)
    plan, division, divided = explaining.plan, explaining.division, explaining.divided
    return Explanation(
        object_=key,
        clusters=tuple(explaining.cluster(each) for each in snapshot.clusters),
        division=None
        if division is None or divided is None
        else DividedAs(
            total=division.total,
            mode=division.mode,
            rebalance=division.rebalance,
            unplaced=plan.unplaced,
            rounds=divided.rounds,
        ),
        notes=tuple(_notes(snapshot, key, plan)),
    )


class _Explaining:
    """One object, and how its plan came about."""

    def __init__(self, snapshot: Snapshot, key: ObjectKey) -> None:
        sites = Sites(snapshot)
        grounds = grounds_of(snapshot, sites, key)
        self.snapshot, self.key = snapshot, key
        self.federated, self.preferred = grounds.federated, grounds.seen
        self.plan = planned(key, grounds)
        self.target = _target(snapshot, key)
        self.division: Division | None = None
        self.divided: Divided | None = None
        self.stands: Mapping[ClusterId, Stands] = {}
        preferred, candidates = self.preferred, grounds.candidates
        if self.plan.is_divided and preferred and preferred.asked and candidates:
            self.division = division_of(key, preferred.asked, preferred, candidates)
            self.divided = divide(self.division, with_rounds=True)
            self.stands = sites.stands(preferred.asked.tolerations)

    def cluster(self, cluster: ClusterId) -> ClusterExplanation:
        """What there is to say of one cluster."""
        there, stands = self.plan.in_cluster(cluster), self.stands.get(cluster)
        made = member_object(self.federated, self.target, cluster) if there.is_placed else None
        preferred, division = self.preferred, self.division
        return ClusterExplanation(
            cluster=cluster,
            rule="" if there.is_placed else self._rule(cluster),
            replicas=there.replicas,
            overflow=there.overflow,
            reason=None if self.divided is None else self.divided.reasons.get(cluster),
            standing=None if stands is None else stands.standing,
            preference=None if division is None else division.preference_of(cluster),
            capacity=None if preferred is None else preferred.capacity.get(cluster),
            current=None if preferred is None else preferred.current.get(cluster),
            is_ready=self.snapshot.clusters[cluster].is_ready,
            problem=made.message if isinstance(made, NotMade) else "",
        )

    def _rule(self, cluster: ClusterId) -> Rule:
        """The first rule that keeps the object out."""
        placement, labels = self.federated.spec.placement, self.snapshot.clusters[cluster].labels
        if self.key.kind == FEDERATED_NAMESPACE:
            if namespace_problem(self.federated) is not None:
                return "InvalidName"
            if is_protected_namespace(self.key.name, self.snapshot.system_namespace):
                return "ProtectedNamespace"
        asked = None if self.preferred is None else self.preferred.asked
        if self.division is not None and asked is not None:
            if not asked.intersects_with_selector:
                placement = SELECTS_ALL
            elif placement.clusters is not None:
                placement = Placement(cluster_selector=placement.cluster_selector)
        rule = exclusion(placement, cluster, labels, self.snapshot.gate_of(self.key))
        if rule or self.division is None:
            return rule
        is_named = self.division.preference_of(cluster) is not None
        return _LEFT_OUT.get(self.stands[cluster].standing, "NoPreference") if is_named else "NoPreference"


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
