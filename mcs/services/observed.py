"""What a plan may look at: everything that is known of one service at one instant.

Values only. Filling them from the caches is the shell's work, judging them is the plan's. "Unknown is not empty":
a cluster that is not in `seen` may export or hold anything, whatever else the value says of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mcs.model.multicluster import ServiceExport, ServiceImport
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.policy import DEFAULT_POLICY, MemberPolicy, Policy
from mcs.model.services import Service
from mcs.model.slices import EndpointSlice

Cap = Literal["exports", "endpoints"]
NamespacePhase = Literal["present", "absent", "terminating"]


@dataclass(frozen=True, slots=True)
class Exporter:
    """A ServiceExport with what it exports: the Service of its name and the source slices of that Service.

    `policy` is that of its cluster. `beyond` names the cap of the cluster that leaves no room for the export, if one
    does.
    """

    cluster: ClusterId
    export: ServiceExport
    service: Service | None
    slices: tuple[EndpointSlice, ...]
    policy: MemberPolicy = DEFAULT_POLICY.default
    beyond: Cap | None = None


@dataclass(frozen=True, slots=True)
class NodeZones:
    """The zones that the nodes of a cluster are in, sorted, and whether there are nodes in none."""

    names: tuple[str, ...] = ()
    has_nodes_without: bool = False


@dataclass(frozen=True, slots=True)
class ObservedTarget:
    """One service, as far as its import in `target` depends on it.

    `seen` holds the clusters whose first lists are complete. `derived` is whatever Service has the derived name,
    `mirrors` every slice in the target that carries the service-name label of this service; either may be
    somebody else's. `now` is RFC 3339. `families` are the IP families in which Services of the target are known to
    have addresses, None when nothing is known. `refused_distributions` are values of trafficDistribution that the
    target's API server does not take. `has_older_crd` when the target's ServiceImport has no field for
    `status.endpointSliceObjects`, as before release 0.5.1 of the MCS API. `zones` are those of the target's nodes, None
    when they may not be read. `order_elsewhere` is in which order other clusters' imports of the service have its
    exporters, where the policy's precedence is "first-seen". `withdrawn` are the clusters whose endpoints are to be
    withdrawn, each with the reason as a clause ("is unreachable since ..."); those in `undecided` are left as they are.
    """

    target: ClusterId
    key: ServiceKey
    seen: frozenset[ClusterId]
    exporters: tuple[Exporter, ...]
    namespace: NamespacePhase
    derived: Service | None
    service_import: ServiceImport | None
    mirrors: tuple[EndpointSlice, ...]
    now: str
    families: frozenset[str] | None = None
    refused_distributions: frozenset[str] = frozenset()
    has_older_crd: bool = False
    zones: NodeZones | None = None
    policy: Policy = DEFAULT_POLICY
    order_elsewhere: tuple[ClusterId, ...] = ()
    withdrawn: Mapping[ClusterId, str] = field(default_factory=dict)
    undecided: frozenset[ClusterId] = frozenset()


@dataclass(frozen=True, slots=True)
class ObservedExport:
    """One service, as far as the conditions of its export in `cluster` depend on it.

    `own_import` is the ServiceImport in `cluster` itself, whoever wrote it. `now` is RFC 3339. `members` are all
    clusters of the set, seen or not. `withdrawn` are those whose endpoints are withdrawn, with the reasons.
    """

    cluster: ClusterId
    key: ServiceKey
    seen: frozenset[ClusterId]
    exporters: tuple[Exporter, ...]
    own_import: ServiceImport | None
    now: str
    members: frozenset[ClusterId] = frozenset()
    policy: Policy = DEFAULT_POLICY
    withdrawn: Mapping[ClusterId, str] = field(default_factory=dict)
