"""What is written about a member into its registration: its condition, the finalizer, who it is, and when it may go.

A plan that is carried out leaves nothing to plan: what the registration says already is not written again. The time is
only written together with a change.
"""

from typing import Any

import msgspec
from msgspec import Struct

from mcs.membership.health import CLUSTER_NOT_READY, Probe, desired_status
from mcs.membership.registry import MALFORMED, Refusal, is_leaving
from mcs.membership.tokens import Told
from mcs.model.actions import Action, Patch, RecordEvent
from mcs.model.events import new_event
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.registration import (
    CLUSTER_UID_ANNOTATION,
    DRAINED,
    LEAVE_FINALIZER,
    READY,
    ClusterCondition,
    KubeFedCluster,
    KubeFedClusterStatus,
)
from mcs.model.resources import KUBEFED_CLUSTERS

HOST = ClusterId("host")
"""Stands for the host cluster, wherever a cluster must be named."""


class ObservedRegistration(Struct, frozen=True):
    """One registration and what is known of the cluster behind it.

    `probe` is what it is judged by, None while that is not known. `is_clean` when nothing that came from it is left
    anywhere, as far as every member tells. `cluster_uid` is that of its kube-system, empty while it is not known.
    `told` is what else there is to tell: of its token, of its drain.
    """

    registration: KubeFedCluster
    now: str
    probe: Probe | None = None
    refusal: Refusal | None = None
    is_member: bool = False
    is_clean: bool = False
    cluster_uid: str = ""
    told: tuple[Told, ...] = ()


def plan_registration(observed: ObservedRegistration) -> tuple[Action, ...]:
    """What is to be written about one registration; nothing when it says all already."""
    registration = observed.registration
    if registration.is_terminating:
        may_go = observed.is_clean or (observed.refusal is not None and not observed.is_member)
        return _release(registration) if is_leaving(registration) and may_go else ()
    return (*_metadata(observed), *_status(observed))


def _release(registration: KubeFedCluster) -> tuple[Action, ...]:
    others = [each for each in registration.metadata.finalizers if each != LEAVE_FINALIZER]
    return (_patch(registration, {"metadata": {"finalizers": others} | _precondition(registration)}),)


def _metadata(observed: ObservedRegistration) -> tuple[Action, ...]:
    """Hold a member by our finalizer, and note who it is before anybody can take its name."""
    metadata = observed.registration.metadata
    if not observed.is_member:
        return ()
    changes: dict[str, Any] = {}
    if LEAVE_FINALIZER not in metadata.finalizers:
        changes["finalizers"] = [*metadata.finalizers, LEAVE_FINALIZER]
    if observed.cluster_uid and CLUSTER_UID_ANNOTATION not in metadata.annotations:
        changes["annotations"] = {CLUSTER_UID_ANNOTATION: observed.cluster_uid}
    if not changes:
        return ()
    return (_patch(observed.registration, {"metadata": changes | _precondition(observed.registration)}),)


def _precondition(registration: KubeFedCluster) -> dict[str, str]:
    return {"resourceVersion": registration.metadata.resource_version}


def _status(observed: ObservedRegistration) -> tuple[Action, ...]:
    registration, refusal = observed.registration, observed.refusal
    said = (refusal.reason, refusal.problem) if refusal is not None else None
    if observed.probe is None and said is None:
        return ()
    desired = desired_status(registration, observed.probe, observed.now, said, observed.told)
    if desired is registration.status:
        return ()
    # All fields are named: what is left out of a merge patch stays.
    status = {
        "conditions": msgspec.to_builtins(desired.conditions),
        "kubernetesVersion": desired.kubernetes_version,
        "zones": list(desired.zones) or None,
        "region": desired.region,
    }
    return (
        _patch(registration, {"status": status}, "status"),
        *_events(registration, desired, observed.now),
    )


def _patch(registration: KubeFedCluster, changes: dict[str, Any], subresource: str = "") -> Patch:
    return Patch(
        cluster=HOST,
        resource=KUBEFED_CLUSTERS,
        namespace=registration.metadata.namespace,
        name=registration.metadata.name,
        changes=changes,
        subresource=subresource,
    )


def _events(registration: KubeFedCluster, desired: KubeFedClusterStatus, now: str) -> tuple[RecordEvent, ...]:
    """One Event for each condition that takes another status or reason; a first Ready is no news, nor is a drain."""
    told: list[RecordEvent] = []
    for condition in desired.conditions:
        before = registration.condition(condition.type)
        is_news = before is None or (before.status, before.reason) != (condition.status, condition.reason)
        is_good = condition.type == READY and condition.status == "True"
        is_bad = (
            condition.type not in (READY, DRAINED) and condition.status == "True"
        ) or condition.reason == CLUSTER_NOT_READY
        if is_news and (is_bad or (is_good and registration.status.conditions)):
            told.append(_event(registration, condition, now))
    return tuple(told)


def _event(registration: KubeFedCluster, condition: ClusterCondition, now: str) -> RecordEvent:
    is_good = condition.type == READY and condition.status == "True"
    reason = "MalformedClusterConfig" if condition.reason == MALFORMED else condition.reason or ""
    about = KUBEFED_CLUSTERS.reference(registration.metadata)
    event = new_event(
        about,
        "Normal" if is_good else "Warning",
        reason,
        condition.message or "",
        now,
        namespace=registration.metadata.namespace,
    )
    return RecordEvent(cluster=HOST, about=KUBEFED_CLUSTERS, object=event)


def orphan_event(cluster: ClusterId, namespace: str, now: str) -> RecordEvent:
    """Tells of a cluster that nobody registers any more although something came from it."""
    event = new_event(
        KUBEFED_CLUSTERS.reference(ObjectMeta(namespace=namespace, name=cluster)),
        "Warning",
        "ClusterOrphaned",
        f'What came from cluster "{cluster}" stays, but nobody registers it and no leave is recorded. Register it '
        f"again, or run mcs leave {cluster} --force.",
        now,
        namespace=namespace,
    )
    return RecordEvent(cluster=HOST, about=KUBEFED_CLUSTERS, object=event)
