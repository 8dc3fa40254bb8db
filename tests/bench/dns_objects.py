"""What the DNS measurements are about: imported services as API objects, as a zone file, and the questions for them.

Everything is numbered, and so the same in every run. Servers are left to `dns_servers`, the load to `dns_load`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from mcs.model.multicluster import ServiceImport
from mcs.model.names import SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL, SOURCE_CLUSTER_LABEL, ServiceKey
from mcs.model.preference import WEIGHT_ANNOTATION
from mcs.model.resources import ENDPOINT_SLICES, SERVICE_IMPORTS, Resource
from mcs.model.slices import EndpointSlice
from mcs_dns.answer import Record, Type, endpoint_name, resolve, soa
from mcs_dns.query import Question
from mcs_dns.zone import Zone, imported_service

Json = dict[str, Any]
Object = tuple[Resource[Any], Json]

ZONE = "clusterset.local"
NAMESPACES = tuple(f"ns{number}" for number in range(10))
MIX = {"A": 60, "AAAA": 20, "SRV": 10, "absent": 10}
"""What the load asks for, in percent; names of the last do not exist."""

_QUESTIONS = 20_000
_PORTS = [{"name": "http", "protocol": "TCP", "port": 80}]
_WEIGHTS = {"east": 3, "west": 1}


def key_of(number: int) -> ServiceKey:
    """Namespace and name of a service."""
    return ServiceKey(NAMESPACES[number % len(NAMESPACES)], f"svc{number}")


def mixed_services(count: int) -> Iterator[Object]:
    """Of each four services two have clusterset IPs of both families; two are headless with three endpoints in two
    clusters, one of these with weights."""
    for number in range(count):
        key = key_of(number)
        high, low = divmod(number, 250)
        if number % 2:
            yield service_import(key, [f"10.200.{high}.{low + 1}", f"fd00:200::{number + 1:x}"])
            continue
        yield service_import(key)
        for cluster, seconds in {"east": (1, 2), "west": (3,)}.items():
            weight = _WEIGHTS[cluster] if number % 4 == 0 else None
            yield mirror(key, cluster, [f"10.{second}.{high}.{low + 1}" for second in seconds], weight=weight)


def headless_services(count: int, endpoints: int) -> Iterator[Object]:
    """Headless services of one cluster with so many endpoints each."""
    for number in range(count):
        yield service_import(key_of(number))
        yield mirror(key_of(number), "east", addresses(number * endpoints, endpoints))


def addresses(first: int, count: int) -> list[str]:
    """So many addresses, none of them the same as those of other numbers below 16 million."""
    return [f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in range(first, first + count)]


def service_import(key: ServiceKey, ips: Sequence[str] = ()) -> Object:
    """A ServiceImport; headless without `ips`."""
    spec = {"type": "ClusterSetIP" if ips else "Headless", "ports": _PORTS, "ips": list(ips)}
    return SERVICE_IMPORTS, _object(SERVICE_IMPORTS, key) | {"spec": spec}


def mirror(
    key: ServiceKey,
    cluster: str,
    ready: Sequence[str],
    *,
    unready: Sequence[str] = (),
    version: int | None = None,
    weight: int | None = None,
) -> Object:
    """The mirrored slice of a service from one cluster."""
    obj = _object(ENDPOINT_SLICES, key)
    metadata = obj["metadata"]
    metadata["name"] = f"{key.name}-{cluster}"
    metadata["labels"] = {
        SERVICE_NAME_LABEL: key.name,
        SOURCE_CLUSTER_LABEL: cluster,
        SLICE_MANAGED_BY_LABEL: "mcs-controller",
    }
    if weight is not None:
        metadata["annotations"] = {WEIGHT_ANNOTATION: str(weight)}
    if version is not None:
        metadata["resourceVersion"] = str(version)
    endpoints = [
        {"addresses": [address], "conditions": {"ready": address in ready}} for address in (*ready, *unready)
    ]
    return ENDPOINT_SLICES, obj | {"addressType": "IPv4", "ports": _PORTS, "endpoints": endpoints}


def _object(resource: Resource[Any], key: ServiceKey) -> Json:
    metadata = {"namespace": key.namespace, "name": key.name}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


def zone_of(objects: Iterable[Object]) -> Zone:
    """Our zone of these objects."""
    imports: dict[ServiceKey, ServiceImport] = {}
    slices: dict[ServiceKey, list[EndpointSlice]] = {}
    for resource, obj in objects:
        if resource is SERVICE_IMPORTS:
            decoded = msgspec.convert(obj, ServiceImport)
            imports[decoded.key] = decoded
        else:
            each = msgspec.convert(obj, EndpointSlice)
            slices.setdefault(each.service, []).append(each)
    services = {key: imported_service(each, slices.get(key, ())) for key, each in imports.items()}
    return Zone.empty(ZONE).with_services(services).as_synced()


def zone_file(zone: Zone) -> str:
    """All records of the zone, in the form that other servers read."""
    records: dict[Record, None] = {soa(zone): None}
    apex = tuple(ZONE.split("."))
    records |= dict.fromkeys(resolve(Question(apex, Type.NS), zone).answers)
    for key, service in zone.services.items():
        name = f"{key.name}.{key.namespace}.svc.{ZONE}"
        below = ("", *(f"_{port}._{protocol}." for port, protocol in sorted(service.named_ports)))
        asked = [(f"{prefix}{name}", type_) for prefix in below for type_ in (Type.A, Type.AAAA, Type.SRV)]
        asked += [(endpoint_name(each, name), Type.A) for each in service.endpoints]
        for owner, type_ in asked:
            answer = resolve(Question(tuple(owner.split(".")), type_), zone)
            records |= dict.fromkeys(record._replace(choice=None) for record in answer.answers)
    return "".join(f"{record}\n" for record in records)


def questions(count: int, *, services: int) -> Iterator[str]:
    """`count` lines of name and type by MIX, in an order by chance that is the same in every run."""
    chance = random.Random(7)
    kinds = chance.choices(tuple(MIX), tuple(MIX.values()), k=count)
    for number, kind in enumerate(kinds):
        key = key_of(chance.randrange(services))
        match kind:
            case "absent":
                yield f"absent{number}.{key.namespace}.svc.{ZONE} A"
            case "SRV":
                yield f"_http._tcp.{key.name}.{key.namespace}.svc.{ZONE} SRV"
            case _:
                yield f"{key.name}.{key.namespace}.svc.{ZONE} {kind}"


def question_file(services: int) -> str:
    """The questions as dnsperf reads them; it starts again at the end."""
    return "".join(f"{line}\n" for line in questions(_QUESTIONS, services=services))
