"""Which addresses mean the same host to every reader, and of which family an address is.

Member clusters are untrusted: an address that would make a client talk to itself, to its own link or to a group is
dropped from mirrors and from DNS (as Kubernetes' own validation of EndpointSlice does), and so is text that is no
address of the slice's family.
"""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

from mcs.model.slices import IPV4, IPV6, AddressType


@lru_cache(maxsize=1 << 16)
def published_address(address: str, family: AddressType) -> str | None:
    """The address in its canonical form, if it is a unicast one of `family` that means the same host to every reader.

    IPv4-mapped IPv6 addresses and scoped ones ("%eth0") do not. A present API server refuses other than canonical
    forms in slices, an older source may hold them.
    """
    try:
        parsed = ipaddress.IPv4Address(address) if family == IPV4 else ipaddress.IPv6Address(address)
    except ValueError:
        return None
    if isinstance(parsed, ipaddress.IPv6Address) and (parsed.ipv4_mapped or parsed.scope_id):
        return None
    if parsed.is_loopback or parsed.is_link_local or parsed.is_multicast or parsed.is_unspecified:
        return None
    return str(parsed)


def families_of(addresses: Iterable[str]) -> tuple[str, ...]:
    """The IP family of each address, in order, without repetition; what is no address is passed over."""
    families = []
    for address in addresses:
        try:
            version = ipaddress.ip_address(address).version
        except ValueError:
            continue
        families.append(str(IPV4 if version == 4 else IPV6))
    return tuple(dict.fromkeys(families))
