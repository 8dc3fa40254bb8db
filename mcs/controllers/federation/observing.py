"""What a preference is planned by: how its clusters stand, and what its workload has and could have in each.

Reads caches and registrations at one instant. What becomes of it is decided in `mcs.federation`.
"""

from datetime import datetime
from typing import Protocol

from mcs.controllers.federation.clusters import FederatedClusters, FederatedType
from mcs.controllers.federation.rooms import Room
from mcs.federation.capacity import CapacityError, Full, Needs, Replicas, capacity_of, needs_of, replicas_of
from mcs.federation.fail_over import ObservedCluster, Stands
from mcs.federation.overrides import NotMade
from mcs.federation.placement import Gate, NotPlaced, Placed, place
from mcs.federation.preference_plan import SeenCluster
from mcs.federation.template import member_object
from mcs.membership.health import health_of
from mcs.model.documents import Document, map_in, number_in
from mcs.model.federated import FederatedObject, Placement, target_resource
from mcs.model.meta import parse_timestamp
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.scheduling import PreferenceStatus

NOT_SEEN = Stands("NotSeen", "its objects of this kind cannot be read, so it keeps what it has")


class FederatedTypes(Protocol):
    """The types that are enabled now."""

    def of_kind(self, kind: str) -> FederatedType | None:
        """The type whose federated kind has this name; None when none is enabled."""


class Drains(Protocol):
    """How far the drains of clusters are (`drains`)."""

    def is_removed(self, cluster: ClusterId, workload: ServiceKey) -> bool:
        """Whether the replicas of a workload in a cluster that is to be drained are to go by now."""


def observed_clusters(
    clusters: FederatedClusters, drains: Drains, workload: ServiceKey
) -> list[ObservedCluster]:
    """What the registrations tell, for a workload. One that is given without a registration has no times."""
    found = []
    for cluster in clusters.registered:
        registration = clusters.registration(cluster)
        if registration is None:
            found.append(ObservedCluster(cluster=cluster, is_ready=clusters.is_ready(cluster)))
            continue
        is_removed = registration.is_drained and drains.is_removed(cluster, workload)
        found.append(
            ObservedCluster(
                cluster=cluster,
                is_ready=clusters.is_ready(cluster),
                since=parse_timestamp(health_of(cluster, registration.status).since),
                is_cordoned=registration.is_cordoned,
                is_draining=registration.is_drained and not is_removed,
                is_drained=is_removed,
                taints=registration.spec.taints,
            )
        )
    return found


def selected_by(
    federated: FederatedObject, clusters: FederatedClusters, gate: Gate | None
) -> Placed | NotPlaced:
    """Where the object's own selector and its namespace leave it, whatever its list says."""
    own = Placement(cluster_selector=federated.spec.placement.cluster_selector)
    return place(own, clusters.registered, gate)


class ObservedWorkload:
    """One federated workload as it is in the members."""

    def __init__(
        self, type_: FederatedType, federated: FederatedObject, status: PreferenceStatus, now: datetime
    ) -> None:
        self._type = type_
        self._federated = federated
        self._target = target_resource(type_.config)
        self._full = {each.name: each.full for each in status.clusters if each.full is not None}
        self._now = now

    def seen(self, cluster: ClusterId, stands: Stands, room: Room | None, *, by_nodes: bool) -> SeenCluster:
        """What is seen in a cluster. Only `by_nodes` counts what its Nodes have room for."""
        if stands.standing == "Ready" and not self._type.is_seen(cluster):
            stands = NOT_SEEN
        cache = self._type.present(cluster)
        present = cache.get(self._federated.key) if cache is not None else None
        document: Document = present.document if present is not None else {}
        wanted, told = (
            number_in(document, "spec", "replicas", otherwise=1),
            number_in(document, "status", "readyReplicas"),
        )
        pods = (
            room.pods_of(self._federated.metadata.namespace, _labels(document)) if room and document else None
        )
        counted = Replicas(told, told) if pods is None else replicas_of(pods, self._now)
        ready = told if wanted == told or pods is None else counted.ready
        return SeenCluster(
            stands=stands,
            ready=ready if present is not None else None,
            wanted=wanted if present is not None else 0,
            capacity=capacity_of(
                wanted if present is not None else 0,
                counted,
                self._more(cluster, room) if by_nodes and room is not None else None,
                self._remembered(cluster),
                self._now,
            ),
        )

    def _more(self, cluster: ClusterId, room: Room) -> int | None:
        """None also where the template cannot be read: propagation tells that."""
        made = member_object(self._federated, self._target, cluster)
        try:
            needs: Needs | None = (
                None if isinstance(made, NotMade) else needs_of(map_in(made, "spec").get("template"))
            )
        except CapacityError:
            needs = None
        return None if needs is None else room.more(needs)

    def _remembered(self, cluster: ClusterId) -> Full | None:
        full = self._full.get(cluster)
        since = parse_timestamp(full.since) if full is not None else None
        return Full(full.replicas, since) if full is not None and since is not None else None


def _labels(document: Document) -> Document:
    """Of the pods of a workload; those of its template where its selector has only expressions."""
    matched = map_in(document, "spec", "selector", "matchLabels")
    return matched or map_in(document, "spec", "template", "metadata", "labels")
