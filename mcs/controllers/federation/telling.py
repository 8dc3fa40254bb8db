"""What the status of a federated object tells of each cluster, from what is known of it so far.

A cluster that has not come to an end is told as it was before, as long as that was told of the same generation: after a
restart everything is unknown for a moment, and nothing has changed.
"""

from collections.abc import Iterator

from mcs.controllers.federation.picture import Picture, Plan, Progress, Result
from mcs.federation.propagation import Step
from mcs.federation.status import workload_counts
from mcs.model.federated import (
    CACHED_RETRIEVAL_FAILED,
    CLIENT_RETRIEVAL_FAILED,
    CREATION_FAILED,
    CREATION_TIMED_OUT,
    DELETION_FAILED,
    DELETION_TIMED_OUT,
    LABEL_REMOVAL_FAILED,
    LABEL_REMOVAL_TIMED_OUT,
    RETRIEVAL_FAILED,
    UPDATE_FAILED,
    UPDATE_TIMED_OUT,
    FederatedClusterStatus,
    FederatedObject,
    WorkloadCounts,
)
from mcs.model.names import ClusterId, ServiceKey

FAILED: dict[Step, str] = {
    "look": RETRIEVAL_FAILED,
    "create": CREATION_FAILED,
    "update": UPDATE_FAILED,
    "adopt": UPDATE_FAILED,
    "delete": DELETION_FAILED,
    "release": LABEL_REMOVAL_FAILED,
}
"""The status of a cluster that refused a step."""

TIMED_OUT: dict[Step, str] = {
    "look": RETRIEVAL_FAILED,
    "create": CREATION_TIMED_OUT,
    "update": UPDATE_TIMED_OUT,
    "adopt": UPDATE_TIMED_OUT,
    "delete": DELETION_TIMED_OUT,
    "release": LABEL_REMOVAL_TIMED_OUT,
}
"""The status of a cluster that has not answered, or not yet."""

_NO_ANSWER = "There is no answer from the cluster yet."
_UNSEEN = "It is not known yet whether the cluster has the object."


def cluster_statuses(
    picture: Picture, key: ServiceKey, federated: FederatedObject
) -> tuple[FederatedClusterStatus, ...]:
    """The status of every registered cluster of which there is anything to tell.

    Without a plan nothing is known to have changed.
    """
    plan, registered = picture.objects[key].plan, picture.clusters.registered
    if plan is None:
        return tuple(
            each for each in federated.status.clusters if ClusterId(each.name) in picture.clusters.registered
        )
    concerned = sorted(cluster for cluster in _concerned(picture, key, plan) if cluster in registered)
    return tuple(_statuses(picture, key, plan, federated, concerned))


def _concerned(picture: Picture, key: ServiceKey, plan: Plan) -> frozenset[ClusterId]:
    progress = picture.objects[key]
    return plan.selected | progress.recorded | progress.results.keys()


def _statuses(
    picture: Picture,
    key: ServiceKey,
    plan: Plan,
    federated: FederatedObject,
    concerned: list[ClusterId],
) -> Iterator[FederatedClusterStatus]:
    before = {each.name: each for each in federated.status.clusters}
    is_current = federated.status.observed_generation == federated.metadata.generation
    for cluster in concerned:
        told, known = _result(picture, key, plan, cluster), before.get(cluster)
        if told is None:
            told = (
                Result(known.status, known.message)
                if known is not None and is_current
                else Result(CACHED_RETRIEVAL_FAILED, _UNSEEN)
            )
        if told.status is not None:
            workload = _workload(picture, key, cluster, known) if cluster in plan.selected else None
            yield FederatedClusterStatus(
                name=cluster, status=told.status, message=told.message, workload=workload
            )


def _workload(
    picture: Picture, key: ServiceKey, cluster: ClusterId, known: FederatedClusterStatus | None
) -> WorkloadCounts | None:
    """The pods of a cluster, as they were counted last where it has not been looked into."""
    if not picture.can_look_into(cluster):
        return known.workload if known is not None else None
    seen = picture.present(cluster, key)
    return workload_counts(picture.kinds.target.kind, seen.document) if seen is not None else None


def _result(picture: Picture, key: ServiceKey, plan: Plan, cluster: ClusterId) -> Result | None:
    """What is known of a cluster; None when that is nothing yet."""
    progress: Progress = picture.objects[key]
    if not picture.clusters.is_ready(cluster):
        decision = picture.decision(key, cluster, plan, None)
        return Result(decision.status, decision.message)
    if cluster in progress.pending:
        step = progress.under_way.get(cluster)
        if step in TIMED_OUT:
            return Result(TIMED_OUT[step], _NO_ANSWER)
        if problem := picture.problem_of(cluster):
            return Result(CLIENT_RETRIEVAL_FAILED, problem)
        return None
    return progress.results.get(cluster)
