"""Which records a question gets: the specification's record table and the choice of NXDOMAIN or NODATA.

Pure and in values; order among several records of one answer carries no meaning here and is left to `wire`.

Sources: Kubernetes DNS-Based Multicluster Service Discovery 1.0.0 (2.3, 2.4), RFC 1034 4.3.2, RFC 2308 (negative
answers), RFC 2782 (SRV), RFC 8020 (NXDOMAIN), RFC 8482 (ANY).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, assert_never

from mcs.model.names import ServiceKey
from mcs.model.preference import DEFAULT_WEIGHT
from mcs.model.slices import IPV4, AddressType
from mcs_dns.choice import Choice
from mcs_dns.query import (
    Apex,
    Asked,
    EmptyNonTerminal,
    EndpointName,
    NameServer,
    NamespaceName,
    NoSuchName,
    OtherZone,
    PortName,
    Question,
    SchemaVersion,
    ServiceName,
    asked_for,
)
from mcs_dns.zone import MAX_NAME, ImportedService, Port, ReadyEndpoint, Zone

SCHEMA_VERSION = "1.0.0"


class Type(IntEnum):
    """The record types that the zone holds, and those that are asked for by a rule of their own."""

    A = 1
    NS = 2
    SOA = 6
    TXT = 16
    AAAA = 28
    SRV = 33
    IXFR = 251
    AXFR = 252
    ANY = 255


_GET_ADDRESSES = frozenset({Type.A, Type.AAAA, Type.ANY})
_GET_PORTS = frozenset({Type.SRV, Type.ANY})
"""Questions of other types need not know more of a service than that its name exists: it may have thousands of
records."""


class Rcode(IntEnum):
    """Response codes (RFC 1035 4.1.1, RFC 6891 9)."""

    NOERROR = 0
    FORMERR = 1
    SERVFAIL = 2
    NXDOMAIN = 3
    NOTIMP = 4
    REFUSED = 5
    BADVERS = 16


class Record(NamedTuple):
    """One resource record of class IN; name without the final dot, data in the form a zone file has.

    `choice` is there for a record that stands for one endpoint among others.
    """

    name: str
    ttl: int
    type: Type
    data: str
    choice: Choice | None = None

    def __str__(self) -> str:
        return f"{self.name}. {self.ttl} IN {self.type.name} {self.data}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The sections of a response.

    `service` is the one service it depends on, None when it depends on more. `has_both_families` is true when the
    answers are addresses of endpoints that have addresses of the other family as well.
    """

    rcode: Rcode
    answers: tuple[Record, ...] = ()
    authority: tuple[Record, ...] = ()
    additional: tuple[Record, ...] = ()
    service: ServiceKey | None = None
    has_both_families: bool = False

    @property
    def is_authoritative(self) -> bool:
        """True when the zone itself says so (the AA bit, RFC 1035 4.1.1)."""
        return self.rcode in (Rcode.NOERROR, Rcode.NXDOMAIN)


def resolve(question: Question, zone: Zone) -> Answer:
    """The answer of `zone` to `question`.

    REFUSED outside the zone and for zone transfers, SERVFAIL while the zone is not synced, otherwise records, or
    NOERROR without records (NODATA) where the name exists, or NXDOMAIN; the last two with the SOA (RFC 2308, 2).
    """
    origin = origin_of(question.labels, zone)
    zone = zone.under(origin)
    asked = asked_for(question.labels, tuple(origin.split(".")))
    if isinstance(asked, OtherZone) or question.type in (Type.AXFR, Type.IXFR):
        return Answer(Rcode.REFUSED)
    if not zone.synced:
        return Answer(Rcode.SERVFAIL)
    records = _records_of(asked, zone, question.type)
    service = _service_of(asked)
    if service not in zone.services:
        service = None
    if records is None:
        return Answer(Rcode.NXDOMAIN, authority=(soa(zone),), service=service)
    chosen = _of_type(records, question.type)
    if not chosen:
        return Answer(Rcode.NOERROR, authority=(soa(zone),), service=service)
    return Answer(
        Rcode.NOERROR,
        chosen,
        additional=_additional(chosen, asked, zone),
        service=service,
        has_both_families=chosen[0].choice is not None and len({record.type for record in records}) > 1,
    )


