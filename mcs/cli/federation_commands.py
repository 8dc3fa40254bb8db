"""The commands about what is federated, as the command line offers them. Each imports what it needs when it runs."""

from typing import Annotated

import typer

from mcs.cli.member_commands import SYSTEM_NAMESPACE, DryRun, HostContext, Kubeconfig

# Hidden, for typer would describe them as "<str>"; the usage line shows them all the same.
Type = Annotated[str, typer.Argument(metavar="TYPE", hidden=True)]
Name = Annotated[str, typer.Argument(metavar="NAME", hidden=True)]
SystemNamespace = Annotated[
    str, typer.Option("--system-namespace", metavar="NAME", help="Where type configurations are.")
]
Members = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="CONTEXT",
        help="Kubeconfig context of a member to give the right to. Repeatable.",
    ),
]
FederatedGroup = Annotated[str, typer.Option(metavar="GROUP", help="API group of the federated kind.")]


def enable(
    type_: Type,
    host_context: HostContext = None,
    context: Members = None,
    kubeconfig: Kubeconfig = None,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="Where type configurations are.")
    ] = SYSTEM_NAMESPACE,
    version: Annotated[
        str,
        typer.Option(metavar="VERSION", help="Version of the type. Default: the one its API server prefers."),
    ] = "",
    federated_group: FederatedGroup = "types.kubefed.io",
    federated_version: Annotated[
        str, typer.Option(metavar="VERSION", help="Version of the federated kind.")
    ] = "v1beta1",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="yaml", help="Print definition and configuration only."),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Federate a type: define Federated<Kind> in the host, and have its objects propagated to the members.

    TYPE is deployments.apps, deployments, Deployment or deploy, for example. What members must allow is printed as a
    ClusterRole, or applied in those that --context names.
    """
    from mcs.cli.enabling import EnableOptions, enable_type

    enable_type(
        type_,
        EnableOptions(
            namespace=namespace,
            version=version,
            federated_group=federated_group,
            federated_version=federated_version,
        ),
        host_context=host_context,
        members=context or (),
        kubeconfig=kubeconfig,
        output=output,
        dry_run=dry_run,
    )


def add_to(app: typer.Typer) -> None:
    """Offer the commands."""
    app.command(short_help="Federate a type.")(enable)
