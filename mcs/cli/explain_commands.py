"""The commands that look at a federated set, as the command line offers them. Nothing is changed by any of them."""

from pathlib import Path
from typing import Annotated

import typer

from mcs.cli.member_commands import SYSTEM_NAMESPACE, HostContext, Kubeconfig

federation = typer.Typer(name="federation", help="Look at federated objects.", no_args_is_help=True)

InNamespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAME", help="The namespace of the object. Default: any."),
]
SystemNamespace = Annotated[
    str, typer.Option(metavar="NAME", help="Namespace of the registry and of the types.")
]
SetFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--set",
        "--filename",
        "-f",
        metavar="FILE",
        help="Read the set from manifests, a file or a folder, instead of the host cluster. Repeatable.",
    ),
]
Output = Annotated[str, typer.Option("--output", "-o", metavar="table|json", help="How to print it.")]


def explain(
    object_: Annotated[str, typer.Argument(metavar="KIND/NAME", hidden=True)],
    namespace: InNamespace = None,
    files: SetFiles = None,
    kubeconfig: Kubeconfig = None,
    host_context: HostContext = None,
    system_namespace: SystemNamespace = SYSTEM_NAMESPACE,
    output: Output = "table",
) -> None:
    """Show for each cluster which rule keeps a federated object out, or how its replicas came about.

    KIND is that of the federated object or of what it makes, for example deployment/web.
    """
    from mcs.cli.explaining import print_explanation
    from mcs.cli.federated_sets import Source

    source = Source(
        files=files or (), kubeconfig=kubeconfig, host_context=host_context, namespace=system_namespace
    )
    print_explanation(source, object_, namespace, output)


@federation.command(short_help="Show how types and federated objects are doing.")
def status(
    namespace: InNamespace = None,
    files: SetFiles = None,
    kubeconfig: Kubeconfig = None,
    host_context: HostContext = None,
    system_namespace: SystemNamespace = SYSTEM_NAMESPACE,
    output: Output = "table",
) -> None:
    """Show types, federated objects with the sums of their clusters, and what is wrong in which cluster."""
    from mcs.cli.federated_sets import Source
    from mcs.cli.federation_status import print_federation_status

    source = Source(
        files=files or (), kubeconfig=kubeconfig, host_context=host_context, namespace=system_namespace
    )
    print_federation_status(source, namespace, output)


def add_to(app: typer.Typer) -> None:
    """Offer the commands."""
    app.command(short_help="Show why a federated object is where it is.")(explain)
    app.add_typer(federation)
