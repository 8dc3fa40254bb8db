"""From one ReplicaSchedulingPreference and what is seen of the clusters to what its federated object is to ask for.

A cluster's `part` (`fail_over`) makes it a candidate of the division, or not. What a lost cluster was asked for stays
in the federated object, though it is not in the plan: on its return what runs there goes on running until it is planned
with again. Replicas that move leave a cluster as others become ready elsewhere and no sooner, in mode `fair`; in mode
`kubefed`, which moves at once, only from clusters that are emptied (drained, or by a taint).

Reading objects, and when to plan again, is left to others.
"""

from collections.abc import Collection, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mcs.federation.capacity import Capacity
from mcs.federation.division import divide
from mcs.federation.fail_over import Stands
from mcs.federation.replica_overrides import replicas_asked, with_replicas
from mcs.federation.replicas import REASONS, ClusterPreference, Divided, Division
from mcs.federation.scheduling_preference import SchedulingPreference
from mcs.model.federated import FederatedObject, FederatedSpec
from mcs.model.meta import Condition, ConditionStatus, timestamp
from mcs.model.names import ClusterId
from mcs.model.scheduling import (
    ALL_PLACED,
    CONSISTENT,
    PLANNED,
    FullCluster,
    PreferenceClusterStatus,
    PreferenceStatus,
    ReplicaSchedulingPreference,
)

NOT_REGISTERED = "NotRegistered"
NOT_SELECTED = "NotSelected"


class SeenCluster(Struct, frozen=True, kw_only=True):
    """What is seen of a registered cluster.

    `ready` are the replicas that are ready there, None where no object is seen; `wanted` those that its object asks
    for.
    """

    stands: Stands
    ready: int | None = None
    wanted: int = 0
    capacity: Capacity = Capacity(None)


class Problem(Struct, frozen=True):
    """Why there is no plan, and what to do: reason and message of the condition Planned."""

    reason: str
    message: str


class PlannedPreference(Struct, frozen=True):
    """`spec` is what the federated object is to have, None when nothing is known that it should."""

    spec: FederatedSpec | None
    status: PreferenceStatus


class ObservedPreference(Struct, frozen=True, kw_only=True):
    """A preference, the federated object of its name, and the registered clusters.

    `selected` are the clusters that the object's own selector leaves; None when the preference does not ask for that.
    """

    object: ReplicaSchedulingPreference
    preference: SchedulingPreference
    federated: FederatedObject
    clusters: Mapping[ClusterId, SeenCluster]
    selected: Collection[ClusterId] | None = None


def plan_preference(observed: ObservedPreference, now: datetime) -> PlannedPreference:
    """The plan and its status. Raises DivisionError for a preference that contradicts itself."""
    planning = _Planning(observed)
    if not planning.candidates:
        problem = planning.nobody()
        return PlannedPreference(None, with_problem(observed.object, problem, now))
    return planning.plan(now)


def with_problem(
    preference: ReplicaSchedulingPreference, problem: Problem, now: datetime
) -> PreferenceStatus:
    """The status of a preference that cannot be planned: the last plan stays in force and is told further."""
    before = preference.status
    condition = _condition(preference, PLANNED, "False", problem.reason, problem.message, now)
    others = tuple(each for each in before.conditions if each.type != PLANNED)
    return replace(
        before, observed_generation=preference.metadata.generation, conditions=(condition, *others)
    )


