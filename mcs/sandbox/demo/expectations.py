"""What the sandbox's DNS servers should answer, worked out from the API objects of all clusters, not from our zone.

Pure. A second, slower way to the same answers: the check compares the two.
"""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Literal

from msgspec import Struct

from mcs.model.multicluster import VALID, ServiceExport, ServiceImport
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.slices import Endpoint, EndpointSlice

Kind = Literal["A", "AAAA", "SRV", "TXT", "SOA", "NS"]
Answer = frozenset[str] | str
"""The records' data as DNS tools write it, or the rcode, or why none came."""


class Seen(Struct, frozen=True):
    """The objects of every cluster at one moment; `slices` holds sources and mirrors."""

    exports: Mapping[ClusterId, Sequence[ServiceExport]]
    imports: Mapping[ClusterId, Sequence[ServiceImport]]
    slices: Mapping[ClusterId, Sequence[EndpointSlice]]


class Question(Struct, frozen=True, order=True):
    """A question to the DNS server of one cluster; `name` has a final dot."""

    cluster: ClusterId
    name: str
    kind: Kind


class Expected(Struct, frozen=True):
    """The record data that should come, in any order; nothing means NXDOMAIN.

    SRV data is port and target: priority and weight are the server's choice.
    """

    question: Question
    data: frozenset[str]


def refused_services(seen: Seen) -> set[ServiceKey]:
    """The services whose exports were judged and found impossible."""
    return {
        export.key
        for found in seen.exports.values()
        for export in found
        for condition in export.status.conditions
        if condition.type == VALID and condition.status == "False"
    }


def not_yet_imported(seen: Seen) -> str | None:
    """What some cluster still has to import, or None when each has all that is exported and not refused."""
    wanted = {export.key for found in seen.exports.values() for export in found} - refused_services(seen)
    if not wanted:
        return "nothing is exported yet"
    for cluster, found in seen.imports.items():
        if missing := wanted - {each.key for each in found}:
            return f"{cluster} has not imported {', '.join(sorted(map(str, missing)))}"
    return None


def everything_expected(seen: Seen, origin: str) -> list[Expected]:
    """What the DNS server of every cluster should answer."""
    refused = sorted(refused_services(seen))
    sources = {
        cluster: [each for each in found if not each.is_mirror] for cluster, found in seen.slices.items()
    }
    return [
        expected
        for cluster, imports in seen.imports.items()
        for expected in expected_answers(cluster, imports, sources, refused, origin)
    ]


def is_as_expected(expected: Expected, answer: Answer) -> bool:
    """True when the answer holds the expected records and no other, or NXDOMAIN where none is expected."""
    if isinstance(answer, str):
        return answer == "NXDOMAIN" and not expected.data
    if expected.question.kind == "SRV":
        answer = frozenset(" ".join(data.split()[2:]) for data in answer)
    return bool(answer) and answer == expected.data


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
