"""Which endpoints of a Service kube-proxy uses on a node. Readiness and hints only; traffic policies are left out."""

from collections.abc import Iterable

from mcs.model.slices import Endpoint


def used_endpoints(endpoints: Iterable[Endpoint], *, node: str, zone: str) -> list[Endpoint]:
    """The ready endpoints that a node uses; its zone is empty for none.

    Hints of a kind count when all ready endpoints have one and one of them is for this node or zone; those for nodes
    come first (Kubernetes 1.34 and 1.37, pkg/proxy/topology.go).
    """
    ready = [each for each in endpoints if each.is_ready]
    for kind, own in (("for_nodes", node), ("for_zones", zone)):
        hinted = [[hint.name for hint in getattr(each.hints, kind, None) or ()] for each in ready]
        chosen = [each for each, names in zip(ready, hinted, strict=True) if own in names]
        if chosen and all(hinted):
            return chosen
    return ready
