"""What an apply leaves to the member: fields whose values its own controllers choose.

Source: KubeFed's retention, for objects that are written by server-side apply: finalizers, annotations, the secrets of
a ServiceAccount and all else that a template does not speak of stay without help. What is left are fields that a
template does speak of and that the member decides once the object is there.

Such a field is left out of what is applied. It cannot be where we own it alone: to leave it out is to delete it, and
the server then puts its default in its place, one replica for instance. So there the value of the member is repeated.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcs.model.names import FIELD_MANAGER

Path = tuple[str | dict[str, Any], ...]
"""Names of fields, and for an item of a list the fields that are its key."""

_ADDRESSES = ("clusterIP", "clusterIPs", "healthCheckNodePort")


def retained(
    desired: Mapping[str, Any], present: Mapping[str, Any], *, retain_replicas: bool
) -> dict[str, Any]:
    """A copy of `desired` as it may be applied over `present`.

    `present` tells by its metadata.managedFields who owns a field; where it has none that is not known, and the value
    of the member is repeated.
    """
    made, there = dict(desired), present.get("spec")
    if not isinstance(there, dict):
        return made
    spec = made.get("spec")
    if desired.get("kind") == "Service" and isinstance(spec, dict):
        made["spec"] = spec = _service(spec, there, present)
    # Also where the template has none: it had one before if the field is ours.
    if retain_replicas and "replicas" in there and isinstance(spec, dict | None):
        made["spec"] = _settled(spec or {}, "replicas", there["replicas"], present, ("spec",))
    return made


def _service(spec: dict[str, Any], there: dict[str, Any], present: Mapping[str, Any]) -> dict[str, Any]:
    for name in _ADDRESSES:
        if name in spec and there.get(name):
            spec = _settled(spec, name, there[name], present, ("spec",))
    ports, ports_there = spec.get("ports"), there.get("ports")
    if not isinstance(ports, list) or not isinstance(ports_there, list):
        return spec
    node_ports = {_port_key(each): each["nodePort"] for each in ports_there if each.get("nodePort")}
    return {**spec, "ports": [_port(each, node_ports, present) for each in ports]}


def _port(port: Any, node_ports: Mapping[Any, int], present: Mapping[str, Any]) -> Any:
    if not isinstance(port, dict) or "nodePort" not in port or _port_key(port) not in node_ports:
        return port
    _, protocol, number = key = _port_key(port)
    item = {"port": number, "protocol": protocol}
    return _settled(port, "nodePort", node_ports[key], present, ("spec", "ports", item))


def _port_key(port: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    return port.get("name") or "", port.get("protocol") or "TCP", port.get("port")


def _settled(
    fields: Mapping[str, Any], name: str, value: Any, present: Mapping[str, Any], within: Path
) -> dict[str, Any]:
    """The fields with one of them repeated as the member has it, or left to its owner there."""
    others = {each: said for each, said in fields.items() if each != name}
    return {**others, name: value} if _is_ours_alone(present, (*within, name)) else others


def _is_ours_alone(present: Mapping[str, Any], path: Path) -> bool:
    """True also where it is not known who owns the field."""
    managed = (present.get("metadata") or {}).get("managedFields")
    if not managed:
        return True
    owners = {_is_us(entry) for entry in managed if _owns(entry.get("fieldsV1") or {}, path)}
    return owners == {True}


def _is_us(entry: Mapping[str, Any]) -> bool:
    who = (entry.get("manager"), entry.get("operation"), entry.get("subresource") or "")
    return who == (FIELD_MANAGER, "Apply", "")


def _owns(fields: Mapping[str, Any], path: Path) -> bool:
    """Whether a set of managed fields, as the API server writes it, has the field."""
    first, *rest = path
    found = fields.get(f"f:{first}") if isinstance(first, str) else next(_items(fields, first), None)
    return found is not None and (not rest or _owns(found, tuple(rest)))


def _items(fields: Mapping[str, Any], key: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (each for name, each in fields.items() if name.startswith("k:") and json.loads(name[2:]) == key)
