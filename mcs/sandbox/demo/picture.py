"""What the sandbox shows a newcomer: steps with their times, then clusters, exports, imports and answers.

Fits 80 columns where it can. Lines that are meant to be pasted are never broken.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from mcs.model.multicluster import CONFLICT, VALID, ServiceExport, ServiceImport
from mcs.model.names import ClusterId, ServiceKey
from mcs.sandbox.demo.expectations import Answer, Question, Seen

UNBOUNDED = 10_000
"""Columns of what is no terminal."""


class Steps:
    """Prints each step with the seconds that it took."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.waiting_for = ""
        """What is not done yet."""

    @contextmanager
    def timed(self, done: str) -> Iterator[None]:
        """Print `done` and the time when the block has ended well."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self.waiting_for = done
        yield
        self.console.print(f"{loop.time() - began:6.2f} s  {done}", highlight=False)


class Asked(Struct, frozen=True):
    """A question, the port it was sent to, and what came back."""

    question: Question
    port: int
    answer: Answer


class Picture(Struct, frozen=True, kw_only=True):
    """The clusterset at one moment. `clusters` gives each its API server's URL and its DNS server's port."""

    clusters: Mapping[ClusterId, tuple[str, int]]
    seen: Seen
    asked: Sequence[Asked]


def show(console: Console, parts: Iterable[RenderableType]) -> None:
    """Print the parts; text is left in one line, however narrow the terminal is."""
    if not console.is_terminal:
        console.width = UNBOUNDED
    for part in parts:
        if isinstance(part, str):
            # As Text, since rich reads markup and emoji (:100:) in strings, and so in IPv6 addresses.
            console.print(Text(part), soft_wrap=True)
        else:
            console.print(part, highlight=False)


def drawn(picture: Picture) -> Iterable[RenderableType]:
    """The parts of the picture in the order they are printed."""
    yield _clusters(picture)
    yield ""
    yield _exports(picture.seen)
    yield ""
    yield _imports(picture.seen)
    for cluster in dict.fromkeys(asked.question.cluster for asked in picture.asked):
        yield f"\nThe DNS server of {cluster} answers:\n"
        for asked in picture.asked:
            if asked.question.cluster == cluster:
                name = asked.question.name.removesuffix(".")
                yield f"dig @127.0.0.1 -p {asked.port} {name} {asked.question.kind}"
                yield Padding(Text(answer_text(asked.answer)), (0, 0, 0, 4), expand=False)


def first_commands(kubeconfig: Path, metrics_url: str) -> Iterable[str]:
    """Lines to paste into another terminal, to look around and to change what names answer."""
    yield "\nIn another terminal:\n"
    yield f"export KUBECONFIG={kubeconfig}"
    yield "kubectl --context west get serviceexports,serviceimports --all-namespaces"
    yield "kubectl --context east --namespace shop scale statefulset db --replicas=5"
    yield f"curl {metrics_url}"
    yield "\nChanges are shown here as they come. Ctrl-C stops everything."


def answer_text(answer: Answer) -> str:
    """The records in order, or why there are none."""
    return answer if isinstance(answer, str) else ", ".join(sorted(answer)) or "no data"


def export_state(export: ServiceExport) -> str:
    """`exported`, or in the words of its conditions what is wrong with it."""
    if not export.status.conditions:
        return "not judged yet"
    for condition in export.status.conditions:
        if (condition.type, condition.status) in ((VALID, "False"), (CONFLICT, "True")):
            return f"{condition.reason}: {condition.message}"
    return "exported"


def _clusters(picture: Picture) -> Table:
    table = _table("CLUSTER", "API SERVER", "DNS SERVER", "EXPORTS", "IMPORTS")
    for cluster, (url, port) in picture.clusters.items():
        counts = (str(len(found[cluster])) for found in (picture.seen.exports, picture.seen.imports))
        _add_row(table, cluster, url, f"127.0.0.1:{port}", *counts)
    return table


def _exports(seen: Seen) -> Table:
    table = _table("EXPORT", "FROM", "STATE")
    rows = sorted(
        (export.key, cluster, export_state(export))
        for cluster, found in seen.exports.items()
        for export in found
    )
    for key, cluster, state in rows:
        _add_row(table, str(key), cluster, state)
    return table


def _imports(seen: Seen) -> Table:
    table = _table("IMPORT", "PORTS", *(cluster.upper() for cluster in seen.imports))
    by_key: dict[ServiceKey, dict[ClusterId, ServiceImport]] = {}
    for cluster, found in seen.imports.items():
        for service_import in found:
            by_key.setdefault(service_import.key, {})[cluster] = service_import
    for key, places in sorted(by_key.items()):
        spec = next(iter(places.values())).spec
        ports = " ".join(f"{port.port}/{port.protocol}" for port in spec.ports)
        _add_row(table, str(key), ports, *(_addresses(places.get(cluster)) for cluster in seen.imports))
    return table


def _addresses(service_import: ServiceImport | None) -> str:
    if service_import is None:
        return "-"
    if service_import.spec.type == "Headless":
        return "headless"
    return "\n".join(service_import.spec.ips)


def _table(*headings: str) -> Table:
    # A name is what the row is read by: it stays in one piece.
    columns = (
        Column(heading, overflow="fold", no_wrap=not number) for number, heading in enumerate(headings)
    )
    return Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def _add_row(table: Table, *cells: str) -> None:
    table.add_row(*(Text(cell) for cell in cells))
