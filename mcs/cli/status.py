"""`mcs status`: clusters, exports, imports and conflicts, read from the API servers themselves."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from mcs.cli.answers import PATIENCE, state_and_problem
from mcs.cli.drawing import draw
from mcs.cli.logs import set_up_logs
from mcs.cli.options import parse_clusters
from mcs.cli.processes import check_configuration
from mcs.cli.running import run
from mcs.cli.tables import ClusterView, status_tables
from mcs.controllers.identity import read_identity
from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.errors import Forbidden, KubeError, ResourceMissing
from mcs.membership.identity import identity_problem
from mcs.membership.ranges import pod_ranges
from mcs.model.names import ClusterId
from mcs.model.resources import NODES, SERVICE_EXPORTS, SERVICE_IMPORTS, Resource

INTERRUPTED = 130
"""The exit status that shells give to what Ctrl-C ended."""


def print_status(clusters: Sequence[str], kubeconfig: Sequence[Path] | None) -> None:
    """Print the tables. A cluster that cannot be read is one line on standard error, and exit status 1."""
    contexts = parse_clusters(clusters)
    set_up_logs("error", as_json=False)
    views: list[ClusterView] = []

    async def main() -> None:
        await check_configuration(kubeconfig, contexts)
        views.extend(
            await asyncio.gather(
                *(_view(cluster, kubeconfig, context) for cluster, context in contexts.items())
            )
        )

    if not run(main):
        sys.exit(INTERRUPTED)
    draw(status_tables(views), Console())
    problems = [f"mcs: {view.cluster}: {view.problem}" for view in views if view.problem]
    if problems:
        sys.stdout.flush()
        print("\n".join(problems), file=sys.stderr)
        sys.exit(1)


async def _view(cluster: ClusterId, kubeconfig: Sequence[Path] | None, context: str) -> ClusterView:
    version = ""
    try:
        async with await connect(kubeconfig, context, name=cluster) as connection:
            client = Client(connection)
            async with asyncio.timeout(PATIENCE):
                version = (await client.version()).git_version
            if problem := identity_problem(cluster, await read_identity(client)):
                return ClusterView(cluster=cluster, version=version, state="refused", problem=problem)
            exports = await _all(client, SERVICE_EXPORTS)
            imports = await _all(client, SERVICE_IMPORTS)
            ranges = await read_pod_ranges(client)
    except (KubeError, TimeoutError) as error:
        state, problem = state_and_problem(error, context)
        return ClusterView(cluster=cluster, version=version, state=state, problem=" ".join(problem.split()))
    return ClusterView(cluster=cluster, version=version, exports=exports, imports=imports, pod_ranges=ranges)


async def read_pod_ranges(client: Client) -> tuple[str, ...]:
    """The pod ranges of all nodes; none where they may not be read. Raises KubeError."""
    try:
        nodes = await _all(client, NODES)
    except (Forbidden, ResourceMissing):
        return ()
    return tuple(each for node in nodes for each in pod_ranges(node))


async def _all(client: Client, resource: Resource[Any]) -> tuple[Any, ...]:
    return tuple([item async for page in client.list_pages(resource) for item in page.items])
