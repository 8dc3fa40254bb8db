"""What the sandbox shows a newcomer: steps with their times, then clusters, exports, imports and answers."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from rich.console import Console, RenderableType
from rich.table import Column, Table

from mcs.model.multicluster import CONFLICT, VALID, ServiceExport, ServiceImport
from mcs.model.names import ClusterId, ServiceKey
from mcs.sandbox.expectations import Question


class Steps:
    """Prints each step with the seconds that it took."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def timed(self, done: str) -> Iterator[None]:
        """Print `done` and the time when the block has ended well."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        yield
        self.console.print(f"{loop.time() - began:6.2f} s  {done}", highlight=False)


class Asked(Struct, frozen=True):
    """A question, the port it was sent to, and the record data or rcode that came back."""

    question: Question
    port: int
    answer: frozenset[str] | str


class Picture(Struct, frozen=True, kw_only=True):
    """The clusterset at one moment. `clusters` gives each its API server's URL and its DNS server's port."""

    clusters: Mapping[ClusterId, tuple[str, int]]
    exports: Mapping[ClusterId, Sequence[ServiceExport]]
    imports: Mapping[ClusterId, Sequence[ServiceImport]]
    asked: Sequence[Asked]
    kubeconfig: Path
    metrics_url: str


def drawn(picture: Picture) -> Iterable[RenderableType]:
    """The parts of the picture in the order they are printed."""
    yield _clusters(picture)
    yield ""
    yield _exports(picture)
    yield ""
    yield _imports(picture)
    yield ""
    for asked in picture.asked:
        yield _dig_line(asked)
    yield ""
    yield f"export KUBECONFIG={picture.kubeconfig}   # then: kubectl --context west get svcim -A"
    yield f"curl {picture.metrics_url}"


def changed_lines(before: Sequence[Asked], now: Sequence[Asked]) -> Iterable[str]:
    """A line for each question whose answer is another than it was; the SOA's serial is no news."""
    known = {asked.question: asked.answer for asked in before}
    for asked in now:
        question = asked.question
        if question.kind != "SOA" and asked.answer != known.get(question, asked.answer):
            yield f"{question.cluster}: {question.name.removesuffix('.')} {question.kind} is now {_answer(asked)}"


def _clusters(picture: Picture) -> Table:
    table = _table("CLUSTER", "API SERVER", "DNS SERVER", "EXPORTS", "IMPORTS")
    for cluster, (url, port) in picture.clusters.items():
        counts = (str(len(found[cluster])) for found in (picture.exports, picture.imports))
        table.add_row(cluster, url, f"127.0.0.1:{port}", *counts)
    return table


def _exports(picture: Picture) -> Table:
    table = _table("EXPORT", "FROM", "STATE")
    rows = sorted(
        (export.key, cluster, _state(export))
        for cluster, found in picture.exports.items()
        for export in found
    )
    for key, cluster, state in rows:
        table.add_row(str(key), cluster, state)
    return table


def _state(export: ServiceExport) -> str:
    for condition in export.status.conditions:
        if (condition.type, condition.status) in ((VALID, "False"), (CONFLICT, "True")):
            return f"{condition.reason}: {condition.message}"
    return "exported"


def _imports(picture: Picture) -> Table:
    table = _table("IMPORT", "TYPE", "PORTS", *(f"IN {cluster.upper()}" for cluster in picture.imports))
    by_key: dict[ServiceKey, dict[ClusterId, ServiceImport]] = {}
    for cluster, found in picture.imports.items():
        for service_import in found:
            by_key.setdefault(service_import.key, {})[cluster] = service_import
    for key, places in sorted(by_key.items()):
        spec = next(iter(places.values())).spec
        ports = " ".join(f"{port.port}/{port.protocol}" for port in spec.ports)
        addresses = (_addresses(places.get(cluster)) for cluster in picture.imports)
        table.add_row(str(key), spec.type, ports, *addresses)
    return table


def _addresses(service_import: ServiceImport | None) -> str:
    if service_import is None:
        return "-"
    return "\n".join(service_import.spec.ips) or "endpoints"


def _dig_line(asked: Asked) -> str:
    question = asked.question
    name = question.name.removesuffix(".")
    return f"dig @127.0.0.1 -p {asked.port} {name} {question.kind}\n    {_answer(asked)}"


def _answer(asked: Asked) -> str:
    return asked.answer if isinstance(asked.answer, str) else ", ".join(sorted(asked.answer)) or "no data"


def _table(*headings: str) -> Table:
    columns = (Column(heading, overflow="fold") for heading in headings)
    return Table(*columns, box=None, pad_edge=False, header_style="bold")
