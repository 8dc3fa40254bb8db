"""What the user writes on the command line, as checked values. Mistakes become one sentence that says what to do."""

from collections.abc import Sequence
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import cast, get_args

from mcs.cli.problems import WrongOptionError
from mcs.controllers.processes import DnsOptions, Listen
from mcs.membership.access import Federation
from mcs.membership.tokens import SHORTEST_LIFE
from mcs.membership.withdrawal import Terms, parse_grace
from mcs.model.names import ClusterId, ServiceKey, cluster_id_error, is_dns_label
from mcs.model.selectors import Selector, parse_selector
from mcs.runtime.leader import LeasePlace
from mcs.services.validity import is_denied
from mcs_dns.zone import Zone

MOST_WORKERS = 64
LOG_LEVELS = ("debug", "info", "warning", "error")


def parse_listen(option: str, text: str) -> Listen:
    """`127.0.0.1:5353`, `[::1]:5353` or `:5353` (all IPv4 addresses). Raises WrongOptionError naming `option`."""
    host, colon, port = text.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    host = (host[1:-1] if is_bracketed else host) or "0.0.0.0"
    try:
        address = ip_address(host)
        is_address = (
            bool(colon) and is_bracketed == (address.version == 6) and port.isascii() and port.isdecimal()
        )
    except ValueError:
        is_address = False
    if not is_address or int(port) > 65535:
        raise WrongOptionError(
            f"{option} {text!r} is no address; write IP:PORT, for example 127.0.0.1:5353 or [::1]:5353"
        )
    return Listen(host, int(port))


def parse_clusters(values: Sequence[str]) -> dict[ClusterId, str]:
    """Kubeconfig contexts by cluster id, from `ID=CONTEXT` values. Raises WrongOptionError.

    An id alone names the context of the same name.
    """
    contexts: dict[ClusterId, str] = {}
    for value in values:
        text, equals, context = value.partition("=")
        if (problem := cluster_id_error(text)) is not None:
            raise WrongOptionError(f"--cluster {value!r}: {problem}")
        if equals and not context:
            raise WrongOptionError(f"--cluster {value!r} names no context; write ID=CONTEXT")
        if text in contexts:
            raise WrongOptionError(
                f"--cluster {value!r}: cluster id {text!r} is given twice; give every member an id of its own"
            )
        contexts[ClusterId(text)] = context or text
    return contexts


def parse_log_level(text: str) -> str:
    """One of LOG_LEVELS. Raises WrongOptionError."""
    if text not in LOG_LEVELS:
        raise WrongOptionError(f"--log-level {text!r} is not known; use one of {', '.join(LOG_LEVELS)}")
    return text


def parse_dns_options(
    option: str, listen: str, zones: Sequence[str], ttl: int, workers: int = 1
) -> DnsOptions:
    """Where to answer, for which zones and by how many; `option` named `listen`. Raises WrongOptionError."""
    if not 1 <= workers <= MOST_WORKERS:
        raise WrongOptionError(
            f"--workers {workers} is not in 1..{MOST_WORKERS}; use one for each core at most"
        )
    options = DnsOptions(listen=parse_listen(option, listen), origins=tuple(zones), ttl=ttl, workers=workers)
    try:
        Zone.empty(*zones, ttl=ttl)
    except ValueError as error:
        raise WrongOptionError(f"--zone or --ttl: {error}") from error
    return options


def parse_dns_cluster(
    contexts: dict[ClusterId, str], dns_listen: str | None, dns_cluster: str | None
) -> ClusterId | None:
    """The member whose zone is to be answered, None when no DNS is asked for. Raises WrongOptionError."""
    if dns_listen is None and dns_cluster is None:
        return None
    if dns_cluster is None:
        raise WrongOptionError("--dns-listen needs --dns-cluster ID: the member whose zone is answered")
    if dns_listen is None:
        raise WrongOptionError("--dns-cluster needs --dns-listen IP:PORT: where its zone is answered")
    if dns_cluster not in contexts:
        raise WrongOptionError(
            f"--dns-cluster {dns_cluster!r} is no member; choose one of {', '.join(contexts)}"
        )
    return ClusterId(dns_cluster)


def check_registry(
    contexts: dict[ClusterId, str], registry: bool, namespace: str, folders: Sequence[Path]
) -> None:
    """Members must come from somewhere. Raises WrongOptionError."""
    if not contexts and not registry:
        raise WrongOptionError("there are no members; give --cluster ID=CONTEXT for each, or --registry")
    if folders and not registry:
        raise WrongOptionError("--kubeconfig-folder needs --registry: what is found there is registered")
    for folder in folders:
        if not folder.exists():
            raise WrongOptionError(f"--kubeconfig-folder {folder} does not exist; correct the path")
    if not is_dns_label(namespace):
        raise WrongOptionError(f"--namespace {namespace!r} is no name of a namespace")


