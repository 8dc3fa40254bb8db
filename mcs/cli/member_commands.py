"""The commands about who is a member, as the command line offers them. Each imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

Name = Annotated[str, typer.Argument(metavar="NAME", hidden=True)]
Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]", hidden=True)]
Kubeconfig = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="A kubeconfig file; repeatable. Default: those of KUBECONFIG, else ~/.kube/config.",
    ),
]
HostContext = Annotated[
    str | None,
    typer.Option(
        metavar="CONTEXT",
        help="Kubeconfig context of the cluster with the registry. Default: the current one.",
    ),
]
Namespace = Annotated[
    str, typer.Option(metavar="NAME", help="Namespace of the registry, and of what a member is given.")
]
Context = Annotated[
    str | None,
    typer.Option(metavar="CONTEXT", help="Kubeconfig context of the member. Default: the one of its name."),
]
Others = Annotated[
    list[str] | None,
    typer.Option(
        "--cluster", metavar="ID=CONTEXT", help="Another member, with its context. Repeat for each."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; print the objects as YAML.")]

SYSTEM_NAMESPACE = "kube-federation-system"


class JoinCommand(TyperCommand):
    """Takes --federation with a value or without, which typer offers no option for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What is left when the options are taken."""
        return super().parse_args(
            ctx, ["--federation=types" if each == "--federation" else each for each in args]
        )


def join(
    name: Name,
    context: Context = None,
    host_context: HostContext = None,
    mesh: Annotated[
        bool,
        typer.Option(
            "--mesh",
            help="Register it in every member that --cluster names, and those in it; there is no host.",
        ),
    ] = False,
    cluster: Others = None,
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = SYSTEM_NAMESPACE,
    clusterset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The clusterset to join. Default: that of who is there, else one named by the uid of the host.",
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(metavar="IMAGE", help="Image with mcs on its PATH, for mcs dns in the member."),
    ] = None,
    no_dns: Annotated[
        bool, typer.Option("--no-dns", help="Install no mcs dns, and leave the cluster's CoreDNS as it is.")
    ] = False,
    federation: Annotated[
        str,
        typer.Option(
            metavar="[=all]",
            help="Also bind a role that gathers those that mcs enable makes, one for each type; with =all one that "
            "may do everything, which it takes to propagate roles.",
        ),
    ] = "none",
    token_life: Annotated[
        str,
        typer.Option(
            metavar="DURATION", help="How long a token of the member is valid, for example 7d or 12h."
        ),
    ] = "7d",
    dry_run: DryRun = False,
) -> None:
    """Make a cluster a member: install what it needs, and register it in the host.

    Run again, it gives a member new credentials and repairs what is missing. NAME is its cluster id from then on.
    """
    from mcs.cli.joining import JoinOptions, join_cluster
    from mcs.cli.options import parse_federation, parse_life
    from mcs.cli.problems import WrongOptionError

    if no_dns == (image is not None):
        raise WrongOptionError("give --image IMAGE for the pods of mcs dns, or --no-dns for none")
    options = JoinOptions(
        namespace=namespace,
        clusterset=clusterset,
        image=image,
        federation=parse_federation(federation),
        token_life=parse_life(token_life),
    )
    join_cluster(
        name,
        context=context,
        host_context=host_context,
        mesh=mesh,
        peers=cluster or (),
        kubeconfig=kubeconfig,
        options=options,
        dry_run=dry_run,
    )


def leave(
    name: Names = None,
    every: Annotated[bool, typer.Option("--all", help="All members leave.")] = False,
    context: Context = None,
    host_context: HostContext = None,
    cluster: Others = None,
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = SYSTEM_NAMESPACE,
    drain: Annotated[
        bool, typer.Option("--drain", help="Withdraw its endpoints first, and wait until that is done.")
    ] = False,
    orphan: Annotated[
        bool, typer.Option("--orphan", help="Leave what it exports and has imported where it is.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Go on when the member cannot be reached, or is another cluster now."),
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Return when its registration is gone.")] = False,
    mesh: Annotated[
        bool, typer.Option("--mesh", help="End it in every member that --cluster names; there is no host.")
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """End the membership of a cluster: what came from it is withdrawn, and what it was given is removed.

    Only the definitions stay.
    """
    from mcs.cli.leaving import LeaveOptions, leave_clusters
    from mcs.cli.problems import WrongOptionError

    if drain and orphan:
        raise WrongOptionError("--drain withdraws and --orphan leaves in place; give one of them")
    leave_clusters(
        name or (),
        every=every,
        context=context,
        host_context=host_context,
        members=cluster or (),
        kubeconfig=kubeconfig,
        options=LeaveOptions(
            namespace=namespace,
            manner="drain" if drain else "orphan" if orphan else "plain",
            force=force,
            wait=wait,
            mesh=mesh,
        ),
        dry_run=dry_run,
    )


def clusters(
    kubeconfig: Kubeconfig = None, host_context: HostContext = None, namespace: Namespace = SYSTEM_NAMESPACE
) -> None:
    """Show the members that the registry names, and how they are doing."""
    from mcs.cli.registered import print_clusters

    print_clusters(kubeconfig, host_context, namespace)


def cordon(
    name: Name,
    kubeconfig: Kubeconfig = None,
    host_context: HostContext = None,
    namespace: Namespace = SYSTEM_NAMESPACE,
    dry_run: DryRun = False,
) -> None:
    """Place nothing new on a member; what it exports stays as it is."""
    _mark("cordon", name, kubeconfig, host_context, namespace, dry_run)


def uncordon(
    name: Name,
    kubeconfig: Kubeconfig = None,
    host_context: HostContext = None,
    namespace: Namespace = SYSTEM_NAMESPACE,
    dry_run: DryRun = False,
) -> None:
    """Take back cordon and drain."""
    _mark("uncordon", name, kubeconfig, host_context, namespace, dry_run)


def drain(
    name: Name,
    kubeconfig: Kubeconfig = None,
    host_context: HostContext = None,
    namespace: Namespace = SYSTEM_NAMESPACE,
    dry_run: DryRun = False,
) -> None:
    """Cordon a member, and withdraw its endpoints everywhere until it is uncordoned."""
    _mark("drain", name, kubeconfig, host_context, namespace, dry_run)


def _mark(
    verb: str,
    name: str,
    kubeconfig: list[Path] | None,
    host_context: str | None,
    namespace: str,
    dry_run: bool,
) -> None:
    from mcs.cli.registered import CORDON, DRAIN, UNCORDON, mark_cluster

    annotations = {"cordon": CORDON, "drain": DRAIN, "uncordon": UNCORDON}[verb]
    mark_cluster(
        name,
        annotations,
        {"cordon": "is cordoned", "drain": "is drained", "uncordon": "is neither cordoned nor drained"}[verb],
        kubeconfig=kubeconfig,
        host_context=host_context,
        namespace=namespace,
        dry_run=dry_run,
    )


def add_to(app: typer.Typer) -> None:
    """Offer the commands."""
    app.command(cls=JoinCommand, short_help="Make a cluster a member.")(join)
    app.command(short_help="End a membership.")(leave)
    app.command(short_help="Show the members.")(clusters)
    app.command(short_help="Place nothing new on a member.")(cordon)
    app.command(short_help="Take back cordon and drain.")(uncordon)
    app.command(short_help="Withdraw the endpoints of a member.")(drain)
