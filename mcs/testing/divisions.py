"""Divisions of replicas from short text, for tables: `division(9, "A w1 min4 max6, * w2", "A B C", current="A=3")`."""

from mcs.federation.replicas import ClusterPreference, Division, Mode, Rebalance
from mcs.model.names import ClusterId


def division(
    total: int,
    preferences: str,
    clusters: str,
    *,
    current: str = "",
    capacity: str = "",
    rebalance: Rebalance = "never",
    mode: Mode = "fair",
    key: str = "",
    moves: int = 1,
) -> Division:
    """The division that the texts ask for."""
    return Division(
        total=total,
        clusters=[ClusterId(each) for each in clusters.split()],
        key=key,
        preferences=dict(_preference(each) for each in preferences.split(",") if each.strip()),
        current=counts(current),
        capacity=counts(capacity),
        rebalance=rebalance,
        moves=moves,
        mode=mode,
    )


def counts(text: str) -> dict[ClusterId, int]:
    """`A=1 B=2` as a mapping."""
    pairs = (each.split("=") for each in text.split())
    return {ClusterId(cluster): int(count) for cluster, count in pairs}


def in_order(clusters: str, numbers: str) -> dict[ClusterId, int]:
    """One number for each cluster."""
    pairs = zip(clusters.split(), numbers.split(), strict=True)
    return {ClusterId(cluster): int(number) for cluster, number in pairs}


def _preference(text: str) -> tuple[str, ClusterPreference]:
    name, *said = text.split()
    numbers = {each.rstrip("0123456789"): int(each.lstrip("minaxw")) for each in said}
    return name, ClusterPreference(
        min_replicas=numbers.pop("min", 0),
        max_replicas=numbers.pop("max", None),
        weight=numbers.pop("w", 0),
    )
