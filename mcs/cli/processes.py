"""`mcs controller` and `mcs dns`: from options to a running process."""

import secrets
import socket
from collections.abc import Sequence
from pathlib import Path

import structlog

from mcs.cli.logs import set_up_logs
from mcs.cli.options import (
    check_federation,
    check_registry,
    parse_auto_export,
    parse_clusters,
    parse_dns_cluster,
    parse_dns_options,
    parse_lease,
    parse_listen,
    parse_log_level,
    parse_targets,
    parse_unreachable,
)
from mcs.cli.policy import read_policy
from mcs.cli.problems import UserMistakeError
from mcs.cli.running import run
from mcs.controllers.processes import (
    CannotListenError,
    ControllerProcess,
    DnsProcess,
    Process,
    client_opener,
    utc_now,
)
from mcs.controllers.registry import RegistryOptions
from mcs.kube.config import connect
from mcs.kube.errors import ConfigError
from mcs.model.names import ClusterId
from mcs.runtime.leader import LeaderElector
from mcs.web.requests import RequestCounts
from mcs_dns.server import collect_rarely

log = structlog.get_logger(__name__)


def run_controller(
    *,
    clusters: Sequence[str],
    kubeconfig: Sequence[Path] | None,
    registry: bool,
    namespace: str,
    allow_exec: Sequence[str],
    kubeconfig_folder: Sequence[Path],
    federation: bool,
    metrics_listen: str,
    targets: str,
    own: str | None,
    leader_elect: bool,
    host_context: str | None,
    lease_namespace: str,
    lease_name: str,
    auto_export: str | None,
    policy: Path | None,
    unreachable: str,
    unreachable_grace: str,
    dns_listen: str | None,
    dns_cluster: str | None,
    zones: Sequence[str],
    log_level: str,
    log_json: bool,
) -> None:
    """Run `mcs controller` until a signal stops it. Raises UserMistakeError."""
    contexts = parse_clusters(clusters)
    check_registry(contexts, registry, namespace, kubeconfig_folder)
    check_federation(federation, registry, targets)
    written = parse_targets(contexts, targets, own, is_known_later=registry)
    lease = parse_lease(lease_namespace, lease_name)
    selector = parse_auto_export(auto_export)
    allowed = read_policy(policy)
    terms = parse_unreachable(unreachable, unreachable_grace)
    answered = parse_dns_cluster(contexts, dns_listen, dns_cluster)
    dns_options = parse_dns_options("--dns-listen", dns_listen or ":0", zones, ttl=5)
    metrics = parse_listen("--metrics-listen", metrics_listen)
    set_up_logs(parse_log_level(log_level), log_json)
    counts = RequestCounts()

    async def main() -> None:
        await check_configuration(kubeconfig, contexts)
        leader = None
        if leader_elect:
            host = ClusterId(own or "host")
            context = host_context or contexts.get(host)
            await check_configuration(kubeconfig, {host: context})
            open_host = client_opener(host, kubeconfig, context, counts)
            identity = f"{socket.gethostname()}_{secrets.token_hex(4)}"
            leader = LeaderElector(open_host, lease, identity, utc_now)
        permit = None if leader is None else leader.permit
        openers = {
            cluster: client_opener(cluster, kubeconfig, context, counts, permit)
            for cluster, context in contexts.items()
        }
        registered = None
        if registry:
            context = host_context or contexts.get(ClusterId(own or ""))
            await check_configuration(kubeconfig, {ClusterId("host"): context})
            open_host = client_opener("host", kubeconfig, context, counts, permit)
            registered = RegistryOptions(
                open_host, namespace, frozenset(allow_exec), permit, tuple(kubeconfig_folder)
            )
        process = ControllerProcess(
            openers,
            targets=written,
            auto_export=selector,
            policy=allowed,
            terms=terms,
            requests=counts,
            leader=leader,
            registered=registered,
            federates=federation,
        )
        process.serve_metrics(metrics)
        if answered is not None:
            process.serve_dns(process.fleet.members[answered], dns_options)
        await _run_process(process, {"metrics": "--metrics-listen", "dns": "--dns-listen"})

    run(main)


def run_dns(
    *,
    kubeconfig: Sequence[Path] | None,
    context: str | None,
    listen: str,
    metrics_listen: str,
    zones: Sequence[str],
    ttl: int,
    workers: int,
    log_level: str,
    log_json: bool,
) -> None:
    """Run `mcs dns` until a signal stops it. Raises UserMistakeError."""
    dns_options = parse_dns_options("--listen", listen, zones, ttl, workers)
    metrics = parse_listen("--metrics-listen", metrics_listen)
    set_up_logs(parse_log_level(log_level), log_json)
    cluster = ClusterId(context or "local")
    counts = RequestCounts()

    async def main() -> None:
        collect_rarely()
        await check_configuration(kubeconfig, {cluster: context})
        opener = client_opener(cluster, kubeconfig, context, counts)
        process = DnsProcess(cluster, opener, dns_options, requests=counts)
        process.serve_metrics(metrics)
        await _run_process(process, {"metrics": "--metrics-listen", "dns": "--listen"})

    run(main)


async def check_configuration(
    kubeconfig: Sequence[Path] | None, contexts: "dict[ClusterId, str] | dict[ClusterId, str | None]"
) -> None:
    """Raise UserMistakeError when the kubeconfig or a context cannot be used; nothing is sent to any cluster."""
    try:
        for cluster, context in contexts.items():
            async with await connect(kubeconfig, context, name=cluster):
                pass
    except ConfigError as error:
        raise UserMistakeError(str(error)) from error


async def _run_process(process: Process, options: dict[str, str]) -> None:
    """Run until cancelled; `options` names, for metrics and dns, the option that says where to listen."""
    try:
        await process.run()
    except CannotListenError as error:
        option, listen = options[error.what], error.listen
        raise UserMistakeError(
            f"cannot listen on {listen}: {error.reason}; choose another address or port with {option}"
        ) from error
    finally:
        log.info("stopped")
