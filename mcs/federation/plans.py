"""The plan of everything: in which clusters each federated object is, and with how many replicas.

A plan is made anew only for what a change touches: an object whose clusters, candidates, preference and own text are
what they were keeps its plan. It is where things come to rest, not what is asked for while replicas move.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mcs.federation.division import divide
from mcs.federation.placement import NotPlaced, Placed, is_protected_namespace, namespace_problem
from mcs.federation.planned import Clusters, ObjectPlan
from mcs.federation.replica_overrides import replicas_asked
from mcs.federation.replicas import ANY_CLUSTER, ClusterPreference, Divided, Division, DivisionError
from mcs.federation.scheduling_preference import SchedulingPreference
from mcs.federation.sites import Candidates, Sites
from mcs.federation.snapshot import FEDERATED_NAMESPACE, ObjectKey, Preferred, Snapshot
from mcs.model.federated import FederatedObject

NOT_FEDERATED = (
    "namespace {namespace} has no FederatedNamespace, so nothing in it is placed; make one of its name"
)
PROTECTED = "namespace {name} belongs to each cluster alone; it is never created, changed or deleted there"
NOBODY = "no cluster can take part in the division, so what was planned last stays in force"
IN_VAIN = (
    "{count} replicas are given to clusters that the namespace does not go to, where they come to nothing ({names}); "
    "set intersectWithClusterSelector, or place the FederatedNamespace there"
)
_NAMED = 3
"""How many clusters a problem names."""


class Grounds(NamedTuple):
    """All that the plan of one object depends on. `carried_out` is None where it is of no account."""

    federated: FederatedObject
    placed: Placed | NotPlaced
    preferred: Preferred | None
    candidates: Candidates | None
    carried_out: ObjectPlan | None

    def is_as(self, other: "Grounds") -> bool:
        """Whether the same plan follows; most are the very values that they were."""
        return all(here is there or here == there for here, there in zip(self, other, strict=True))

    @property
    def seen(self) -> Preferred | None:
        """The preference; where nothing was seen of its clusters, what is carried out is taken for that."""
        preferred, carried_out = self.preferred, self.carried_out
        if preferred is None or carried_out is None:
            return preferred
        running = carried_out.replicas_by_cluster
        return replace(
            preferred, current=preferred.current or running, asked_of=preferred.asked_of or running
        )


class Plans(Struct, frozen=True, kw_only=True):
    """The plans of all objects of a snapshot. `planned_anew` are those that no earlier plan could be taken over for."""

    snapshot: Snapshot
    plans: Mapping[ObjectKey, ObjectPlan]
    planned_anew: tuple[ObjectKey, ...]
    grounds: Mapping[ObjectKey, Grounds]
    sites: Sites


def plan_all(snapshot: Snapshot, before: Plans | None = None) -> Plans:
    """The plans; whatever of `before` still holds is taken over, and is the same value then."""
    sites = Sites(snapshot, None if before is None else before.sites)
    plans: dict[ObjectKey, ObjectPlan] = {}
    anew: list[ObjectKey] = []
    all_grounds: dict[ObjectKey, Grounds] = {}
    for key in snapshot.objects:
        grounds = grounds_of(snapshot, sites, key)
        known = None if before is None else before.grounds.get(key)
        if before is not None and known is not None and grounds.is_as(known):
            plans[key], all_grounds[key] = before.plans[key], known
            continue
        plans[key], all_grounds[key] = planned(key, grounds), grounds
        anew.append(key)
    return Plans(snapshot=snapshot, plans=plans, planned_anew=tuple(anew), grounds=all_grounds, sites=sites)


def grounds_of(snapshot: Snapshot, sites: Sites, key: ObjectKey) -> Grounds:
    """What the plan of an object depends on. Raises KeyError."""
    federated, gate, preferred = snapshot.objects[key], snapshot.gate_of(key), snapshot.preferences.get(key)
    placed = sites.place(federated.spec.placement, gate)
    if key.kind == FEDERATED_NAMESPACE:
        placed = _as_namespace(federated, placed, snapshot.system_namespace)
    if preferred is None or preferred.asked is None:
        return Grounds(federated, placed, preferred, None, None)
    candidates = sites.candidates(federated.spec.placement, gate, preferred.asked)
    is_seen = preferred.current and preferred.asked_of
    return Grounds(
        federated, placed, preferred, candidates, None if is_seen else snapshot.carried_out.get(key)
    )


def _as_namespace(federated: FederatedObject, placed: Placed | NotPlaced, system: str) -> Placed | NotPlaced:
    """A federated namespace that has no effect of its own is placed nowhere, though it may be a gate."""
    if problem := namespace_problem(federated):
        return NotPlaced(problem)
    if is_protected_namespace(federated.metadata.name, system):
        return NotPlaced(PROTECTED.format(name=federated.metadata.name))
    return placed


def planned(key: ObjectKey, grounds: Grounds) -> ObjectPlan:
    """The plan that follows."""
    preferred, candidates = grounds.seen, grounds.candidates
    if preferred is None:
        return _as_written(grounds, "")
    if preferred.asked is None or candidates is None:
        return _as_written(grounds, preferred.problem)
    if not candidates.clusters:
        return _as_written(grounds, NOBODY)
    try:
        divided = divide(division_of(key, preferred.asked, preferred, candidates))
    except DivisionError as error:
        return _as_written(grounds, str(error))
    return _as_divided(divided, candidates)


def division_of(
    key: ObjectKey, asked: SchedulingPreference, preferred: Preferred, candidates: Candidates
) -> Division:
    """The division of an object's replicas; who gets nothing new has what it is asked for as its maximum.

    Where nothing is seen of such a cluster, what it is asked for is taken to run.
    """
    division = asked.division(key.workload, candidates.clusters, preferred.current, preferred.capacity)
    if not candidates.keeping:
        return division
    asked_of = {cluster: preferred.asked_of.get(cluster, 0) for cluster in candidates.keeping}
    preferences = dict(asked.preferences) or {ANY_CLUSTER: ClusterPreference(weight=1)}
    for cluster, has in asked_of.items():
        own = division.preference_of(cluster)
        if own is not None:
            most = has if own.max_replicas is None else min(own.max_replicas, has)
            preferences[cluster] = replace(own, max_replicas=most, min_replicas=min(own.min_replicas, has))
    return replace(division, preferences=preferences, current={**asked_of, **preferred.current})


def _as_divided(divided: Divided, candidates: Candidates) -> ObjectPlan:
    plan, overflow, unplaced, problem = divided.plan, divided.overflow, divided.unplaced, ""
    if candidates.open_to is not None:
        is_open = frozenset(candidates.open_to)
        in_vain = {name: count for name, count in plan.items() if name not in is_open}
        plan = {name: count for name, count in plan.items() if name in is_open}
        overflow = {name: count for name, count in overflow.items() if name in is_open}
        if lost := sum(in_vain.values()):
            names = [name for name, count in in_vain.items() if count]
            told = ", ".join(names[:_NAMED]) + (" and others" if len(names) > _NAMED else "")
            unplaced, problem = unplaced + lost, IN_VAIN.format(count=lost, names=told)
    return ObjectPlan(
        placed=tuple(plan),
        replicas=tuple(plan.values()),
        overflow=overflow,
        unplaced=unplaced,
        problem=problem,
        is_divided=True,
    )


def _as_written(grounds: Grounds, problem: str) -> ObjectPlan:
    """An object whose replicas nobody divides: placement and overrides are its own."""
    federated, placed = grounds.federated, grounds.placed
    if isinstance(placed, NotPlaced):
        return ObjectPlan(problem=placed.message)
    if placed.reason:
        problem = NOT_FEDERATED.format(namespace=federated.metadata.namespace)
    return ObjectPlan(
        placed=placed.clusters, replicas=_own_replicas(federated, placed.clusters), problem=problem
    )


def _own_replicas(federated: FederatedObject, clusters: Clusters) -> tuple[int, ...] | None:
    """The replicas of template and overrides; None where the template has none."""
    spec = federated.spec.template.get("spec")
    replicas = spec.get("replicas") if isinstance(spec, dict) else None
    if not isinstance(replicas, int):
        return None
    own = replicas_asked(federated) if federated.spec.overrides else {}
    if not own:
        return (replicas,) * len(clusters)
    return tuple(own.get(cluster, replicas) for cluster in clusters)
