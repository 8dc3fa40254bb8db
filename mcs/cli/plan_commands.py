"""The commands that show what would be planned, as the command line offers them. Nothing is changed by any of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mcs.cli.explain_commands import InNamespace, Output, SystemNamespace
from mcs.cli.member_commands import SYSTEM_NAMESPACE, HostContext, Kubeconfig


class _ChangeUnlessNamed(typer.core.TyperGroup):
    """`mcs plan --down eu` is `mcs plan change --down eu`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] != "--help" and args[0] not in self.commands:
            args = ["change", *args]
        return super().parse_args(ctx, args)


plan = typer.Typer(
    name="plan",
    cls=_ChangeUnlessNamed,
    help="Show what would be planned, without changing anything.",
    no_args_is_help=True,
)


@plan.command(short_help="Divide replicas among clusters.")
def division(
    file: Annotated[
        Path,
        typer.Option(
            "--filename",
            "-f",
            metavar="FILE",
            help="A list of divisions, as JSON or YAML; - is standard input.",
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="json|yaml", help="How to print it.")
    ] = "json",
) -> None:
    """Print for each division how many replicas each cluster gets, and what full clusters are asked for besides.

    A division that is wrong is told by its number, the others are printed all the same; the exit status is then 1.
    """
    from mcs.cli.divisions import print_divisions

    print_divisions(file, output)


@plan.command(short_help="Show what would become of federated objects; may be left out.")
def change(
    object_: Annotated[str | None, typer.Argument(metavar="KIND/NAME", hidden=True)] = None,
    namespace: InNamespace = None,
    down: Annotated[
        list[str] | None, typer.Option(metavar="CLUSTER", help="The cluster is lost. Repeatable.")
    ] = None,
    cordon: Annotated[
        list[str] | None,
        typer.Option(metavar="CLUSTER", help="Nothing new is placed on the cluster. Repeatable."),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLUSTER=NUMBER",
            help="The cluster has this weight wherever replicas are divided. Repeatable.",
        ),
    ] = None,
    replicas: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="KIND/NAME has so many replicas in all.")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--filename",
            "-f",
            metavar="FILE",
            help="These manifests are applied: clusters, federated objects, preferences. Repeatable.",
        ),
    ] = None,
    set_: Annotated[
        list[Path] | None,
        typer.Option(
            "--set",
            metavar="FILE",
            help="Read the set from manifests, a file or a folder, instead of the host cluster. Repeatable.",
        ),
    ] = None,
    kubeconfig: Kubeconfig = None,
    host_context: HostContext = None,
    system_namespace: SystemNamespace = SYSTEM_NAMESPACE,
    output: Output = "table",
) -> None:
    """Show how the plan of federated objects would differ if something were otherwise.

    From and to for each object and cluster, replicas that move, clusters that would be asked for more than they hold.
    With KIND/NAME only of that object. `mcs plan --down eu` is short for `mcs plan change --down eu`.
    """
    from mcs.cli.federated_sets import Source
    from mcs.cli.what_ifs import Asked, print_difference

    print_difference(
        Source(
            files=set_ or (), kubeconfig=kubeconfig, host_context=host_context, namespace=system_namespace
        ),
        Asked(
            object_=object_,
            namespace=namespace,
            down=down or (),
            cordon=cordon or (),
            weight=weight or (),
            replicas=replicas,
            files=file or (),
        ),
        output,
    )


def add_to(app: typer.Typer) -> None:
    """Offer the commands."""
    app.add_typer(plan)
