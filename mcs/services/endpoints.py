"""Which endpoints of an export are published, and what is told of the others.

Members are untrusted, and what one sends may not make a write fail in another over and over: slices are cut to what an
API server takes and to the caps of the policy, addresses that the policy does not allow are left out. Making mirrors
of what remains is left to `mirrors`.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address
from itertools import accumulate
from operator import is_

from msgspec import Struct
from msgspec.structs import replace

from mcs.model.addresses import published_address
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.policy import MemberPolicy, Network, Policy
from mcs.model.slices import IPV4, IPV6, AddressType, Endpoint, EndpointSlice
from mcs.services.exported_metadata import is_label_value
from mcs.services.observed import Exporter

ENDPOINTS_PER_SLICE = 1000
ADDRESSES_PER_ENDPOINT = 100
PORTS_PER_SLICE = 1000
"""The first two are Kubernetes' own bounds of an EndpointSlice; of ports it allows 20,000."""

_BYTES_PER_ENDPOINT = 300
"""Of an endpoint's JSON, its addresses not counted."""

_SHOWN = 5


class Refusals(Struct, frozen=True):
    """What of an export is not published: endpoints beyond a cap, and addresses with the reason of each."""

    endpoints: int = 0
    addresses: tuple[tuple[str, str], ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of the condition, sorted."""
        return tuple(
            reason
            for reason, is_given in (
                ("AddressNotAllowed", bool(self.addresses)),
                ("TooManyEndpoints", self.endpoints > 0),
            )
            if is_given
        )

    @property
    def message(self) -> str:
        """What is left out and what to do."""
        sentences = []
        if self.endpoints:
            sentences.append(
                f"{self.endpoints} endpoints are beyond what this cluster may publish for one service; the newest "
                "EndpointSlices are cut."
            )
        if self.addresses:
            shown = ", ".join(f"{address[:64]} {why}" for address, why in self.addresses[:_SHOWN])
            more = len(self.addresses) - _SHOWN
            sentences.append(f"Addresses not published: {shown}{f', and {more} more' if more > 0 else ''}.")
        return " ".join(sentences)


def is_source(endpoint_slice: EndpointSlice, key: ServiceKey) -> bool:
    """True for a slice of addresses that belongs to the Service itself."""
    return (
        endpoint_slice.address_type in (IPV4, IPV6)
        and endpoint_slice.service == key
        and not endpoint_slice.is_mirror
        and not endpoint_slice.is_terminating
    )


def published_slices(
    exporter: Exporter, key: ServiceKey, importer: MemberPolicy
) -> tuple[EndpointSlice, ...]:
    """The source slices, ordered by name, as far as they may be published in a cluster of the policy `importer`.

    Of endpoints beyond a cap the newest slices' are left out, of equally old ones the last by name.
    """
    slices = _within_caps(exporter, key)
    own, foreign = exporter.policy.pod_ranges, importer.service_ranges
    if own or foreign:
        slices = [
            replace(each, endpoints=tuple(_allowed(each.endpoints or (), own, foreign))) for each in slices
        ]
    return tuple(sorted(slices, key=lambda each: each.metadata.name))


def refusals(exporter: Exporter, key: ServiceKey, policy: Policy, members: Iterable[ClusterId]) -> Refusals:
    """What of the export is not published in one of `members` or more, the addresses sorted."""
    ranges = [(cluster, policy.of(cluster).service_ranges) for cluster in sorted(members)]
    refused: dict[str, str] = {}
    sources = [each for each in exporter.slices if is_source(each, key)]
    for source in sources:
        for address in (address for each in source.endpoints or () for address in each.addresses):
            if why := _refusal(address, source.address_type, exporter.policy.pod_ranges, ranges):
                refused[address] = why
    kept = sum(len(each.endpoints or ()) for each in _within_caps(exporter, key))
    total = sum(len(each.endpoints or ()) for each in sources)
    return Refusals(total - kept, tuple(sorted(refused.items())))


def _within_caps(exporter: Exporter, key: ServiceKey) -> list[EndpointSlice]:
    """The source slices, oldest first, each as an API server takes it, and no more endpoints than the caps allow."""
    caps, kept = exporter.policy.caps, []
    left = caps.endpoints_per_service
    for source in sorted(
        (each for each in exporter.slices if is_source(each, key)),
        key=lambda each: (each.metadata.creation_timestamp, each.metadata.name),
    ):
        bounded = _within_bounds(source, min(left, ENDPOINTS_PER_SLICE), caps.object_bytes)
        left -= len(bounded.endpoints or ())
        kept.append(bounded)
    return kept


def _within_bounds(source: EndpointSlice, most: int, most_bytes: int) -> EndpointSlice:
    endpoints, ports = source.endpoints or (), source.ports or ()
    sane = [each if _is_sane(each) else _made_sane(each) for each in endpoints[:most]]
    sizes = accumulate(_BYTES_PER_ENDPOINT + sum(len(text) + 3 for text in each.addresses) for each in sane)
    fitting = sum(size <= most_bytes for size in sizes)
    if fitting == len(endpoints) and len(ports) <= PORTS_PER_SLICE and all(map(is_, sane, endpoints)):
        return source
    return replace(source, endpoints=tuple(sane[:fitting]), ports=ports[:PORTS_PER_SLICE])


def _is_sane(endpoint: Endpoint) -> bool:
    zone = endpoint.zone
    return len(endpoint.addresses) <= ADDRESSES_PER_ENDPOINT and (not zone or is_label_value(zone))


def _made_sane(endpoint: Endpoint) -> Endpoint:
    """The endpoint with what an API server takes of it: hints name its zone, and no zone's name is longer."""
    zone = endpoint.zone if endpoint.zone and is_label_value(endpoint.zone) else None
    return replace(endpoint, addresses=endpoint.addresses[:ADDRESSES_PER_ENDPOINT], zone=zone)


def _allowed(
    endpoints: Iterable[Endpoint], own: tuple[Network, ...], foreign: tuple[Network, ...]
) -> Iterable[Endpoint]:
    for endpoint in endpoints:
        addresses = tuple(
            address
            for address in endpoint.addresses
            if (not own or _is_in(address, own)) and not _is_in(address, foreign)
        )
        if addresses:
            yield endpoint if addresses == endpoint.addresses else replace(endpoint, addresses=addresses)


def _refusal(
    address: str,
    family: AddressType,
    own: tuple[Network, ...],
    ranges: Iterable[tuple[ClusterId, tuple[Network, ...]]],
) -> str:
    if published_address(address, family) is None:
        return "is no unicast address that means the same host everywhere"
    if own and not _is_in(address, own):
        return "is outside the pod ranges of this cluster"
    within = (
        f'is in the Service range of "{cluster}"' for cluster, networks in ranges if _is_in(address, networks)
    )
    return next(within, "")


@lru_cache(maxsize=1 << 16)
def _is_in(address: str, networks: tuple[Network, ...]) -> bool:
    """True for an address in one of the networks; never for what is no address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in networks)
