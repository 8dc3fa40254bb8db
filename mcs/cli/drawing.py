"""Draws tables: within the width of a terminal, else one row a line, so that other programs can read them."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as Drawn
from rich.text import Text

from mcs.cli.tables import Table

UNBOUNDED = 10_000
"""Columns of what is no terminal."""


def draw(tables: Sequence[Table], console: Console) -> None:
    """Print the tables. Nothing is cut off: what does not fit is folded within its column."""
    if not console.is_terminal:
        console.width = UNBOUNDED
    for number, table in enumerate(tables):
        if number:
            console.print()
        console.print(Text(table.title, style="bold"))
        if table.rows:
            console.print(_drawn(table))
        else:
            console.print(table.empty)


def _drawn(table: Table) -> Drawn:
    drawn = Drawn(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for heading in table.headings:
        # A cluster id is what other columns are read by: it stays in one piece.
        drawn.add_column(Text(heading), overflow="fold", no_wrap=heading == "CLUSTER")
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn
