"""The answers that change with every endpoint, from a headless service to bytes without a step between.

They are the addresses and SRV records at a service's own name and at `_port._proto` below it. When a thousand endpoints
change in a second, each of these answers is worked out again as often as it is asked for; going through `answer` and
`records` as all other answers do takes several times as long. That both give the same bytes is a law in the tests.

Sources: as of `answer` and `records`.
"""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address

from mcs.model.slices import IPV4, IPV6, AddressType
from mcs_dns.answer import Rcode, Type, choice_of
from mcs_dns.choice import Choice
from mcs_dns.records import CLASS_IN, POINTER, POINTER_REACH
from mcs_dns.wire import LARGER_FAMILY, Encoded, labels_of
from mcs_dns.zone import MAX_NAME, ImportedService, ReadyEndpoint

_FAMILIES = {Type.A: IPV4, Type.AAAA: IPV6}
_TYPES_OF_FAMILIES = {family: type_.to_bytes(2) + CLASS_IN for type_, family in _FAMILIES.items()}
_SRV = Type.SRV.to_bytes(2) + CLASS_IN
_QUESTION_NAME = (POINTER | 12).to_bytes(2)
"""A pointer to the name that was asked for: it follows the header."""

_NO_PORT = ("", "")


def answer_of_endpoints(question: bytes, below: int, service: ImportedService, ttl: int) -> Encoded | None:
    """What `service`, a headless one with endpoints, answers to `question`; None for what is left to `answer`.

    The question is in lower case, for A, AAAA or SRV; the service's name begins at its byte `below`. Without answer
    records the name exists, and the authority section is left to be filled.
    """
    type_ = question[-4] << 8 | question[-3]
    name = question[below:-4]
    if type_ == Type.SRV:
        port = _port_of(question[:below])
        return None if port is None else _services(name, below, port, service.chosen, ttl.to_bytes(4))
    return _addresses(name, _FAMILIES[Type(type_)], service.preferred, ttl.to_bytes(4)) if not below else None


def _port_of(labels: bytes) -> tuple[str, str] | None:
    """(name, protocol) of `_port._proto`, two empty ones of no labels, None of others."""
    if not labels:
        return _NO_PORT
    length = labels[0]
    rest = labels[1 + length :]
    if len(rest) < 2 or labels[1:2] != b"_" or rest[1:2] != b"_" or rest[0] + 1 != len(rest) or length < 2:
        return None
    return labels[2 : 1 + length].decode("latin-1"), rest[2:].decode("latin-1")


def _addresses(name: bytes, family: AddressType, endpoints: Sequence[ReadyEndpoint], ttl: bytes) -> Encoded:
    found: dict[str, ReadyEndpoint] = {}
    has_others = False
    for endpoint in endpoints:
        if endpoint.family == family:
            for address in endpoint.addresses:
                found.setdefault(address, endpoint)
        else:
            has_others = True
    start = _QUESTION_NAME + _TYPES_OF_FAMILIES[family] + ttl
    text = _text(name)
    return Encoded(
        Rcode.NOERROR,
        is_authoritative=True,
        answers=tuple([start + _packed(address) for address in found]),
        choices=tuple([choice_of(endpoint, text) for endpoint in found.values()]),
        counted_as=LARGER_FAMILY if has_others and found else 0,
    )


def _services(
    name: bytes, below: int, asked: tuple[str, str], endpoints: Sequence[ReadyEndpoint], ttl: bytes
) -> Encoded | None:
    text = _text(name)
    start = _QUESTION_NAME + _SRV + ttl
    answers: list[bytes] = []
    choices: list[Choice] = []
    found: set[tuple[tuple[str, ...], int]] = set()
    targets: set[tuple[str, ...]] = set()
    for endpoint in endpoints:
        labels = endpoint.labels
        for port in endpoint.ports:
            if (asked is not _NO_PORT and port[:2] != asked) or (labels, port.port) in found:
                continue
            choice = choice_of(endpoint, text)
            if len(choice.endpoint) > MAX_NAME:
                continue
            found.add((labels, port.port))
            targets.add(labels)
            target = b"".join([_wire_label(label) for label in labels]) + name
            numbers = choice.priority.to_bytes(2) + choice.weight.to_bytes(2) + port.port.to_bytes(2)
            answers.append(start + (6 + len(target)).to_bytes(2) + numbers + target)
            choices.append(choice)
    if not answers:
        return None
    at: dict[tuple[str, ...], int] = {(): 12 + below}
    offset = 12 + below + len(name) + 4 + sum(map(len, answers))
    additional: list[bytes] = []
    for labels, addresses in _addresses_of(targets, endpoints).items():
        for family, address in addresses:
            owner = _compressed(labels, offset, at)
            additional.append(owner + _TYPES_OF_FAMILIES[family] + ttl + _packed(address))
            offset += len(additional[-1])
    return Encoded(
        Rcode.NOERROR,
        is_authoritative=True,
        answers=tuple(answers),
        additional=tuple(additional),
        choices=tuple(choices),
    )


def _addresses_of(
    targets: set[tuple[str, ...]], endpoints: Sequence[ReadyEndpoint]
) -> dict[tuple[str, ...], dict[tuple[AddressType, str], None]]:
    """All addresses of each target, once."""
    found: dict[tuple[str, ...], dict[tuple[AddressType, str], None]] = {}
    for endpoint in endpoints:
        if endpoint.labels in targets:
            addresses = found.setdefault(endpoint.labels, {})
            for address in endpoint.addresses:
                addresses[endpoint.family, address] = None
    return found


def _compressed(labels: tuple[str, ...], offset: int, at: dict[tuple[str, ...], int]) -> bytes:
    """The name of an endpoint as `records` compresses it; `at` says where ends of names below the service begin."""
    written = b""
    while (known := at.get(labels)) is None:
        if offset + len(written) <= POINTER_REACH:
            at[labels] = offset + len(written)
        written += _wire_label(labels[0])
        labels = labels[1:]
    return written + (POINTER | known).to_bytes(2)


@lru_cache
def _text(name: bytes) -> str:
    """A name of plain labels as text, without the root."""
    return ".".join([label.decode() for label in labels_of(name)])


@lru_cache(maxsize=1 << 12)
def _wire_label(label: str) -> bytes:
    return bytes((len(label),)) + label.encode()


@lru_cache(maxsize=1 << 16)
def _packed(address: str) -> bytes:
    """An address as data of a record, after its length."""
    if ":" in address:
        return b"\0\x10" + IPv6Address(address).packed
    return b"\0\4" + IPv4Address(address).packed
