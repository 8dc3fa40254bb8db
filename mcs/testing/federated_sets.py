"""Federated sets from short text, for tables: the manifests that a user would write, with as little as matters.

manifests("eu env=prod", "us env=dev down"), deployment("shop/web", "eu us"), preference("shop/web", 9, "eu w1, us w2")
"""

from typing import Any

from mcs.federation.manifests import read_manifests
from mcs.federation.snapshot import ObjectKey, Snapshot

Document = dict[str, Any]

DEPLOYMENT, CONFIG_MAP = "FederatedDeployment", "FederatedConfigMap"


def key(text: str, kind: str = DEPLOYMENT) -> ObjectKey:
    """`namespace/name` of a federated object."""
    namespace, name = text.split("/")
    return ObjectKey(kind, namespace, name)


def cluster(text: str) -> Document:
    """A registration: its name, labels as `env=prod`, `cordoned` or `drained`, the effect of a taint, and `down` or
    `ready`, else that is not known."""
    name, *words = text.split()
    labels = dict(word.split("=") for word in words if "=" in word)
    metadata: Document = {"name": name, "namespace": "kube-federation-system", "labels": labels}
    asked = {f"mcs-controller/{word}": "true" for word in ("cordoned", "drained") if word in words}
    taints = [{"key": "dedicated", "effect": word} for word in ("NoSchedule", "NoExecute") if word in words]
    document: Document = {
        "apiVersion": "core.kubefed.io/v1beta1",
        "kind": "KubeFedCluster",
        "metadata": metadata | {"annotations": asked},
        "spec": {"apiEndpoint": "https://api.example", "secretRef": {"name": name}, "taints": taints},
    }
    known = {"ready": ("Ready", "True"), "down": ("Offline", "True")}
    conditions = [
        {"type": type_, "status": status, "lastProbeTime": "2026-01-01T00:00:00Z"}
        for word, (type_, status) in known.items()
        if word in words
    ]
    return document | ({"status": {"conditions": conditions}} if conditions else {})


def placement(text: str) -> Document:
    """`eu us` is a list, `env=prod` a selector, `*` selects all, `none` is an empty list, nothing is no placement."""
    if not text:
        return {}
    if text == "none":
        return {"clusters": []}
    if text == "*":
        return {"clusterSelector": {}}
    if "=" in text:
        return {"clusterSelector": {"matchLabels": dict(word.split("=") for word in text.split())}}
    return {"clusters": [{"name": name} for name in text.split()]}


def federated(name: str, where: str, kind: str = CONFIG_MAP, **spec: Any) -> Document:
    """A federated object."""
    object_ = key(name, kind)
    return {
        "apiVersion": "types.kubefed.io/v1beta1",
        "kind": kind,
        "metadata": {"namespace": object_.namespace, "name": object_.name},
        "spec": {"template": {}, "placement": placement(where)} | spec,
    }


def deployment(name: str, where: str, replicas: int = 1, **spec: Any) -> Document:
    """A FederatedDeployment."""
    return federated(name, where, DEPLOYMENT, **{"template": {"spec": {"replicas": replicas}}} | spec)


def asking(numbers: str) -> Document:
    """The overrides by which an object asks clusters for replicas: `eu=6 us=4`."""
    pairs = (pair.split("=") for pair in numbers.split())
    return {
        "overrides": [
            {"clusterName": name, "clusterOverrides": [{"path": "/spec/replicas", "value": int(number)}]}
            for name, number in pairs
        ]
    }


def namespace(name: str, where: str = "*") -> Document:
    """A FederatedNamespace."""
    return federated(f"{name}/{name}", where, "FederatedNamespace")


def preference(
    name: str, total: int, clusters: str, *, current: str = "", capacity: str = "", **spec: Any
) -> Document:
    """A ReplicaSchedulingPreference in KubeFed's form: `eu w1 min2 max4, * w1`; and what was seen, as `eu=3 us=4`."""
    object_ = key(name)
    seen: dict[str, Document] = {}
    for what, text in (("current", current), ("capacity", capacity)):
        for pair in text.split():
            where, number = pair.split("=")
            seen.setdefault(where, {"name": where, "replicas": 0, "reason": "Weight"})[what] = int(number)
    return {
        "apiVersion": "scheduling.kubefed.io/v1alpha1",
        "kind": "ReplicaSchedulingPreference",
        "metadata": {"namespace": object_.namespace, "name": object_.name},
        "spec": {"totalReplicas": total, "clusters": _preferences(clusters)} | spec,
    } | ({"status": {"clusters": list(seen.values())}} if seen else {})


def by_overrides(name: str, numbers: str, **spec: Any) -> Document:
    """A ReplicaSchedulingPreference in the other form: `eu=6 us=4`."""
    overrides = [
        {"clusterName": cluster_name, "spec": {"replicas": int(number)}}
        for cluster_name, number in (pair.split("=") for pair in numbers.split())
    ]
    document = preference(name, 0, "")
    return document | {"spec": {"overrides": overrides} | spec}


def _preferences(text: str) -> Document:
    names = {"w": "weight", "min": "minReplicas", "max": "maxReplicas"}
    found: Document = {}
    for part in text.split(","):
        if words := part.split():
            found[words[0]] = {
                names[word.rstrip("0123456789")]: int(word.lstrip("minaxw")) for word in words[1:]
            }
    return found


def snapshot(clusters: str, *documents: Document) -> Snapshot:
    """The set of clusters, as `eu env=prod, us down`, and of other manifests."""
    return read_manifests([*(cluster(text) for text in clusters.split(",")), *documents])
