"""Random ServiceImports and mirrored EndpointSlices as a real API server takes them, and the names to ask about them.

All choices come from the `Random` that is passed in, so a seed repeats a world. What the names should answer is not
known here: every question only carries traits, the words by which listed differences say where they apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.real.two_servers import TRANSPORTS, TYPES, Question

Object = dict[str, Any]

ORIGIN = "clusterset.local"
MARKER = "last-of-all"
"""The service that is created last: who answers its name has seen everything before it."""
MARKER_ADDRESS = "10.99.99.99"

_CLUSTERS = ("c1", "c2", "c3", "c1", "c2", "c4.eu", "c4.us", "", "Not_An_Id")
_PORTS = (
    ("http", "TCP", 80),
    ("http", "TCP", 8080),
    ("http", "UDP", 80),
    ("dns", "TCP", 53),
    ("https", "TCP", 443),
    ("dns", "UDP", 53),
    ("dns-tcp", "TCP", 53),
    ("x", "SCTP", 9),
)
_MULTICLUSTER = "multicluster.kubernetes.io"
_KUBERNETES_OWN = "endpointslice-controller.k8s.io"
_NETWORKS = {
    ("IPv4", False): "10.",
    ("IPv6", False): "fd00:",
    ("IPv4", True): "172.",
    ("IPv6", True): "fd01:",
}
"""How addresses begin, by family and by whether they are of a slice that DNS should not take."""
_STRANGE = ("no cluster id", "invalid cluster id", "of this cluster")


@dataclass
class World:
    """API objects in the order in which they are to be created, and names that exist, nearly exist, or do not."""

    namespaces: list[str]
    imports: list[Object] = field(default_factory=list)
    slices: list[Object] = field(default_factory=list)
    names: dict[str, frozenset[str]] = field(default_factory=dict)

    def name(self, text: str, *traits: str) -> None:
        """Ask about `text`; a name that has several meanings has the traits of all of them."""
        text = f"{text}.{ORIGIN}" if text else ORIGIN
        self.names[text] = self.names.get(text, frozenset()) | frozenset(traits)

    @property
    def last(self) -> Question:
        """The question that a server answers once it knows everything."""
        return Question(
            f"{MARKER}.{self.namespaces[1]}.svc.{ORIGIN}", "A", "tcp", frozenset({"service", "Headless"})
        )


def random_world(chance: Random, prefix: str, services: int) -> World:
    """A world of `services` services in two of the namespaces `<prefix>-…`; a third has none."""
    first, second, empty = (f"{prefix}-{name}" for name in ("a", "b", "empty"))
    world = World([first, second, empty])
    _zone_names(world, chance)
    for namespace in (first, second):
        world.name(f"{namespace}.svc", "namespace", "existing")
    world.name(f"{empty}.svc", "namespace", "without services")
    world.name(f"web.{empty}.svc", "service", "absent")
    for number in range(services):
        namespace = chance.choice((first, second))
        service = f"{chance.choice(('web', 'db', 'svc', 'pod', 'n-1'))}-{number}"
        if chance.random() < 0.4:
            _cluster_set_ip(world, chance, namespace, service)
        else:
            _headless(world, chance, namespace, service)
    _orphan(world, first)
    world.imports.append(service_import(second, MARKER, "Headless"))
    marker = [{"addresses": [MARKER_ADDRESS], "conditions": {"ready": True}}]
    world.slices.append(endpoint_slice(second, MARKER, "c1", "IPv4", marker, [], MARKER))
    return world


def service_import(
    namespace: str, name: str, type_: str, ips: list[str] | None = None, ports: Any = ()
) -> Object:
    """A ServiceImport; ports are (name, protocol, port)."""
    return {
        "apiVersion": "multicluster.x-k8s.io/v1beta1",
        "kind": "ServiceImport",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"type": type_, "ports": _ports(ports)} | ({"ips": ips} if ips else {}),
    }


def endpoint_slice(
    namespace: str, service: str, cluster: str, family: str, endpoints: list[Object], ports: Any, name: str
) -> Object:
    """A slice of `service` mirrored from `cluster`; without a label that says so when it is empty."""
    labels = {f"{_MULTICLUSTER}/service-name": service}
    if cluster:
        labels[f"{_MULTICLUSTER}/source-cluster"] = cluster
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"namespace": namespace, "name": name, "labels": labels},
        "addressType": family,
        "endpoints": endpoints,
        "ports": _ports(ports),
    }


def _ports(ports: Any) -> list[Object]:
    return [
        {"protocol": protocol} | ({"name": name} if name else {}) | ({"port": port} if port else {})
        for name, protocol, port in ports
    ]


def _zone_names(world: World, chance: Random) -> None:
    world.name("", "apex")
    world.name("dns-version", "dns-version")
    world.name("ns.dns", "name server")
    world.name("dns", "above the name server")
    world.name("svc", "svc")
    world.name("pod", "pod")
    for absent in (
        "nobody",
        "nobody.svc",
        "a.b",
        "x.dns-version",
        "x.ns.dns",
        "hostmaster",
        "10-1-0-1.a.pod",
    ):
        world.name(absent, "absent")
    for depth in range(1, 7):
        labels = [chance.choice(("x", "_tcp", "_http", "c1", "10-0-0-1", "a" * 63)) for _ in range(depth)]
        world.name(".".join((*labels, "svc")), "absent")


def _cluster_set_ip(world: World, chance: Random, namespace: str, service: str) -> None:
    number = len(world.imports)
    ips = [f"10.96.{number}.1", f"fd00:96::{number:x}:1"]
    ips = chance.choice((ips, ips[:1], ips[1:], []))
    ports = _some_ports(chance)
    world.imports.append(service_import(namespace, service, "ClusterSetIP", ips, ports))
    traits = ["ClusterSetIP"] + ["without ports"] * (not ports) + ["without addresses"] * (not ips)
    slices = _slices(world, chance, namespace, service, traits) if chance.random() < 0.5 else []
    _names_of(world, f"{service}.{namespace}.svc", ports, slices, traits)


def _headless(world: World, chance: Random, namespace: str, service: str) -> None:
    world.imports.append(service_import(namespace, service, "Headless", None, _some_ports(chance)))
    traits = ["Headless"]
    slices = _slices(world, chance, namespace, service, traits)
    ports = {
        (port.get("name", ""), port["protocol"], port.get("port", 0))
        for each in slices
        for port in each["ports"]
    }
    _names_of(world, f"{service}.{namespace}.svc", sorted(ports), slices, traits)


def _some_ports(chance: Random) -> list[tuple[str, str, int]]:
    if chance.random() < 0.2:
        return [("", chance.choice(("TCP", "UDP")), 8080)]
    chosen = chance.sample(_PORTS, chance.choice((0, 1, 1, 2, 3)))
    # Of one name there is one port in a slice, but other slices may say another protocol or number.
    return list({port[0]: port for port in chosen}.values())


def _slices(world: World, chance: Random, namespace: str, service: str, traits: list[str]) -> list[Object]:
    made = []
    for number in range(chance.choice((0, 1, 1, 2, 3, 4))):
        family = chance.choice(("IPv4", "IPv4", "IPv6", "IPv6"))
        count = 40 if chance.random() < 0.1 else chance.choice((0, 1, 1, 2, 3, 5))
        ports = _some_ports(chance)
        if ports and chance.random() < 0.1:
            ports[0] = (*ports[0][:2], 0)
        cluster = chance.choice(_CLUSTERS)
        each = endpoint_slice(namespace, service, cluster, family, [], ports, f"{service}-{number}")
        if chance.random() < 0.05:
            each["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] = _KUBERNETES_OWN
        network = f"{_NETWORKS[family, _kind_of(each) in _STRANGE]}{len(world.slices) + 1}"
        each["endpoints"] = [_endpoint(chance, network, index) for index in range(count)]
        made.append(each)
        world.slices.append(each)
    ready = [each for each in made if any(map(is_ready, each["endpoints"]))]
    strange = [each for each in ready if _kind_of(each) in _STRANGE]
    if not ready:
        traits.append("without ready endpoints")
    if strange:
        traits.append("all ready ones strange" if strange == ready else "some ready ones strange")
    return made


def _endpoint(chance: Random, network: str, index: int) -> Object:
    possible: tuple[str, ...]
    if ":" in network:
        possible = (f"{network}::{index + 1:x}", f"{network}:{index + 1:x}::", f"{network}:9::{index + 1:x}")
    else:
        possible = tuple(f"{network}.{third}.{index + 1}" for third in range(3))
    addresses = chance.sample(possible, chance.choice((1, 1, 1, 1, 2)))
    ready = chance.choice((None, True, True, True, False))
    conditions = {} if ready is None else {"ready": ready}
    if chance.random() < 0.2:
        conditions |= {"serving": chance.random() < 0.5, "terminating": chance.random() < 0.5}
    hostname = chance.choice((None, None, None, "h-0", f"h-{index}", "c1"))
    return {"addresses": addresses, "conditions": conditions} | ({"hostname": hostname} if hostname else {})


def is_ready(endpoint: Object) -> bool:
    """Whether the endpoint is to be published: without a word about it, it is."""
    return endpoint["conditions"].get("ready") is not False


def source_cluster(each: Object) -> str:
    """What the slice says where it is from; empty when it says nothing."""
    label: str = each["metadata"]["labels"].get(f"{_MULTICLUSTER}/source-cluster", "")
    return label


def _kind_of(each: Object) -> str:
    cluster = source_cluster(each)
    if _KUBERNETES_OWN in each["metadata"]["labels"].values():
        return "of this cluster"
    if not cluster:
        return "no cluster id"
    if cluster != cluster.lower():
        return "invalid cluster id"
    return "cluster id of two labels" if "." in cluster else "cluster id of one label"


def _names_of(world: World, base: str, ports: list[Any], slices: list[Object], traits: list[str]) -> None:
    world.name(base, "service", *traits)
    world.name(f"absent-{base}", "service", "absent")
    for name, protocol, _ in [*ports, ("http", "TCP", 0), ("nobody", "UDP", 0)]:
        numbers = {port[2] for port in ports if port[:2] == (name, protocol)}
        existing = "existing port" if any(numbers) else "port without a number" if numbers else "absent port"
        protocol = protocol.lower()
        if name:
            world.name(f"_{name}._{protocol}.{base}", "port", existing, *traits)
            world.name(f"{name}._{protocol}.{base}", "half a port name", *traits)
            world.name(f"{name}.{protocol}.{base}", "absent below", *traits)
        world.name(f"_{protocol}.{base}", "protocol", existing, *traits)
    for each in slices:
        cluster = source_cluster(each)
        below = f"{cluster}.{base}" if cluster else base
        if cluster:
            world.name(below, "cluster", _kind_of(each), *traits)
        for label in cluster.split(".")[1:]:
            world.name(f"{label}.{base}", "end of a cluster id", *traits)
        for endpoint in each["endpoints"][:6]:
            ready = "ready" if is_ready(endpoint) else "not ready"
            ids = [endpoint["hostname"]] if "hostname" in endpoint else []
            ids += [_dashed(address) for address in endpoint["addresses"]]
            for label in ids:
                world.name(f"{label}.{below}", "endpoint", ready, _kind_of(each), *traits)
                world.name(f"{label}.{base}", "absent below", *traits)
                world.name(f"x.{label}.{below}", "absent below", *traits)
    for absent in ("nobody", "nobody.c9", "h-0.c9", "_", "x.nobody.c9", "c9"):
        world.name(f"{absent}.{base}", "absent below", *traits)
    for half in ("_._", "_._tcp", "_.tcp"):
        world.name(f"{half}.{base}", "half a port name", *traits)


def questions(world: World, chance: Random) -> Iterator[Question]:
    """Every name with every type, each over some transport; a few types of what certainly does not exist."""
    for text, traits in world.names.items():
        types = chance.sample(TYPES, 3) if traits & {"absent", "absent below"} else TYPES
        for type_ in types:
            name = text if chance.random() < 0.7 else _in_mixed_case(text, chance)
            yield Question(
                name, type_, chance.choice(TRANSPORTS), traits, chance.choice(("RD", "RD", "", "RD AD CD"))
            )
    yield world.last


def _in_mixed_case(text: str, chance: Random) -> str:
    return "".join(chance.choice((letter, letter.upper())) for letter in text)


def _dashed(address: str) -> str:
    dashed = address.replace(".", "-").replace(":", "-")
    return dashed + "0" if dashed.endswith("-") else dashed


def _orphan(world: World, namespace: str) -> None:
    """A slice of a service that is not imported."""
    endpoint = {"addresses": ["10.98.0.1"], "conditions": {"ready": True}, "hostname": "h-0"}
    world.slices.append(endpoint_slice(namespace, "orphan", "c1", "IPv4", [endpoint], _PORTS[:1], "orphan"))
    for name in ("orphan", "h-0.c1.orphan", "_http._tcp.orphan"):
        world.name(f"{name}.{namespace}.svc", "service", "absent")
