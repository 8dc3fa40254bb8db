"""A Deployment and its ReplicaSets: one step of a rollout at a time.

Source: Kubernetes concepts, "Deployment" (Strategy, Deployment status, Rolling Back). `minReadySeconds` and the
progress deadline are not simulated.
"""

import hashlib
import math
from datetime import datetime
from typing import Any

import msgspec

from mcs.sandbox.resources import DEPLOYMENTS, REPLICA_SETS
from mcs.sandbox.rules.meta import SUFFIX_LETTERS
from mcs.sandbox.store import Object, Objects
from mcs.sandbox.workloads.actions import Actions, Create, Delete, Update
from mcs.sandbox.workloads.conditions import condition, with_condition
from mcs.sandbox.workloads.ownership import (
    controlled_by,
    controller_reference,
    is_being_deleted,
    plan_claims,
)

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"


def template_hash(template: Object) -> str:
    """Ten letters that name a pod template, the same for equal ones."""
    digest = hashlib.sha256(msgspec.json.encode(template, order="sorted")).digest()
    return "".join(SUFFIX_LETTERS[byte % len(SUFFIX_LETTERS)] for byte in digest[:10])


def surge_and_unavailable(deployment: Object) -> tuple[int, int]:
    """`maxSurge` and `maxUnavailable` in pods; the one rounds up, the other down, and they are not both 0."""
    rolling = deployment["spec"].get("strategy", {}).get("rollingUpdate") or {}
    replicas = _wanted(deployment)
    surge = math.ceil(_share(rolling.get("maxSurge", "25%"), replicas))
    unavailable = math.floor(_share(rolling.get("maxUnavailable", "25%"), replicas))
    return surge, unavailable if surge or unavailable else 1


def _share(value: int | str, of: int) -> float:
    return value if isinstance(value, int) else int(value.removesuffix("%")) * of / 100


def _wanted(obj: Object) -> int:
    replicas: int = obj["spec"].get("replicas", 1)
    return replicas


def plan_deployment(deployment: Object, replica_sets: Objects, now: datetime) -> Actions:
    """Claim what belongs to it, else the next step and the status. `replica_sets` are those of the namespace."""
    if claims := plan_claims(DEPLOYMENTS, deployment, REPLICA_SETS, replica_sets):
        return claims
    owned = sorted(controlled_by(deployment, replica_sets), key=_revision)
    name_hash = template_hash(deployment["spec"]["template"])
    current = next((rs for rs in owned if rs["metadata"].get("labels", {}).get(HASH) == name_hash), None)
    old = [rs for rs in owned if rs is not current]
    actions: Actions = []
    revision = _current_revision(current, old)
    if not is_being_deleted(deployment):
        if current is None and not deployment["spec"].get("paused"):
            replicas = _first_replicas(deployment, old)
            current = _new_replica_set(deployment, name_hash, revision, replicas)
            actions += [] if replicas is None else [Create(REPLICA_SETS, current)]
            actions += _scaled_down(deployment, old)
        elif current is not None:
            actions += _next_step(deployment, current, old, revision)
        actions += _forgotten(deployment, old)
    return actions + _told(deployment, current, old, revision, now)


def _current_revision(current: Object | None, old: Objects) -> int:
    """The number of the current ReplicaSet: higher than all others, also after a roll back to it."""
    newest = max([0, *map(_revision, old)])
    have = _revision(current) if current is not None else 0
    return have if have > newest else newest + 1


def _revision(replica_set: Object) -> int:
    return int(replica_set["metadata"].get("annotations", {}).get(REVISION, 0))


def _recreates(deployment: Object) -> bool:
    return bool(deployment["spec"].get("strategy", {}).get("type") == "Recreate")


