"""What scheduler and kubelet do with a Pod: give it a node, an address and, after a while, the end it waits
for.

Source: Kubernetes concepts, "Pod Lifecycle" (Pod conditions, Pod readiness, Termination of Pods). No
container runs: a container is ready when its time has come, and a pod's readiness gates then decide.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import assert_never

from mcs.sandbox.resources import PODS
from mcs.sandbox.rules.meta import timestamp
from mcs.sandbox.store import Object, Objects
from mcs.sandbox.workloads.actions import Actions, Delete, Update, until_due
from mcs.sandbox.workloads.conditions import is_true, with_condition
from mcs.sandbox.workloads.ownership import is_being_deleted

FreeAddresses = Callable[[Object], Sequence[str]]
"""The addresses for one more pod on a node, one of each family the node has."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take, in seconds of the loop's clock."""

    start: float = 0.05
    """From a node to a running container with an address."""
    ready: float = 0.1
    """From there to ready."""
    stop: float = 0.3
    """From a deletion until the pod is gone."""
    load_balancer: float = 0.1
    """Until a LoadBalancer has its address."""
    namespace: float = 1.0
    """From the deletion of a namespace until its contents go; a real one waits 5, so that `kubectl delete -f` of a
    namespace and what is in it finds both."""


class Stage(Enum):
    """Where a pod stands."""

    UNSCHEDULED = "unscheduled"
    SCHEDULED = "scheduled"
    RUNNING = "running"
    READY = "ready"
    TERMINATING = "terminating"
    ENDED = "ended"


def stage_of(pod: Object) -> Stage:
    """The stage, from what the object says."""
    if is_being_deleted(pod):
        return Stage.TERMINATING
    match pod.get("status", {}).get("phase"):
        case "Succeeded" | "Failed":
            return Stage.ENDED
        case "Running":
            return Stage.READY if is_true(pod, "ContainersReady") else Stage.RUNNING
        case _:
            return Stage.SCHEDULED if pod["spec"].get("nodeName") else Stage.UNSCHEDULED


def plan_pod(
    pod: Object,
    nodes: Objects,
    pods: Objects,
    free_addresses: FreeAddresses,
    stage_age: float,
    pace: Pace,
    now: datetime,
) -> Actions:
    """The next step, or when it is due.

    `pods` are all of the cluster; `stage_age` is how many seconds the pod has been in its present stage.
    """
    match stage_of(pod):
        case Stage.UNSCHEDULED:
            return _scheduled(pod, nodes, pods)
        case Stage.SCHEDULED:
            return until_due(pace.start, stage_age) or [
                _status_of(pod, _running(pod, nodes, free_addresses, now))
            ]
        case Stage.RUNNING:
            return until_due(pace.ready, stage_age) or [_status_of(pod, _containers_ready(pod, now))]
        case Stage.READY:
            status = _with_gates(pod, pod["status"], now)
            return [] if status == pod["status"] else [_status_of(pod, status)]
        case Stage.TERMINATING:
            # Finalizers of others outlive the containers; the pod is then only waited for.
            if not pod["metadata"].get("deletionGracePeriodSeconds"):
                return []
            return until_due(pace.stop, stage_age) or [Delete(PODS, pod, grace=0)]
        case Stage.ENDED:
            return []
        case other:
            assert_never(other)


def _status_of(pod: Object, status: Object) -> Update:
    return Update(PODS, {**pod, "status": status}, "status")


def _scheduled(pod: Object, nodes: Objects, pods: Objects) -> Actions:
    load = Counter(other["spec"].get("nodeName") for other in pods if not is_being_deleted(other))
    free = [node for node in nodes if not node.get("spec", {}).get("unschedulable")]
    if not free:
        return []
    chosen = min(free, key=lambda node: (load[node["metadata"]["name"]], node["metadata"]["name"]))
    bound = {**pod, "spec": {**pod["spec"], "nodeName": chosen["metadata"]["name"]}}
    return [Update(PODS, bound)]


def _running(pod: Object, nodes: Objects, free_addresses: FreeAddresses, now: datetime) -> Object:
    node = next((n for n in nodes if n["metadata"]["name"] == pod["spec"]["nodeName"]), None)
    addresses = free_addresses(node) if node is not None else ()
    status = {
        **pod.get("status", {}),
        "phase": "Running",
        "startTime": timestamp(now),
        "containerStatuses": [_container(c, now, is_ready=False) for c in pod["spec"].get("containers", ())],
        "podIPs": [{"ip": address} for address in addresses],
    }
    if addresses:
        status["podIP"] = addresses[0]
    for node_address in (node or {}).get("status", {}).get("addresses", ()):
        if node_address["type"] == "InternalIP":
            status.setdefault("hostIP", node_address["address"])
            status["hostIPs"] = [*status.get("hostIPs", ()), {"ip": node_address["address"]}]
    for kind in ("PodReadyToStartContainers", "Initialized", "PodScheduled"):
        status = _with(status, kind, True, "", now)
    status = _with(status, "ContainersReady", False, "ContainersNotReady", now)
    return _with(status, "Ready", False, "ContainersNotReady", now)


def _container(container: Object, now: datetime, *, is_ready: bool) -> Object:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": container.get("image", ""),
        "ready": is_ready,
        "started": is_ready,
        "restartCount": 0,
        "state": {"running": {"startedAt": timestamp(now)}},
    }


def _containers_ready(pod: Object, now: datetime) -> Object:
    status = pod["status"]
    containers = [{**c, "ready": True, "started": True} for c in status.get("containerStatuses", ())]
    status = _with({**status, "containerStatuses": containers}, "ContainersReady", True, "", now)
    return _with_gates(pod, status, now)


def _with_gates(pod: Object, status: Object, now: datetime) -> Object:
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    are_passed = all(is_true({"status": status}, gate) for gate in gates)
    return _with(status, "Ready", are_passed, "" if are_passed else "ReadinessGatesNotReady", now)


def _with(status: Object, kind: str, value: bool, reason: str, now: datetime) -> Object:
    wanted: Object = {"type": kind, "status": "True" if value else "False"}
    if reason:
        wanted["reason"] = reason
    before = status.get("conditions") or []
    after = with_condition(before, wanted, now)
    return status if after is before else {**status, "conditions": after}
