"""What may not stand in a Service, addresses and node ports apart (Kubernetes concepts, "Service").

Cluster IPs, IP families, node ports and the health check port are judged by those who allocate them.
"""

from collections.abc import Iterator
from typing import Any

from mcs.sandbox.apply.causes import (
    Cause,
    duplicate,
    forbidden,
    invalid,
    invalid_each,
    not_supported,
    outside_ports,
    required,
)
from mcs.sandbox.apply.formats import (
    label_errors,
    not_a_network,
    not_an_address,
    port_name_errors,
    qualified_name_errors,
    subdomain_errors,
    unreachable,
)
from mcs.sandbox.apply.schemas import Object
from mcs.sandbox.apply.validation_metadata import invalid_labels

PROTOCOLS = ("SCTP", "TCP", "UDP")
TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
AFFINITIES = ("ClientIP", "None")
TRAFFIC_POLICIES = ("Cluster", "Local")
DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
MOST_AFFINITY_SECONDS = 86400
HEADLESS = "None"


def invalid_service(service: Object, old: Object | None) -> Iterator[Cause]:
    """Causes for a Service that has its defaults; `old` is None in a create."""
    spec = service["spec"]
    if old is not None:
        yield from _changed_class(spec, old["spec"])
    headless = spec.get("clusterIP") == HEADLESS
    ports = spec.get("ports") or []
    if not ports and not headless and spec["type"] != "ExternalName":
        yield required("spec.ports")
    if spec["type"] == "ExternalName":
        yield from _invalid_external_name(spec.get("externalName", ""))
    yield from _invalid_ports(ports)
    yield from invalid_labels(spec.get("selector") or {}, "spec.selector")
    yield from _invalid_affinity(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        reasons = list(not_an_address(address)) or unreachable(address)
        yield from invalid_each(f"spec.externalIPs[{index}]", address, reasons)
    if spec["type"] not in TYPES:
        yield not_supported("spec.type", spec["type"], TYPES)
    yield from _repeated_ports(ports)
    yield from _invalid_load_balancer(spec)
    yield from _invalid_traffic(spec)
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress")
    if ingress and spec["type"] != "LoadBalancer":
        yield forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")


def _changed_class(spec: Object, before: Object) -> Iterator[Cause]:
    now, had = spec.get("loadBalancerClass"), before.get("loadBalancerClass")
    if spec["type"] == before["type"] == "LoadBalancer" and now != had:
        yield invalid("spec.loadBalancerClass", now, "may not change once set")


def _invalid_external_name(name: str) -> Iterator[Cause]:
    host = name.removesuffix(".")
    if not host:
        yield required("spec.externalName")
    else:
        yield from invalid_each("spec.externalName", host, subdomain_errors(host))


def _invalid_ports(ports: list[Object]) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        name = port.get("name", "")
        if not name and len(ports) > 1:
            yield required(f"{path}.name")
        elif name:
            yield from invalid_each(f"{path}.name", name, label_errors(name))
            if name in names:
                yield duplicate(f"{path}.name", name)
            names.add(name)
        yield from outside_ports(f"{path}.port", port["port"])
        if port["protocol"] not in PROTOCOLS:
            yield not_supported(f"{path}.protocol", port["protocol"], PROTOCOLS)
        yield from invalid_target(f"{path}.targetPort", port["targetPort"])
        if protocol := port.get("appProtocol"):
            yield from invalid_each(f"{path}.appProtocol", protocol, qualified_name_errors(protocol))


def invalid_target(path: str, target: Any) -> Iterator[Cause]:
    """Causes for a port given by number or by name."""
    if isinstance(target, int):
        yield from outside_ports(path, target)
    else:
        yield from invalid_each(path, target, port_name_errors(target))


def _repeated_ports(ports: list[Object]) -> Iterator[Cause]:
    seen = set()
    for index, port in enumerate(ports):
        key = (port["protocol"], port["port"])
        if key in seen:
            protocol, number = key
            shown = {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": number}
            shown |= {"TargetPort": 0, "NodePort": 0}
            yield duplicate(f"spec.ports[{index}]", shown)
        seen.add(key)


def _invalid_affinity(spec: Object) -> Iterator[Cause]:
    if spec["sessionAffinity"] not in AFFINITIES:
        yield not_supported("spec.sessionAffinity", spec["sessionAffinity"], AFFINITIES)
    elif spec["sessionAffinity"] == "ClientIP":
        seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < seconds <= MOST_AFFINITY_SECONDS:
            why = f"must be greater than 0 and less than {MOST_AFFINITY_SECONDS}"
            yield invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, why)


def _invalid_load_balancer(spec: Object) -> Iterator[Cause]:
    only = "may only be used when `type` is 'LoadBalancer'"
    balanced = spec["type"] == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges") or []
    # The path has a capital letter in the server's messages.
    if ranges and not balanced:
        yield forbidden("spec.LoadBalancerSourceRanges", only)
    for index, network in enumerate(ranges):
        reasons = not_a_network(network.strip())
        yield from invalid_each(f"spec.LoadBalancerSourceRanges[{index}]", network.strip(), reasons)
    if "allocateLoadBalancerNodePorts" in spec and not balanced:
        yield forbidden("spec.allocateLoadBalancerNodePorts", only)
    if (chosen := spec.get("loadBalancerClass")) is not None:
        if balanced:
            yield from invalid_each("spec.loadBalancerClass", chosen, qualified_name_errors(chosen))
        else:
            yield forbidden("spec.loadBalancerClass", only)


def _invalid_traffic(spec: Object) -> Iterator[Cause]:
    reachable = spec["type"] in ("NodePort", "LoadBalancer") or spec.get("externalIPs")
    external = spec.get("externalTrafficPolicy")
    if external is not None and not reachable:
        why = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", external, why)
    elif external is not None and external not in TRAFFIC_POLICIES:
        yield not_supported("spec.externalTrafficPolicy", external, TRAFFIC_POLICIES)
    if spec.get("healthCheckNodePort") and (spec["type"], external) != ("LoadBalancer", "Local"):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid("spec.healthCheckNodePort", spec["healthCheckNodePort"], why)
    internal = spec.get("internalTrafficPolicy")
    if internal is not None and internal not in TRAFFIC_POLICIES:
        yield not_supported("spec.internalTrafficPolicy", internal, TRAFFIC_POLICIES)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in DISTRIBUTIONS:
        yield not_supported("spec.trafficDistribution", distribution, DISTRIBUTIONS)
