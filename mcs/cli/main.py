"""The `mcs` command: what it offers. Each command imports what it needs when it runs, so that --help is quick."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mcs import __version__
from mcs.cli import explain_commands, federation_commands, member_commands, plan_commands
from mcs.cli.member_commands import DryRun, Kubeconfig

# Without markup typer neither loads rich for --help, which would double its time, nor draws boxes.
app = typer.Typer(
    name="mcs",
    help="Multi-cluster Services for Kubernetes: exports of every cluster answer by name in all of them.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Clusters = Annotated[
    list[str],
    typer.Option(
        "--cluster",
        metavar="ID=CONTEXT",
        help="A member: its cluster id and its kubeconfig context. Repeat for each; ID alone stands for ID=ID.",
    ),
]
MetricsListen = Annotated[
    str, typer.Option(metavar="IP:PORT", help="Where /metrics, /healthz and /readyz are served.")
]
LogLevel = Annotated[str, typer.Option(metavar="LEVEL", help="Log from debug, info, warning or error on.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log one JSON object a line.")]
Zones = Annotated[
    list[str],
    typer.Option(
        "--zone",
        metavar="NAME",
        help="A DNS zone of the clusterset; repeatable, then with the same services in each.",
    ),
]

# Hidden, for typer would describe it as "<str>"; the usage line shows it all the same.
ExportedService = Annotated[str, typer.Argument(metavar="NAMESPACE/NAME", hidden=True)]


@app.command(short_help="Sync the exports of all members into each of them.")
def controller(
    cluster: Clusters = [],  # noqa: B006
    kubeconfig: Kubeconfig = None,
    registry: Annotated[
        bool,
        typer.Option(
            "--registry",
            help="Take members from the KubeFedClusters of the host cluster, as they come and go.",
        ),
    ] = False,
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="The namespace of the registrations and their Secrets.")
    ] = "kube-federation-system",
    allow_exec: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A program that kubeconfigs in Secrets may run, as they write it. Repeatable.",
        ),
    ] = None,
    kubeconfig_folder: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="With --registry: register the kubeconfigs of a folder, or a file. Repeatable.",
        ),
    ] = None,
    federation: Annotated[
        bool,
        typer.Option(
            "--federation",
            help="With --registry: propagate what is federated in the host to the members that are registered.",
        ),
    ] = False,
    targets: Annotated[
        str,
        typer.Option(
            metavar="all|self",
            help="Write to all members, or to --self only: then each member has a controller of its own.",
        ),
    ] = "all",
    own: Annotated[
        str | None, typer.Option("--self", metavar="ID", help="The member that --targets self writes to.")
    ] = None,
    leader_elect: Annotated[
        bool,
        typer.Option(
            help="Write only while elected, so that several replicas may run, all but one standing by."
        ),
    ] = False,
    host_context: Annotated[
        str | None,
        typer.Option(
            metavar="CONTEXT",
            help="Kubeconfig context of the host, with registrations and the Lease. Default: that of --self, else the "
            "current one.",
        ),
    ] = None,
    lease_namespace: Annotated[
        str, typer.Option(metavar="NAMESPACE", help="Where the Lease is; the namespace must exist.")
    ] = "kube-federation-system",
    lease_name: Annotated[
        str, typer.Option(metavar="NAME", help="One for each set of replicas.")
    ] = "mcs-controller",
    auto_export: Annotated[
        str | None,
        typer.Option(
            metavar="SELECTOR",
            help="Export the Services with these labels, for example tier=web; an empty selector matches nothing.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What members may do, as YAML: namespaces, caps, addresses, precedence."
        ),
    ] = None,
    unreachable: Annotated[
        str,
        typer.Option(
            metavar="drain|keep",
            help="What becomes of the endpoints of a member that stays unreachable: others do without, or keep them.",
        ),
    ] = "drain",
    unreachable_grace: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="How long a member may be unreachable before that, as 30s or 5m; 0: for ever.",
        ),
    ] = "5m",
    metrics_listen: MetricsListen = "127.0.0.1:8080",
    dns_listen: Annotated[
        str | None, typer.Option(metavar="IP:PORT", help="Also answer DNS here, for --dns-cluster.")
    ] = None,
    dns_cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="The member whose zone is answered; clusterset IPs differ by member."
        ),
    ] = None,
    zones: Zones = ["clusterset.local"],  # noqa: B006
    log_level: LogLevel = "info",
    log_json: LogJson = False,
) -> None:
    """Import the exported Services of all members into each of them.

    Either one controller works for all members, or one in each, with --targets self; both do the same, and one may take
    the place of the other. Runs until SIGINT (Ctrl-C) or SIGTERM. Members need the CRDs of crds/.
    """
    from mcs.cli.processes import run_controller

    run_controller(
        clusters=cluster,
        kubeconfig=kubeconfig,
        registry=registry,
        namespace=namespace,
        allow_exec=allow_exec or (),
        kubeconfig_folder=kubeconfig_folder or (),
        federation=federation,
        metrics_listen=metrics_listen,
        targets=targets,
        own=own,
        leader_elect=leader_elect,
        host_context=host_context,
        lease_namespace=lease_namespace,
        lease_name=lease_name,
        auto_export=auto_export,
        policy=policy,
        unreachable=unreachable,
        unreachable_grace=unreachable_grace,
        dns_listen=dns_listen,
        dns_cluster=dns_cluster,
        zones=zones,
        log_level=log_level,
        log_json=log_json,
    )


@app.command(short_help="Answer the clusterset zone of one cluster.")
def dns(
    kubeconfig: Kubeconfig = None,
    context: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Kubeconfig context of the cluster to answer for. Default: the current one."
        ),
    ] = None,
    listen: Annotated[
        str, typer.Option(metavar="IP:PORT", help="Where to answer, over UDP and TCP.")
    ] = "127.0.0.1:5353",
    metrics_listen: MetricsListen = "127.0.0.1:8081",
    zones: Zones = ["clusterset.local"],  # noqa: B006
    ttl: Annotated[int, typer.Option(metavar="SECONDS", help="Time to live of the records.")] = 5,
    workers: Annotated[
        int,
        typer.Option(metavar="COUNT", help="Processes that answer; with several, one more reads the API."),
    ] = 1,
    log_level: LogLevel = "info",
    log_json: LogJson = False,
) -> None:
    """Answer the clusterset zone of one cluster from its ServiceImports and EndpointSlices.

    Runs until SIGINT (Ctrl-C) or SIGTERM. Goes on answering while the API server is away.
    """
    from mcs.cli.processes import run_dns

    run_dns(
        kubeconfig=kubeconfig,
        context=context,
        listen=listen,
        metrics_listen=metrics_listen,
        zones=zones,
        ttl=ttl,
        workers=workers,
        log_level=log_level,
        log_json=log_json,
    )


@app.command(short_help="Try it: three clusters with a sample, on this machine.")
def sandbox(
    check: Annotated[
        bool, typer.Option("--check", help="Verify every answer, print the timings, and exit.")
    ] = False,
    log_level: LogLevel = "warning",
) -> None:
    """Run three clusters, the controller and their DNS servers on this machine, with a sample."""
    from mcs.cli.sandbox import run_sandbox

    run_sandbox(check=check, log_level=log_level)


@app.command(short_help="Export a Service to the clusterset.")
def export(
    service: ExportedService,
    cluster: Clusters,
    kubeconfig: Kubeconfig = None,
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Export to this cluster only, and to its own. Repeatable."),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Export a Service of the given clusters: make its ServiceExport there, unless there is one."""
    from mcs.cli.exporting import export_service

    export_service(service, cluster, kubeconfig, to=to or (), dry_run=dry_run)


