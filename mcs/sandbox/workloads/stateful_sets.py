"""A StatefulSet and its Pods, one ordinal at a time.

Source: Kubernetes concepts, "StatefulSets" (Stable Network ID, Deployment and Scaling Guarantees, Update
strategies). Volume claims are ignored, and no ControllerRevisions are kept: a Pod that is made again always
has the present template.
"""

from mcs.sandbox.resources import PODS, STATEFUL_SETS
from mcs.sandbox.store import Object, Objects
from mcs.sandbox.workloads.actions import Actions, Create, Delete, Update
from mcs.sandbox.workloads.conditions import is_true
from mcs.sandbox.workloads.deployments import template_hash
from mcs.sandbox.workloads.ownership import (
    controlled_by,
    controller_reference,
    is_being_deleted,
    plan_claims,
)
from mcs.sandbox.workloads.replica_sets import pod_from

REVISION = "controller-revision-hash"


def plan_stateful_set(stateful_set: Object, pods: Objects) -> Actions:
    """Claim what belongs to it, else the next ordinal to create, update or delete, and the status.

    `pods` are those of the namespace.
    """
    named = [pod for pod in pods if pod["metadata"]["name"] == _pod_name(stateful_set, ordinal_of(pod))]
    if claims := plan_claims(STATEFUL_SETS, stateful_set, PODS, named):
        return claims
    owned = {ordinal_of(pod): pod for pod in controlled_by(stateful_set, pods)}
    actions: Actions = []
    if not is_being_deleted(stateful_set):
        actions += _next_steps(stateful_set, owned)
    status = _status(stateful_set, list(owned.values()))
    if status != stateful_set.get("status"):
        actions.append(Update(STATEFUL_SETS, {**stateful_set, "status": status}, "status"))
    return actions


def ordinal_of(pod: Object) -> int:
    """The number at the end of a pod's name, -1 without one."""
    _, _, number = pod["metadata"]["name"].rpartition("-")
    return int(number) if number.isdecimal() else -1


def revision_of(stateful_set: Object) -> str:
    """The name of the present template."""
    return f"{stateful_set['metadata']['name']}-{template_hash(stateful_set['spec']['template'])}"


def _ordinals(stateful_set: Object) -> range:
    start = stateful_set["spec"].get("ordinals", {}).get("start", 0)
    return range(start, start + stateful_set["spec"].get("replicas", 1))


def _next_steps(stateful_set: Object, owned: dict[int, Object]) -> Actions:
    wanted = _ordinals(stateful_set)
    in_order = stateful_set["spec"].get("podManagementPolicy", "OrderedReady") == "OrderedReady"
    actions: Actions = []
    for ordinal in wanted:
        pod = owned.get(ordinal)
        if pod is None or (_has_ended(pod) and not is_being_deleted(pod)):
            actions.append(Delete(PODS, pod) if pod else Create(PODS, _new_pod(stateful_set, ordinal)))
        if in_order and (actions or not _is_settled(pod)):
            return actions
    surplus = [owned[n] for n in sorted(owned, reverse=True) if n not in wanted]
    for pod in surplus:
        if not is_being_deleted(pod):
            actions.append(Delete(PODS, pod))
        if in_order:
            return actions
    return actions or _next_update(stateful_set, [owned[n] for n in wanted])


def _next_update(stateful_set: Object, pods: Objects) -> Actions:
    """Delete the highest ordinal of an older revision once all above it are ready again."""
    strategy = stateful_set["spec"].get("updateStrategy", {})
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return []
    partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
    for pod in reversed(pods):
        if ordinal_of(pod) < partition:
            return []
        if not _is_current(stateful_set, pod):
            return [] if is_being_deleted(pod) else [Delete(PODS, pod)]
        if not _is_settled(pod):
            return []
    return []


def _is_current(stateful_set: Object, pod: Object) -> bool:
    return bool(pod["metadata"].get("labels", {}).get(REVISION) == revision_of(stateful_set))


def _is_settled(pod: Object | None) -> bool:
    return pod is not None and not is_being_deleted(pod) and is_true(pod, "Ready")


def _has_ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def _pod_name(stateful_set: Object, ordinal: int) -> str:
    return f"{stateful_set['metadata']['name']}-{ordinal}"


def _new_pod(stateful_set: Object, ordinal: int) -> Object:
    metadata, spec = stateful_set["metadata"], stateful_set["spec"]
    owner = controller_reference(STATEFUL_SETS, stateful_set)
    pod = pod_from(spec["template"], metadata["namespace"], owner)
    name = _pod_name(stateful_set, ordinal)
    pod["metadata"]["name"] = name
    pod["metadata"]["labels"] = {
        **pod["metadata"].get("labels", {}),
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
        REVISION: revision_of(stateful_set),
    }
    pod["spec"] = {**pod["spec"], "hostname": name}
    if spec.get("serviceName"):
        pod["spec"]["subdomain"] = spec["serviceName"]
    return pod


def _status(stateful_set: Object, pods: Objects) -> Object:
    before = stateful_set.get("status", {})
    revision = revision_of(stateful_set)
    ready = [pod for pod in pods if is_true(pod, "Ready") and not is_being_deleted(pod)]
    updated = [pod for pod in pods if _is_current(stateful_set, pod)]
    replicas = len(_ordinals(stateful_set))
    done = len(updated) == len(pods) == replicas and len(ready) == replicas
    current = revision if done else before.get("currentRevision", revision)
    holders = [pod for pod in pods if pod["metadata"].get("labels", {}).get(REVISION) == current]
    status: Object = {
        "observedGeneration": stateful_set["metadata"]["generation"],
        "replicas": len(pods),
        "availableReplicas": len(ready),
        "currentRevision": current,
        "updateRevision": revision,
        "collisionCount": 0,
    }
    counts = {"readyReplicas": len(ready), "currentReplicas": len(holders), "updatedReplicas": len(updated)}
    return {**status, **{name: count for name, count in counts.items() if count}}
