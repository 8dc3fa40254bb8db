"""What the sandbox's DNS servers should answer, worked out from the API objects of all clusters, not from our zone.

Pure. A second, slower way to the same answers: the check compares the two.
"""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Literal

from msgspec import Struct

from mcs.model.multicluster import ServiceImport
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.slices import Endpoint, EndpointSlice

Kind = Literal["A", "AAAA", "SRV", "TXT", "SOA", "NS"]


class Question(Struct, frozen=True, order=True):
    """A question to the DNS server of one cluster; `name` has a final dot."""

    cluster: ClusterId
    name: str
    kind: Kind


class Expected(Struct, frozen=True):
    """The record data that should come, in any order; nothing means NXDOMAIN."""

    question: Question
    data: frozenset[str]


def expected_answers(
    cluster: ClusterId,
    imports: Iterable[ServiceImport],
    slices: Mapping[ClusterId, Sequence[EndpointSlice]],
    refused: Iterable[ServiceKey],
    origin: str,
) -> list[Expected]:
    """What `cluster` should answer: `slices` are the source slices of every cluster, `refused` the services that
    were exported and must not answer."""
    expected: list[Expected] = []
    for service_import in imports:
        if service_import.spec.type == "ClusterSetIP":
            expected += _of_clusterset_ip(cluster, service_import, origin)
        else:
            expected += _of_headless(cluster, service_import, slices, origin)
    expected += [_expect(cluster, _service_name(key, origin), "A", ()) for key in refused]
    expected.append(_expect(cluster, f"dns-version.{origin}.", "TXT", ['"1.0.0"']))
    return expected


def _of_clusterset_ip(cluster: ClusterId, service_import: ServiceImport, origin: str) -> list[Expected]:
    name = _service_name(service_import.key, origin)
    expected = _addresses(cluster, name, service_import.spec.ips)
    for port in service_import.spec.ports:
        if port.name:
            owner = f"_{port.name}._{port.protocol.lower()}.{name}"
            expected.append(_expect(cluster, owner, "SRV", [f"{port.port} {name}"]))
    return expected


def _of_headless(
    cluster: ClusterId,
    service_import: ServiceImport,
    slices: Mapping[ClusterId, Sequence[EndpointSlice]],
    origin: str,
) -> list[Expected]:
    key, name = service_import.key, _service_name(service_import.key, origin)
    members: dict[str, list[str]] = {}
    targets: dict[str, set[str]] = {}
    for source in (each.cluster for each in service_import.status.clusters):
        for endpoint_slice in slices[ClusterId(source)]:
            if endpoint_slice.service != key:
                continue
            for endpoint in _ready(endpoint_slice):
                member = f"{endpoint.hostname}.{source}.{name}"
                members.setdefault(member, []).extend(endpoint.addresses)
                for port in endpoint_slice.ports or ():
                    owner = f"_{port.name}._{(port.protocol or 'TCP').lower()}.{name}"
                    targets.setdefault(owner, set()).add(f"{port.port} {member}")
    expected = _addresses(cluster, name, [address for addresses in members.values() for address in addresses])
    for member, addresses in sorted(members.items()):
        expected += _addresses(cluster, member, addresses)
    return expected + [_expect(cluster, owner, "SRV", data) for owner, data in sorted(targets.items())]


def _ready(endpoint_slice: EndpointSlice) -> list[Endpoint]:
    return [each for each in endpoint_slice.endpoints or () if each.is_ready and each.hostname]


def _addresses(cluster: ClusterId, name: str, addresses: Iterable[str]) -> list[Expected]:
    by_version: dict[int, list[str]] = {4: [], 6: []}
    for address in addresses:
        by_version[ip_address(address).version].append(address)
    kinds: tuple[tuple[Kind, int], ...] = (("A", 4), ("AAAA", 6))
    return [
        _expect(cluster, name, kind, by_version[version]) for kind, version in kinds if by_version[version]
    ]


def _expect(cluster: ClusterId, name: str, kind: Kind, data: Iterable[str]) -> Expected:
    return Expected(Question(cluster, name, kind), frozenset(data))


def _service_name(key: ServiceKey, origin: str) -> str:
    return f"{key.name}.{key.namespace}.svc.{origin}."
