"""Short ways to write the objects that tests speak of: an ordinary one by default, the interesting part by argument.

Values only; nothing here decides anything. Times are given as seconds after `START`.
"""

from datetime import UTC, datetime, timedelta

from mcs.model.meta import ObjectMeta, timestamp
from mcs.model.multicluster import (
    ImportCluster,
    ServiceExport,
    ServiceExportSpec,
    ServiceImport,
    ServiceImportStatus,
)
from mcs.model.names import EXPORT_TO_ANNOTATION, SLICE_SERVICE_LABEL, ClusterId, ServiceKey
from mcs.model.preference import PREFERENCE_ANNOTATION, TRAFFIC_ANNOTATION, WEIGHT_ANNOTATION
from mcs.model.services import ClientIPConfig, Service, ServicePort, ServiceSpec, SessionAffinityConfig
from mcs.model.slices import IPV4, AddressType, Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from mcs.services.observed import Exporter, NamespacePhase, ObservedExport, ObservedTarget

START = datetime(2026, 1, 1, tzinfo=UTC)
WEB = ServiceKey("demo", "web")


def at(seconds: float) -> str:
    """The time `seconds` after START, RFC 3339."""
    return timestamp(START + timedelta(seconds=seconds))


def export(
    key: ServiceKey = WEB,
    *,
    created: float = 0,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    terminating: bool = False,
    to: str | None = None,
    weight: str | None = None,
    preference: str | None = None,
    traffic: str | None = None,
) -> ServiceExport:
    """A ServiceExport without status; `labels` and `annotations` are exported, the rest are annotations of its own."""
    own = {
        EXPORT_TO_ANNOTATION: to,
        WEIGHT_ANNOTATION: weight,
        PREFERENCE_ANNOTATION: preference,
        TRAFFIC_ANNOTATION: traffic,
    }
    return ServiceExport(
        metadata=ObjectMeta(
            name=key.name,
            namespace=key.namespace,
            uid=f"export-{key}",
            generation=1,
            creation_timestamp=at(created),
            deletion_timestamp=at(created + 1) if terminating else None,
            annotations={name: said for name, said in own.items() if said is not None},
        ),
        spec=ServiceExportSpec(exported_labels=labels or {}, exported_annotations=annotations or {}),
    )


def port(text: str, app_protocol: str | None = None) -> ServicePort:
    """A port from "name 80/TCP"; the name may be left out ("80/UDP"), and so may TCP ("http 80")."""
    name, _, pair = text.rpartition(" ")
    number, _, protocol = pair.partition("/")
    return ServicePort(port=int(number), name=name, protocol=protocol or "TCP", app_protocol=app_protocol)


def service(
    key: ServiceKey = WEB,
    *ports: str | ServicePort,
    kind: str = "ClusterIP",
    is_headless: bool = False,
    families: tuple[str, ...] = ("IPv4",),
    affinity_seconds: int | None = None,
    internal: str | None = "Cluster",
    distribution: str | None = None,
    labels: dict[str, str] | None = None,
    terminating: bool = False,
) -> Service:
    """A Service as the API server stores it, with port "http 80" unless ports are given."""
    addresses = (
        ("None",)
        if is_headless
        else tuple({"IPv4": "10.0.0.1", "IPv6": "fd00::1"}[each] for each in families)
    )
    return Service(
        metadata=ObjectMeta(
            name=key.name,
            namespace=key.namespace,
            uid=f"service-{key}",
            labels=labels or {},
            deletion_timestamp=at(0) if terminating else None,
        ),
        spec=ServiceSpec(
            type=kind,
            cluster_ip=addresses[0],
            cluster_ips=addresses,
            ip_families=families,
            ip_family_policy="SingleStack" if len(families) == 1 else "RequireDualStack",
            ports=tuple(port(each) if isinstance(each, str) else each for each in ports or ("http 80",)),
            selector={"app": key.name},
            session_affinity="None" if affinity_seconds is None else "ClientIP",
            session_affinity_config=None
            if affinity_seconds is None
            else SessionAffinityConfig(client_ip=ClientIPConfig(timeout_seconds=affinity_seconds)),
            internal_traffic_policy=internal,
            traffic_distribution=distribution,
        ),
    )