def _first_replicas(deployment: Object, old: Objects) -> int | None:
    """Replicas of a new ReplicaSet; None while old pods have to go first."""
    if _recreates(deployment):
        return None if any(_wanted(rs) or _count(rs, "replicas") for rs in old) else _wanted(deployment)
    surge, _ = surge_and_unavailable(deployment)
    return max(0, min(_wanted(deployment), _wanted(deployment) + surge - sum(map(_wanted, old))))


def _new_replica_set(deployment: Object, name_hash: str, revision: int, replicas: int | None) -> Object:
    spec, metadata = deployment["spec"], deployment["metadata"]
    template = spec["template"]
    labels = {**template.get("metadata", {}).get("labels", {}), HASH: name_hash}
    selector = spec["selector"]
    return {
        "metadata": {
            "name": f"{metadata['name']}-{name_hash}",
            "namespace": metadata["namespace"],
            "labels": labels,
            "annotations": {**_limits(deployment), REVISION: str(revision)},
            "ownerReferences": [controller_reference(DEPLOYMENTS, deployment)],
        },
        "spec": {
            "replicas": replicas or 0,
            "selector": {**selector, "matchLabels": {**selector.get("matchLabels", {}), HASH: name_hash}},
            "template": {**template, "metadata": {**template.get("metadata", {}), "labels": labels}},
        },
    }


def _limits(deployment: Object) -> dict[str, str]:
    surge, _ = surge_and_unavailable(deployment)
    wanted = _wanted(deployment)
    most = wanted if _recreates(deployment) else wanted + surge
    return {
        "deployment.kubernetes.io/desired-replicas": str(wanted),
        "deployment.kubernetes.io/max-replicas": str(most),
    }


def _next_step(deployment: Object, current: Object, old: Objects, revision: int) -> Actions:
    target = _wanted(current)
    if _recreates(deployment):
        busy = any(_wanted(rs) or _count(rs, "replicas") for rs in old)
        target = target if busy else _wanted(deployment)
    elif target > _wanted(deployment):
        target = _wanted(deployment)
    elif not deployment["spec"].get("paused") or not any(map(_wanted, old)):
        surge, _ = surge_and_unavailable(deployment)
        room = _wanted(deployment) + surge - target - sum(map(_wanted, old))
        target += max(0, min(room, _wanted(deployment) - target))
    updated = _scaled(deployment, current, target, revision)
    if updated is not None:
        actions: Actions = [Update(REPLICA_SETS, updated)]
        if target != _wanted(current):
            return actions
        return actions + _scaled_down(deployment, old, current)
    return _scaled_down(deployment, old, current)


def _scaled(
    deployment: Object, replica_set: Object, replicas: int, revision: int | None = None
) -> Object | None:
    """The ReplicaSet with other replicas, or None when nothing would change."""
    annotations = {**replica_set["metadata"].get("annotations", {}), **_limits(deployment)}
    if revision is not None:
        annotations[REVISION] = str(revision)
    spec = {**replica_set["spec"], "replicas": replicas}
    metadata = {**replica_set["metadata"], "annotations": annotations}
    changed = {**replica_set, "metadata": metadata, "spec": spec}
    return None if changed == replica_set else changed


def _scaled_down(deployment: Object, old: Objects, current: Object | None = None) -> Actions:
    """Take from the oldest first what availability can spare, unready replicas before ready ones."""
    if deployment["spec"].get("paused"):
        return []
    if _recreates(deployment):
        spare = {rs["metadata"]["name"]: _wanted(rs) for rs in old}
    else:
        spare = _spare(deployment, old, current)
    found = [(rs, spare.get(rs["metadata"]["name"], 0)) for rs in old]
    scaled = [_scaled(deployment, rs, _wanted(rs) - count) for rs, count in found if count]
    return [Update(REPLICA_SETS, rs) for rs in scaled if rs is not None]