def parse_federation(text: str) -> Federation:
    """What a member lets federation do. Raises WrongOptionError."""
    for each in get_args(Federation):
        if text == each:
            return cast("Federation", each)
    raise WrongOptionError(
        f"--federation={text} is not known; write --federation for the types that are enabled, or --federation=all"
    )


def check_federation(federation: bool, registry: bool, targets: str) -> None:
    """Federation is of one controller, the one of the host. Raises WrongOptionError."""
    if federation and not registry:
        raise WrongOptionError("--federation needs --registry: what is federated goes to registered clusters")
    if federation and targets != "all":
        raise WrongOptionError(
            "--federation is of the controller of the host, which writes to all members; leave --targets away"
        )


def parse_targets(
    contexts: dict[ClusterId, str], targets: str, own: str | None, *, is_known_later: bool = False
) -> frozenset[ClusterId] | None:
    """The members to write to, None for all. Raises WrongOptionError.

    `is_known_later` when the member may also be one that is registered.
    """
    if targets not in ("all", "self"):
        raise WrongOptionError(f"--targets {targets!r} is not known; use all or self")
    if targets == "all" and own is not None:
        raise WrongOptionError("--self needs --targets self: without it all members are written to")
    if targets == "all":
        return None
    if own is None:
        raise WrongOptionError("--targets self needs --self ID: the member that is written to")
    if own not in contexts and not is_known_later:
        raise WrongOptionError(f"--self {own!r} is no member; choose one of {', '.join(contexts)}")
    return frozenset({ClusterId(own)})


def parse_lease(namespace: str, name: str) -> LeasePlace:
    """Where the Lease of the leader is. Raises WrongOptionError."""
    if not is_dns_label(namespace):
        raise WrongOptionError(f"--lease-namespace {namespace!r} is no name of a namespace")
    if len(name) > 253 or not all(is_dns_label(part) for part in name.split(".")):
        raise WrongOptionError(f"--lease-name {name!r} is no name of a Lease")
    return LeasePlace(namespace, name)


def parse_unreachable(policy: str, grace: str) -> Terms:
    """What becomes of the endpoints of a member that is unreachable, after how long. Raises WrongOptionError."""
    if policy not in ("drain", "keep"):
        raise WrongOptionError(f"--unreachable {policy!r} is not known; use drain or keep")
    length = parse_grace(grace)
    if length is None:
        raise WrongOptionError(
            f"--unreachable-grace {grace!r} is no duration; write for example 30s, 5m or 1h, or 0 for ever"
        )
    return Terms("keep" if policy == "keep" else "drain", length)


def parse_auto_export(text: str | None) -> Selector | None:
    """The Services to export without being asked; None when that is off. Raises WrongOptionError."""
    if text is None:
        return None
    try:
        return parse_selector(text)
    except ValueError as error:
        raise WrongOptionError(
            f"--auto-export {text!r}: {error}; write for example tier=web,!internal"
        ) from error


def parse_service(text: str) -> ServiceKey:
    """`NAMESPACE/NAME` of a Service that may be exported. Raises WrongOptionError."""
    namespace, slash, name = text.partition("/")
    if not slash or not is_dns_label(namespace) or not is_dns_label(name):
        raise WrongOptionError(f"{text!r} is no Service; write NAMESPACE/NAME")
    if is_denied(namespace):
        raise WrongOptionError(
            f"Services of namespace {namespace!r} belong to each cluster alone; choose another"
        )
    return ServiceKey(namespace, name)


def parse_member(text: str) -> ClusterId:
    """The id of a member. Raises WrongOptionError."""
    if (problem := cluster_id_error(text)) is not None:
        raise WrongOptionError(problem)
    return ClusterId(text)


def parse_life(text: str) -> timedelta:
    """How long tokens are valid: a number and d, h or m, 10 minutes at least. Raises WrongOptionError."""
    units = {"d": "days", "h": "hours", "m": "minutes"}
    number, unit = text[:-1], units.get(text[-1:])
    is_duration = unit is not None and number.isascii() and number.isdecimal() and len(number) <= 6
    life = timedelta(**{unit: int(number)}) if is_duration and unit else timedelta()
    if life < SHORTEST_LIFE:
        raise WrongOptionError(
            f"--token-life {text!r} is no duration of 10 minutes or more; write for example 7d or 12h"
        )
    return life


def parse_targeted(ids: Sequence[str]) -> tuple[str, ...] | None:
    """The clusters that `--to` names, sorted; None when it is not given. Raises WrongOptionError."""
    for text in ids:
        if (problem := cluster_id_error(text)) is not None:
            raise WrongOptionError(f"--to {text!r}: {problem}")
    return tuple(sorted(set(ids))) or None
