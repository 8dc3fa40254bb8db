"""How tables are drawn: folded in a terminal, one row a line elsewhere, and never cut off."""

from __future__ import annotations

from io import StringIO
from typing import Literal

import pytest
from rich.console import Console

from mcs.cli.drawing import draw
from mcs.cli.tables import Table

LONG = Table(
    "Imports",
    ("SERVICE", "CLUSTER", "CLUSTERSET IP"),
    (
        ("databases/postgres-replicas-for-reading-only", "east-1", "10.97.123.234, fd00:10:97::1234"),
        ("shop/[bold]", "a-cluster-with-quite-a-name", "10.97.1.2, fd00:10:97::2"),
    ),
)
NONE = Table("Exports", ("SERVICE",), ())


def _drawn(*tables: Table, width: int, terminal: bool) -> str:
    text = StringIO()
    colours: Literal["truecolor", "auto"] = "truecolor" if terminal else "auto"
    console = Console(file=text, width=width, height=25, force_terminal=terminal, color_system=colours)
    draw(tables, console)
    return text.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_is_not_overrun_and_nothing_is_lost(width: int) -> None:
    drawn = _drawn(LONG, width=width, terminal=True)
    plain = drawn.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert plain != drawn, "the title stands out"
    assert max(map(len, plain.splitlines())) <= width
    together = "".join(plain.split())
    for cell in ("[bold]", "fd00:10:97::1234", "fd00:10:97::2"):
        assert cell in together
    for piece in ("east-1", "a-cluster-with-quite-a-name"):
        assert piece in plain, "a cluster id stays in one piece"


def test_elsewhere_every_row_is_one_line_without_colour() -> None:
    drawn = _drawn(NONE, LONG, width=40, terminal=False)
    assert "\x1b" not in drawn
    lines = [line.split() for line in drawn.splitlines()]
    assert lines == [
        ["Exports"],
        ["none"],
        [],
        ["Imports"],
        ["SERVICE", "CLUSTER", "CLUSTERSET", "IP"],
        ["databases/postgres-replicas-for-reading-only", "east-1", "10.97.123.234,", "fd00:10:97::1234"],
        ["shop/[bold]", "a-cluster-with-quite-a-name", "10.97.1.2,", "fd00:10:97::2"],
    ]
