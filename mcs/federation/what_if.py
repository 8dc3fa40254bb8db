"""What would be otherwise: a set changed by a question, and the difference of two plans as a value."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mcs.federation.planned import InCluster, ObjectPlan
from mcs.federation.plans import Plans, plan_all
from mcs.federation.replicas import ANY_CLUSTER, ClusterPreference
from mcs.federation.snapshot import ObjectKey, Preferred, RegisteredCluster, Snapshot
from mcs.model.names import ClusterId


class QuestionError(ValueError):
    """The question does not fit the set; the message says what to write."""


class Question(Struct, frozen=True, kw_only=True):
    """What is asked. `weights` and `total` are about `object_`, or weights about all objects when that is None.

    `set_` has clusters, objects and preferences that take the place of those of the same name, or come new.
    """

    down: Sequence[ClusterId] = ()
    cordoned: Sequence[ClusterId] = ()
    weights: Mapping[ClusterId, int] = {}
    total: int | None = None
    object_: ObjectKey | None = None
    set_: Snapshot | None = None


def settled(snapshot: Snapshot) -> Plans:
    """The plans of a set of which each object that nothing was seen of is taken to be as planned.

    So that it has something to lose: a manifest alone does not tell what runs where.
    """
    plans = plan_all(snapshot)
    return plan_all(replace(snapshot, carried_out=plans.plans), plans)


def changed(snapshot: Snapshot, question: Question) -> Snapshot:
    """The set as it would be. Raises QuestionError for a cluster that is not registered, or a missing preference."""
    if question.set_ is not None:
        snapshot = _joined(snapshot, question.set_)
    clusters = dict(snapshot.clusters)
    for cluster in question.down:
        clusters[cluster] = replace(_registered(clusters, cluster), is_ready=False, is_probed=True)
    for cluster in question.cordoned:
        clusters[cluster] = replace(_registered(clusters, cluster), is_cordoned=True)
    for cluster in question.weights:
        _registered(clusters, cluster)
    preferences = dict(snapshot.preferences)
    if question.weights or question.total is not None:
        for key in _asked_about(preferences, question):
            preferences[key] = _asked_otherwise(preferences[key], question)
    return replace(snapshot, clusters=clusters, preferences=preferences)


def _joined(snapshot: Snapshot, more: Snapshot) -> Snapshot:
    """Preferences that are read from files without a status keep what was seen of their clusters."""
    preferences = dict(snapshot.preferences)
    for key, preferred in more.preferences.items():
        known = preferences.get(key)
        if known is not None:
            preferred = replace(
                preferred,
                current={**known.current, **preferred.current},
                capacity={**known.capacity, **preferred.capacity},
                asked_of=preferred.asked_of or known.asked_of,
            )
        preferences[key] = preferred
    clusters = dict(snapshot.clusters)
    for name, cluster in more.clusters.items():
        known_cluster = clusters.get(name)
        if known_cluster is not None and not cluster.is_probed:
            cluster = replace(cluster, is_ready=known_cluster.is_ready, is_probed=known_cluster.is_probed)
        clusters[name] = cluster
    return replace(
        snapshot,
        clusters=dict(sorted(clusters.items())),
        types={**snapshot.types, **more.types},
        objects=dict(sorted({**snapshot.objects, **more.objects}.items())),
        preferences=preferences,
    )


def _registered(clusters: Mapping[ClusterId, RegisteredCluster], cluster: ClusterId) -> RegisteredCluster:
    found = clusters.get(cluster)
    if found is None:
        known = ", ".join(clusters) if len(clusters) <= _NAMED else f"one of {len(clusters)}"
        raise QuestionError(f"cluster {cluster} is not registered; name one of those that are ({known})")
    return found


_NAMED = 10
"""How many clusters a message names."""


def _asked_about(preferences: Mapping[ObjectKey, Preferred], question: Question) -> Iterable[ObjectKey]:
    if question.object_ is None:
        return list(preferences)
    preferred = preferences.get(question.object_)
    if preferred is None or preferred.asked is None:
        raise QuestionError(
            f"{question.object_} has no ReplicaSchedulingPreference that can be read, so there are no weights and no "
            "total to change; write one, or change the object with -f FILE"
        )
    return [question.object_]


def _asked_otherwise(preferred: Preferred, question: Question) -> Preferred:
    asked = preferred.asked
    if asked is None:
        return preferred
    preferences = dict(asked.preferences) or {ANY_CLUSTER: ClusterPreference(weight=1)}
    for cluster, weight in question.weights.items():
        own = preferences.get(cluster, preferences.get(ANY_CLUSTER, ClusterPreference()))
        preferences[cluster] = replace(own, weight=weight)
    if not question.weights:
        preferences = dict(asked.preferences)
    total = asked.total if question.total is None else question.total
    return replace(preferred, asked=replace(asked, preferences=preferences, total=total))


class ClusterDifference(Struct, frozen=True, kw_only=True):
    """What changes for one object in one cluster."""

    cluster: ClusterId
    before: InCluster
    after: InCluster


class ObjectDifference(Struct, frozen=True, kw_only=True):
    """What changes for one object. `moved` replicas are taken from a cluster and given to another."""

    object_: ObjectKey
    clusters: tuple[ClusterDifference, ...]
    moved: int
    unplaced_before: int
    unplaced_after: int
    problem: str = ""


class Away(Struct, frozen=True, kw_only=True):
    """A cluster that is lost, and the objects that stay placed there, since nobody divides them.

    `nowhere_else` are those of them that are in no cluster that is ready.
    """

    cluster: ClusterId
    objects: tuple[ObjectKey, ...]
    nowhere_else: tuple[ObjectKey, ...]


class Difference(Struct, frozen=True, kw_only=True):
    """How one plan differs from another; objects in the order of their keys, clusters in that of their names.

    `is_cut_off` when more than half of the clusters are away in the second, so that no replicas move in it.
    """

    objects: tuple[ObjectDifference, ...] = ()
    away: tuple[Away, ...] = ()
    is_cut_off: bool = False

    @property
    def moved(self) -> int:
        """Replicas that are taken from a cluster and given to another."""
        return sum(each.moved for each in self.objects)

    @property
    def overflowing(self) -> tuple[ClusterId, ...]:
        """Clusters that would be asked for more than they hold, and for more than before."""
        return tuple(
            sorted(
                {
                    each.cluster
                    for object_ in self.objects
                    for each in object_.clusters
                    if each.after.overflow > each.before.overflow
                }
            )
        )


def difference(before: Plans, after: Plans, only: ObjectKey | None = None) -> Difference:
    """What `after` has otherwise; of one object only, when that is given."""
    keys = before.plans.keys() | after.plans.keys() if only is None else {only}
    found = []
    for key in sorted(keys):
        here, there = before.plans.get(key, _NOTHING), after.plans.get(key, _NOTHING)
        if here is not there and here != there:
            found.append(_difference_of(key, here, there))
    return Difference(
        objects=tuple(found),
        away=tuple(_away(before, after, only)),
        is_cut_off=any(each.standing == "CutOff" for each in after.sites.stands(()).values()),
    )


_NOTHING = ObjectPlan()


def _difference_of(key: ObjectKey, before: ObjectPlan, after: ObjectPlan) -> ObjectDifference:
    clusters, lost, gained = [], 0, 0
    for cluster in sorted({*before.placed, *after.placed}):
        here, there = before.in_cluster(cluster), after.in_cluster(cluster)
        if here != there:
            clusters.append(ClusterDifference(cluster=cluster, before=here, after=there))
            more = (there.replicas or 0) - (here.replicas or 0)
            lost, gained = lost + max(0, -more), gained + max(0, more)
    return ObjectDifference(
        object_=key,
        clusters=tuple(clusters),
        moved=min(lost, gained),
        unplaced_before=before.unplaced,
        unplaced_after=after.unplaced,
        problem=after.problem,
    )


def _away(before: Plans, after: Plans, only: ObjectKey | None) -> Iterable[Away]:
    ready = frozenset(name for name, each in after.snapshot.clusters.items() if each.is_ready)
    lost = [
        cluster
        for cluster, each in before.snapshot.clusters.items()
        if each.is_ready and cluster in after.snapshot.clusters and cluster not in ready
    ]
    for cluster in lost:
        there = tuple(
            key
            for key, plan in after.plans.items()
            if only in (None, key) and plan.in_cluster(cluster).is_placed
        )
        yield Away(
            cluster=cluster,
            objects=there,
            nowhere_else=tuple(key for key in there if ready.isdisjoint(after.plans[key].placed)),
        )
