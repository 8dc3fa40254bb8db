"""Topology hints of mirrors: which nodes and zones should prefer an endpoint.

Kubernetes gives hints only to Services with a selector, which a derived Service lacks, so `trafficDistribution` would
do nothing there. As its EndpointSlice controller does (Kubernetes 1.34), each ready endpoint is hinted by itself:
kube-proxy disregards hints of a kind unless all ready endpoints have one, so an endpoint that lacks its zone needs no
write of the others. A traffic preference decides the zones whatever the trafficDistribution says, which goes on to
decide the nodes where those can only be nodes of preferred endpoints.
"""

from collections.abc import Iterable
from typing import assert_never

from msgspec import Struct

from mcs.model.actions import Action, Apply
from mcs.model.names import ClusterId
from mcs.model.preference import TrafficPreference
from mcs.model.services import Service
from mcs.model.slices import MOST_ZONES, Endpoint, EndpointHints, ForNode, ForZone

_LONGEST_NODE_NAME = 253
NOWHERE = "nowhere.mcs-controller"
"""The zone that no node is in: with it an endpoint has a hint, as all must, but is nobody's first choice."""


class Distribution(Struct, frozen=True):
    """A Service's trafficDistribution and traffic preference, and what the target makes of them.

    `knows_nodes` tells whether it knows hints for nodes; `zones` are those of its nodes, none where they are not known.
    """

    value: str | None
    knows_nodes: bool = True
    preference: TrafficPreference | None = None
    zones: tuple[str, ...] = ()


NO_DISTRIBUTION = Distribution(None)


def hints(
    endpoint: Endpoint, cluster: ClusterId, distribution: Distribution, *, is_local: bool
) -> EndpointHints | None:
    """The hints of a source endpoint of `cluster`; None for none.

    PreferClose and PreferSameZone hint the endpoint's zone, PreferSameNode its node as well. A node of another cluster
    may have the name of one here, which must not prefer its endpoints: it is hinted as "node.cluster", so that all
    endpoints have a node hint and kube-proxy heeds those of its own node.
    """
    if not endpoint.is_ready:
        return None
    names = _zone_hints(endpoint, distribution, is_local=is_local)
    zones = tuple(ForZone(name=name) for name in names) or None
    with_nodes = (
        distribution.knows_nodes
        and distribution.value == "PreferSameNode"
        and distribution.preference in (None, "local", "zone")
    )
    node = _node_hint(endpoint, cluster, is_local=is_local) if with_nodes else ""
    nodes = (ForNode(name=node),) if node else None
    return EndpointHints(for_zones=zones, for_nodes=nodes) if zones or nodes else None


def _zone_hints(endpoint: Endpoint, distribution: Distribution, *, is_local: bool) -> tuple[str, ...]:
    """The zones whose clients should use the endpoint.

    Where all zones of the target prefer an endpoint and there are more than fit, the first ones get their way.
    """
    zones = distribution.zones[:MOST_ZONES]
    match distribution.preference:
        case None:
            return (endpoint.zone,) if distribution.value and endpoint.zone else ()
        case "none":
            return ()
        case "zone":
            return (endpoint.zone or NOWHERE,)
        case "local":
            is_preferred = is_local
        case "remote":
            is_preferred = not is_local
        case other:
            assert_never(other)
    return zones if is_preferred or not zones else (NOWHERE,)


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
