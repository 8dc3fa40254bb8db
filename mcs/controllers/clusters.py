"""What is reflected from every member for services, and how the caches are looked into."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from mcs.membership.ranges import pod_ranges
from mcs.model.addresses import families_of
from mcs.model.meta import KubernetesObject
from mcs.model.multicluster import ServiceExport, ServiceImport
from mcs.model.names import (
    API_SERVER,
    SERVICE_NAME_LABEL,
    SLICE_SERVICE_LABEL,
    ClusterId,
    ServiceKey,
    derived_service_name,
    is_derived_name,
    is_mirror_name,
)
from mcs.model.preference import TRAFFIC_ANNOTATION
from mcs.model.registration import ZONE_LABEL, Node
from mcs.model.resources import (
    ENDPOINT_SLICES,
    NAMESPACES,
    NODES,
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
)
from mcs.model.selectors import Selector
from mcs.model.services import Namespace, Service
from mcs.model.slices import EndpointSlice
from mcs.runtime.aside import OnDemand
from mcs.runtime.cache import Cache
from mcs.runtime.demand import Reflected
from mcs.runtime.fleet import Member
from mcs.services.exported_metadata import is_label_value
from mcs.services.imports import ENDPOINTS_WITHDRAWN
from mcs.services.observed import NodeZones
from mcs.services.withdrawal import is_withdrawn


class Work(NamedTuple):
    """A piece of work in one cluster: the import of a service and what its export says, or an export of ours.

    Pod ranges concern no service.
    """

    about: Literal["service", "auto-export", "followed-export", "ranges"]
    service: ServiceKey

    def __str__(self) -> str:
        return f"{self.about} {self.service}"


def _namespace_of(obj: KubernetesObject) -> Iterable[str]:
    return (obj.metadata.namespace,)


def _source_service_of(endpoint_slice: EndpointSlice) -> Iterable[ServiceKey]:
    return () if endpoint_slice.is_mirror else (endpoint_slice.service,)


def mirrored_service_of(endpoint_slice: EndpointSlice) -> Iterable[ServiceKey]:
    return (endpoint_slice.service,) if endpoint_slice.is_mirror else ()


def _source_cluster_of(endpoint_slice: EndpointSlice) -> Iterable[str]:
    return (endpoint_slice.source_cluster,) if endpoint_slice.is_mirror else ()


def _clusters_of(service_import: ServiceImport) -> Iterable[str]:
    return (each.cluster for each in service_import.status.clusters)


def _withdrawn_cluster_of(endpoint_slice: EndpointSlice) -> Iterable[str]:
    return (endpoint_slice.source_cluster,) if is_withdrawn(endpoint_slice) else ()


def _tells_of_withdrawal(service_import: ServiceImport) -> Iterable[bool]:
    return (True for each in service_import.status.conditions if each.type == ENDPOINTS_WITHDRAWN)


def _derived_for(service: Service) -> Iterable[ServiceKey]:
    name = service.metadata.labels.get(SERVICE_NAME_LABEL)
    return (ServiceKey(service.metadata.namespace, name),) if name and service.is_ours else ()


def _namespace_of_derived(service: Service) -> Iterable[str]:
    return (key.namespace for key in _derived_for(service))


def _namespace_of_mirror(endpoint_slice: EndpointSlice) -> Iterable[str]:
    return (key.namespace for key in mirrored_service_of(endpoint_slice))


def _families_of(service: Service) -> Iterable[str]:
    return families_of(service.spec.cluster_ips)


def _place_of_derived(service_export: ServiceExport) -> Iterable[ServiceKey]:
    return (_place(service_export.key),)


def _prefers_traffic(obj: KubernetesObject) -> Iterable[bool]:
    return (True,) if TRAFFIC_ANNOTATION in obj.metadata.annotations else ()


def _zones_of(node: Node) -> Iterable[str]:
    return (node.metadata.labels.get(ZONE_LABEL, ""),)


def _service_by_name(name: str) -> Mapping[str, str]:
    return {"field_selector": f"metadata.name={name}"}


def _slices_of_service(name: str) -> Mapping[str, str] | None:
    """None for a name that no label can have: then no slice can be of that service."""
    return {"label_selector": f"{SLICE_SERVICE_LABEL}={name}"} if is_label_value(name) else None


def _is_kept_service(service: Service) -> bool:
    """What may be a derived Service or stand in the place of one, and the one that tells the family of the cluster."""
    return service.is_ours or is_derived_name(service.metadata.name) or service.key == API_SERVER


def _is_kept_slice(endpoint_slice: EndpointSlice) -> bool:
    """Mirrors, and what may stand in the place of one."""
    return endpoint_slice.is_mirror or endpoint_slice.is_ours or is_mirror_name(endpoint_slice.metadata.name)


REFLECTED = (
    Reflected(NAMESPACES),
    Reflected(
        SERVICES,
        {"derived": _derived_for, "derived in": _namespace_of_derived, "family": _families_of},
        on_demand=OnDemand(SERVICE_EXPORTS, _is_kept_service, _service_by_name, outlined=("family",)),
    ),
    Reflected(
        ENDPOINT_SLICES,
        {
            "service": _source_service_of,
            "mirrored": mirrored_service_of,
            "mirrored in": _namespace_of_mirror,
            "source": _source_cluster_of,
            "withdrawn": _withdrawn_cluster_of,
        },
        on_demand=OnDemand(SERVICE_EXPORTS, _is_kept_slice, _slices_of_service, index="service"),
    ),
    Reflected(
        SERVICE_EXPORTS,
        {"namespace": _namespace_of, "derived": _place_of_derived, "prefers traffic": _prefers_traffic},
    ),
    Reflected(
        SERVICE_IMPORTS,
        {
            "namespace": _namespace_of,
            "cluster": _clusters_of,
            "prefers traffic": _prefers_traffic,
            "withdrawal": _tells_of_withdrawal,
        },
    ),
    Reflected(NODES, {"zone": _zones_of, "pod range": pod_ranges}, may_be_forbidden=True),
)


def reflected(auto_export: Selector | None) -> tuple[Reflected, ...]:
    """What is reflected of a member; the Services that are to be exported automatically are kept as well."""
    if auto_export is None:
        return REFLECTED

    def is_kept(service: Service) -> bool:
        return _is_kept_service(service) or auto_export.selects(service.metadata.labels)

    return tuple(
        replace(each, on_demand=replace(each.on_demand, always=is_kept))
        if each.resource is SERVICES and each.on_demand is not None
        else each
        for each in REFLECTED
    )


class ClusterCaches(NamedTuple):
    """The caches of one member, each by its type."""

    namespaces: Cache[Namespace]
    services: Cache[Service]
    slices: Cache[EndpointSlice]
    exports: Cache[ServiceExport]
    imports: Cache[ServiceImport]
    nodes: Cache[Node]

    @classmethod
    def of(cls, caches: Mapping[str, Cache[Any]]) -> "ClusterCaches":
        """The typed view of a member's caches."""
        return cls(*(caches[each.resource.plural] for each in REFLECTED))

    def namespace_phase(self, namespace: str) -> Literal["present", "absent", "terminating"]:
        """Whether the namespace exists here, and whether it is going."""
        found = self.namespaces.get(ServiceKey("", namespace))
        if found is None:
            return "absent"
        return "terminating" if found.is_terminating else "present"

    def is_unknown(self, key: ServiceKey) -> bool:
        """True when something may belong to the exported service that cannot be decoded, or is not here yet.

        A slice that cannot be decoded does not tell its service, so it counts for its whole namespace.
        """
        return (
            self.services.awaited(key) is not None
            or self.slices.awaited(key) is not None
            or key in self.exports.malformed
            or key in self.services.malformed
            or self.slices.has_malformed_in(key.namespace)
        )

    def is_import_malformed(self, key: ServiceKey) -> bool:
        """True when the import of the service, or its derived Service, exists here but cannot be decoded."""
        return key in self.imports.malformed or _place(key) in self.services.malformed

    def imported(self) -> set[ServiceKey]:
        """Every service of which something of ours may be present in this cluster."""
        keys = {each.key for each in self.imports}
        keys.update(value for value in self.slices.values("mirrored") if isinstance(value, ServiceKey))
        keys.update(value for value in self.services.values("derived") if isinstance(value, ServiceKey))
        return keys

    def imported_in(self, namespace: str) -> set[ServiceKey]:
        """Those of the services of `imported` that are in a namespace."""
        keys = {each.key for each in self.imports.by("namespace", namespace)}
        keys.update(each.service for each in self.slices.by("mirrored in", namespace))
        keys.update(key for each in self.services.by("derived in", namespace) for key in _derived_for(each))
        return keys

    def imported_from(self, cluster: ClusterId) -> set[ServiceKey]:
        """The services of which this cluster holds something that came from `cluster`."""
        keys = {each.key for each in self.imports.by("cluster", cluster)}
        keys.update(each.service for each in self.slices.by("source", cluster))
        return keys

    def holds_from(self, cluster: ClusterId, key: ServiceKey) -> bool:
        """True when this cluster holds something of the service that came from `cluster`."""
        service_import = self.imports.get(key)
        return any(each.source_cluster == cluster for each in self.slices.by("mirrored", key)) or (
            service_import is not None and cluster in _clusters_of(service_import)
        )

    def withdrawn_from(self, cluster: ClusterId) -> set[ServiceKey]:
        """The services of which this cluster holds withdrawn endpoints of `cluster`, or tells of any withdrawal."""
        keys = {each.key for each in self.imports.by("withdrawal", True)}
        keys.update(each.service for each in self.slices.by("withdrawn", cluster) if each.is_mirror)
        return keys

    def sources(self) -> frozenset[ClusterId]:
        """The clusters that something of ours in this cluster came from."""
        named = {*self.slices.values("source"), *self.imports.values("cluster")}
        return frozenset(
            ClusterId(str(each))
            for each in named
            if any(found.is_ours for found in self.slices.by("source", each))
            or any(found.is_ours for found in self.imports.by("cluster", each))
        )

    def service_families(self) -> frozenset[str] | None:
        """The IP families in which Services here have addresses; None while not even the API server's own is known.

        The API server gives its own Service the first family of the cluster.
        """
        if self.services.get(API_SERVER) is None:
            return None
        return frozenset(str(family) for family in self.services.values("family"))

    def zones(self) -> NodeZones | None:
        """The zones that the nodes here are in; None while the nodes cannot be read."""
        if not self.nodes.is_synced:
            return None
        zones = {str(zone) for zone in self.nodes.values("zone")}
        return NodeZones(tuple(sorted(zones - {""})), "" in zones)

    def derived(self, key: ServiceKey) -> Service | None:
        """The Service in the place of the derived Service, whoever made it."""
        return self.services.get(_place(key))


def caches_of(members: Mapping[ClusterId, Member[Any]]) -> dict[ClusterId, ClusterCaches]:
    """The typed views of all these members."""
    return {cluster: ClusterCaches.of(member.caches) for cluster, member in members.items()}


def exported_in(clusters: Mapping[ClusterId, ClusterCaches], namespace: str) -> set[ServiceKey]:
    """The services that any cluster exports from a namespace."""
    return {export.key for each in clusters.values() for export in each.exports.by("namespace", namespace)}


def exported_or_imported_from(
    clusters: Mapping[ClusterId, ClusterCaches], cluster: ClusterId, namespace: str
) -> set[ServiceKey]:
    """The services of a namespace that `cluster` exports, or of which any cluster holds something that came from it."""
    keys = {export.key for export in clusters[cluster].exports.by("namespace", namespace)}
    for each in clusters.values():
        keys.update(key for key in each.imported_from(cluster) if key.namespace == namespace)
    return keys


def _place(key: ServiceKey) -> ServiceKey:
    """Namespace and name of the derived Service."""
    return ServiceKey(key.namespace, derived_service_name(key))
