"""What a clusterset must look like when all is quiet, worked out the slow way from what is stored in every cluster.

Shares no code with the product: reads raw objects, knows the rules from KEP-1645 and the DNS specification alone.
Returned are complaints; none means that all is well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mcs.sandbox.api import Api
from mcs.sandbox.store import Object
from tests.laws.storms import is_ours, objects_of
from tests.scenarios.world import World

MCS = "multicluster.kubernetes.io"
Key = tuple[str, str]
Mirror = tuple[str, str, tuple[tuple[tuple[str, ...], bool, str], ...]]
"""Source cluster, family, endpoints as (addresses, ready, hostname)."""


class Export(NamedTuple):
    """An export with what it exports."""

    cluster: str
    obj: Object
    service: Object | None
    slices: list[Object]

    @property
    def is_valid(self) -> bool:
        """Whether it counts."""
        return self.service is not None and self.service["spec"].get("type") != "ExternalName"

    @property
    def age(self) -> tuple[str, str]:
        """Oldest first."""
        return self.obj["metadata"]["creationTimestamp"], self.cluster


def exports_of(world: World) -> dict[Key, list[Export]]:
    """All exports of all clusters by service, oldest first."""
    found: dict[Key, list[Export]] = {}
    for cluster, server in world.servers.items():
        services = {_key(each): each for each in objects_of(server.api, "Service")}
        slices = [
            each
            for each in objects_of(server.api, "EndpointSlice")
            if f"{MCS}/service-name" not in _labels(each)
        ]
        for obj in objects_of(server.api, "ServiceExport"):
            key = _key(obj)
            own = [
                each
                for each in slices
                if (_key(each)[0], _labels(each).get("kubernetes.io/service-name")) == key
            ]
            found.setdefault(key, []).append(Export(cluster, obj, services.get(key), own))
    return {key: sorted(exports, key=lambda export: export.age) for key, exports in found.items()}


async def complaints(world: World, services: tuple[Key, ...]) -> list[str]:
    """What is not as it must be, in all clusters, for these services and for whatever else is found."""
    exports = exports_of(world)
    found = [complaint for each in exports.values() for export in each for complaint in _of_export(export)]
    for cluster in world.servers:
        found += _of_leftovers(cluster, world.servers[cluster].api, services)
        for key in services:
            valid = [export for export in exports.get(key, []) if export.is_valid]
            found += [f"{cluster} {'/'.join(key)}: {each}" for each in _of_target(world, cluster, key, valid)]
            for question, wanted in _answers(world, cluster, key, valid).items():
                answer = await world.ask(cluster, *question.split())
                if answer != wanted:
                    found.append(f"{cluster} dns {question} is {answer}, not {wanted}")
    return found


def _of_export(export: Export) -> Iterator[str]:
    conditions = {each["type"]: each["status"] for each in export.obj.get("status", {}).get("conditions", [])}
    wanted = {"Valid": str(export.is_valid), "Ready": str(export.is_valid)}
    if any(conditions.get(kind) != status for kind, status in wanted.items()):
        yield f"{export.cluster} ServiceExport {'/'.join(_key(export.obj))}: {conditions}, not {wanted}"


def _of_leftovers(cluster: str, api: Api, services: tuple[Key, ...]) -> Iterator[str]:
    for kind in ("ServiceImport", "EndpointSlice"):
        for obj in filter(is_ours, objects_of(api, kind)):
            name = _key(obj)[1] if kind == "ServiceImport" else _labels(obj)[f"{MCS}/service-name"]
            if (_key(obj)[0], name) not in services:
                yield f"{cluster}: {kind} {_key(obj)} belongs to nothing"
    for kind in ("Service", "EndpointSlice", "ServiceImport"):
        for obj in objects_of(api, kind):
            managers = {entry["manager"] for entry in obj["metadata"].get("managedFields", ())}
            if not is_ours(obj) and "mcs-controller" in managers:
                yield f"{cluster}: {kind} {_key(obj)} is somebody else's, and we wrote to it"


def _of_target(world: World, cluster: str, key: Key, valid: list[Export]) -> Iterator[str]:
    api = world.servers[cluster].api
    found, derived = _import(api, key), _derived(api, key)
    mirrors = Counter(_mirror(each) for each in objects_of(api, "EndpointSlice") if _mirrors(each, key))
    if not valid or not _has_namespace(api, key):
        if found or derived or mirrors:
            yield f"should have nothing, has {found is not None}, {derived is not None}, {mirrors}"
        return
    if found is None:
        yield "has no import"
        return
    wanted = Counter(
        (export.cluster, *_mirror(each)[1:])
        for export in valid
        for each in export.slices
        if each["addressType"] in ("IPv4", "IPv6")
    )
    if mirrors != wanted:
        yield f"mirrors {mirrors - wanted} too much, {wanted - mirrors} missing"
    listed = sorted(each["cluster"] for each in found.get("status", {}).get("clusters", []))
    if listed != sorted(export.cluster for export in valid):
        yield f"lists {listed}"
    if found["spec"]["type"] != _type(valid):
        yield f"is of type {found['spec']['type']}"
    ips = derived["spec"]["clusterIPs"] if derived and _type(valid) == "ClusterSetIP" else []
    if found["spec"].get("ips", []) != ips:
        yield f"has {found['spec'].get('ips')}, its derived Service {ips}"
    if derived and _type(valid) == "Headless":
        yield "is headless and has a derived Service"
    if not derived and _type(valid) == "ClusterSetIP" and not _is_taken(api, key):
        yield "has no derived Service"
    yield from _of_ports(found, valid)


def _of_ports(found: Object, valid: list[Export]) -> Iterator[str]:
    """Ports of the oldest export are there as they are, and no port is there that nobody has."""
    offered = [[_port(port) for port in (export.service or {})["spec"].get("ports", [])] for export in valid]
    present = [_port(port) for port in found["spec"]["ports"]]
    if not set(offered[0]) <= set(present) or not set(present) <= {port for each in offered for port in each}:
        yield f"has ports {present}, offered were {offered}"


def _answers(world: World, cluster: str, key: Key, valid: list[Export]) -> Mapping[str, list[str] | str]:
    """What DNS must answer, by "name type"."""
    api = world.servers[cluster].api
    name = f"{key[1]}.{key[0]}.svc"
    found = _import(api, key)
    if not valid or not _has_namespace(api, key) or found is None:
        return {f"{name} A": "NXDOMAIN", f"{name} AAAA": "NXDOMAIN"}
    if _type(valid) == "ClusterSetIP":
        derived = _derived(api, key)
        ips = derived["spec"]["clusterIPs"] if derived else []
        answers: dict[str, list[str] | str] = dict(_by_family(name, ips, "NODATA"))
        for port in found["spec"]["ports"]:
            if port.get("name") and ips:
                owner = f"_{port['name']}._{port['protocol'].lower()}.{name}"
                answers[f"{owner} SRV"] = [f"0 100 {port['port']} {name}.clusterset.local."]
        return answers
    members: dict[str, set[str]] = {}
    everything: set[str] = set()
    for export in valid:
        for each in export.slices:
            for endpoint in _ready(each):
                everything |= set(endpoint["addresses"])
                if hostname := endpoint.get("hostname"):
                    members.setdefault(f"{hostname}.{export.cluster}.{name}", set()).update(
                        endpoint["addresses"]
                    )
    absent = "NODATA" if everything else "NXDOMAIN"
    answers = dict(_by_family(name, everything, absent))
    for member, addresses in members.items():
        answers |= _by_family(member, addresses, "NODATA")
    return answers


def _by_family(
    name: str, addresses: set[str] | list[str], absent: str
) -> Iterator[tuple[str, list[str] | str]]:
    for kind, mark in (("A", "."), ("AAAA", ":")):
        own = sorted(address for address in addresses if mark in address)
        yield f"{name} {kind}", own or absent


def _ready(endpoint_slice: Object) -> list[Object]:
    endpoints = endpoint_slice.get("endpoints") or []
    return [each for each in endpoints if each.get("conditions", {}).get("ready", True)]


def _mirror(endpoint_slice: Object) -> Mirror:
    endpoints = sorted(
        (
            tuple(each["addresses"]),
            each.get("conditions", {}).get("ready", True),
            each.get("hostname") or "",
        )
        for each in endpoint_slice.get("endpoints") or []
    )
    source = _labels(endpoint_slice).get(f"{MCS}/source-cluster", "")
    return source, endpoint_slice["addressType"], tuple(endpoints)


def _mirrors(obj: Object, key: Key) -> bool:
    return is_ours(obj) and (_key(obj)[0], _labels(obj).get(f"{MCS}/service-name")) == key


def _type(valid: list[Export]) -> str:
    service = valid[0].service or {}
    return "Headless" if service["spec"].get("clusterIP") == "None" else "ClusterSetIP"


def _import(api: Api, key: Key) -> Object | None:
    return next((each for each in objects_of(api, "ServiceImport") if _key(each) == key), None)


def _derived(api: Api, key: Key) -> Object | None:
    services = filter(is_ours, objects_of(api, "Service"))
    return next(
        (each for each in services if (_key(each)[0], _labels(each)[f"{MCS}/service-name"]) == key), None
    )


def _is_taken(api: Api, key: Key) -> bool:
    """Whether somebody else's Service stands where the derived one would."""
    return any(_labels(each).get("in-the-place-of") == key[1] for each in objects_of(api, "Service"))


def _has_namespace(api: Api, key: Key) -> bool:
    return any(each["metadata"]["name"] == key[0] for each in objects_of(api, "Namespace"))


def _port(port: Object) -> tuple[str, str, int]:
    return port.get("name", ""), port.get("protocol", "TCP"), port["port"]


def _key(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _labels(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}
