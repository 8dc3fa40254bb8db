"""What a DELETE does to one object: gone at once, or marked and waiting.

Source: Kubernetes API concepts, "Resource deletion"; "Garbage Collection", cascading deletion; "Pod
Lifecycle", Termination of Pods. Collecting dependents and emptying namespaces are the work of
controllers in `workloads`.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mcs.sandbox.resources import CRDS, NAMESPACES, PODS, ResourceType
from mcs.sandbox.rules.meta import Preconditions, timestamp
from mcs.sandbox.rules.strategies import is_held
from mcs.sandbox.store import Object

IMMORTAL_NAMESPACES = {"default", "kube-system", "kube-public"}
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """metav1.DeleteOptions.

    `propagation` is Background, Foreground or Orphan; the default keeps what was asked.
    """

    dry_run: bool = False
    preconditions: Preconditions = field(default_factory=Preconditions)
    propagation: str = ""
    grace_period: int | None = None


def marked_for_deletion(
    resource: ResourceType, obj: Object, options: DeleteOptions, now: datetime
) -> Object | None:
    """The object that stays for now (the same one when nothing changes), or None when it goes at once."""
    obj = _with_finalizers(resource, obj, options.propagation)
    grace = _grace(obj, options) if resource is PODS else 0
    metadata = obj["metadata"]
    if not grace and not is_held(obj):
        return None
    if "deletionTimestamp" in metadata and grace >= metadata.get("deletionGracePeriodSeconds", 0):
        return obj
    began: Object = {"deletionTimestamp": timestamp(now + timedelta(seconds=grace))}
    if resource is NAMESPACES:
        obj = {**obj, "status": {**(obj.get("status") or {}), "phase": "Terminating"}}
    else:
        began = {**began, "deletionGracePeriodSeconds": grace}
    if "generation" in metadata and "deletionTimestamp" not in metadata:
        metadata = {**metadata, "generation": metadata["generation"] + 1}
    return {**obj, "metadata": {**metadata, **began}}


def without_grace(obj: Object) -> Object:
    """The last state of an object that went at once, although it had been given time."""
    if not obj["metadata"].get("deletionGracePeriodSeconds"):
        return obj
    return {**obj, "metadata": {**obj["metadata"], "deletionGracePeriodSeconds": 0}}


def _with_finalizers(resource: ResourceType, obj: Object, propagation: str) -> Object:
    present = list(obj["metadata"].get("finalizers") or ())
    wanted = list(present)
    if propagation:
        wanted = [name for name in present if name not in (FOREGROUND, ORPHAN)]
        wanted += {"Foreground": [FOREGROUND], "Orphan": [ORPHAN]}.get(propagation, [])
    if resource is CRDS and CLEANUP not in wanted and "deletionTimestamp" not in obj["metadata"]:
        wanted.append(CLEANUP)
    if wanted == present:
        return obj
    metadata = {key: value for key, value in obj["metadata"].items() if key != "finalizers"}
    return {**obj, "metadata": {**metadata, "finalizers": wanted} if wanted else metadata}


def _grace(pod: Object, options: DeleteOptions) -> int:
    """Seconds a node gets to end a pod; none when no node runs it."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in {"Succeeded", "Failed"}:
        return 0
    asked = options.grace_period
    grace = spec.get("terminationGracePeriodSeconds", 30) if asked is None else asked
    return max(0, int(grace))
