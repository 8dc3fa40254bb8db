"""The ServiceImport of a target: its spec once it has addresses, and its status.

Source: KEP-1645, "Importing Services" and the conditions of ServiceImport.
"""

from collections.abc import Set
from typing import Any

from msgspec import Struct

from mcs.model.meta import Condition, ConditionStatus, ObjectMeta
from mcs.model.multicluster import (
    READY,
    ImportCluster,
    ImportType,
    ServiceImport,
    ServiceImportSpec,
    ServiceImportStatus,
)
from mcs.model.names import (
    DERIVED_SERVICE_ANNOTATION,
    EXPORTED_KEYS_ANNOTATION,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    PRECEDENCE_ANNOTATION,
    ClusterId,
    ServiceKey,
    derived_service_name,
)
from mcs.model.preference import TRAFFIC_ANNOTATION
from mcs.services.conditions import condition, of_types
from mcs.services.merge import Properties
from mcs.services.preference import Unheeded

TRAFFIC_DISTRIBUTION = "TrafficDistributionSupported"
"""A condition of ours, present and False only where the API server does not take the service's trafficDistribution."""

TRAFFIC_PREFERENCE = "TrafficPreferenceHeeded"
"""A condition of ours, present and False only where kube-proxy does not heed the service's traffic preference."""

IP_FAMILY_NOT_SUPPORTED = "IPFamilyNotSupported"
ENDPOINTS_WITHDRAWN = "EndpointsWithdrawn"
"""A condition of ours, present only while a cluster is withdrawn from the import (True), or would be (False)."""

OURS = (READY, TRAFFIC_DISTRIBUTION, TRAFFIC_PREFERENCE, ENDPOINTS_WITHDRAWN)
_OWNED_ANNOTATIONS = (
    DERIVED_SERVICE_ANNOTATION,
    EXPORTED_KEYS_ANNOTATION,
    PRECEDENCE_ANNOTATION,
    TRAFFIC_ANNOTATION,
)


class Addressing(Struct, frozen=True):
    """The clusterset IPs of an import with the family of each, and what the Ready condition says of them.

    `told_as` is the reason of the Event when the service cannot be used. `refused_distribution` is the
    trafficDistribution that the derived Service has to do without, `unheeded` why its traffic preference is not heeded.
    """

    ips: tuple[str, ...]
    ip_families: tuple[str, ...]
    ready: ConditionStatus = "True"
    reason: str = "Ready"
    message: str = "The service can be used."
    told_as: str = "Pending"
    refused_distribution: str | None = None
    unheeded: Unheeded | None = None


class Standing(Struct, frozen=True, kw_only=True):
    """Whose endpoints are there: what the status tells besides the addresses.

    `has_slices` None says nothing of EndpointSlices, for a CRD that has no field for it; `withdrawal` is the condition
    that tells of clusters whose endpoints are withdrawn, None: of none.
    """

    clusters: Set[ClusterId]
    has_slices: bool | None
    withdrawal: Condition | None = None


def desired_import(key: ServiceKey, merged: Properties, addressing: Addressing) -> ServiceImport:
    """The import without its status; `ips` and `ipFamilies` come together."""
    annotations = dict(merged.annotations)
    if merged.type == "ClusterSetIP":
        annotations[DERIVED_SERVICE_ANNOTATION] = derived_service_name(key)
        if merged.traffic_preference:
            annotations[TRAFFIC_ANNOTATION] = merged.traffic_preference
    if merged.order:
        annotations[PRECEDENCE_ANNOTATION] = ",".join(merged.order)
    if merged.labels or merged.annotations:
        keys = ",".join(sorted(merged.labels)), ",".join(sorted(merged.annotations))
        annotations[EXPORTED_KEYS_ANNOTATION] = ";".join(keys)
    return ServiceImport(
        metadata=ObjectMeta(
            name=key.name,
            namespace=key.namespace,
            labels={**merged.labels, MANAGED_BY_LABEL: MANAGED_BY},
            annotations=annotations,
        ),
        spec=ServiceImportSpec(
            type=merged.type,
            ports=merged.ports,
            ips=addressing.ips,
            ip_families=addressing.ip_families,
            session_affinity=merged.session_affinity,
            session_affinity_config=merged.session_affinity_config,
            internal_traffic_policy=merged.internal_traffic_policy,
            traffic_distribution=merged.traffic_distribution,
        ),
    )


