"""Node ports of Services, and the health check port: kept, chosen, or refused.

Source: Kubernetes concepts, "Service", type NodePort, and the answers of a Kubernetes 1.34 API server.
Ports are handed out in order from above the band kept for ports asked for by number. Cluster IPs are left
to `addresses`.
"""

from collections.abc import Iterable
from itertools import chain

from mcs.sandbox.errors import Cause
from mcs.sandbox.store import Object

RANGE = range(30000, 32768)
STATIC_BAND = 86
HEALTH = "healthCheckNodePort"
EXTERNAL = ("NodePort", "LoadBalancer")


def needs_node_ports(spec: Object) -> bool:
    """Whether each port of the Service gets a node port."""
    match spec.get("type"):
        case "NodePort":
            return True
        case "LoadBalancer":
            return spec.get("allocateLoadBalancerNodePorts") is not False
        case _:
            return False


def needs_health_check_port(spec: Object) -> bool:
    """Whether a load balancer asks nodes if they hold a local endpoint."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def node_ports_of(spec: Object) -> set[int]:
    """Every node port the Service holds."""
    ports = {port["nodePort"] for port in spec.get("ports", ()) if port.get("nodePort")}
    return ports | ({spec[HEALTH]} if spec.get(HEALTH) else set())


def keep_allocated(spec: Object, before: Object) -> None:
    """Give back, by port name, the node ports that the client left out."""
    if needs_node_ports(spec) and needs_node_ports(before):
        kept = node_ports_of(spec) & node_ports_of(before)
        by_name = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports", ())}
        for port in spec.get("ports", ()):
            had = by_name.get(port.get("name", ""), 0)
            if not port.get("nodePort") and had and had not in kept:
                port["nodePort"] = had
    if needs_health_check_port(spec) and needs_health_check_port(before) and not spec.get(HEALTH):
        spec[HEALTH] = before[HEALTH]


def drop_unused(spec: Object, before: Object) -> None:
    """Clear what a change of `type` leaves without a meaning, unless the client changed it too."""
    if (
        needs_node_ports(before)
        and not needs_node_ports(spec)
        and node_ports_of(spec) == node_ports_of(before)
    ):
        for port in spec.get("ports", ()):
            port.pop("nodePort", None)
    if not needs_health_check_port(spec) and spec.get(HEALTH) == before.get(HEALTH):
        spec.pop(HEALTH, None)
    dropped = (
        ("externalTrafficPolicy", EXTERNAL),
        ("allocateLoadBalancerNodePorts", ("LoadBalancer",)),
        ("loadBalancerClass", ("LoadBalancer",)),
    )
    for key, types in dropped:
        if before.get("type") in types and spec.get("type") not in types and spec.get(key) == before.get(key):
            spec.pop(key, None)


class NodePorts:
    """Hands out the ports of the one node port range of a cluster."""

    def __init__(self) -> None:
        self._next = STATIC_BAND

    def assign(self, spec: Object, before: Object | None, others: Iterable[Object]) -> list[Cause]:
        """Fill in the node ports of a Service's `spec`; the causes when a wanted one cannot be had."""
        if spec.get("type") not in EXTERNAL:
            return [
                Cause(
                    "FieldValueForbidden",
                    f"Forbidden: may not be used when `type` is '{spec.get('type', 'ClusterIP')}'",
                    f"spec.ports[{index}].nodePort",
                )
                for index, port in enumerate(spec.get("ports", ()))
                if port.get("nodePort")
            ]
        taken = set(chain.from_iterable(node_ports_of(other) for other in others))
        causes = self._assign_each(spec, node_ports_of(before) if before else set(), taken)
        if needs_health_check_port(spec) and not spec.get(HEALTH) and not causes:
            spec[HEALTH] = self._free_port(taken | node_ports_of(spec))
        return causes

    def _assign_each(self, spec: Object, had: set[int], taken: set[int]) -> list[Cause]:
        # Protocols that share a port number share the node port, so a number asked for at one serves the
        # others.
        by_port: dict[int, int] = {}
        for port in spec.get("ports", ()):
            if port.get("nodePort"):
                by_port.setdefault(port["port"], port["nodePort"])
        owner: dict[int, int] = {}
        for index, port in enumerate(spec.get("ports", ())):
            number = port.get("nodePort") or by_port.get(port["port"], 0)
            if not number:
                if not needs_node_ports(spec):
                    continue
                number = by_port[port["port"]] = self._free_port(taken | node_ports_of(spec))
            why = ""
            if number not in had:
                why = _refusal(number, taken, owner.get(number, port["port"]) != port["port"])
            if why:
                told = f"Invalid value: {number}: {why}"
                return [Cause("FieldValueInvalid", told, f"spec.ports[{index}].nodePort")]
            port["nodePort"] = number
            owner[number] = port["port"]
        return []

    def _free_port(self, taken: set[int]) -> int:
        for _ in RANGE:
            number, self._next = RANGE[self._next], (self._next + 1) % len(RANGE)
            if number not in taken:
                return number
        raise RuntimeError("every node port is taken")


def _refusal(number: int, taken: set[int], held_by_another_port: bool) -> str:
    if number not in RANGE:
        bounds = f"{RANGE[0]}-{RANGE[-1]}"
        return f"provided port is not in the valid range. The range of valid ports is {bounds}"
    return "provided port is already allocated" if number in taken or held_by_another_port else ""
