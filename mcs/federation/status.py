"""What a federated object tells of its clusters: the condition Propagation, a status for each, and their sums.

Source: KubeFed's status. Texts of errors, sums and the percentage are ours. The members' objects are read as documents:
they are of any kind.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from mcs.model.documents import Document, map_in, number_in
from mcs.model.federated import (
    CHECK_CLUSTERS,
    OK,
    PROPAGATION,
    FederatedClusterStatus,
    FederatedStatus,
    PropagationCondition,
    WorkloadCounts,
)
from mcs.model.meta import ConditionStatus

_TOLD = 3
"""How many clusters the condition names, which is to be read in one line; each has its own text in the status."""

_COUNTED: dict[str, tuple[tuple[str, ...], ...]] = {
    "Deployment": (("readyReplicas",), ("updatedReplicas",), ("availableReplicas",)),
    # Its pods are of one revision.
    "ReplicaSet": (("readyReplicas",), ("replicas",), ("availableReplicas",)),
    "StatefulSet": (("readyReplicas",), ("updatedReplicas",), ("availableReplicas",)),
    "DaemonSet": (("numberReady",), ("updatedNumberScheduled",), ("numberAvailable",)),
    "Job": (("ready", "succeeded"), ("active", "succeeded"), ("succeeded",)),
}
"""The fields of a status whose sums are ready, updated and available. A Job has no observedGeneration."""


class Told(Struct, frozen=True, kw_only=True):
    """What a status is to tell. `reason` is that of the whole, where something else than a cluster is the matter.

    `now` is written only where something changes.
    """

    clusters: Sequence[FederatedClusterStatus]
    now: str
    generation: int = 0
    reason: str = ""
    message: str = ""


def desired_status(present: FederatedStatus, told: Told) -> FederatedStatus:
    """The status that tells it; `present` itself when that does already.

    As in KubeFed, lastTransitionTime moves with status and reason of the condition, lastUpdateTime with anything.
    """
    clusters = tuple(sorted(told.clusters, key=lambda each: each.name))
    reason = told.reason or (CHECK_CLUSTERS if any(each.status != OK for each in clusters) else "")
    status: ConditionStatus = "False" if reason else "True"
    before = next((each for each in present.conditions if each.type == PROPAGATION), None)
    stays = before is not None and (before.status, before.reason) == (status, reason)
    condition = PropagationCondition(
        type=PROPAGATION,
        status=status,
        reason=reason,
        message=told.message or (_summary(clusters) if reason == CHECK_CLUSTERS else ""),
        last_update_time=before.last_update_time if before else told.now,
        last_transition_time=before.last_transition_time if before and stays else told.now,
    )
    desired = FederatedStatus(
        observed_generation=told.generation,
        conditions=(condition,),
        clusters=clusters,
        workload=summed(each.workload for each in clusters),
        percent_converged=percent_converged(clusters),
    )
    if desired == present:
        return present
    return replace(desired, conditions=(replace(condition, last_update_time=told.now),))


def _summary(clusters: Sequence[FederatedClusterStatus]) -> str:
    """In one line, which clusters are not as they should be; nothing that changes while they stay so."""
    bad = [each for each in clusters if each.status != OK]
    named = ", ".join(f"{each.name} {each.status}" for each in bad[:_TOLD])
    more = f" and {len(bad) - _TOLD} more" if len(bad) > _TOLD else ""
    return f"{len(bad)} of {len(clusters)} clusters: {named}{more}"


def summed(counts: Iterable[WorkloadCounts | None]) -> WorkloadCounts | None:
    """The pods of all clusters together; None where no cluster has any to count."""
    known = [each for each in counts if each is not None]
    if not known:
        return None
    return WorkloadCounts(
        wanted=sum(each.wanted for each in known),
        ready=sum(each.ready for each in known),
        updated=sum(each.updated for each in known),
        available=sum(each.available for each in known),
    )


def percent_converged(clusters: Sequence[FederatedClusterStatus]) -> int | None:
    """How far all clusters are, each counting the same; 100 only when all are there, None without any.

    A cluster whose status is not OK is nowhere; one that is fine counts whole, but a workload only as far as its wanted
    pods are updated and available.
    """
    if not clusters:
        return None
    return int(100 * sum(_share(each) for each in clusters) / len(clusters))


def _share(cluster: FederatedClusterStatus) -> Fraction:
    counts = cluster.workload
    if cluster.status != OK:
        return Fraction(0)
    if counts is None or counts.wanted == 0:
        return Fraction(1)
    return Fraction(min(counts.wanted, counts.updated, counts.available), counts.wanted)


def workload_counts(kind: str, object_: Document) -> WorkloadCounts | None:
    """What a member's object of a kind that has pods tells of them; None for any other kind.

    What a status says of an earlier generation does not count: nothing is then ready, updated or available.
    A Job counts its completions: a pod that has succeeded counts as all three.
    """
    spec, status = map_in(object_, "spec"), map_in(object_, "status")
    if kind not in _COUNTED:
        return None
    wanted = _wanted(kind, spec, status)
    if (
        number_in(status, "observedGeneration") < number_in(map_in(object_, "metadata"), "generation")
        and kind != "Job"
    ):
        return WorkloadCounts(wanted=wanted, ready=0, updated=0, available=0)
    ready, updated, available = (sum(number_in(status, name) for name in names) for names in _COUNTED[kind])
    return WorkloadCounts(wanted=wanted, ready=ready, updated=updated, available=available)


def _wanted(kind: str, spec: Document, status: Document) -> int:
    if kind == "DaemonSet":
        return number_in(status, "desiredNumberScheduled")
    if kind == "Job":
        return number_in(spec, "completions", otherwise=number_in(spec, "parallelism", otherwise=1))
    return number_in(spec, "replicas", otherwise=1)
