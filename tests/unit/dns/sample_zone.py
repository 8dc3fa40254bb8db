"""A small zone built from model values, the way the controller's objects would build it, and what it must hold."""

from collections.abc import Iterable

from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ImportPort, ImportType, ServiceImport, ServiceImportSpec
from mcs.model.names import SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL, ServiceKey
from mcs.model.preference import NO_PREFERENCE, Preference
from mcs.model.slices import (
    IPV4,
    IPV6,
    AddressType,
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
)
from mcs_dns.answer import Record, Type, resolve
from mcs_dns.query import Question
from mcs_dns.zone import ImportedService, Zone, imported_service

NAMESPACE = "demo"


def service_import(
    name: str,
    type_: ImportType = "ClusterSetIP",
    *,
    ips: tuple[str, ...] = (),
    ports: tuple[tuple[str, str, int], ...] = (),
    namespace: str = NAMESPACE,
) -> ServiceImport:
    """A ServiceImport; ports are (name, protocol, port)."""
    import_ports = tuple(ImportPort(name=port, protocol=protocol, port=n) for port, protocol, n in ports)
    spec = ServiceImportSpec(type=type_, ips=ips, ports=import_ports)
    return ServiceImport(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)


def ready(*addresses: str, hostname: str | None = None) -> Endpoint:
    """A ready endpoint."""
    return Endpoint(addresses=addresses, hostname=hostname, conditions=EndpointConditions(ready=True))


def not_ready(*addresses: str, hostname: str | None = None) -> Endpoint:
    """An endpoint that must not be published."""
    return Endpoint(addresses=addresses, hostname=hostname, conditions=EndpointConditions(ready=False))


def mirror(
    name: str,
    cluster: str,
    *endpoints: Endpoint,
    family: AddressType = IPV4,
    ports: tuple[tuple[str, str, int], ...] = (),
    namespace: str = NAMESPACE,
    preference: Preference = NO_PREFERENCE,
) -> EndpointSlice:
    """A slice of service `name` mirrored from `cluster`; ports are (name, protocol, port)."""
    labels = {SERVICE_NAME_LABEL: name, SOURCE_CLUSTER_LABEL: cluster}
    return EndpointSlice(
        metadata=ObjectMeta(
            name=f"{name}-{cluster}", namespace=namespace, labels=labels, annotations=preference.annotations
        ),
        address_type=family,
        endpoints=endpoints,
        ports=tuple(EndpointPort(name=port, protocol=protocol, port=n) for port, protocol, n in ports),
    )


SQL = (("sql", "TCP", 5432),)

SAMPLE: dict[ServiceKey, tuple[ServiceImport, tuple[EndpointSlice, ...]]] = {
    imported.key: (imported, mirrors)
    for imported, mirrors in (
        (
            service_import("web", ips=("10.96.0.7",), ports=(("http", "TCP", 80), ("https", "TCP", 443))),
            (mirror("web", "c1", ready("10.1.0.1"), ports=(("http", "TCP", 8080),)),),
        ),
        (
            service_import(
                "dual", ips=("10.96.0.8", "fd00:96::8"), ports=(("dns", "UDP", 53), ("dns-tcp", "TCP", 53))
            ),
            (),
        ),
        (service_import("pending", ports=(("http", "TCP", 80),)), ()),
        (service_import("unnamed", ips=("10.96.0.9",), ports=(("", "TCP", 8080),)), ()),
        (service_import("portless", ips=("10.96.0.10",)), ()),
        (
            service_import("db", "Headless", ports=(("sql", "TCP", 15432),)),
            (
                mirror(
                    "db",
                    "c2",
                    ready("10.2.0.5", hostname="db-0"),
                    not_ready("10.2.0.6", hostname="db-1"),
                    ports=SQL,
                ),
                mirror("db", "c2", ready("fd00:2::5", hostname="db-0"), family=IPV6, ports=SQL),
                mirror("db", "c3", ready("10.3.0.5", hostname="db-0"), ready("10.3.0.6"), ports=SQL),
                mirror("db", "c4.eu", ready("10.4.0.5", hostname="db-0"), ports=SQL),
            ),
        ),
        (
            service_import("six", "Headless"),
            (
                mirror(
                    "six", "c1", ready("fd00:1::"), ready("fd00:1::a"), family=IPV6, ports=(("", "UDP", 9),)
                ),
            ),
        ),
        (
            service_import("down", "Headless", ports=SQL),
            (mirror("down", "c1", not_ready("10.1.0.9"), ports=SQL),),
        ),
        (service_import("asleep", "Headless", namespace="quiet"), ()),
    )
}


def sample_services() -> dict[ServiceKey, ImportedService | None]:
    """The sample as `Zone.with_services` takes it."""
    return {key: imported_service(*value) for key, value in SAMPLE.items()}


def sample_zone() -> Zone:
    """The synced zone of the sample."""
    empty = Zone.empty(nameserver_addresses=("10.96.0.10", "fd00:96::10"))
    return empty.with_services(sample_services()).as_synced()


def zone_of(*services: tuple[ServiceImport, tuple[EndpointSlice, ...]]) -> Zone:
    """A synced zone of some imports and their slices."""
    changes = {imported.key: imported_service(imported, mirrors) for imported, mirrors in services}
    return Zone.empty().with_services(changes).as_synced()


def question(name: str, type_: str | int) -> Question:
    """A question about a name below the zone ("" for the zone itself), or about an absolute one with a dot."""
    full = name[:-1] if name.endswith(".") else ".".join(filter(None, (name, "clusterset.local")))
    number = type_ if isinstance(type_, int) else TYPES[type_]
    return Question(tuple(full.lower().split(".")), number)


TYPES = {type_.name: int(type_) for type_ in Type} | {"PTR": 12, "MX": 15, "HTTPS": 65, "DS": 43}


def lines(records: Iterable[Record]) -> list[str]:
    """Records as zone-file lines, sorted."""
    return sorted(map(str, records))


def answer_lines(zone: Zone, name: str, type_: str | int) -> tuple[str, list[str]]:
    """Response code and answer section for one question."""
    answer = resolve(question(name, type_), zone)
    return answer.rcode.name, lines(answer.answers)
