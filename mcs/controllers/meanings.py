"""What of an object decides for others: a change of anything else is no work."""

from mcs.model.multicluster import ServiceExport
from mcs.model.preference import preference_of, preference_problems, traffic_preference_of
from mcs.model.services import Namespace, Service
from mcs.model.slices import EndpointSlice
from mcs.services.selection import named_clusters


def meaning_of_namespace(namespace: Namespace) -> tuple[object, ...]:
    """Whether it exists as the same, and whether it is going."""
    return namespace.is_terminating, namespace.metadata.uid


def meaning_of_service(service: Service) -> tuple[object, ...]:
    """Its ports and addresses, and labels that tell it for a derived one."""
    return service.spec, service.metadata.labels, service.is_terminating, service.metadata.uid


def meaning_of_slice(endpoint_slice: EndpointSlice) -> tuple[object, ...]:
    """Its endpoints, and whose they are."""
    meta = endpoint_slice.metadata
    return endpoint_slice.address_type, endpoint_slice.endpoints, endpoint_slice.ports, meta.labels, meta.uid


def meaning_of_export(export: ServiceExport) -> tuple[object, ...]:
    """What it asks for; its conditions are only told."""
    annotations = export.metadata.annotations
    said = (preference_of(annotations), traffic_preference_of(annotations), preference_problems(annotations))
    return export.spec, export.is_terminating, export.metadata.uid, named_clusters(export), said
