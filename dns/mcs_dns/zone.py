"""The zone as a value: what every imported service can answer, and the records of the zone itself.

A zone is never edited. `with_services` returns the next zone, which shares everything unchanged with the one before
it, so that whoever still answers from the old zone is not disturbed. How names are read is left to `query`, which
records a question gets to `answer`, and bytes to `wire`.

Sources: Kubernetes DNS-Based Multicluster Service Discovery 1.0.0, RFC 1035 (SOA, NS), RFC 2308 (negative TTL).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

from immutables import Map, MapMutation

from mcs.model.addresses import published_address
from mcs.model.multicluster import ImportPort, ImportType, ServiceImport
from mcs.model.names import ServiceKey, cluster_id_error, is_dns_label
from mcs.model.preference import NO_PREFERENCE, Preference, preference_of
from mcs.model.slices import IPV4, IPV6, AddressType, Endpoint, EndpointPort, EndpointSlice

MAX_NAME = 253
"""Longest name in text form without the final dot (RFC 1035, 2.3.4: 255 octets on the wire)."""

SERIAL_MODULUS = 2**32

_LONGEST_ORIGIN = MAX_NAME - len("dns-version.")


class Port(NamedTuple):
    """A port that SRV records name. An empty name gets no `_port._proto` name of its own."""

    name: str
    protocol: str
    port: int


class ReadyEndpoint(NamedTuple):
    """One ready endpoint in one family, as names and records need it.

    `labels` is its name below the service: its hostname or system-assigned id, then the one or two labels of its
    cluster id.
    """

    labels: tuple[str, ...]
    family: AddressType
    addresses: tuple[str, ...]
    ports: tuple[Port, ...]
    preference: Preference = NO_PREFERENCE


@dataclass(frozen=True)
class ImportedService:
    """What DNS needs of one ServiceImport and its mirrored slices.

    `ips` and `ports` are the import's and serve type ClusterSetIP; `endpoints` serve type Headless, sorted, so that
    two services of the same meaning are equal whatever order their slices came in. What is derived from them is
    worked out at the first question for it, so that names which do not exist cost a look-up.
    """

    type: ImportType
    ips: tuple[tuple[AddressType, str], ...] = ()
    ports: tuple[Port, ...] = ()
    endpoints: tuple[ReadyEndpoint, ...] = ()

    @property
    def has_names(self) -> bool:
        """True when the service's name exists: a headless one needs a ready endpoint (specification 2.4.1)."""
        return self.type == "ClusterSetIP" or bool(self.endpoints)

    @cached_property
    def names_below(self) -> Mapping[tuple[str, ...], tuple[tuple[AddressType, str], ...]]:
        """The names of endpoints by their labels, with their addresses; without any where names are but below."""
        names: dict[tuple[str, ...], list[tuple[AddressType, str]]] = {}
        for endpoint in self.endpoints:
            addresses = names.setdefault(endpoint.labels, [])
            addresses.extend((endpoint.family, address) for address in endpoint.addresses)
            for index in range(1, len(endpoint.labels)):
                names.setdefault(endpoint.labels[index:], [])
        return {labels: tuple(addresses) for labels, addresses in names.items()}

    @cached_property
    def chosen(self) -> tuple[ReadyEndpoint, ...]:
        """The endpoints that answer for the service: not the withheld, and local ones alone while there are any."""
        if self._is_without_preference:
            return self.endpoints
        offered = tuple(endpoint for endpoint in self.endpoints if endpoint.preference.weight)
        return tuple(endpoint for endpoint in offered if endpoint.preference.is_local_first) or offered

    @cached_property
    def preferred(self) -> tuple[ReadyEndpoint, ...]:
        """Of those the ones of the lowest priority, for clients that cannot be told of priorities."""
        if self._is_without_preference:
            return self.endpoints
        first = min((endpoint.preference.priority for endpoint in self.chosen), default=0)
        return tuple(endpoint for endpoint in self.chosen if endpoint.preference.priority == first)

    @property
    def _is_without_preference(self) -> bool:
        return all(endpoint.preference is NO_PREFERENCE for endpoint in self.endpoints)

    @cached_property
    def named_ports(self) -> frozenset[tuple[str, str]]:
        """(name, protocol) of every port that has a `_port._proto` name."""
        ports = self.ports or (port for endpoint in self.endpoints for port in endpoint.ports)
        return frozenset((port.name, port.protocol) for port in ports if port.name)


