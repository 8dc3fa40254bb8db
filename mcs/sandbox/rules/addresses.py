"""Cluster IPs and node ports of Services: which families a Service gets, and which addresses.

An admission step over one Service, carried out before it is stored. Addresses in use are read from the
stored Services themselves, so a deletion releases them and a dry run reserves nothing. The rules and
sentences are those of a Kubernetes 1.34 API server (Kubernetes concepts, "IPv4/IPv6 dual-stack" and
"Service ClusterIP allocation"), but addresses are handed out in order, not at random. Fields that have
nothing to do with addresses are left to `apply.defaults` and `apply.validation`; node ports are chosen in
`node_ports`.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

import msgspec

from mcs.sandbox.errors import Cause, invalid
from mcs.sandbox.resources import SERVICES, ResourceType
from mcs.sandbox.rules import node_ports
from mcs.sandbox.store import Object

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

HEADLESS = "None"
SINGLE, PREFER, REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"
FAMILIES = ("IPv4", "IPv6")
OTHER_FAMILY = {"IPv4": "IPv6", "IPv6": "IPv4"}


def family_of(address: str) -> str:
    """`IPv4` or `IPv6`; raises ValueError when it is no address."""
    return f"IPv{ip_address(address).version}"


class AddressPool:
    """Hands out the addresses of one range in order, above the band kept for addresses asked for by name.

    Kubernetes keeps the lower band of min(max(16, size/16), 256) addresses for static use; an order that
    goes on after the last one, rather than back to the lowest free one, makes an address that returns too
    soon visible.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self._size = network.num_addresses - (2 if network.version == 4 else 1)
        self._next = min(max(16, self._size // 16), 256) % self._size + 1

    def __contains__(self, address: Address) -> bool:
        if address not in self.network:
            return False
        offset = int(address) - int(self.network.network_address)
        return 1 <= offset <= self._size

    def free_address(self, taken: Callable[[str], bool]) -> str | None:
        """The next address that is not taken, or None when the range is full."""
        for _ in range(self._size):
            offset, self._next = self._next, self._next % self._size + 1
            candidate = str(self.network.network_address + offset)
            if not taken(candidate):
                return candidate
        return None


class ServiceAddresses:
    """The admission step of one cluster. `ranges` holds its service ranges, the default family first."""

    def __init__(self, ranges: Sequence[Network], services: Callable[[], Iterable[Object]]) -> None:
        self._pools = {f"IPv{network.version}": AddressPool(network) for network in ranges}
        self._default = f"IPv{ranges[0].version}"
        self._services = services
        self._ports = node_ports.NodePorts()

    def __call__(
        self, operation: str, resource: ResourceType, old: Object | None, new: Object | None
    ) -> Object | None:
        """The Service with its addresses; raises a 422 `StatusError`. Other objects come back as they are."""
        if new is None or resource.group_resource != SERVICES.group_resource:
            return new
        service = deepcopy(new)
        before = old["spec"] if old is not None else None
        try:
            self._complete(service, service["spec"], before)
        except _RefusedError as refused:
            raise invalid(SERVICES, service["metadata"].get("name", ""), refused.causes) from None
        return service

    def _complete(self, service: Object, spec: Object, before: Object | None) -> None:
        if before is not None:
            keep_allocated(spec, before)
            node_ports.keep_allocated(spec, before)
        link_cluster_ips(spec, before)
        others = [
            s["spec"] for s in self._services() if s["metadata"]["uid"] != service["metadata"].get("uid")
        ]
        if spec.get("type") != "ExternalName" and not _is_settled(spec, before):
            refuse(set_families(spec, before, self._default, tuple(self._pools)))
            self._assign(spec, others)
        if before is not None:
            drop_what_the_type_has_no_use_for(service, spec, before)
        refuse(self._ports.assign(spec, before, others))
        refuse([*misplaced(spec), *changed_addresses(spec, before)])

    def _assign(self, spec: Object, others: Iterable[Object]) -> None:
        present = spec.get("clusterIPs", [])
        if present[:1] == [HEADLESS]:
            return
        taken = {address for other in others for address in other.get("clusterIPs", ())}
        wanted = [*present, *[""] * (len(spec["ipFamilies"]) - len(present))]
        found: list[str] = []
        for family, address in zip(spec["ipFamilies"], wanted, strict=False):
            pool = self._pools[family]
            if address:
                refuse(_unavailable(pool, address, taken, wanted))
                found.append(address)
            elif chosen := pool.free_address(taken.__contains__):
                found.append(chosen)
            else:
                raise _RefusedError(
                    [_bad("spec.clusterIPs", wanted, "failed to allocate a serviceIP: range is full")]
                )
        spec["clusterIPs"] = found
        spec["clusterIP"] = found[0]


class _RefusedError(Exception):
    def __init__(self, causes: Sequence[Cause]) -> None:
        super().__init__(causes)
        self.causes = causes


def refuse(causes: Sequence[Cause]) -> None:
    """End the admission when there are causes."""
    if causes:
        raise _RefusedError(causes)


def _bad(path: str, value: Any, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {msgspec.json.encode(value).decode()}: {why}", path)


def _unavailable(pool: AddressPool, address: str, taken: set[str], wanted: list[str]) -> list[Cause]:
    asked = [each for each in wanted if each]
    if ip_address(address) not in pool:
        why = "the provided network does not match the current range"
    elif address in taken:
        why = "provided IP is already allocated"
    else:
        return []
    return [_bad("spec.clusterIPs", asked, f"failed to allocate IP {address}: {why}")]


def keep_allocated(spec: Object, before: Object) -> None:
    """Give back the cluster IPs that the client left out, so that the same manifest can be sent again."""
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return
    if not spec.get("clusterIP") and before.get("clusterIP"):
        spec["clusterIP"] = before["clusterIP"]
    if not spec.get("clusterIPs") and before.get("clusterIPs"):
        spec["clusterIPs"] = [*before["clusterIPs"]]


def link_cluster_ips(spec: Object, before: Object | None) -> None:
    """Make `clusterIPs` follow a `clusterIP` that was set or cleared alone."""
    singular, plural = spec.get("clusterIP"), spec.get("clusterIPs")
    if before is None:
        if singular and not plural:
            spec["clusterIPs"] = [singular]
        return
    if singular != before.get("clusterIP") and plural == before.get("clusterIPs"):
        if singular:
            spec["clusterIPs"] = [singular]
        else:
            spec.pop("clusterIPs", None)


def _is_settled(spec: Object, before: Object | None) -> bool:
    if before is None or spec.get("ipFamilyPolicy") != PREFER or before.get("ipFamilyPolicy") != PREFER:
        return False
    return all(spec.get(key) == before.get(key) for key in ("type", "clusterIPs", "ipFamilies"))


def set_families(
    spec: Object, before: Object | None, default: str, configured: tuple[str, ...]
) -> Sequence[Cause]:
    """Fill in `ipFamilyPolicy` and `ipFamilies`; the causes when what was asked for cannot be had."""
    is_free = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if not spec.get("ipFamilyPolicy"):
        inherited = before.get("ipFamilyPolicy") if before is not None else None
        spec["ipFamilyPolicy"] = inherited or (REQUIRE if is_free else SINGLE)
    if causes := malformed(spec):
        return causes
    families = [*spec.get("ipFamilies", ())]
    causes = [*_family_changes(spec, before, families), *_too_many(spec, families)]
    for index, address in enumerate(spec.get("clusterIPs", ())):
        if address == HEADLESS:
            break
        if index < len(families):
            continue
        family = family_of(address)
        if family in configured:
            families.append(family)
        else:
            why = f"{family} is not configured on this cluster"
            causes.append(_bad(f"spec.clusterIPs[{index}]", spec["clusterIPs"], why))
    if causes:
        return causes
    if not is_free and (causes := _not_configured(spec, families, configured)):
        return causes
    families = families or [default]
    other = OTHER_FAMILY[families[0]]
    if spec["ipFamilyPolicy"] != SINGLE and len(families) == 1 and (is_free or other in configured):
        families.append(other)
    spec["ipFamilies"] = families
    return ()


def _not_configured(spec: Object, families: list[str], configured: tuple[str, ...]) -> list[Cause]:
    causes = []
    if spec["ipFamilyPolicy"] == REQUIRE and len(configured) < 2:
        causes.append(
            _bad("spec.ipFamilyPolicy", REQUIRE, "this cluster is not configured for dual-stack services")
        )
    return causes + [
        _bad(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(families)
        if family not in configured
    ]


def _family_changes(spec: Object, before: Object | None, families: list[str]) -> list[Cause]:
    """Let go of the second address and family when an update asks for a single stack."""
    if before is None:
        return []
    addresses, had = spec.get("clusterIPs", []), before.get("clusterIPs", [])
    had_families = before.get("ipFamilies", [])
    policy = spec["ipFamilyPolicy"]
    if policy == SINGLE:
        if addresses == had and len(addresses) > 1:
            spec["clusterIPs"] = addresses[:1]
        if families == had_families and len(families) > 1:
            del families[1:]
        return []
    causes = []
    if 0 < len(addresses) < len(had):
        causes.append(
            _bad("spec.ipFamilyPolicy", policy, "must be 'SingleStack' to release the secondary cluster IP")
        )
    if 0 < len(families) < len(had_families):
        causes.append(
            _bad("spec.ipFamilyPolicy", policy, "must be 'SingleStack' to release the secondary IP family")
        )
    return causes


def _too_many(spec: Object, families: list[str]) -> list[Cause]:
    if spec["ipFamilyPolicy"] != SINGLE:
        return []
    found = [("cluster IPs", spec.get("clusterIPs", ())), ("IP families", families)]
    return [
        _bad(
            "spec.ipFamilyPolicy",
            SINGLE,
            f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified",
        )
        for what, values in found
        if len(values) == 2
    ]


def malformed(spec: Object) -> list[Cause]:
    """What is wrong with the address fields by themselves, whatever the cluster can do."""
    singular, plural = spec.get("clusterIP"), spec.get("clusterIPs", [])
    causes = []
    if singular and plural[0] != singular:
        causes.append(_bad("spec.clusterIPs", plural, "first value must match `clusterIP`"))
    if not singular and plural:
        causes.append(_bad("spec.clusterIPs", plural, "must be empty when `clusterIP` is not specified"))
    families = spec.get("ipFamilies", [])
    for index, family in enumerate(families):
        path = f"spec.ipFamilies[{index}]"
        if family not in FAMILIES:
            causes.append(_unsupported(path, family, FAMILIES))
        if family in families[:index]:
            causes.append(Cause("FieldValueDuplicate", f'Duplicate value: "{family}"', path))
    if spec["ipFamilyPolicy"] not in (SINGLE, PREFER, REQUIRE):
        causes.append(_unsupported("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], (PREFER, REQUIRE, SINGLE)))
    return causes + _malformed_addresses(plural, families)


def _unsupported(path: str, value: str, supported: Sequence[str]) -> Cause:
    told = ", ".join(f'"{each}"' for each in supported)
    return Cause("FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {told}', path)


def _malformed_addresses(plural: list[str], families: list[str]) -> list[Cause]:
    if plural == [HEADLESS]:
        return []
    causes = []
    if plural[:1] == [HEADLESS]:
        causes.append(_bad("spec.clusterIPs", plural, "'None' must be the first and only value"))
    for index, address in enumerate(plural):
        if not (index == 0 and address == HEADLESS) and not _is_address(address):
            why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            causes.append(_bad(f"spec.clusterIPs[{index}]", address, why))
    if len(plural) > 2:
        causes.append(_bad("spec.clusterIPs", plural, "may only hold up to 2 values"))
    if causes:
        return causes
    if len(plural) > 1 and len({family_of(address) for address in plural}) < len(plural):
        causes.append(_bad("spec.clusterIPs", plural, "may specify no more than one IP for each IP family"))
    return causes + [
        _bad(
            f"spec.clusterIPs[{index}]",
            address,
            f"expected an {family} value as indicated by `ipFamilies[{index}]`",
        )
        for index, (address, family) in enumerate(zip(plural, families, strict=False))
        if family in FAMILIES and family_of(address) != family
    ]


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def drop_what_the_type_has_no_use_for(service: Object, spec: Object, before: Object) -> None:
    """Clear allocated values that a new `type` leaves without a meaning, unless the client changed them."""
    if spec.get("type") == "ExternalName" and before.get("type") != "ExternalName":
        if all(spec.get(key) == before.get(key) for key in ("clusterIP", "clusterIPs")):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        for key in ("ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            if spec.get(key) == before.get(key):
                spec.pop(key, None)
    node_ports.drop_unused(spec, before)
    if before.get("type") == "LoadBalancer" != spec.get("type") and "loadBalancer" in service.get(
        "status", {}
    ):
        service["status"] = {**service["status"], "loadBalancer": {}}


def misplaced(spec: Object) -> list[Cause]:
    """Address fields that the Service's type does not allow."""
    kind = spec.get("type", "ClusterIP")
    if kind == "ExternalName":
        return [
            Cause("FieldValueForbidden", "Forbidden: may not be set for ExternalName services", f"spec.{key}")
            for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
            if spec.get(key)
        ]
    if kind != "ClusterIP" and spec.get("clusterIPs", [])[:1] == [HEADLESS]:
        return [_bad("spec.clusterIPs[0]", HEADLESS, f"may not be set to 'None' for {kind} services")]
    return []


def changed_addresses(spec: Object, before: Object | None) -> list[Cause]:
    """A cluster IP may not change once set."""
    if before is None or "ExternalName" in (spec.get("type"), before.get("type")):
        return []
    now, had = spec.get("clusterIPs", []), before.get("clusterIPs", [])
    return [
        _bad(f"spec.clusterIPs[{index}]", now, "may not change once set")
        for index, (old, new) in enumerate(zip(had, now, strict=False))
        if old != new
    ]
