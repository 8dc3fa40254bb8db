"""EndpointSlice (discovery.k8s.io/v1), as source slice and as mirror."""

from typing import NewType

from mcs.model.meta import KubernetesObject, Wire
from mcs.model.names import (
    KUBERNETES_SLICE_CONTROLLER,
    SERVICE_NAME_LABEL,
    SLICE_MANAGED_BY_LABEL,
    SLICE_SERVICE_LABEL,
    SOURCE_CLUSTER_LABEL,
    ServiceKey,
)

AddressType = NewType("AddressType", str)
IPV4 = AddressType("IPv4")
IPV6 = AddressType("IPv6")


class EndpointConditions(Wire, frozen=True):
    """None is "unknown", which consumers read as ready and serving, not terminating."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


MOST_ZONES = 8
"""Zones that the hints of an endpoint may name (validation of discovery.k8s.io/v1)."""


class ForZone(Wire, frozen=True):
    """A zone whose consumers should use the endpoint."""

    name: str


class ForNode(Wire, frozen=True):
    """A node whose consumers should use the endpoint."""

    name: str


class EndpointHints(Wire, frozen=True):
    """Topology hints: where consumers should prefer the endpoint."""

    for_zones: tuple[ForZone, ...] | None = None
    for_nodes: tuple[ForNode, ...] | None = None


class Endpoint(Wire, frozen=True):
    """One endpoint: its addresses (all of the slice's family) and what is known of it."""

    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    hostname: str | None = None
    node_name: str | None = None
    zone: str | None = None
    hints: EndpointHints | None = None

    @property
    def is_ready(self) -> bool:
        """True unless the slice says it is not ready (nil means ready, EndpointConditions API)."""
        return self.conditions.ready is not False


class EndpointPort(Wire, frozen=True):
    """A port that every endpoint of the slice serves. A port of None means "all ports"."""

    name: str | None = None
    protocol: str | None = None
    port: int | None = None
    app_protocol: str | None = None


class EndpointSlice(KubernetesObject, frozen=True, kw_only=True):
    """discovery.k8s.io/v1 EndpointSlice. Kubernetes writes null for empty lists, hence None."""

    address_type: AddressType
    endpoints: tuple[Endpoint, ...] | None = None
    ports: tuple[EndpointPort, ...] | None = None

    @property
    def is_mirror(self) -> bool:
        """True for a slice that some MCS controller imported; never exported again.

        Kubernetes' own controller copies the labels of a Service to its slices, so one of its slices is of this cluster
        whatever its labels say (KEP-1645: imported slices are not managed by that controller).
        """
        labels = self.metadata.labels
        return (
            SERVICE_NAME_LABEL in labels and labels.get(SLICE_MANAGED_BY_LABEL) != KUBERNETES_SLICE_CONTROLLER
        )

    @property
    def source_cluster(self) -> str:
        """The cluster a mirror was copied from; empty for a source slice."""
        return self.metadata.labels.get(SOURCE_CLUSTER_LABEL, "")

    @property
    def service(self) -> ServiceKey:
        """The service it belongs to: the imported one for a mirror, the local Service for a source slice."""
        labels = self.metadata.labels
        imported = labels.get(SERVICE_NAME_LABEL) if self.is_mirror else None
        return ServiceKey(self.metadata.namespace, imported or labels.get(SLICE_SERVICE_LABEL, ""))