def origin_of(labels: tuple[str, ...], zone: Zone) -> str:
    """The origin of `zone` that a name is below; any of them for a name of another zone."""
    name = "." + ".".join(labels)
    origins = zone.settings.origins
    return next((origin for origin in origins if name.endswith(f".{origin}")), origins[0])


def _records_of(asked: Asked, zone: Zone, type_: int) -> tuple[Record, ...] | None:
    """The records at the name, those of `type_` at least; empty where it exists without any, None where it does not."""
    settings = zone.settings
    match asked:
        case OtherZone() | NoSuchName():
            return None
        case EmptyNonTerminal():
            return ()
        case Apex():
            return (soa(zone), Record(settings.origin, settings.ttl, Type.NS, f"{settings.nameserver}."))
        case SchemaVersion():
            name = f"dns-version.{settings.origin}"
            return (Record(name, settings.version_ttl, Type.TXT, f'"{SCHEMA_VERSION}"'),)
        case NameServer():
            return _addresses(settings.nameserver, settings.ttl, settings.nameserver_addresses)
        case NamespaceName(namespace):
            return () if namespace in zone.namespaces else None
        case ServiceName(key):
            return _at_service(key, zone, type_)
        case PortName():
            return _at_port(asked, zone, type_)
        case EndpointName(key, labels):
            return _at_endpoint(key, labels, zone)
        case _:
            assert_never(asked)


def soa(zone: Zone) -> Record:
    """The zone's SOA; its minimum is the negative TTL (RFC 2308, 4), the same as every other TTL."""
    settings = zone.settings
    data = f"{settings.nameserver}. {settings.mailbox}. {zone.serial} 7200 1800 86400 {settings.ttl}"
    return Record(settings.origin, settings.ttl, Type.SOA, data)


def _service_of(asked: Asked) -> ServiceKey | None:
    match asked:
        case ServiceName(key) | PortName(key) | EndpointName(key):
            return key
        case _:
            return None


def _existing(key: ServiceKey, zone: Zone) -> ImportedService | None:
    service = zone.services.get(key)
    return service if service is not None and service.has_names else None


def _at_service(key: ServiceKey, zone: Zone, type_: int) -> tuple[Record, ...] | None:
    service = _existing(key, zone)
    if service is None:
        return None
    name = _service_name(key, zone)
    records: tuple[Record, ...] = ()
    if type_ in _GET_ADDRESSES:
        records += _addresses(name, zone.settings.ttl, service.ips)
        records += _endpoint_addresses(name, zone.settings.ttl, service.preferred)
    if type_ in _GET_PORTS:
        records += _srv(name, _offered(key, service, zone), zone.settings.ttl)
    return records


def _at_port(asked: PortName, zone: Zone, type_: int) -> tuple[Record, ...] | None:
    service = _existing(asked.service, zone)
    if service is None:
        return None
    port = asked.port, asked.protocol
    if not asked.port:
        return () if any(protocol == asked.protocol for _, protocol in service.named_ports) else None
    if port not in service.named_ports:
        return None
    if type_ not in _GET_PORTS:
        return ()
    offered = (
        (each, choice)
        for each, choice in _offered(asked.service, service, zone)
        if (each.name, each.protocol) == port
    )
    name = f"_{asked.port}._{asked.protocol}.{_service_name(asked.service, zone)}"
    return _srv(name, offered, zone.settings.ttl)


def _at_endpoint(key: ServiceKey, labels: tuple[str, ...], zone: Zone) -> tuple[Record, ...] | None:
    service = _existing(key, zone)
    if service is None:
        return None
    # The specification reserves `<clusterid>.<svc>`: it never has records, but names may exist below it.
    addresses = service.names_below.get(labels)
    if addresses is None:
        return None
    return _addresses(f"{'.'.join(labels)}.{_service_name(key, zone)}", zone.settings.ttl, addresses)


