"""The commands that show what would be planned, as the command line offers them. Nothing is changed by any of them."""

from pathlib import Path
from typing import Annotated

import typer

plan = typer.Typer(
    name="plan", help="Show what would be planned, without changing anything.", no_args_is_help=True
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


def add_to(app: typer.Typer) -> None:
    """Offer the commands."""
    app.add_typer(plan)
