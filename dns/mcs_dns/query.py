"""What a name asks for inside the zone, read from its labels alone.

Knows the schema of the specification (3.1) and nothing of what exists; whether there is such a service, port or
endpoint is left to `answer`. Names are compared without regard to case (RFC 1034, 3.1): labels come in lower case.
"""

from dataclasses import dataclass
from typing import NamedTuple

from mcs.model.names import ServiceKey


class Question(NamedTuple):
    """One question of class IN: the labels of its name in lower case, without the root, and its type."""

    labels: tuple[str, ...]
    type: int


@dataclass(frozen=True, slots=True)
class OtherZone:
    """A name outside the zone."""


@dataclass(frozen=True, slots=True)
class Apex:
    """The zone's own name."""


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """`dns-version.<zone>` (specification, 2.2)."""


@dataclass(frozen=True, slots=True)
class NameServer:
    """`ns.dns.<zone>`."""


@dataclass(frozen=True, slots=True)
class EmptyNonTerminal:
    """`svc.<zone>` and `dns.<zone>`: no records, but names below (RFC 8020, 2)."""


@dataclass(frozen=True, slots=True)
class NamespaceName:
    """`<ns>.svc.<zone>`."""

    namespace: str


@dataclass(frozen=True, slots=True)
class ServiceName:
    """`<svc>.<ns>.svc.<zone>`."""

    service: ServiceKey


@dataclass(frozen=True, slots=True)
class PortName:
    """`_<port>._<proto>.<svc>…`, or `_<proto>.<svc>…` with an empty port; without their underscores."""

    service: ServiceKey
    port: str
    protocol: str


@dataclass(frozen=True, slots=True)
class EndpointName:
    """Labels below a service that may be `<hostname>.<clusterid>` or the end of one, such as a bare cluster id.

    A cluster id has one label or two, so two labels alone do not tell which of these they are.
    """

    service: ServiceKey
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoSuchName:
    """A name in the zone that no schema gives a meaning."""


Asked = (
    OtherZone
    | Apex
    | SchemaVersion
    | NameServer
    | EmptyNonTerminal
    | NamespaceName
    | ServiceName
    | PortName
    | EndpointName
    | NoSuchName
)

_NO_SUCH_NAME = NoSuchName()


def asked_for(labels: tuple[str, ...], origin: tuple[str, ...]) -> Asked:
    """What the name `labels` means in the zone `origin`; both in lower case, without the root."""
    depth = len(labels) - len(origin)
    if depth < 0 or labels[depth:] != origin:
        return OtherZone()
    relative = labels[:depth]
    match relative:
        case ():
            return Apex()
        case ("dns-version",):
            return SchemaVersion()
        case ("svc",) | ("dns",):
            return EmptyNonTerminal()
        case ("ns", "dns"):
            return NameServer()
        case (namespace, "svc"):
            return NamespaceName(namespace)
        case (*below, service, namespace, "svc"):
            return _below_service(ServiceKey(namespace, service), tuple(below))
        case _:
            return _NO_SUCH_NAME


def _below_service(service: ServiceKey, labels: tuple[str, ...]) -> Asked:
    match labels:
        case ():
            return ServiceName(service)
        case (protocol,) if protocol.startswith("_"):
            return PortName(service, "", protocol[1:])
        case (port, protocol) if port.startswith("_") and protocol.startswith("_"):
            return PortName(service, port[1:], protocol[1:]) if port != "_" else _NO_SUCH_NAME
        case (_,) | (_, _) | (_, _, _):
            return EndpointName(service, labels)
        case _:
            return _NO_SUCH_NAME