def _service_name(key: ServiceKey, zone: Zone) -> str:
    return f"{key.name}.{key.namespace}.svc.{zone.settings.origin}"


def _offered(key: ServiceKey, service: ImportedService, zone: Zone) -> Iterable[tuple[Port, Choice]]:
    """Every SRV record the service could have: a port, and the target's name with its weight and priority."""
    name = _service_name(key, zone)
    if service.type == "ClusterSetIP":
        return ((port, Choice(name, DEFAULT_WEIGHT)) for port in service.ports if service.ips)
    return ((port, choice_of(endpoint, name)) for endpoint in service.chosen for port in endpoint.ports)


def choice_of(endpoint: ReadyEndpoint, service_name: str) -> Choice:
    """What decides about the records of an endpoint of the service."""
    preference = endpoint.preference
    return Choice(endpoint_name(endpoint, service_name), preference.weight, preference.priority)


def endpoint_name(endpoint: ReadyEndpoint, service_name: str) -> str:
    """`<hostname>.<clusterid>.<svc>.<ns>.svc.<zone>` (specification, 2.4.1)."""
    return f"{'.'.join(endpoint.labels)}.{service_name}"


def _addresses(name: str, ttl: int, addresses: Iterable[tuple[AddressType, str]]) -> tuple[Record, ...]:
    """One record per different address: an RRset has no duplicates (RFC 2181, 5)."""
    return tuple(
        Record(name, ttl, Type.A if family == IPV4 else Type.AAAA, address)
        for family, address in dict.fromkeys(addresses)
    )


def _endpoint_addresses(name: str, ttl: int, endpoints: Iterable[ReadyEndpoint]) -> tuple[Record, ...]:
    """The addresses of all of them at the service's name `name`; one that several have counts for the first."""
    found: dict[tuple[AddressType, str], Choice] = {}
    for endpoint in endpoints:
        choice = choice_of(endpoint, name)
        for address in endpoint.addresses:
            found.setdefault((endpoint.family, address), choice)
    return tuple(
        Record(name, ttl, Type.A if family == IPV4 else Type.AAAA, address, choice)
        for (family, address), choice in found.items()
    )


def _srv(name: str, offered: Iterable[tuple[Port, Choice]], ttl: int) -> tuple[Record, ...]:
    """One record per different (target, port number); a target too long to be a name is left out."""
    found: dict[tuple[str, int], Choice] = {}
    for port, choice in offered:
        if len(choice.endpoint) <= MAX_NAME:
            found.setdefault((choice.endpoint, port.port), choice)
    return tuple(
        Record(name, ttl, Type.SRV, f"{choice.priority} {choice.weight} {port} {target}.", choice)
        for (target, port), choice in found.items()
    )


def _of_type(records: tuple[Record, ...], type_: int) -> tuple[Record, ...]:
    """The RRset of `type_`; for ANY the first one there is (RFC 8482, 4.1)."""
    if type_ == Type.ANY and records:
        type_ = records[0].type
    return tuple(record for record in records if record.type == type_)


def _additional(records: tuple[Record, ...], asked: Asked, zone: Zone) -> tuple[Record, ...]:
    """Addresses of the names that SRV and NS records point to, so that clients need not ask again."""
    ttl = zone.settings.ttl
    match asked:
        case Apex() if records[0].type == Type.NS:
            return _addresses(zone.settings.nameserver, ttl, zone.settings.nameserver_addresses)
        case ServiceName(key) | PortName(key) if records[0].type == Type.SRV:
            name = _service_name(key, zone)
            service = zone.services[key]
            if service.type == "ClusterSetIP":
                return _addresses(name, ttl, service.ips)
            targets = {record.data.rsplit(" ", 1)[-1] for record in records}
            found: dict[str, list[tuple[AddressType, str]]] = {}
            for endpoint in service.chosen:
                addresses = found.setdefault(endpoint_name(endpoint, name), [])
                addresses.extend((endpoint.family, address) for address in endpoint.addresses)
            return tuple(
                record
                for target, addresses in found.items()
                if f"{target}." in targets
                for record in _addresses(target, ttl, addresses)
            )
        case _:
            return ()
