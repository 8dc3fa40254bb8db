"""Objects as scenarios write them: `{Kind: namespace/name, …}` in short, expanded to what an API server takes.

    Namespace: shop
    Service: shop/web          ports: [http 80, dns 53/UDP]   headless: true   spec: {…}
    EndpointSlice: shop/web-1  service: web   ports: [http 8080]   ready: […]   not ready: […]   hostnames: […]
    ServiceExport: shop/web    spec: {…}
    ClusterProperty: name      spec: {value: …}

Addresses may also be said as "10.1.0.1 to 10.1.0.100". Any other key is taken as it is, so that a scenario can also say
`metadata` or `status`.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from mcs.model.meta import KubernetesObject
from mcs.model.resources import (
    CLUSTER_PROPERTIES,
    ENDPOINT_SLICES,
    NAMESPACES,
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
    Resource,
)

PODS = Resource(group="", version="v1", plural="pods", kind="Pod", type=KubernetesObject)
NODES = Resource(group="", version="v1", plural="nodes", kind="Node", type=KubernetesObject, namespaced=False)

RESOURCES: dict[str, Resource[Any]] = {
    resource.kind: resource
    for resource in (
        NAMESPACES,
        SERVICES,
        ENDPOINT_SLICES,
        SERVICE_EXPORTS,
        SERVICE_IMPORTS,
        CLUSTER_PROPERTIES,
        PODS,
        NODES,
    )
}

Json = dict[str, Any]


def parse_reference(text: str) -> tuple[Resource[Any], str, str]:
    """Resource, namespace and name of "Kind namespace/name" or "Kind name"."""
    kind, name = text.split(" ", 1)
    namespace, slash, rest = name.partition("/")
    return (RESOURCES[kind], namespace, rest) if slash else (RESOURCES[kind], "", name)


def numbered(short: Any, number: int) -> Any:
    """The same with `number` in place of each "<n>" in its texts."""
    match short:
        case str():
            return short.replace("<n>", str(number))
        case dict():
            return {numbered(key, number): numbered(value, number) for key, value in short.items()}
        case list():
            return [numbered(each, number) for each in short]
        case _:
            return short


def expanded(short: Json) -> tuple[Resource[Any], Json]:
    """The resource and the whole object of one short form."""
    short = dict(short)
    kind = next(key for key in short if key in RESOURCES)
    resource, namespace, name = parse_reference(f"{kind} {short.pop(kind)}")
    metadata: Json = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= short.pop("metadata", {})
    obj: Json = {"apiVersion": resource.api_version, "kind": kind, "metadata": metadata}
    match kind:
        case "Service":
            obj["spec"] = _service_spec(short)
        case "EndpointSlice":
            metadata.setdefault("labels", {})["kubernetes.io/service-name"] = short.pop("service")
            obj |= _slice_body(short)
        case _:
            pass
    return resource, obj | short


def _service_spec(short: Json) -> Json:
    spec: Json = {}
    if "ports" in short:
        spec["ports"] = [_port(text) for text in short.pop("ports")]
    if short.pop("headless", False):
        spec["clusterIP"] = "None"
    spec |= short.pop("spec", {})
    return spec


def _slice_body(short: Json) -> Json:
    ready = _addresses(short.pop("ready", []))
    hostnames = iter(short.pop("hostnames", []))
    endpoints = []
    for address in [*ready, *(unready := _addresses(short.pop("not ready", [])))]:
        endpoint: Json = {"addresses": [address], "conditions": {"ready": address not in unready}}
        if hostname := next(hostnames, None):
            endpoint["hostname"] = hostname
        endpoints.append(endpoint)
    families = {"IPv6" if ":" in each["addresses"][0] else "IPv4" for each in endpoints}
    return {
        "addressType": next(iter(families), "IPv4"),
        "ports": [_port(text) for text in short.pop("ports", [])],
        "endpoints": endpoints,
    }


def _addresses(said: list[str] | str) -> list[str]:
    if isinstance(said, list):
        return said
    first, last = (ip_address(text) for text in said.split(" to "))
    return [str(type(first)(number)) for number in range(int(first), int(last) + 1)]


def _port(text: str) -> Json:
    """A port from "http 80/TCP"; name and protocol may be left out."""
    name, _, pair = text.rpartition(" ")
    number, _, protocol = pair.partition("/")
    port: Json = {"port": int(number), "protocol": protocol or "TCP"}
    return port | ({"name": name} if name else {})
