"""What `mcs status` shows, as tables of text, from what the clusters answered. Drawing them is left to others."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from mcs.membership.ranges import overlaps
from mcs.model.meta import Condition
from mcs.model.multicluster import CONFLICT, READY, VALID, ServiceExport, ServiceImport
from mcs.model.names import ClusterId, ServiceKey
from mcs.services.imports import ENDPOINTS_WITHDRAWN, TRAFFIC_DISTRIBUTION, TRAFFIC_PREFERENCE


class ClusterView(Struct, frozen=True, kw_only=True):
    """What one cluster answered. `state` is a word or two; `problem` says what to do when it is not "reachable"."""

    cluster: ClusterId
    state: str = "reachable"
    problem: str = ""
    version: str = ""
    exports: tuple[ServiceExport, ...] = ()
    imports: tuple[ServiceImport, ...] = ()
    pod_ranges: tuple[str, ...] = ()


class Table(Struct, frozen=True):
    """Rows of as many cells as there are headings; `empty` stands in the place of no rows."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str = "none"


def status_tables(views: Sequence[ClusterView]) -> tuple[Table, ...]:
    """Clusters, exports, imports, and, when there is any, what is wrong with the two. Sorted by service."""
    tables = (
        Table("Clusters", ("CLUSTER", "VERSION", "EXPORTS", "IMPORTS", "STATE"), tuple(_clusters(views))),
        Table("Exports", ("SERVICE", "CLUSTER", "VALID", "READY", "CONFLICT"), tuple(_exports(views))),
        Table(
            "Imports",
            ("SERVICE", "CLUSTER", "TYPE", "PORTS", "FROM", "CLUSTERSET IP"),
            tuple(_imports(views)),
        ),
        Table("Problems", ("SERVICE", "OBJECT", "CLUSTERS", "WHAT"), tuple(_problems(views))),
    )
    return tables if tables[-1].rows else tables[:-1]


def _clusters(views: Sequence[ClusterView]) -> Iterable[tuple[str, ...]]:
    for view in views:
        counts = ("-", "-") if view.problem else (str(len(view.exports)), str(len(view.imports)))
        yield (view.cluster, view.version or "-", *counts, view.state)


def _sorted_exports(views: Sequence[ClusterView]) -> list[tuple[ClusterId, ServiceExport]]:
    exports = [(view.cluster, export) for view in views for export in view.exports]
    return sorted(exports, key=lambda each: (each[1].key, each[0]))


def _exports(views: Sequence[ClusterView]) -> Iterable[tuple[str, ...]]:
    for cluster, export in _sorted_exports(views):
        statuses = (_status(export.status.conditions, type_) for type_ in (VALID, READY, CONFLICT))
        yield (str(export.key), cluster, *statuses)


def _imports(views: Sequence[ClusterView]) -> Iterable[tuple[str, ...]]:
    imports = [(view.cluster, each) for view in views for each in view.imports]
    for cluster, each in sorted(imports, key=lambda pair: (pair[1].key, pair[0])):
        spec = each.spec
        addresses = ", ".join(spec.ips) or "waiting for one"
        yield (
            str(each.key),
            cluster,
            spec.type,
            ", ".join(f"{port.port}/{port.protocol}" for port in spec.ports) or "-",
            ", ".join(sorted(source.cluster for source in each.status.clusters)) or "-",
            "-" if spec.type == "Headless" else addresses,
        )


class _Problem(NamedTuple):
    service: ServiceKey
    of: str
    what: str
    cluster: ClusterId


def _problems(views: Sequence[ClusterView]) -> Iterable[tuple[str, ...]]:
    """One row for each thing that is wrong, with all the clusters that tell it in the same words."""
    problems = sorted(problem for view in views for problem in _problems_in(view))
    for (service, of, what), alike in groupby(problems, key=lambda each: each[:3]):
        yield str(service), of, ", ".join(each.cluster for each in alike), what
    for overlap in overlaps({view.cluster: view.pod_ranges for view in views}):
        what = f"{overlap.range} overlaps {overlap.other_range}; give each cluster pod ranges of its own"
        yield "-", "pod ranges", f"{overlap.cluster}, {overlap.other}", what


def _problems_in(view: ClusterView) -> Iterable[_Problem]:
    for export in view.exports:
        for condition in _telling_of_export(export.status.conditions):
            yield _Problem(export.key, "export", _in_words(condition), view.cluster)
    for each in view.imports:
        for condition in _telling_of_import(each.status.conditions):
            yield _Problem(each.key, "import", _in_words(condition), view.cluster)


def _telling_of_export(conditions: Sequence[Condition]) -> Iterable[Condition]:
    """The conditions that are not as one would wish; that a refused export is not ready either says nothing more."""
    is_refused = any(each.type == VALID and each.status == "False" for each in conditions)
    for condition in conditions:
        match condition.type:
            case "Valid" if condition.status != "True":
                yield condition
            case "Ready" if condition.status != "True" and not is_refused:
                yield condition
            case "Conflict" if condition.status == "True":
                yield condition
            case _:
                pass


def _telling_of_import(conditions: Sequence[Condition]) -> Iterable[Condition]:
    types = (READY, TRAFFIC_DISTRIBUTION, TRAFFIC_PREFERENCE)
    return (
        each
        for each in conditions
        if each.type == ENDPOINTS_WITHDRAWN or (each.type in types and each.status != "True")
    )


def _in_words(condition: Condition) -> str:
    return " ".join(f"{condition.type} {condition.status}, {condition.reason}: {condition.message}".split())


def _status(conditions: Sequence[Condition], type_: str) -> str:
    return next((each.status for each in conditions if each.type == type_), "-")
