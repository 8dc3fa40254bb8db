"""`resolve` against a second reading of the specification: list every record there is, then scan the list.

The second reading works on the Kubernetes objects, not on the zone, knows no structure but the list, and shares no
code with the first.
"""

import ipaddress
import re
from dataclasses import dataclass
from functools import cached_property

from hypothesis import given
from hypothesis import strategies as st

from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ImportPort, ServiceImport, ServiceImportSpec
from mcs.model.names import SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL, ServiceKey
from mcs.model.slices import (
    IPV4,
    IPV6,
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
)
from mcs_dns.answer import resolve
from mcs_dns.query import Question
from mcs_dns.zone import Zone, imported_service

ORIGIN = "clusterset.local"
Line = tuple[str, str, str]
"""Owner, type and data of a record."""

NAMES = st.sampled_from(["a", "b"])
PORTS = st.tuples(
    st.sampled_from(["", "p", "q"]), st.sampled_from(["TCP", "UDP"]), st.sampled_from([None, 0, 53, 80])
)
V4 = st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.1.1", "127.0.0.1", "224.0.0.1", "169.254.0.1", "bad", ""])
V6 = st.sampled_from(["fd00::1", "FD00::2", "fd00::", "::1", "fe80::1", "ff02::1", "bad"])
HOSTNAMES = st.sampled_from([None, None, "h", "H2", "a", "c1", "not_a_label"])
CLUSTERS = st.sampled_from(["c1", "c2", "eu", "c1.eu", "h.eu", "", "a.b.c"])


@st.composite
def slices(draw: st.DrawFn, key: ServiceKey) -> EndpointSlice:
    family = draw(st.sampled_from([IPV4, IPV6]))
    addresses = V4 if family == IPV4 else V6
    endpoints = draw(
        st.lists(
            st.builds(
                Endpoint,
                addresses=st.lists(addresses, max_size=2).map(tuple),
                hostname=HOSTNAMES,
                conditions=st.builds(EndpointConditions, ready=st.sampled_from([None, True, True, False])),
            ),
            max_size=3,
        )
    )
    ports = draw(st.lists(PORTS, max_size=3))
    return EndpointSlice(
        metadata=ObjectMeta(
            namespace=key.namespace,
            labels={SERVICE_NAME_LABEL: key.name, SOURCE_CLUSTER_LABEL: draw(CLUSTERS)},
        ),
        address_type=family,
        endpoints=tuple(endpoints),
        ports=tuple(EndpointPort(name=name, protocol=protocol, port=port) for name, protocol, port in ports),
    )


@st.composite
def imports(draw: st.DrawFn) -> tuple[ServiceImport, list[EndpointSlice]]:
    key = ServiceKey(draw(st.sampled_from(["n1", "n2"])), draw(NAMES))
    ports = draw(st.lists(PORTS.filter(lambda port: port[2] is not None), max_size=3))
    spec = ServiceImportSpec(
        type=draw(st.sampled_from(["ClusterSetIP", "Headless", "Headless"])),
        ips=tuple(draw(st.lists(st.one_of(V4, V6), max_size=2))),
        ports=tuple(
            ImportPort(name=name, protocol=protocol, port=port or 0) for name, protocol, port in ports
        ),
    )
    imported = ServiceImport(metadata=ObjectMeta(name=key.name, namespace=key.namespace), spec=spec)
    return imported, draw(st.lists(slices(key), max_size=3))


WORLDS = st.lists(imports(), max_size=3, unique_by=lambda pair: pair[0].key)


@dataclass(frozen=True)
class Everything:
    """All records, and all names that exist without needing one."""

    lines: frozenset[Line]
    names: frozenset[str]

    @cached_property
    def owners(self) -> frozenset[str]:
        return frozenset(owner for owner, _, _ in self.lines) | self.names

    @cached_property
    def existing(self) -> frozenset[str]:
        """All owners and the names above them."""
        return frozenset(
            owner.split(".", depth)[depth] for owner in self.owners for depth in range(owner.count(".") + 1)
        )

    def answer(self, name: str, type_: str) -> tuple[str, frozenset[Line]]:
        found = frozenset(line for line in self.lines if line[:2] == (name, type_))
        return ("NOERROR" if name in self.existing else "NXDOMAIN"), found


def reachable(text: str) -> str | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    bad = ("127.0.0.0/8", "224.0.0.0/4", "169.254.0.0/16", "::1/128", "fe80::/10", "ff00::/8")
    if any(address in network for network in map(ipaddress.ip_network, bad)):
        return None
    return address.compressed


def everything(world: list[tuple[ServiceImport, list[EndpointSlice]]]) -> Everything:
    lines: set[Line] = {(f"dns-version.{ORIGIN}", "TXT", '"1.0.0"')}
    names = {f"svc.{ORIGIN}"}
    for imported, mirrors in world:
        namespace = f"{imported.metadata.namespace}.svc.{ORIGIN}"
        service = f"{imported.metadata.name}.{namespace}"
        names.add(namespace)
        if imported.spec.type == "ClusterSetIP":
            names.add(service)
            lines |= clusterset_ip_lines(imported, service, names)
        else:
            for mirror in mirrors:
                lines |= headless_lines(mirror, service)
    return Everything(frozenset(lines), frozenset(names))


