"""`mcs controller` and `mcs dns`: from checked options to a running process."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import structlog
import typer

from mcs.cli.options import parse_clusters, parse_listen
from mcs.cli.problems import UserMistakeError
from mcs.cli.running import run, set_up_logs, until_signalled
from mcs.controllers.processes import ControllerProcess, DnsOptions, DnsProcess, Process
from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.errors import ConfigError
from mcs.model.names import ClusterId
from mcs.web.requests import RequestCounts

log = structlog.get_logger(__name__)


def client_opener(
    cluster: str, files: Sequence[Path] | None, context: str | None, counts: RequestCounts
) -> Callable[[], AbstractAsyncContextManager[Client]]:
    """What opens a client of one kubeconfig context, each time anew."""

    @asynccontextmanager
    async def open_client() -> AsyncIterator[Client]:
        async with await connect(files, context, name=cluster) as connection:
            yield Client(connection, counts.hook(cluster))

    return open_client


def run_controller(
    *,
    clusters: Sequence[str],
    kubeconfig: Sequence[Path] | None,
    metrics_listen: str,
    dns_listen: str | None,
    dns_cluster: str | None,
    zone: str,
    log_level: str,
    log_json: bool,
) -> None:
    """Run `mcs controller` until a signal stops it."""
    set_up_logs(log_level, log_json)
    contexts = parse_clusters(clusters)
    if (dns_listen is None) != (dns_cluster is None):
        raise typer.BadParameter(
            "--dns-listen and --dns-cluster go together: where to answer, and whose zone"
        )
    if dns_cluster is not None and dns_cluster not in contexts:
        known = ", ".join(contexts)
        raise typer.BadParameter(f"--dns-cluster {dns_cluster!r} is no member; the members are {known}")
    counts = RequestCounts()

    async def main() -> None:
        openers = {
            cluster: client_opener(cluster, kubeconfig, context, counts)
            for cluster, context in contexts.items()
        }
        await check_configuration(kubeconfig, list(contexts.values()))
        process = ControllerProcess(openers, requests=counts)
        process.serve_metrics(parse_listen(metrics_listen))
        if dns_listen is not None and dns_cluster is not None:
            options = DnsOptions(listen=parse_listen(dns_listen), origin=zone)
            process.serve_dns(process.fleet.members[ClusterId(dns_cluster)], options)
        await run_process(process)

    run(main)


def run_dns(
    *,
    kubeconfig: Sequence[Path] | None,
    context: str | None,
    listen: str,
    metrics_listen: str,
    zone: str,
    ttl: int,
    log_level: str,
    log_json: bool,
) -> None:
    """Run `mcs dns` until a signal stops it."""
    set_up_logs(log_level, log_json)
    counts = RequestCounts()
    cluster = ClusterId(context or "local")

    async def main() -> None:
        await check_configuration(kubeconfig, [context])
        options = DnsOptions(listen=parse_listen(listen), origin=zone, ttl=ttl)
        process = DnsProcess(
            cluster, client_opener(cluster, kubeconfig, context, counts), options, requests=counts
        )
        process.serve_metrics(parse_listen(metrics_listen))
        await run_process(process)

    run(main)


async def check_configuration(kubeconfig: Sequence[Path] | None, contexts: Sequence[str | None]) -> None:
    """Raise UserMistakeError when the kubeconfig or a context cannot be used; nothing is sent to any cluster."""
    try:
        for context in contexts:
            async with await connect(kubeconfig, context):
                pass
    except ConfigError as error:
        raise UserMistakeError(str(error)) from error


async def run_process(process: Process) -> None:
    """Run a process until a signal stops it. Raises UserMistakeError when an address cannot be listened on."""
    try:
        await until_signalled(process.run())
    except OSError as error:
        raise UserMistakeError(
            f"cannot listen: {error.strerror or error}; choose another address or port"
        ) from error