def _spare(deployment: Object, old: Objects, current: Object | None) -> dict[str, int]:
    """How many pods each old ReplicaSet can lose: unready ones as long as what is left may become enough."""
    least = _wanted(deployment) - surge_and_unavailable(deployment)[1]
    present = [*old, current] if current is not None else old
    available = sum(map(_available, present))
    unready_room = available + sum(_wanted(rs) - _available(rs) for rs in old) - least
    ready_room = available - least
    spare: dict[str, int] = {}
    for rs in old:
        unready = max(0, min(_wanted(rs) - _available(rs), unready_room))
        ready = max(0, min(_available(rs), ready_room))
        unready_room -= unready
        ready_room -= ready
        spare[rs["metadata"]["name"]] = unready + ready
    return spare


def _available(replica_set: Object) -> int:
    # A status not yet renewed may still count pods that were given up.
    return min(_wanted(replica_set), _count(replica_set, "availableReplicas"))


def _count(replica_set: Object, field: str) -> int:
    count: int = replica_set.get("status", {}).get(field, 0)
    return count


def _forgotten(deployment: Object, old: Objects) -> Actions:
    idle = [rs for rs in old if not _wanted(rs) and not _count(rs, "replicas") and not is_being_deleted(rs)]
    kept = deployment["spec"].get("revisionHistoryLimit", 10)
    return [Delete(REPLICA_SETS, rs) for rs in idle[: max(0, len(idle) - kept)]]


def _told(deployment: Object, current: Object | None, old: Objects, revision: int, now: datetime) -> Actions:
    metadata = deployment["metadata"]
    if current is not None:
        metadata = {**metadata, "annotations": {**metadata.get("annotations", {}), REVISION: str(revision)}}
    told = {**deployment, "metadata": metadata, "status": _status(deployment, current, old, now)}
    return [] if told == deployment else [Update(DEPLOYMENTS, told, "status")]


def _status(deployment: Object, current: Object | None, old: Objects, now: datetime) -> Object:
    present = [*old, current] if current is not None else old
    total, ready, available = (
        sum(_count(rs, field) for rs in present)
        for field in ("replicas", "readyReplicas", "availableReplicas")
    )
    updated = _count(current, "replicas") if current is not None else 0
    counts = {
        "replicas": total,
        "updatedReplicas": updated,
        "readyReplicas": ready,
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(map(_wanted, present)) - available),
    }
    status: Object = {"observedGeneration": deployment["metadata"]["generation"]}
    status |= {name: count for name, count in counts.items() if count}
    conditions = deployment.get("status", {}).get("conditions") or []
    for wanted in (_availability(deployment, available), _progress(deployment, current, old, counts)):
        if wanted is not None:
            conditions = with_condition(conditions, wanted, now, updated=True)
    return {**status, "conditions": conditions} if conditions else status


def _availability(deployment: Object, available: int) -> Object:
    unavailable = 0 if _recreates(deployment) else surge_and_unavailable(deployment)[1]
    enough = available >= _wanted(deployment) - unavailable
    return {
        "type": "Available",
        "status": "True" if enough else "False",
        "reason": "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "message": f"Deployment {'has' if enough else 'does not have'} minimum availability.",
    }


def _progress(
    deployment: Object, current: Object | None, old: Objects, counts: dict[str, int]
) -> Object | None:
    if current is None:
        return None
    wanted = _wanted(deployment)
    name = current["metadata"]["name"]
    done = all(counts[field] == wanted for field in ("replicas", "updatedReplicas", "availableReplicas"))
    told: dict[str, Any] = {"type": "Progressing", "status": "True"}
    if done:
        message = f'ReplicaSet "{name}" has successfully progressed.'
        return {**told, "reason": "NewReplicaSetAvailable", "message": message}
    before = condition(deployment, "Progressing")
    if before is not None and before["reason"] == "NewReplicaSetAvailable" and name in before["message"]:
        # Scaling a finished rollout is no new one.
        return None
    return {**told, "reason": "ReplicaSetUpdated", "message": f'ReplicaSet "{name}" is progressing.'}
