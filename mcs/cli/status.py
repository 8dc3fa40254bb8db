"""`mcs status`: clusters, exports, imports and conflicts as tables, read from the API servers themselves."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.console import Console
from rich.table import Table

from mcs.cli.options import parse_clusters
from mcs.cli.problems import UserMistakeError
from mcs.cli.processes import check_configuration
from mcs.cli.running import run
from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.errors import KubeError, ResourceMissing
from mcs.model.meta import Condition
from mcs.model.multicluster import CONFLICT, READY, VALID, ServiceExport, ServiceImport
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.resources import SERVICE_EXPORTS, SERVICE_IMPORTS, Resource

PATIENCE = 10.0
"""Seconds that one cluster may take; the others are shown without it."""


class ClusterView(Struct, frozen=True, kw_only=True):
    """What one cluster answered; `error` is empty when it did."""

    cluster: ClusterId
    version: str = ""
    exports: tuple[ServiceExport, ...] = ()
    imports: tuple[ServiceImport, ...] = ()
    error: str = ""


def print_status(clusters: Sequence[str], kubeconfig: Sequence[Path] | None) -> None:
    """Print the tables. Raises UserMistakeError when no cluster could be asked."""
    contexts = parse_clusters(clusters)

    async def main() -> None:
        await check_configuration(kubeconfig, list(contexts.values()))
        views = await asyncio.gather(
            *(_view(cluster, kubeconfig, context) for cluster, context in contexts.items())
        )
        console = Console()
        for table in status_tables(views):
            console.print(table)
        if all(view.error for view in views):
            raise UserMistakeError("no cluster answered; check the kubeconfig and the network")

    run(main)


async def _view(cluster: ClusterId, kubeconfig: Sequence[Path] | None, context: str) -> ClusterView:
    try:
        async with asyncio.timeout(PATIENCE), await connect(kubeconfig, context, name=cluster) as connection:
            client = Client(connection)
            version = await client.version()
            exports = await _all(client, SERVICE_EXPORTS)
            imports = await _all(client, SERVICE_IMPORTS)
    except ResourceMissing:
        return ClusterView(cluster=cluster, error="the CRDs are missing; apply the files of crds/")
    except KubeError as error:
        return ClusterView(cluster=cluster, error=str(error))
    except TimeoutError:
        return ClusterView(cluster=cluster, error=f"no answer within {PATIENCE:.0f} s")
    return ClusterView(cluster=cluster, version=version.git_version, exports=exports, imports=imports)


async def _all(client: Client, resource: Resource[Any]) -> tuple[Any, ...]:
    return tuple([item async for page in client.list_pages(resource) for item in page.items])


def status_tables(views: Sequence[ClusterView]) -> Iterable[Table]:
    """The tables to print: clusters, exports, imports and, when there are any, conflicts."""
    yield _table(
        "Clusters",
        ("CLUSTER", "VERSION", "EXPORTS", "IMPORTS", "STATE"),
        (
            (
                view.cluster,
                view.version,
                str(len(view.exports)),
                str(len(view.imports)),
                view.error or "reachable",
            )
            for view in views
        ),
    )
    exports = sorted(
        ((export.key, view.cluster, export) for view in views for export in view.exports),
        key=lambda row: row[:2],
    )
    yield _table(
        "Exports",
        ("SERVICE", "CLUSTER", "VALID", "READY", "CONFLICT"),
        (
            (
                str(key),
                cluster,
                *(_shown(export.status.conditions, type_) for type_ in (VALID, READY, CONFLICT)),
            )
            for key, cluster, export in exports
        ),
    )
    yield _table(
        "Imports", ("SERVICE", "TYPE", "PORTS", "FROM", *(view.cluster for view in views)), _imports(views)
    )
    conflicts = [
        (str(key), cluster, condition.message)
        for key, cluster, export in exports
        for condition in export.status.conditions
        if condition.type == CONFLICT and condition.status == "True"
    ]
    if conflicts:
        yield _table("Conflicts", ("SERVICE", "CLUSTER", "WHAT"), conflicts)


def _imports(views: Sequence[ClusterView]) -> Iterable[tuple[str, ...]]:
    by_key: dict[ServiceKey, dict[ClusterId, ServiceImport]] = {}
    for view in views:
        for service_import in view.imports:
            by_key.setdefault(service_import.key, {})[view.cluster] = service_import
    for key, found in sorted(by_key.items()):
        first = next(iter(found.values()))
        ports = ",".join(f"{port.port}/{port.protocol}" for port in first.spec.ports)
        sources = ",".join(each.cluster for each in first.status.clusters)
        yield (
            str(key),
            first.spec.type,
            ports,
            sources,
            *(_address(found.get(view.cluster)) for view in views),
        )


def _address(service_import: ServiceImport | None) -> str:
    if service_import is None:
        return "-"
    return ",".join(service_import.spec.ips) or "no address"


def _shown(conditions: Sequence[Condition], type_: str) -> str:
    """A condition in one cell: its status, and its reason when that says more."""
    for condition in conditions:
        if condition.type == type_:
            good = "False" if type_ == CONFLICT else "True"
            return (
                condition.status if condition.status == good else f"{condition.status} ({condition.reason})"
            )
    return "-"


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(*headings, title=title, title_justify="left", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    return table