def is_as_desired(present: ServiceImport, desired: ServiceImport) -> bool:
    """True when all that we say of the import is so; labels and annotations of others do not count."""
    before, wanted = present.metadata, desired.metadata
    return (
        _said(present.spec) == _said(desired.spec)
        and wanted.labels.items() <= before.labels.items()
        and wanted.annotations.items() <= before.annotations.items()
        and all(before.annotations.get(key) == wanted.annotations.get(key) for key in _OWNED_ANNOTATIONS)
    )


def _said(spec: ServiceImportSpec) -> tuple[Any, ...]:
    return (
        spec.type,
        spec.ports,
        spec.ips,
        spec.ip_families,
        spec.session_affinity,
        spec.session_affinity_config,
        spec.internal_traffic_policy,
        spec.traffic_distribution,
    )


def desired_status(
    key: ServiceKey,
    present: ServiceImport | None,
    addressing: Addressing,
    standing: Standing,
    now: str,
) -> ServiceImport:
    """The import with nothing but its status, as the status subresource takes it."""
    before = present.status.conditions if present else ()
    conditions = [condition(before, READY, addressing.ready, addressing.reason, addressing.message, now)]
    if addressing.refused_distribution:
        message = (
            f'The API server of this cluster does not take trafficDistribution "{addressing.refused_distribution}": '
            "the derived Service goes without it, its EndpointSlices carry what hints this cluster knows."
        )
        conditions.append(condition(before, TRAFFIC_DISTRIBUTION, "False", "NotSupported", message, now))
    if unheeded := addressing.unheeded:
        conditions.append(
            condition(before, TRAFFIC_PREFERENCE, "False", unheeded.reason, unheeded.message, now)
        )
    if standing.withdrawal is not None:
        conditions.append(standing.withdrawal)
    has_slices = standing.has_slices
    return ServiceImport(
        metadata=ObjectMeta(name=key.name, namespace=key.namespace),
        status=ServiceImportStatus(
            clusters=tuple(ImportCluster(cluster=cluster) for cluster in sorted(standing.clusters)),
            conditions=tuple(conditions),
            endpoint_slice_objects=None if has_slices is None else "Present" if has_slices else "Absent",
        ),
    )


def is_status_as_desired(present: ServiceImport, desired: ServiceImport) -> bool:
    """True when our part of the status is so.

    A CRD older than `endpointSliceObjects` neither takes nor keeps that field, so its absence on either side is no
    difference.
    """
    before, wanted = present.status, desired.status
    return (
        {each.cluster for each in before.clusters} == {each.cluster for each in wanted.clusters}
        and of_types(before.conditions, OURS) == of_types(wanted.conditions, OURS)
        and (
            None in (before.endpoint_slice_objects, wanted.endpoint_slice_objects)
            or before.endpoint_slice_objects == wanted.endpoint_slice_objects
        )
    )


def tells_of_an_older_crd(refusal: str) -> bool:
    """True when an API server refuses a status because its CRD is older than `endpointSliceObjects`.

    Server-side apply refuses what the schema does not declare, where other writes drop it.
    """
    return "status.endpointSliceObjects: field not declared in schema" in refusal


def says_distribution_is_refused(present: ServiceImport | None, distribution: str | None) -> bool:
    """True when the import itself remembers that this trafficDistribution was refused here."""
    return (
        present is not None
        and present.is_ours
        and present.spec.traffic_distribution == distribution
        and TRAFFIC_DISTRIBUTION in of_types(present.status.conditions, OURS)
    )


def says_family_is_not_supported(present: ServiceImport | None, families: tuple[str, ...]) -> bool:
    """True when the import itself remembers that this cluster has no Service addresses of `families`."""
    if present is None or not present.is_ours or present.spec.ip_families != families:
        return False
    ready = of_types(present.status.conditions, OURS).get(READY)
    return ready is not None and ready.reason == IP_FAMILY_NOT_SUPPORTED


def told_type(present: ServiceImport) -> ImportType:
    """The type that we last gave to an import, whatever somebody has edited since."""
    return "ClusterSetIP" if DERIVED_SERVICE_ANNOTATION in present.metadata.annotations else "Headless"
