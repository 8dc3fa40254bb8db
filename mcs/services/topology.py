"""Topology hints of mirrors: which nodes and zones should prefer an endpoint.

Kubernetes gives hints only to Services with a selector, which a derived Service lacks, so `trafficDistribution` would
do nothing there. As its EndpointSlice controller does (Kubernetes 1.34), each ready endpoint is hinted by itself:
kube-proxy disregards hints of a kind unless all ready endpoints have one, so an endpoint that lacks its zone needs no
write of the others.
"""

from collections.abc import Iterable

from msgspec import Struct

from mcs.model.actions import Action, Apply
from mcs.model.names import ClusterId
from mcs.model.services import Service
from mcs.model.slices import Endpoint, EndpointHints, ForNode, ForZone

_LONGEST_NODE_NAME = 253


class Distribution(Struct, frozen=True):
    """A Service's trafficDistribution, and whether the target knows hints for nodes."""

    value: str | None
    knows_nodes: bool = True


NO_DISTRIBUTION = Distribution(None)


def hints(
    endpoint: Endpoint, cluster: ClusterId, distribution: Distribution, *, is_local: bool
) -> EndpointHints | None:
    """The hints of a source endpoint of `cluster`; None for none.

    PreferClose and PreferSameZone hint the endpoint's zone, PreferSameNode its node as well. A node of another cluster
    may have the name of one here, which must not prefer its endpoints: it is hinted as "node.cluster", so that all
    endpoints have a node hint and kube-proxy heeds those of its own node.
    """
    if distribution.value is None or not endpoint.is_ready:
        return None
    zones = (ForZone(name=endpoint.zone),) if endpoint.zone else None
    with_nodes = distribution.knows_nodes and distribution.value == "PreferSameNode"
    node = _node_hint(endpoint, cluster, is_local=is_local) if with_nodes else ""
    nodes = (ForNode(name=node),) if node else None
    return EndpointHints(for_zones=zones, for_nodes=nodes) if zones or nodes else None


def _node_hint(endpoint: Endpoint, cluster: ClusterId, *, is_local: bool) -> str:
    if not endpoint.node_name:
        return ""
    name = endpoint.node_name if is_local else f"{endpoint.node_name}.{cluster}"
    return name if len(name) <= _LONGEST_NODE_NAME else ""


def refused_distributions(actions: Iterable[Action], refusal: str) -> frozenset[str]:
    """The values of trafficDistribution that an API server does not take, judged by its `refusal` of `actions`.

    Kubernetes before 1.34 knows PreferClose only, and hints for nodes no more than the value that asks for them.
    """
    refused = {"PreferSameNode"} if "forNodes" in refusal else set()
    if "trafficDistribution" in refusal:
        derived = (each.object for each in actions if isinstance(each, Apply))
        refused |= {each.spec.traffic_distribution or "" for each in derived if isinstance(each, Service)}
    return frozenset(refused - {""})
