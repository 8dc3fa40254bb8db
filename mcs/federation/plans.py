"""The plan of everything: in which clusters each federated object is, and with how many replicas.

A plan is made anew only for what a change touches. What a placement chooses is found once for each distinct placement,
and an object whose clusters, candidates, preference and own text are what they were keeps its plan.

The replicas of an object are divided among candidates: clusters that are ready, that its namespace goes to and, where
the preference asks for that, that its own selector selects. A cordoned cluster gets nothing that it does not have.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mcs.federation.division import divide
from mcs.federation.placement import (
    Gate,
    NotPlaced,
    Placed,
    Registered,
    chosen,
    is_protected_namespace,
    namespace_problem,
    within,
)
from mcs.federation.planned import Clusters, ObjectPlan
from mcs.federation.replicas import ANY_CLUSTER, ClusterPreference, Division, DivisionError
from mcs.federation.scheduling_preference import SchedulingPreference
from mcs.federation.snapshot import FEDERATED_NAMESPACE, ObjectKey, Preferred, Snapshot
from mcs.model.federated import FederatedObject, Placement
from mcs.model.names import ClusterId

REPLICAS_PATH = "/spec/replicas"


class Candidates(NamedTuple):
    """The clusters among which replicas are divided, and those of them that are cordoned."""

    clusters: Clusters
    cordoned: Clusters


class _Grounds(NamedTuple):
    """All that the plan of one object depends on."""

    federated: FederatedObject
    placed: Placed | NotPlaced
    cordoned: Clusters
    preferred: Preferred | None
    candidates: Candidates | None
    carried_out: ObjectPlan | None
    """What it is taken to be, where that counts and was not seen."""

    def is_as(self, other: "_Grounds") -> bool:
        """Whether the same plan follows; most are the very values that they were."""
        return all(here is there or here == there for here, there in zip(self, other, strict=True))


class Plans(Struct, frozen=True, kw_only=True):
    """The plans of all objects of a snapshot. `planned_anew` are those that no earlier plan could be taken over for."""

    snapshot: Snapshot
    plans: Mapping[ObjectKey, ObjectPlan]
    planned_anew: tuple[ObjectKey, ...]
    grounds: Mapping[ObjectKey, _Grounds]
    sites: "Sites"


def plan_all(snapshot: Snapshot, before: Plans | None = None) -> Plans:
    """The plans; whatever of `before` still holds is taken over, and is the same value then."""
    sites = Sites(snapshot, None if before is None else before.sites)
    plans: dict[ObjectKey, ObjectPlan] = {}
    anew: list[ObjectKey] = []
    all_grounds: dict[ObjectKey, _Grounds] = {}
    for key, federated in snapshot.objects.items():
        grounds = sites.grounds_of(key, federated)
        known = None if before is None else before.grounds.get(key)
        if before is not None and known is not None and grounds.is_as(known):
            plans[key], all_grounds[key] = before.plans[key], known
            continue
        plans[key], all_grounds[key] = _planned(key, grounds), grounds
        anew.append(key)
    return Plans(snapshot=snapshot, plans=plans, planned_anew=tuple(anew), grounds=all_grounds, sites=sites)


def plan_object(snapshot: Snapshot, key: ObjectKey) -> tuple[ObjectPlan, Candidates | None]:
    """The plan of one object as `plan_all` makes it, and among whom replicas are divided. Raises KeyError."""
    grounds = Sites(snapshot).grounds_of(key, snapshot.objects[key])
    return _planned(key, grounds), grounds.candidates


class Sites:
    """What placements choose among the clusters of a snapshot, each distinct one found once."""

    def __init__(self, snapshot: Snapshot, before: "Sites | None" = None) -> None:
        self._snapshot = snapshot
        self._registered: Registered = {name: each.labels for name, each in snapshot.clusters.items()}
        self._cordoned = frozenset(name for name, each in snapshot.clusters.items() if each.is_cordoned)
        self._ready = frozenset(name for name, each in snapshot.clusters.items() if each.is_ready)
        self._chosen: dict[bytes, Placed | NotPlaced] = {}
        self._placed: dict[tuple[bytes, bytes | None], Placed | NotPlaced] = {}
        self._cordoned_of: dict[Clusters, Clusters] = {}
        self._candidates: dict[tuple[bytes, bytes | None], tuple[frozenset[str], Clusters]] = {}
        if before is not None and before._registered == self._registered:
            self._chosen, self._placed = dict(before._chosen), dict(before._placed)

    def grounds_of(self, key: ObjectKey, federated: FederatedObject) -> _Grounds:
        """What the plan of an object depends on."""
        preferred = self._snapshot.preferences.get(key)
        gate = self._snapshot.gate_of(key)
        placed = self.place(federated.spec.placement, gate)
        cordoned: Clusters = ()
        if self._cordoned and isinstance(placed, Placed):
            cordoned = self._cordoned_among(placed.clusters)
        candidates = None
        if preferred is not None and preferred.asked is not None:
            candidates = self.candidates(federated.spec.placement, gate, preferred.asked)
        if key.kind == FEDERATED_NAMESPACE:
            placed = _as_namespace(federated, placed, self._snapshot.system_namespace)
        carried_out = None
        if (candidates is not None and preferred is not None and not preferred.current) or cordoned:
            carried_out = self._snapshot.carried_out.get(key)
        return _Grounds(federated, placed, cordoned, preferred, candidates, carried_out)

    def place(self, placement: Placement, gate: Gate | None) -> Placed | NotPlaced:
        """As `placement.place`."""
        keys = _encoded(placement), _encoded_gate(gate)
        found = self._placed.get(keys)
        if found is None:
            around = None if gate is None or gate.placement is None else self._choose(gate.placement)
            found = self._placed[keys] = within(self._choose(placement), gate, around)
        return found

    def _choose(self, placement: Placement) -> Placed | NotPlaced:
        key = _encoded(placement)
        found = self._chosen.get(key)
        if found is None:
            found = self._chosen[key] = chosen(placement, self._registered)
        return found

    def _cordoned_among(self, clusters: Clusters) -> Clusters:
        found = self._cordoned_of.get(clusters)
        if found is None:
            found = self._cordoned_of[clusters] = tuple(each for each in clusters if each in self._cordoned)
        return found

    def candidates(self, placement: Placement, gate: Gate | None, asked: SchedulingPreference) -> Candidates:
        """The clusters that replicas are divided among; those without a part in the division may be left out."""
        own = SELECTS_ALL
        if asked.intersects_with_selector:
            own = Placement(cluster_selector=placement.cluster_selector)
        keys = _encoded(own), _encoded_gate(gate)
        found = self._candidates.get(keys)
        if found is None:
            placed = self.place(own, gate)
            clusters = placed.clusters if isinstance(placed, Placed) else ()
            found = self._candidates[keys] = frozenset(clusters) & self._ready, self._ready_of(clusters)
        among, in_order = found
        if asked.mode == "fair" and asked.preferences and ANY_CLUSTER not in asked.preferences:
            in_order = tuple(sorted(ClusterId(name) for name in asked.preferences if name in among))
        return Candidates(in_order, self._cordoned_among(in_order) if self._cordoned else ())

    def _ready_of(self, clusters: Clusters) -> Clusters:
        return tuple(each for each in clusters if each in self._ready)


SELECTS_ALL = msgspec.convert({"clusterSelector": {}}, Placement)
_encoded = msgspec.json.Encoder().encode


def _encoded_gate(gate: Gate | None) -> bytes | None:
    return None if gate is None else _encoded((gate.placement, gate.is_required))


def _as_namespace(federated: FederatedObject, placed: Placed | NotPlaced, system: str) -> Placed | NotPlaced:
    """A federated namespace that has no effect of its own is placed nowhere, though it may be a gate."""
    if problem := namespace_problem(federated):
        return NotPlaced(problem)
    if is_protected_namespace(federated.metadata.name, system):
        return NotPlaced(PROTECTED.format(name=federated.metadata.name))
    return placed


NOT_FEDERATED = (
    "namespace {namespace} has no FederatedNamespace, so nothing in it is placed; make one of its name"
)
PROTECTED = "namespace {name} belongs to each cluster alone; it is never created, changed or deleted there"


def _planned(key: ObjectKey, grounds: _Grounds) -> ObjectPlan:
    preferred, candidates = grounds.preferred, grounds.candidates
    if preferred is None:
        return _as_written(grounds, "")
    asked = preferred.asked
    if asked is None or candidates is None:
        return _as_written(grounds, preferred.problem)
    if grounds.carried_out is not None and not preferred.current:
        preferred = replace(preferred, current=grounds.carried_out.replicas_by_cluster)
    division = division_of(key, asked, preferred, candidates)
    if not division.candidates:
        return _as_written(grounds, "no cluster can take part in the division, so nothing is divided anew")
    try:
        divided = divide(division)
    except DivisionError as error:
        return _as_written(grounds, str(error))
    return ObjectPlan(
        placed=tuple(divided.plan),
        replicas=tuple(divided.plan.values()),
        overflow=divided.overflow,
        unplaced=divided.unplaced,
    )


def division_of(
    key: ObjectKey, asked: SchedulingPreference, preferred: Preferred, candidates: Candidates
) -> Division:
    """The division of an object's replicas; a cordoned candidate takes part only with what it has."""
    division = asked.division(key.workload, candidates.clusters, preferred.current, preferred.capacity)
    if not candidates.cordoned:
        return division
    preferences = dict(asked.preferences) or {ANY_CLUSTER: ClusterPreference(weight=1)}
    for cluster in candidates.cordoned:
        own, has = division.preference_of(cluster), preferred.current.get(cluster, 0)
        if own is not None:
            most = has if own.max_replicas is None else min(own.max_replicas, has)
            preferences[cluster] = replace(own, max_replicas=most, min_replicas=min(own.min_replicas, most))
    empty = {each for each in candidates.cordoned if preferred.current.get(each, 0) == 0}
    return replace(
        division,
        preferences=preferences,
        clusters=tuple(each for each in candidates.clusters if each not in empty),
    )