@dataclass(frozen=True, slots=True)
class ZoneSettings:
    """What the zone says about itself: its name, its times to live (seconds) and its name server.

    `origin` has no final dot and is lower case, as have `other_origins`, under which the same services have names as
    well. The name server is always `ns.dns.<origin>`; its addresses are
    what the additional section of an NS answer carries.
    """

    origin: str = "clusterset.local"
    ttl: int = 5
    version_ttl: int = 28800
    nameserver_addresses: tuple[tuple[AddressType, str], ...] = ()
    other_origins: tuple[str, ...] = ()

    @property
    def origins(self) -> tuple[str, ...]:
        """All origins, those that are below another first."""
        return tuple(sorted((self.origin, *self.other_origins), key=len, reverse=True))

    @property
    def nameserver(self) -> str:
        """Name of the name server, also the SOA's mname."""
        return f"ns.dns.{self.origin}"

    @property
    def mailbox(self) -> str:
        """The SOA's rname."""
        return f"hostmaster.{self.origin}"


@dataclass(frozen=True, slots=True)
class Zone:
    """All answers of one zone at one moment.

    `synced` is False until every object of the first list is in: such a zone answers SERVFAIL, because a wrong
    NXDOMAIN would be cached. `serial` is the SOA serial and grows by one with every change. `change` is the
    identity of the zone this one was made from and the services that differ from it, so that whoever keeps something
    per service need not look at all of them.
    """

    settings: ZoneSettings
    services: Map[ServiceKey, ImportedService]
    namespaces: Map[str, int]
    synced: bool = False
    serial: int = 1
    identity: object = field(default_factory=object, compare=False, repr=False)
    change: tuple[object, frozenset[ServiceKey]] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def empty(
        cls,
        origin: str = "clusterset.local",
        *other_origins: str,
        ttl: int = 5,
        nameserver_addresses: Iterable[str] = (),
        synced: bool = False,
    ) -> "Zone":
        """A zone without services.

        Raises ValueError when an origin is not a DNS name, or too long to have names below, or one of the names that
        services of another have, or when `ttl` is no TTL.
        """
        name, *others = map(_origin, (origin, *other_origins))
        for one, other in product((name, *others), repeat=2):
            if f".{one}".endswith(f".svc.{other}"):
                raise ValueError(
                    f"zone {one!r} is among the names of services of zone {other!r}; choose another"
                )
        if not 0 <= ttl < 2**31:
            raise ValueError(f"ttl {ttl} is not in 0..2147483647 seconds (RFC 2181, 8)")
        addresses = tuple(nameserver_addresses)
        known = tuple(filter(None, map(_either_family, addresses)))
        settings = ZoneSettings(
            origin=name,
            ttl=ttl,
            nameserver_addresses=known,
            other_origins=tuple(sorted({*others} - {name})),
        )
        return cls(settings=settings, services=Map(), namespaces=Map(), synced=synced)

    def with_services(self, changes: Mapping[ServiceKey, ImportedService | None]) -> "Zone":
        """The zone after `changes`: each named service is replaced, or removed when it maps to None.

        Services whose namespace or name is not one DNS label cannot be asked for and are left out. Returns this
        very zone when nothing changes.
        """
        services = self.services.mutate()
        namespaces = self.namespaces.mutate()
        changed = set()
        for key, service in changes.items():
            present = services.get(key)
            if service == present or not (is_dns_label(key.namespace) and is_dns_label(key.name)):
                continue
            changed.add(key)
            if service is None:
                del services[key]
                _count(namespaces, key.namespace, -1)
                continue
            services[key] = service
            if present is None:
                _count(namespaces, key.namespace, 1)
        if not changed:
            return self
        return Zone(
            settings=self.settings,
            services=services.finish(),
            namespaces=namespaces.finish(),
            synced=self.synced,
            serial=(self.serial + 1) % SERIAL_MODULUS,
            change=(self.identity, frozenset(changed)),
        )

    def as_synced(self) -> "Zone":
        """The same zone, now known to be complete."""
        return (
            self
            if self.synced
            else replace(self, synced=True, identity=object(), change=(self.identity, frozenset()))
        )

    def changed_since(self, before: "Zone", keys: Iterable[ServiceKey]) -> frozenset[ServiceKey]:
        """The services that differ between `before` and this zone, at least those of them that are in `keys`."""
        if before is self:
            return frozenset()
        if self.change is not None and self.change[0] is before.identity:
            return self.change[1]
        return frozenset(key for key in keys if self.services.get(key) is not before.services.get(key))

    def under(self, origin: str) -> "Zone":
        """This zone with one origin alone, one of its own."""
        if origin == self.settings.origin and not self.settings.other_origins:
            return self
        return replace(self, settings=replace(self.settings, origin=origin, other_origins=()))