def endpoint(
    *addresses: str,
    ready: bool | None = True,
    serving: bool | None = None,
    terminating: bool | None = None,
    hostname: str | None = None,
    zone: str | None = None,
    node: str | None = None,
) -> Endpoint:
    """A ready endpoint."""
    return Endpoint(
        addresses=addresses,
        conditions=EndpointConditions(ready=ready, serving=serving, terminating=terminating),
        hostname=hostname,
        zone=zone,
        node_name=node,
    )


def slice_(
    name: str,
    *endpoints: str | Endpoint,
    key: ServiceKey = WEB,
    ports: tuple[EndpointPort, ...] | None = None,
    family: AddressType = IPV4,
    annotations: dict[str, str] | None = None,
) -> EndpointSlice:
    """A source slice of a Service, with port http 8080 unless ports are given."""
    return EndpointSlice(
        metadata=ObjectMeta(
            name=name,
            namespace=key.namespace,
            uid=f"slice-{name}",
            labels={SLICE_SERVICE_LABEL: key.name},
            annotations=annotations or {},
        ),
        address_type=family,
        endpoints=tuple(endpoint(each) if isinstance(each, str) else each for each in endpoints),
        ports=(slice_port("http 8080"),) if ports is None else ports,
    )


def slice_port(text: str) -> EndpointPort:
    """A slice's port from "name 8080/TCP", written as for `port`."""
    parsed = port(text)
    return EndpointPort(name=parsed.name, protocol=parsed.protocol, port=parsed.port)


def exporter(
    cluster: str,
    exported: Service | None = None,
    *slices: EndpointSlice,
    created: float = 0,
    export_: ServiceExport | None = None,
) -> Exporter:
    """A cluster that exports a Service, by an export made `created` seconds after START."""
    key = exported.key if exported else WEB
    return Exporter(ClusterId(cluster), export_ or export(key, created=created), exported, slices)


def headless(key: ServiceKey = WEB, *ports: str, families: tuple[str, ...] = ("IPv4",)) -> Service:
    """A headless Service, with port "http 80" unless ports are given."""
    return service(key, *ports, is_headless=True, families=families)


def observed_target(
    *exporters: Exporter,
    target: str = "c1",
    key: ServiceKey = WEB,
    seen: str = "c1 c2 c3",
    namespace: NamespacePhase = "present",
    derived: Service | None = None,
    service_import: ServiceImport | None = None,
    mirrors: tuple[EndpointSlice, ...] = (),
    now: float = 100,
    families: frozenset[str] | None = None,
) -> ObservedTarget:
    """What a target with nothing in it shows, the clusters of `seen` (separated by blanks) being seen."""
    return ObservedTarget(
        target=ClusterId(target),
        key=key,
        seen=frozenset(ClusterId(each) for each in seen.split()),
        exporters=exporters,
        namespace=namespace,
        derived=derived,
        service_import=service_import,
        mirrors=mirrors,
        now=at(now),
        families=families,
    )


def observed_export(
    *exporters: Exporter,
    cluster: str = "c1",
    key: ServiceKey = WEB,
    seen: str = "c1 c2 c3",
    listed: str | None = None,
    now: float = 100,
    members: str = "c1 c2 c3",
) -> ObservedExport:
    """What the export in `cluster` looks like; `listed` are the clusters of its import's status, None: no import."""
    own_import = None
    if listed is not None:
        clusters = tuple(ImportCluster(cluster=each) for each in listed.split())
        own_import = ServiceImport(
            metadata=ObjectMeta(name=key.name, namespace=key.namespace),
            status=ServiceImportStatus(clusters=clusters),
        )
    return ObservedExport(
        cluster=ClusterId(cluster),
        key=key,
        seen=frozenset(ClusterId(each) for each in seen.split()),
        exporters=exporters,
        own_import=own_import,
        now=at(now),
        members=frozenset(ClusterId(each) for each in members.split()),
    )
