"""What may not stand in EndpointSlices and Endpoints (Kubernetes concepts, "EndpointSlices").

What an EndpointSlice says about readiness, topology or its Service is not judged: the server stores it as
it is.
"""

import ipaddress
from collections.abc import Iterator

from mcs.sandbox.apply.causes import (
    Cause,
    duplicate,
    immutable,
    invalid,
    invalid_each,
    not_supported,
    outside_ports,
    required,
    too_many,
)
from mcs.sandbox.apply.formats import (
    address,
    label_errors,
    label_value_errors,
    not_an_address,
    not_canonical,
    qualified_name_errors,
    subdomain_errors,
    unreachable,
)
from mcs.sandbox.apply.schemas import Object
from mcs.sandbox.apply.validation_service import PROTOCOLS

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
MOST_ADDRESSES = 100
MOST_ENDPOINTS = 1000
MOST_PORTS = 20000
MOST_HINTS = 8


def invalid_endpoint_slice(endpoint_slice: Object, old: Object | None) -> Iterator[Cause]:
    """Causes for an EndpointSlice that has its defaults; unchanged endpoints are not judged again."""
    kind = endpoint_slice["addressType"]
    if not kind:
        yield required("addressType")
    elif kind not in ADDRESS_TYPES:
        yield not_supported("addressType", kind, ADDRESS_TYPES)
    yield from _invalid_slice_ports(endpoint_slice.get("ports") or [])
    endpoints = endpoint_slice.get("endpoints") or []
    if old is None or endpoints != (old.get("endpoints") or []):
        yield from _invalid_slice_endpoints(endpoints, kind)
    if old is not None:
        yield from immutable("addressType", kind, old["addressType"])


def _invalid_slice_ports(ports: list[Object]) -> Iterator[Cause]:
    if len(ports) > MOST_PORTS:
        yield too_many("ports", len(ports), MOST_PORTS)
        return
    names = set()
    for index, port in enumerate(ports):
        path, name = f"ports[{index}]", port["name"]
        if name:
            yield from invalid_each(f"{path}.name", name, label_errors(name))
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
        if port["protocol"] not in PROTOCOLS:
            yield not_supported(f"{path}.protocol", port["protocol"], PROTOCOLS)
        if (protocol := port.get("appProtocol")) is not None:
            yield from invalid_each(f"{path}.appProtocol", protocol, qualified_name_errors(protocol))


def _invalid_slice_endpoints(endpoints: list[Object], kind: str) -> Iterator[Cause]:
    if len(endpoints) > MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        path = f"endpoints[{index}]"
        addresses = endpoint.get("addresses") or []
        if not addresses:
            yield required(f"{path}.addresses", "must contain at least 1 address")
        elif len(addresses) > MOST_ADDRESSES:
            yield too_many(f"{path}.addresses", len(addresses), MOST_ADDRESSES)
        for place, text in enumerate(addresses):
            yield from _invalid_address(f"{path}.addresses", place, text, kind)
        if (node := endpoint.get("nodeName")) is not None:
            yield from invalid_each(f"{path}.nodeName", node, subdomain_errors(node))
        if (hostname := endpoint.get("hostname")) is not None:
            yield from invalid_each(f"{path}.hostname", hostname, label_errors(hostname))
        yield from _invalid_hints(endpoint.get("hints") or {}, f"{path}.hints")


def _invalid_address(path: str, place: int, text: str, kind: str) -> Iterator[Cause]:
    where = f"{path}[{place}]"
    if kind == "FQDN":
        yield from _invalid_domain(where, text)
        return
    if kind not in ADDRESS_TYPES:
        return
    malformed = [*not_an_address(text), *(not_canonical(text) if kind == "IPv6" else ())]
    if malformed:
        yield from invalid_each(where, text, malformed)
        return
    family = "IPv4" if isinstance(address(text), ipaddress.IPv4Address) else "IPv6"
    if family != kind:
        yield invalid(path, text, f"must be an {kind} address")
    yield from invalid_each(where, text, unreachable(text))


def _invalid_domain(where: str, text: str) -> Iterator[Cause]:
    if not text:
        yield required(where)
        return
    malformed = list(subdomain_errors(text))
    if not malformed and "." not in text:
        malformed = ["should be a domain with at least two segments separated by dots"]
    yield from invalid_each(where, text, malformed)


def _invalid_hints(hints: Object, path: str) -> Iterator[Cause]:
    for field, errors in (("forZones", label_value_errors), ("forNodes", subdomain_errors)):
        names = [hint["name"] for hint in hints.get(field) or ()]
        if len(names) > MOST_HINTS:
            yield too_many(f"{path}.{field}", len(names), MOST_HINTS)
            return
        for index, name in enumerate(names):
            if name in names[:index]:
                yield duplicate(f"{path}.{field}[{index}].name", name)
            yield from invalid_each(f"{path}.{field}[{index}].name", name, errors(name))


def invalid_endpoints(endpoints: Object, _old: Object | None) -> Iterator[Cause]:
    """Causes for Endpoints that have their defaults."""
    for index, subset in enumerate(endpoints.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for place, entry in enumerate(subset.get(field) or ()):
                where = f"{path}.{field}[{place}]"
                malformed = list(not_an_address(entry["ip"]))
                # The server says it twice, once shorter.
                told = [*malformed, "must be a valid IP address"] if malformed else unreachable(entry["ip"])
                yield from invalid_each(f"{where}.ip", entry["ip"], told)
                if hostname := entry.get("hostname"):
                    yield from invalid_each(f"{where}.hostname", hostname, label_errors(hostname))
        yield from _invalid_subset_ports(subset.get("ports") or [], path)


def _invalid_subset_ports(ports: list[Object], path: str) -> Iterator[Cause]:
    for place, port in enumerate(ports):
        where, name = f"{path}.ports[{place}]", port.get("name", "")
        if name:
            yield from invalid_each(f"{where}.name", name, label_errors(name))
        elif len(ports) > 1:
            yield required(f"{where}.name")
        yield from outside_ports(f"{where}.port", port["port"])
        if port["protocol"] not in PROTOCOLS:
            yield not_supported(f"{where}.protocol", port["protocol"], PROTOCOLS)