def clusterset_ip_lines(imported: ServiceImport, service: str, names: set[str]) -> set[Line]:
    ips = [ip for ip in map(reachable, imported.spec.ips) if ip]
    lines = {(service, "AAAA" if ":" in ip else "A", ip) for ip in ips}
    for port in imported.spec.ports:
        owners = [service]
        if port.name and port.port:
            owners.append(f"_{port.name}._{port.protocol.lower()}.{service}")
            names.add(owners[1])
        if ips and port.port:
            lines |= {(owner, "SRV", f"0 100 {port.port} {service}.") for owner in owners}
    return lines


def headless_lines(mirror: EndpointSlice, service: str) -> set[Line]:
    lines: set[Line] = set()
    cluster = mirror.metadata.labels[SOURCE_CLUSTER_LABEL]
    if cluster not in ("c1", "c2", "eu", "c1.eu", "h.eu"):
        return lines
    for endpoint in mirror.endpoints or ():
        for address in filter(None, map(reachable, endpoint.addresses)):
            if endpoint.conditions.ready is False:
                continue
            host = (endpoint.hostname or "").lower()
            if not re.fullmatch("[a-z0-9]+", host):
                host = re.sub("-$", "-0", re.sub("[.:]", "-", address))
            name = f"{host}.{cluster}.{service}"
            type_ = "AAAA" if ":" in address else "A"
            lines |= {(service, type_, address), (name, type_, address)}
            for port in mirror.ports or ():
                if port.port:
                    owners = [service] + [f"_{port.name}._{str(port.protocol).lower()}.{service}"] * bool(
                        port.name
                    )
                    lines |= {(owner, "SRV", f"0 100 {port.port} {name}.") for owner in owners}
    return lines


def zone_of(world: list[tuple[ServiceImport, list[EndpointSlice]]]) -> Zone:
    changes = {imported.key: imported_service(imported, mirrors) for imported, mirrors in world}
    return Zone.empty(ORIGIN).with_services(changes).as_synced()


def resolved(zone: Zone, name: str, type_: int) -> tuple[str, list[Line]]:
    answer = resolve(Question(tuple(name.split(".")), type_), zone)
    return answer.rcode.name, [(record.name, record.type.name, record.data) for record in answer.answers]


def names_to_ask(all_records: Everything) -> list[str]:
    """Every name there is, its ancestors in the zone, and its neighbours that a mistake would answer."""
    names = set(all_records.owners)
    names |= {f"{name}.{namespace}.svc.{ORIGIN}" for name in "ab" for namespace in ("n1", "n2")}
    names |= {
        f"{label}.{name}" for name in names for label in ("h", "c1", "eu", "_tcp", "_p._udp", "x", "h.c1")
    }
    return sorted(names | {name.split(".", 1)[1] for name in names if name.count(".") > 2})


@given(WORLDS)
def test_resolving_equals_scanning_a_list_of_all_records(
    world: list[tuple[ServiceImport, list[EndpointSlice]]],
) -> None:
    zone, all_records = zone_of(world), everything(world)
    for name in names_to_ask(all_records):
        for type_, number in (("A", 1), ("AAAA", 28), ("SRV", 33), ("TXT", 16), ("MX", 15)):
            rcode, lines = resolved(zone, name, number)
            assert (rcode, frozenset(lines)) == all_records.answer(name, type_), name
            assert len(lines) == len(set(lines)), name


PODS = st.lists(st.tuples(st.sampled_from(["c1", "c2", "c1.eu"]), st.booleans(), st.booleans()), max_size=12)


@given(PODS)
def test_a_and_aaaa_name_the_same_endpoints_of_dual_stack_pods(pods: list[tuple[str, bool, bool]]) -> None:
    key = ServiceKey("n1", "a")
    mirrors = [
        EndpointSlice(
            metadata=ObjectMeta(
                namespace="n1", labels={SERVICE_NAME_LABEL: "a", SOURCE_CLUSTER_LABEL: cluster}
            ),
            address_type=family,
            endpoints=(
                Endpoint(
                    addresses=(f"{prefix}{number + 1}",),
                    hostname=f"pod-{number}" if is_named else None,
                    conditions=EndpointConditions(ready=is_ready),
                ),
            ),
        )
        for number, (cluster, is_named, is_ready) in enumerate(pods)
        for family, prefix in ((IPV4, "10.0.0."), (IPV6, "fd00::"))
    ]
    spec = ServiceImportSpec(type="Headless", ports=())
    zone = zone_of([(ServiceImport(metadata=ObjectMeta(name="a", namespace="n1"), spec=spec), mirrors)])
    name = f"{key.name}.{key.namespace}.svc.{ORIGIN}"
    ready = {str(number + 1) for number, (_, _, is_ready) in enumerate(pods) if is_ready}
    assert {data.rsplit(".", 1)[1] for _, _, data in resolved(zone, name, 1)[1]} == ready
    assert {str(int(data.rsplit(":", 1)[1], 10)) for _, _, data in resolved(zone, name, 28)[1]} == ready


@given(WORLDS, st.permutations(range(3)))
def test_the_order_in_which_objects_come_changes_no_answer(
    world: list[tuple[ServiceImport, list[EndpointSlice]]], order: list[int]
) -> None:
    turned = [(imported, [mirrors[n] for n in order if n < len(mirrors)]) for imported, mirrors in world]
    zone = zone_of(turned[::-1])
    assert zone.services == zone_of(world).services
    assert all(list(each.endpoints) == sorted(each.endpoints) for each in zone.services.values())