def _origin(text: str) -> str:
    name = text.rstrip(".").lower()
    if len(name) > _LONGEST_ORIGIN or not all(is_dns_label(label) for label in name.split(".")):
        raise ValueError(f"zone {text!r} is not a DNS name; write it like clusterset.local")
    return name


def imported_service(
    service_import: ServiceImport,
    slices: Iterable[EndpointSlice],
    endpoints_of: Callable[[EndpointSlice], tuple[ReadyEndpoint, ...]] | None = None,
) -> ImportedService:
    """What DNS answers for `service_import`, given the EndpointSlices mirrored for it.

    `endpoints_of` gives what `ready_endpoints` gives, for who remembers it: of a service's slices few change at once.

    Taken are ready endpoints of slices that carry its service-name label and a valid source cluster. Addresses that
    nobody in another cluster can reach (loopback, link-local, multicast, unspecified) or that are malformed are
    left out, and so is only what depends on them. Of a headless service the ports are those of the slices, since
    no virtual IP could translate the import's; of a ClusterSetIP service the endpoints have no names.
    """
    spec = service_import.spec
    if spec.type == "ClusterSetIP":
        ips = dict.fromkeys(filter(None, map(_either_family, spec.ips)))
        return ImportedService(type=spec.type, ips=tuple(sorted(ips)), ports=_ports(spec.ports))
    endpoints_of = endpoints_of or ready_endpoints
    endpoints = {
        endpoint
        for mirror in slices
        if mirror.is_mirror and mirror.service == service_import.key
        for endpoint in endpoints_of(mirror)
    }
    return ImportedService(type=spec.type, endpoints=tuple(sorted(endpoints)))


@lru_cache(maxsize=1 << 16)
def system_assigned_id(address: str) -> str:
    """The label of an endpoint without a hostname: its address with dashes, and never one at the end."""
    dashed = address.replace(".", "-").replace(":", "-")
    dashed = f"0{dashed}" if dashed.startswith("-") else dashed
    return f"{dashed}0" if dashed.endswith("-") else dashed


def ready_endpoints(mirror: EndpointSlice) -> tuple[ReadyEndpoint, ...]:
    """The endpoints of a mirrored slice that DNS may answer with; none of one whose source cluster is no cluster id."""
    cluster_labels = _cluster_labels(mirror.source_cluster)
    if mirror.address_type not in (IPV4, IPV6) or not cluster_labels:
        return ()
    ports = _ports(mirror.ports or ())
    preference = preference_of(mirror.metadata.annotations)
    found = []
    for endpoint in mirror.endpoints or ():
        if endpoint.is_ready:
            published = [published_address(address, mirror.address_type) for address in endpoint.addresses]
            addresses = tuple(sorted({address for address in published if address is not None}))
            for name, group in _named(endpoint, addresses):
                labels = (name, *cluster_labels)
                found.append(ReadyEndpoint(labels, mirror.address_type, group, ports, preference))
    return tuple(found)


@lru_cache
def _cluster_labels(cluster: str) -> tuple[str, ...]:
    """The labels of a cluster id; none of what is no cluster id."""
    return tuple(cluster.split(".")) if cluster_id_error(cluster) is None else ()


def _named(endpoint: Endpoint, addresses: tuple[str, ...]) -> Iterable[tuple[str, tuple[str, ...]]]:
    """The endpoint under its hostname, or without a usable one each address under its own id."""
    if not addresses:
        return ()
    hostname = (endpoint.hostname or "").lower()
    if hostname and is_dns_label(hostname):
        return ((hostname, addresses),)
    return tuple((system_assigned_id(address), (address,)) for address in addresses)


@lru_cache(maxsize=1 << 10)
def _ports(ports: tuple[ImportPort, ...] | tuple[EndpointPort, ...]) -> tuple[Port, ...]:
    """The ports that a record can name; a slice's port without a number means all ports and names none."""
    return tuple(
        sorted(
            {
                Port((port.name or "").lower(), (port.protocol or "TCP").lower(), port.port)
                for port in ports
                if port.port is not None and 0 < port.port < 65536
            }
        )
    )


def _either_family(text: str) -> tuple[AddressType, str] | None:
    family = IPV6 if ":" in text else IPV4
    address = published_address(text, family)
    return None if address is None else (family, address)


def _count(namespaces: MapMutation[str, int], namespace: str, step: int) -> None:
    count = namespaces.get(namespace, 0) + step
    if count:
        namespaces[namespace] = count
    else:
        del namespaces[namespace]
