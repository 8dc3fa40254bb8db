"""Ports: which ones a Service offers, how those of several exporters merge, and what a mirror's ports are called.

Source: KEP-1645, "Service Port". Names and (protocol, port) pairs are compared as the API server stores them.
"""

from collections.abc import Iterable, Mapping, Sequence

from mcs.model.multicluster import ImportPort
from mcs.model.names import is_dns_label
from mcs.model.services import Service, ServicePort
from mcs.model.slices import EndpointPort
from mcs.services.exported_metadata import is_qualified_name

_PROTOCOLS = frozenset({"TCP", "UDP", "SCTP"})

PortNames = Mapping[str, str]
"""Name of a port in the exporter's own Service -> its name in the derived Service and in every mirror."""


def offered_ports(service: Service) -> tuple[ImportPort, ...]:
    """The ports of a Service as an import shows them; ports that no API server would accept are left out."""
    return tuple(
        ImportPort(
            port=port.port,
            protocol=port.protocol,
            name=port.name,
            app_protocol=port.app_protocol
            if port.app_protocol and is_qualified_name(port.app_protocol)
            else None,
        )
        for port in service.spec.ports
        if _is_acceptable(port)
    )


def _is_acceptable(port: ServicePort) -> bool:
    return (
        1 <= port.port <= 65535 and port.protocol in _PROTOCOLS and (not port.name or is_dns_label(port.name))
    )


def merge_ports(offers: Iterable[Sequence[ImportPort]]) -> tuple[ImportPort, ...]:
    """The union of the port lists, the first list having precedence.

    No two of the result share a name (the empty name is a name) or a (protocol, port) pair: of two that do, the
    earlier stays with its name and appProtocol.
    """
    merged: dict[str, ImportPort] = {}
    taken: set[tuple[str, int]] = set()
    for port in (port for offer in offers for port in offer):
        pair = port.protocol, port.port
        if port.name not in merged and pair not in taken:
            merged[port.name] = port
            taken.add(pair)
    return tuple(merged.values())


def routing_names(merged: Sequence[ImportPort]) -> dict[tuple[str, int], str]:
    """(protocol, port) -> the name of the port in the derived Service and its mirrors.

    That is the merged name, except that a Service with several ports may not leave one unnamed: an unnamed port
    beside others is called after its protocol and number.
    """
    names = {(port.protocol, port.port): port.name for port in merged}
    if len(merged) > 1:
        used = set(names.values())
        for protocol, number in [pair for pair, name in names.items() if not name]:
            name = f"{protocol.lower()}-{number}"
            while name in used:
                name += "-x"
            names[protocol, number] = name
    return names


def names_in_mirrors(own: Iterable[ImportPort], names: Mapping[tuple[str, int], str]) -> PortNames:
    """How one exporter's ports are called in its mirrors; a port that nobody can reach through the import is absent.

    Traffic to a contested port goes only to clusters that serve it (KEP-1645): a port counts by its protocol and
    number, which is what a client connects to.
    """
    return {port.name: names[port.protocol, port.port] for port in own if (port.protocol, port.port) in names}


def mirrored_ports(ports: Iterable[EndpointPort], names: PortNames) -> tuple[EndpointPort, ...]:
    """The slice's ports under the names of the import, without those that are not in `names`.

    Left out is what no API server would accept: a further port of the same name, an unknown protocol, a number that
    is none.
    """
    mirrored: dict[str, EndpointPort] = {}
    for port in ports:
        name, protocol = names.get(port.name or ""), port.protocol or "TCP"
        is_number = port.port is None or 1 <= port.port <= 65535
        if name is None or protocol not in _PROTOCOLS or not is_number:
            continue
        said = port.app_protocol
        app_protocol = said if said is None or is_qualified_name(said) else None
        mirrored.setdefault(
            name, EndpointPort(name=name, protocol=protocol, port=port.port, app_protocol=app_protocol)
        )
    return tuple(mirrored.values())
