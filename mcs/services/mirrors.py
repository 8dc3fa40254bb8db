"""Mirrored EndpointSlices: for every source slice of every exporter one slice in the target.

A mirror holds the endpoints of exactly one cluster and keeps the source's slice boundaries (KEP-1645, "EndpointSlice").
Whether a mirror that nothing explains may go is decided here too; who exports is decided elsewhere.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from mcs.model.actions import Action, Apply, Delete
from mcs.model.addresses import published_address
from mcs.model.meta import ObjectMeta, parse_timestamp
from mcs.model.names import (
    CHANGE_TIME_ANNOTATION,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    SERVICE_NAME_LABEL,
    SLICE_MANAGED_BY_LABEL,
    SLICE_SERVICE_LABEL,
    SOURCE_CLUSTER_LABEL,
    WITHDRAWN_ANNOTATION,
    ClusterId,
    is_dns_label,
    mirror_name,
)
from mcs.model.preference import ANNOTATIONS as PREFERENCE_ANNOTATIONS
from mcs.model.preference import Preference, preference_of
from mcs.model.resources import ENDPOINT_SLICES
from mcs.model.slices import AddressType, Endpoint, EndpointPort, EndpointSlice
from mcs.services.endpoints import published_slices
from mcs.services.observed import Exporter, ObservedTarget
from mcs.services.ports import PortNames, mirrored_ports, names_in_mirrors, offered_ports
from mcs.services.topology import NO_DISTRIBUTION, Distribution, hints

_OWNED_LABELS = (
    SERVICE_NAME_LABEL,
    SOURCE_CLUSTER_LABEL,
    SLICE_MANAGED_BY_LABEL,
    MANAGED_BY_LABEL,
    SLICE_SERVICE_LABEL,
)


def is_our_mirror(endpoint_slice: EndpointSlice) -> bool:
    """True when both managed-by labels say that the slice is ours."""
    return endpoint_slice.is_ours and endpoint_slice.metadata.labels.get(SLICE_MANAGED_BY_LABEL) == MANAGED_BY


def owned_metadata(mirror: EndpointSlice) -> ObjectMeta:
    """What we say in the metadata of a present mirror, that it serves: without what the server and others added."""
    metadata = mirror.metadata
    return ObjectMeta(
        name=metadata.name,
        namespace=metadata.namespace,
        labels={name: metadata.labels[name] for name in _OWNED_LABELS if name in metadata.labels},
        annotations={
            name: metadata.annotations[name]
            for name in (CHANGE_TIME_ANNOTATION, *PREFERENCE_ANNOTATIONS)
            if name in metadata.annotations
        },
    )


def desired_mirrors(
    observed: ObservedTarget,
    exporters: Iterable[Exporter],
    names: Mapping[tuple[str, int], str],
    derived_name: str,
    distribution: Distribution,
    *,
    is_for_virtual_ip: bool,
) -> tuple[EndpointSlice, ...]:
    """The mirrors that `exporters` ask for, ordered by cluster and source slice.

    `names` gives each reachable (protocol, port) its name; `derived_name` is the Service whose traffic the mirrors
    carry, empty when there is none; `distribution` is how that traffic is distributed; `is_for_virtual_ip` tells a
    ClusterSetIP service from a headless one.
    """
    importer = observed.policy.of(observed.target)
    return tuple(
        _mirror(
            observed,
            exporter,
            source,
            own_names,
            derived_name,
            distribution,
            is_for_virtual_ip=is_for_virtual_ip,
        )
        for exporter in sorted(exporters, key=lambda exporter: exporter.cluster)
        if exporter.service is not None
        for own_names in [names_in_mirrors(offered_ports(exporter.service), names)]
        for source in published_slices(exporter, observed.key, importer)
    )


def _mirror(
    observed: ObservedTarget,
    exporter: Exporter,
    source: EndpointSlice,
    names: PortNames,
    derived_name: str,
    distribution: Distribution,
    *,
    is_for_virtual_ip: bool,
) -> EndpointSlice:
    key, cluster = observed.key, exporter.cluster
    labels = {
        SERVICE_NAME_LABEL: key.name,
        SOURCE_CLUSTER_LABEL: cluster,
        SLICE_MANAGED_BY_LABEL: MANAGED_BY,
        MANAGED_BY_LABEL: MANAGED_BY,
    }
    if derived_name:
        labels[SLICE_SERVICE_LABEL] = derived_name
    is_local = cluster == observed.target
    preference = _preference_in(exporter, is_local=is_local)
    # A virtual IP has no order of endpoints: of the preference only that a cluster is drained can be heeded.
    is_drained = is_for_virtual_ip and preference.weight == 0
    endpoints = (
        _mirrored_endpoint(
            endpoint,
            source.address_type,
            cluster,
            distribution if derived_name else NO_DISTRIBUTION,
            is_local=is_local,
        )
        for endpoint in (source.endpoints or () if not is_drained else ())
    )
    return EndpointSlice(
        metadata=ObjectMeta(
            name=mirror_name(cluster, key, source.metadata.name, source.address_type),
            namespace=key.namespace,
            labels=labels,
            annotations={
                **_change_time(exporter, source),
                **({} if is_for_virtual_ip else preference.annotations),
            },
        ),
        address_type=source.address_type,
        endpoints=tuple(endpoint for endpoint in endpoints if endpoint.addresses),
        ports=mirrored_ports(source.ports or (), names),
    )


def _preference_in(exporter: Exporter, *, is_local: bool) -> Preference:
    """What the export prefers, as it is meant in the target."""
    said = preference_of(exporter.export.metadata.annotations)
    return said if is_local else replace(said, is_local_first=False)


def _change_time(exporter: Exporter, source: EndpointSlice) -> dict[str, str]:
    """The annotation that says since when this state of the slice is the clusterset's: its change, or a later export.

    What was before the export says how late that was asked for, not how fast changes travel. A source that does not
    tell its change, as one written by hand, gets none: any other time would be taken for a measurement.
    """
    changed = source.metadata.annotations.get(CHANGE_TIME_ANNOTATION, "")
    exported = exporter.export.metadata.creation_timestamp
    if parse_timestamp(changed) is None:
        return {}
    moments = [
        (moment, text) for text in (changed, exported) if (moment := parse_timestamp(text)) is not None
    ]
    return {CHANGE_TIME_ANNOTATION: max(moments)[1]}


def _mirrored_endpoint(
    endpoint: Endpoint, family: AddressType, cluster: ClusterId, distribution: Distribution, *, is_local: bool
) -> Endpoint:
    published = [published_address(address, family) for address in endpoint.addresses]
    return Endpoint(
        addresses=tuple([address for address in published if address]),
        conditions=endpoint.conditions,
        hostname=endpoint.hostname if endpoint.hostname and is_dns_label(endpoint.hostname) else None,
        node_name=endpoint.node_name if is_local else None,
        zone=endpoint.zone or None,
        hints=hints(endpoint, cluster, distribution, is_local=is_local),
    )


class _Meaning(NamedTuple):
    """All of a mirror that is ours to say, but for the change time, which only measures, and why it is withdrawn."""

    labels: tuple[str | None, ...]
    preference: tuple[str | None, ...]
    is_withdrawn: bool
    address_type: str
    endpoints: tuple[Endpoint, ...]
    ports: tuple[EndpointPort, ...]


def _meaning(mirror: EndpointSlice) -> _Meaning:
    labels = mirror.metadata.labels
    return _Meaning(
        labels=tuple(labels.get(label) for label in _OWNED_LABELS),
        preference=tuple(mirror.metadata.annotations.get(name) for name in PREFERENCE_ANNOTATIONS),
        is_withdrawn=WITHDRAWN_ANNOTATION in mirror.metadata.annotations,
        address_type=mirror.address_type,
        endpoints=mirror.endpoints or (),
        ports=tuple(replace(port, name=port.name or "") for port in mirror.ports or ()),
    )


def mirror_applies(observed: ObservedTarget, desired: Iterable[EndpointSlice]) -> tuple[Action, ...]:
    """What makes the present mirrors say what the desired ones do; somebody else's slice is left alone."""
    present = {mirror.metadata.name: mirror for mirror in observed.mirrors}
    return tuple(
        Apply(cluster=observed.target, resource=ENDPOINT_SLICES, object=mirror, is_hashed=True)
        for mirror in desired
        if _is_to_be_applied(present.get(mirror.metadata.name), mirror)
    )


def _is_to_be_applied(present: EndpointSlice | None, desired: EndpointSlice) -> bool:
    if present is None:
        return True
    return is_our_mirror(present) and not present.is_terminating and _meaning(present) != _meaning(desired)


def mirror_deletes(observed: ObservedTarget, desired: Iterable[EndpointSlice]) -> tuple[Action, ...]:
    """Deletes for the mirrors of ours that no desired one explains and whose source cluster is seen."""
    wanted = {mirror.metadata.name for mirror in desired}
    return tuple(
        Delete.of(observed.target, ENDPOINT_SLICES, mirror)
        for mirror in sorted(observed.mirrors, key=lambda mirror: mirror.metadata.name)
        if mirror.metadata.name not in wanted
        and is_our_mirror(mirror)
        and not mirror.is_terminating
        and ClusterId(mirror.source_cluster) in observed.seen
    )