def _as_written(grounds: _Grounds, problem: str) -> ObjectPlan:
    """An object whose replicas nobody divides: placement and overrides are its own."""
    federated, placed = grounds.federated, grounds.placed
    if isinstance(placed, NotPlaced):
        return ObjectPlan(problem=placed.message)
    clusters = placed.clusters
    if placed.reason:
        problem = NOT_FEDERATED.format(namespace=federated.metadata.namespace)
    if grounds.cordoned:
        new = frozenset(grounds.cordoned).difference(_where_it_is(grounds))
        clusters = tuple(each for each in clusters if each not in new)
    return ObjectPlan(placed=clusters, replicas=_own_replicas(federated, clusters), problem=problem)


def _where_it_is(grounds: _Grounds) -> Iterable[ClusterId]:
    status = grounds.federated.status
    if grounds.carried_out is not None and not status.clusters and not status.conditions:
        return grounds.carried_out.placed
    return (ClusterId(each.name) for each in status.clusters)


def _own_replicas(federated: FederatedObject, clusters: Clusters) -> tuple[int, ...] | None:
    """The replicas of template and overrides; None where the template has none."""
    spec = federated.spec.template.get("spec")
    replicas = spec.get("replicas") if isinstance(spec, dict) else None
    if not isinstance(replicas, int):
        return None
    own = {
        each.cluster_name: override.value
        for each in federated.spec.overrides
        for override in each.cluster_overrides
        if override.path == REPLICAS_PATH and isinstance(override.value, int)
    }
    if not own:
        return (replicas,) * len(clusters)
    return tuple(own.get(cluster, replicas) for cluster in clusters)