@app.command(short_help="Take back the export of a Service.")
def unexport(
    service: ExportedService, cluster: Clusters, kubeconfig: Kubeconfig = None, dry_run: DryRun = False
) -> None:
    """Delete the ServiceExport of a Service in the given clusters, where there is one."""
    from mcs.cli.exporting import unexport_service

    unexport_service(service, cluster, kubeconfig, dry_run=dry_run)


member_commands.add_to(app)
federation_commands.add_to(app)
plan_commands.add_to(app)
explain_commands.add_to(app)


@app.command()
def status(cluster: Clusters, kubeconfig: Kubeconfig = None) -> None:
    """Show clusters, exports, imports and conflicts."""
    from mcs.cli.status import print_status

    print_status(cluster, kubeconfig)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


def main() -> None:
    """Entry point of the `mcs` command.

    A mistake of the user is one line on standard error; the exit status is 2 for a wrong command line, else 1.
    """
    from mcs.cli.problems import UserMistakeError

    try:
        sys.exit(app(args=sys.argv[1:] or ["--help"], prog_name="mcs", standalone_mode=False))
    except UserMistakeError as mistake:
        _fail(str(mistake), mistake.exit_status)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "mcs"
        _fail(f"{error.format_message().rstrip('.')}; see {command} --help", error.exit_code)


def _fail(message: str, exit_status: int) -> None:
    print(f"mcs: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(exit_status)
