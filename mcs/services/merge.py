"""From several exports to one service: what each exporter offers, and what the clusterset makes of it.

Precedence is the age of the ServiceExport, oldest first; equal ages are decided by the cluster id, so that every
cluster decides alike (KEP-1645, "Constraints and Conflict Resolution"). Where the policy says "first-seen", who was
there before comes before all ages (`precedence`). Whether offers disagree is `conflicts`' part.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mcs.model.addresses import families_of
from mcs.model.meta import parse_timestamp
from mcs.model.multicluster import ImportPort, ImportType, ServiceImport
from mcs.model.names import EXPORTED_KEYS_ANNOTATION, ClusterId
from mcs.model.preference import TrafficPreference, traffic_preference_of
from mcs.model.services import ClientIPConfig, Service, SessionAffinityConfig
from mcs.model.slices import IPV4, IPV6
from mcs.services.exported_metadata import exported_metadata
from mcs.services.observed import Exporter
from mcs.services.ports import merge_ports, offered_ports

_DEFAULT_AFFINITY_SECONDS = 10800
_LONGEST_AFFINITY_SECONDS = 86400
_DISTRIBUTIONS = frozenset({"PreferClose", "PreferSameZone", "PreferSameNode"})


class Properties(Struct, frozen=True, kw_only=True):
    """The properties of a service that an import carries, after the defaulting of the API server.

    `ip_families` is in order of preference and never empty.
    """

    type: ImportType
    ports: tuple[ImportPort, ...]
    ip_families: tuple[str, ...]
    session_affinity: str = "None"
    session_affinity_config: SessionAffinityConfig | None = None
    internal_traffic_policy: str = "Cluster"
    traffic_distribution: str | None = None
    traffic_preference: TrafficPreference | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    order: tuple[ClusterId, ...] = ()
    """Of the exporters, the first deciding; empty where their ages tell it."""


class Offer(Struct, frozen=True):
    """What one exporter contributes to the merge."""

    cluster: ClusterId
    properties: Properties


def in_precedence(exporters: Iterable[Exporter], order: Sequence[ClusterId] = ()) -> tuple[Exporter, ...]:
    """The exporters of `order` in that order, then the oldest export first, then by cluster id.

    An export whose creation time cannot be read comes last.
    """

    def precedence(exporter: Exporter) -> tuple[int, bool, float, str]:
        created = parse_timestamp(exporter.export.metadata.creation_timestamp)
        place = order.index(exporter.cluster) if exporter.cluster in order else len(order)
        return place, created is None, created.timestamp() if created else 0.0, exporter.cluster

    return tuple(sorted(exporters, key=precedence))


def offers(exporters: Iterable[Exporter], order: Sequence[ClusterId] = ()) -> tuple[Offer, ...]:
    """The offers of exporters with a valid Service, in order of precedence; those of `order` come before all ages."""
    return tuple(
        Offer(exporter.cluster, _offered_properties(exporter, exporter.service))
        for exporter in in_precedence(exporters, order)
        if exporter.service is not None
    )


def _offered_properties(exporter: Exporter, service: Service) -> Properties:
    spec, exported = service.spec, exported_metadata(exporter.export)
    has_affinity = spec.session_affinity == "ClientIP"
    return Properties(
        type="Headless" if service.is_headless else "ClusterSetIP",
        ports=offered_ports(service),
        ip_families=_offered_families(exporter, service),
        session_affinity="ClientIP" if has_affinity else "None",
        session_affinity_config=_affinity_config(spec.session_affinity_config) if has_affinity else None,
        internal_traffic_policy="Local" if spec.internal_traffic_policy == "Local" else "Cluster",
        traffic_distribution=spec.traffic_distribution
        if spec.traffic_distribution in _DISTRIBUTIONS
        else None,
        traffic_preference=traffic_preference_of(exporter.export.metadata.annotations),
        labels=exported.labels,
        annotations=exported.annotations,
    )


def _affinity_config(config: SessionAffinityConfig | None) -> SessionAffinityConfig:
    seconds = config.client_ip.timeout_seconds if config and config.client_ip else None
    if seconds is None or not 1 <= seconds <= _LONGEST_AFFINITY_SECONDS:
        seconds = _DEFAULT_AFFINITY_SECONDS
    return SessionAffinityConfig(client_ip=ClientIPConfig(timeout_seconds=seconds))


def _offered_families(exporter: Exporter, service: Service) -> tuple[str, ...]:
    spec = service.spec
    stated = tuple(dict.fromkeys(family for family in spec.ip_families if family in (IPV4, IPV6)))
    return (
        stated
        or families_of(spec.cluster_ips or (spec.cluster_ip,))
        or tuple(sorted({str(each.address_type) for each in exporter.slices} & {str(IPV4), str(IPV6)}))
        or (str(IPV4),)
    )


def merge(offered: Sequence[Offer]) -> Properties:
    """The properties of the import. `offered` is in order of precedence and not empty.

    The first offer decides everything but the ports, which are the union, and the families of a headless service,
    which are those of any exporter, because DNS hands out the addresses of endpoints as they are. So a newer export
    never disturbs what an older one brought about; when the oldest goes, the next one decides.
    """
    first = offered[0].properties
    families = first.ip_families
    if first.type == "Headless":
        families = tuple(dict.fromkeys(each for offer in offered for each in offer.properties.ip_families))
    return replace(
        first, ports=merge_ports(offer.properties.ports for offer in offered), ip_families=families
    )


def remembered_properties(service_import: ServiceImport) -> Properties:
    """What an import of ours says the service is: stands for the exporters that cannot be seen at the moment."""
    spec, metadata = service_import.spec, service_import.metadata
    label_keys, _, annotation_keys = metadata.annotations.get(EXPORTED_KEYS_ANNOTATION, "").partition(";")
    return Properties(
        type=spec.type,
        ports=spec.ports,
        ip_families=spec.ip_families or families_of(spec.ips) or (str(IPV4),),
        session_affinity=spec.session_affinity or "None",
        session_affinity_config=spec.session_affinity_config,
        internal_traffic_policy=spec.internal_traffic_policy or "Cluster",
        traffic_distribution=spec.traffic_distribution,
        traffic_preference=traffic_preference_of(metadata.annotations),
        labels=_picked(metadata.labels, label_keys),
        annotations=_picked(metadata.annotations, annotation_keys),
    )


def _picked(values: dict[str, str], keys: str) -> dict[str, str]:
    return {key: values[key] for key in keys.split(",") if key in values}