class _Planning:
    """One plan while it is made."""

    def __init__(self, observed: ObservedPreference) -> None:
        self.observed = observed
        self.preference = observed.preference
        self.is_fair = observed.preference.mode == "fair"
        by_override = replicas_asked(observed.federated)
        has_list = observed.federated.spec.placement.clusters is not None
        self.asked = {
            cluster: by_override.get(cluster, 0 if has_list else seen.wanted)
            for cluster, seen in observed.clusters.items()
        }
        self.involved = sorted(filter(self._is_involved, observed.clusters))
        self.candidates = [each for each in self.involved if self._part(each) in ("share", "keep")]

    def _part(self, cluster: ClusterId) -> str:
        return self.observed.clusters[cluster].stands.part

    def _is_involved(self, cluster: ClusterId) -> bool:
        """KubeFed lists also candidates that no preference names, with 0 replicas."""
        selected = self.observed.selected
        if selected is not None and cluster not in selected:
            return False
        return not self.is_fair or self._preferred(cluster) is not None

    def _preferred(self, cluster: ClusterId) -> ClusterPreference | None:
        return self.preference.division("", (), {}, {}).preference_of(cluster)

    def nobody(self) -> Problem:
        """Why nobody is a candidate; as in KubeFed, what was planned before stays then."""
        if self.involved:
            return Problem(
                "NoClusters", "no cluster can have replicas now; what was planned last stays in force"
            )
        if self.observed.selected is not None and not self.observed.selected:
            return Problem(
                "NoClusterFits",
                "the clusterSelector of the federated object and that of its namespace leave no cluster; change one "
                "of them, or intersectWithClusterSelector. What was planned last stays in force",
            )
        return Problem(
            "NoClusters",
            "no registered cluster is named by this preference; name one, or register it by mcs join",
        )

    def plan(self, now: datetime) -> PlannedPreference:
        divided = divide(self._division())
        goal = {
            cluster: divided.plan.get(cluster, 0) + divided.overflow.get(cluster, 0)
            for cluster in self.involved
            if self._part(cluster) != "leave"
        }
        numbers = self._in_transit(goal, divided)
        listed = replicas_asked(self.observed.federated)
        for cluster in self.involved:
            if self._part(cluster) == "leave" and cluster in listed:
                numbers[cluster] = self.asked[cluster]
            elif self._part(cluster) == "move" and cluster not in listed:
                numbers.pop(cluster, None)
        spec = with_replicas(self.observed.federated.spec, numbers)
        return PlannedPreference(spec, self._status(divided, numbers, now))

    def _division(self) -> Division:
        clusters = self.observed.clusters
        capacities = {each: clusters[each].capacity.replicas for each in self.candidates}
        division = self.preference.division(
            str(self.observed.federated.key),
            self.candidates,
            {each: ready for each in self.candidates if (ready := self._current(each)) is not None},
            {each: capacity for each, capacity in capacities.items() if capacity is not None},
        )
        keeping = {each: self._kept(division, each) for each in self.candidates if self._part(each) == "keep"}
        if not keeping:
            return division
        named = division.preferences or {"*": ClusterPreference(weight=1)}
        return replace(division, preferences={**named, **{k: v for k, v in keeping.items() if v is not None}})

    def _current(self, cluster: ClusterId) -> int | None:
        """What is ready; where nothing may be new and nothing is seen, what is asked for is taken to be."""
        ready = self.observed.clusters[cluster].ready
        return self.asked[cluster] if ready is None and self._part(cluster) == "keep" else ready

    def _kept(self, division: Division, cluster: ClusterId) -> ClusterPreference | None:
        """The preference for a cluster that gets nothing new: a maximum, for capacity would become overflow."""
        preference, most = division.preference_of(cluster), self.asked[cluster]
        if preference is None:
            return None
        return replace(
            preference,
            min_replicas=min(preference.min_replicas, most),
            max_replicas=most if preference.max_replicas is None else min(preference.max_replicas, most),
        )

    def _in_transit(self, goal: Mapping[ClusterId, int], divided: Divided) -> dict[ClusterId, int]:
        """What is asked for while replicas move: a cluster that is to lose some keeps as many as lack elsewhere.

        Only what is ready is kept, so that those who serve are never fewer than before or than wanted. Of a cluster
        that is not ready, what was ready when it was seen last counts: nothing moves for its grace.
        """
        clusters = self.observed.clusters
        missing = sum(max(0, divided.plan[each] - (clusters[each].ready or 0)) for each in self.candidates)
        numbers = dict(goal)
        for cluster in sorted(goal):
            if self._part(cluster) != "move" and not self.is_fair:
                continue
            serving = min(self.asked[cluster], clusters[cluster].ready or 0)
            kept = max(0, min(missing, serving - goal[cluster]))
            numbers[cluster] += kept
            missing -= kept
        return numbers

    def _status(self, divided: Divided, numbers: Mapping[ClusterId, int], now: datetime) -> PreferenceStatus:
        rsp, preference = self.observed.object, self.preference
        conditions = [_condition(rsp, PLANNED, "True", PLANNED, "", now), self._all_placed(divided, now)]
        if preference.finding is not None:
            found = preference.finding
            conditions.append(_condition(rsp, CONSISTENT, "False", found.reason, found.message, now))
        told = [self._told(cluster, divided, numbers.get(cluster, 0)) for cluster in self.involved]
        return PreferenceStatus(
            observed_generation=rsp.metadata.generation,
            total_replicas=preference.total,
            unplaced_replicas=divided.unplaced,
            clusters=tuple(sorted((*told, *self._named_in_vain()), key=lambda each: each.name)),
            conditions=tuple(conditions),
        )

    def _all_placed(self, divided: Divided, now: datetime) -> Condition:
        total, unplaced = self.preference.total, divided.unplaced
        if not unplaced:
            return _condition(self.observed.object, ALL_PLACED, "True", ALL_PLACED, "", now)
        message = (
            f"{unplaced} of {total} replicas have no place: each cluster has its maximum or is full. Raise a maximum, "
            "add nodes or clusters, or lower the total"
        )
        return _condition(self.observed.object, ALL_PLACED, "False", "NoRoom", message, now)

    def _told(self, cluster: ClusterId, divided: Divided, asked: int) -> PreferenceClusterStatus:
        seen = self.observed.clusters[cluster]
        plan, overflow = divided.plan.get(cluster, 0), divided.overflow.get(cluster, 0)
        stands, full = seen.stands, seen.capacity.full
        reason: str = stands.standing
        message = stands.message
        if stands.standing == "Ready":
            reason = divided.reasons[cluster]
            message = REASONS[divided.reasons[cluster]]
        if asked > plan + overflow:
            message = f"{message}; {_transit(stands, asked, plan + overflow)}"
        is_limited = reason == "Capacity" or overflow > 0
        return PreferenceClusterStatus(
            name=cluster,
            replicas=plan,
            reason=reason,
            message=message,
            overflow=overflow,
            current=seen.ready,
            capacity=seen.capacity.replicas if is_limited else None,
            full=FullCluster(replicas=full.capacity, since=timestamp(full.since)) if full else None,
        )

    def _named_in_vain(self) -> list[PreferenceClusterStatus]:
        """The clusters that the preference names and that have no part for another reason."""
        found = []
        for name in map(ClusterId, sorted(self.preference.preferences)):
            if name == "*" or name in self.involved:
                continue
            is_known = name in self.observed.clusters
            message = (
                "the clusterSelector of the federated object, or of its namespace, does not select it"
                if is_known
                else "no cluster of this name is registered"
            )
            reason = NOT_SELECTED if is_known else NOT_REGISTERED
            found.append(PreferenceClusterStatus(name=name, replicas=0, reason=reason, message=message))
        return found


def _transit(stands: Stands, asked: int, wanted: int) -> str:
    if stands.part == "leave":
        return f"the {asked} that it was asked for are left as they are"
    return f"{asked - wanted} more stay until as many are ready elsewhere"


def _condition(
    preference: ReplicaSchedulingPreference,
    type_: str,
    status: ConditionStatus,
    reason: str,
    message: str,
    now: datetime,
) -> Condition:
    """The time of the transition is that of the present condition while the status stays."""
    before = next((each for each in preference.status.conditions if each.type == type_), None)
    stays = before is not None and before.status == status
    return Condition(
        type=type_,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=before.last_transition_time if before and stays else timestamp(now),
        observed_generation=preference.metadata.generation,
    )
