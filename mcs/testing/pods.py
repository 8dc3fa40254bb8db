"""Pods, Nodes and pod templates from short text, for tables: `host("a", "cpu=4 memory=8Gi")`, `pod("cpu=1", "a")`."""

from collections.abc import Sequence
from typing import Any

import msgspec

from mcs.model.pods import Host, Pod

Document = dict[str, Any]


def amounts(text: str) -> dict[str, str]:
    """`cpu=500m memory=1Gi` as a mapping."""
    return dict(each.split("=") for each in text.split())


def host(name: str, allocatable: str, *, labels: str = "", taints: Sequence[str] = (), **spec: Any) -> Host:
    """A Node that takes 110 pods unless it says otherwise; taints as kubectl writes them: `key=value:effect`."""
    tainted = [_taint(each) for each in taints]
    document = {
        "metadata": {"name": name, "labels": amounts(labels)},
        "spec": {**spec, "taints": tainted},
        "status": {"allocatable": {"pods": "110", **amounts(allocatable)}},
    }
    return msgspec.convert(document, Host)


def _taint(text: str) -> Document:
    key, _, effect = text.partition(":")
    key, _, value = key.partition("=")
    return {"key": key, "value": value, "effect": effect}


def template(requests: str = "", **spec: Any) -> Document:
    """A pod template with one container."""
    container = {"name": "app", "image": "app", "resources": {"requests": amounts(requests)}}
    return {"spec": {"containers": [container], **spec}}


def pod(
    requests: str = "",
    node: str = "",
    *,
    name: str = "a",
    namespace: str = "shop",
    labels: str = "app=web",
    phase: str = "Running",
    ready: bool = True,
    waiting_since: str = "",
    deleted: bool = False,
) -> Pod:
    """A pod on a node, ready unless it is said otherwise; or one that has waited for a place since a moment."""
    scheduled: Document = {"type": "PodScheduled", "status": "True"}
    if waiting_since:
        scheduled |= {"status": "False", "reason": "Unschedulable", "lastTransitionTime": waiting_since}
    is_ready = {"type": "Ready", "status": "True" if ready and node else "False"}
    metadata: Document = {"name": name, "namespace": namespace, "labels": amounts(labels)}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    document = {
        "metadata": metadata,
        "spec": {**template(requests)["spec"], "nodeName": node},
        "status": {"phase": phase if node else "Pending", "conditions": [scheduled, is_ready]},
    }
    return msgspec.convert(document, Pod)
