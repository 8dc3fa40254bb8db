"""A ReplicaSet and its Pods: how many there are, and which one goes first.

Source: Kubernetes concepts, "ReplicaSet" (Scaling a ReplicaSet gives the order of deletion). What a Pod
then goes through is left to `pods`.
"""

from mcs.sandbox.resources import PODS, REPLICA_SETS
from mcs.sandbox.store import Object, Objects
from mcs.sandbox.workloads.actions import Actions, Create, Delete, Update
from mcs.sandbox.workloads.conditions import is_true
from mcs.sandbox.workloads.ownership import (
    controlled_by,
    controller_reference,
    is_being_deleted,
    plan_claims,
)

Rank = tuple[bool, str, str]


def is_active(pod: Object) -> bool:
    """Whether a pod counts as a replica: it is neither finished nor being deleted."""
    finished = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return not finished and not is_being_deleted(pod)


def pod_from(template: Object, namespace: str, owner: Object) -> Object:
    """A Pod of a template, without a name, controlled by an owner (given as ownerReference)."""
    metadata = {
        key: value for key, value in template.get("metadata", {}).items() if key != "creationTimestamp"
    }
    return {
        "metadata": {**metadata, "namespace": namespace, "ownerReferences": [owner]},
        "spec": template["spec"],
    }


def plan_replica_set(replica_set: Object, pods: Objects) -> Actions:
    """Claim what belongs to it, else create what is missing, delete what is too much, and tell the status.

    `pods` are those of the namespace.
    """
    if claims := plan_claims(REPLICA_SETS, replica_set, PODS, pods):
        return claims
    active = [pod for pod in controlled_by(replica_set, pods) if is_active(pod)]
    actions: Actions = []
    if not is_being_deleted(replica_set):
        missing = replica_set["spec"].get("replicas", 1) - len(active)
        actions += [Create(PODS, _new_pod(replica_set)) for _ in range(missing)]
        if missing < 0:
            actions += [Delete(PODS, pod) for pod in sorted(active, key=_first_to_go)[:-missing]]
    status = _status(replica_set, active)
    if status != replica_set.get("status"):
        actions.append(Update(REPLICA_SETS, {**replica_set, "status": status}, "status"))
    return actions


def _first_to_go(pod: Object) -> Rank:
    # Negated time: of two ready pods the younger one goes first.
    created = pod["metadata"]["creationTimestamp"]
    return is_true(pod, "Ready"), "".join(chr(0x10FFFF - ord(c)) for c in created), pod["metadata"]["name"]


def _new_pod(replica_set: Object) -> Object:
    metadata = replica_set["metadata"]
    owner = controller_reference(REPLICA_SETS, replica_set)
    pod = pod_from(replica_set["spec"]["template"], metadata["namespace"], owner)
    pod["metadata"]["generateName"] = f"{metadata['name']}-"
    return pod


def _status(replica_set: Object, active: Objects) -> Object:
    wanted = replica_set["spec"]["template"].get("metadata", {}).get("labels", {}).items()
    labelled = sum(wanted <= pod["metadata"].get("labels", {}).items() for pod in active)
    ready = sum(is_true(pod, "Ready") for pod in active)
    status: Object = {"replicas": len(active), "observedGeneration": replica_set["metadata"]["generation"]}
    counts = {"fullyLabeledReplicas": labelled, "readyReplicas": ready, "availableReplicas": ready}
    return {**status, **{name: count for name, count in counts.items() if count}}
