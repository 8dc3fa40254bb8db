"""`mcs export` and `mcs unexport`: make or take back the ServiceExport of one Service in several clusters."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from mcs.cli.answers import PATIENCE, state_and_problem
from mcs.cli.logs import set_up_logs
from mcs.cli.options import parse_clusters, parse_service, parse_targeted
from mcs.cli.processes import check_configuration
from mcs.cli.running import run
from mcs.cli.status import INTERRUPTED
from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.errors import KubeError, NotFound
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ServiceExport
from mcs.model.names import EXPORT_TO_ANNOTATION, ClusterId, ServiceKey
from mcs.model.resources import SERVICE_EXPORTS, SERVICES

Ask = Callable[[ClusterId, Client], Awaitable[str]]
"""Does what is to be done in one cluster and returns a line that says what that was."""


def export_service(
    service: str,
    clusters: Sequence[str],
    kubeconfig: Sequence[Path] | None,
    *,
    to: Sequence[str],
    dry_run: bool,
) -> None:
    """Export a Service of each of the clusters, to those in `to` if any. What is so already is not written again.

    With `dry_run` the objects are printed and no cluster is asked. Raises UserMistakeError.
    """
    key, contexts, targets = parse_service(service), parse_clusters(clusters), parse_targeted(to)
    wanted = _export(key, targets)
    if dry_run:
        print("\n".join(f"---\n# {context}\n{_as_yaml(wanted)}".rstrip() for context in contexts.values()))
        return

    async def export(cluster: ClusterId, client: Client) -> str:
        return f"{cluster}: {await _exported(client, wanted, is_limited=targets is not None)}"

    _in_each(contexts, kubeconfig, export)


def unexport_service(
    service: str, clusters: Sequence[str], kubeconfig: Sequence[Path] | None, *, dry_run: bool
) -> None:
    """Take back the export of a Service in each of the clusters; where there is none, nothing is to be done.

    With `dry_run` what would be deleted is printed, as it is. Raises UserMistakeError.
    """
    key, contexts = parse_service(service), parse_clusters(clusters)

    async def unexport(cluster: ClusterId, client: Client) -> str:
        try:
            present = await client.get(SERVICE_EXPORTS, key.namespace, key.name)
        except NotFound:
            return "" if dry_run else f"{cluster}: {key} is not exported"
        if dry_run:
            return f"---\n# {contexts[cluster]}\n{_as_yaml(present)}".rstrip()
        await client.delete(SERVICE_EXPORTS, key.namespace, key.name, uid=present.metadata.uid)
        return f"{cluster}: {key} is no longer exported"

    _in_each(contexts, kubeconfig, unexport)


def _export(key: ServiceKey, targets: Sequence[str] | None) -> ServiceExport:
    annotations = {} if targets is None else {EXPORT_TO_ANNOTATION: ",".join(targets)}
    return ServiceExport(metadata=ObjectMeta(name=key.name, namespace=key.namespace, annotations=annotations))


async def _exported(client: Client, wanted: ServiceExport, *, is_limited: bool) -> str:
    key = wanted.key
    try:
        present = await client.get(SERVICE_EXPORTS, key.namespace, key.name)
    except NotFound:
        await client.create(SERVICE_EXPORTS, wanted)
        return f"{key} is exported{await _reservation(client, key)}"
    annotations = wanted.metadata.annotations
    if annotations.items() <= present.metadata.annotations.items():
        return f"{key} is exported already{await _reservation(client, key)}"
    changes = {"metadata": {"annotations": annotations}}
    await client.patch(SERVICE_EXPORTS, key.namespace, key.name, changes)
    return f"{key} is exported to other clusters than before"


async def _reservation(client: Client, key: ServiceKey) -> str:
    try:
        await client.get(SERVICES, key.namespace, key.name)
    except NotFound:
        return ", as soon as there is such a Service"
    return ""


def _as_yaml(export: ServiceExport) -> str:
    metadata: dict[str, Any] = {"namespace": export.metadata.namespace, "name": export.metadata.name}
    if export.metadata.annotations:
        metadata["annotations"] = export.metadata.annotations
    document: dict[str, Any] = {
        "apiVersion": SERVICE_EXPORTS.api_version,
        "kind": SERVICE_EXPORTS.kind,
        "metadata": metadata,
    }
    return yaml.safe_dump(document, sort_keys=False)


def _in_each(contexts: dict[ClusterId, str], kubeconfig: Sequence[Path] | None, ask: Ask) -> None:
    """Ask all clusters at once; one that fails is a line on standard error, and exit status 1 in the end."""
    set_up_logs("error", as_json=False)
    said: list[tuple[str, str]] = []

    async def main() -> None:
        await check_configuration(kubeconfig, contexts)
        said.extend(
            await asyncio.gather(
                *(_asked(cluster, kubeconfig, context, ask) for cluster, context in contexts.items())
            )
        )

    if not run(main):
        sys.exit(INTERRUPTED)
    for line in (line for line, _ in said if line):
        print(line)
    problems = [problem for _, problem in said if problem]
    if problems:
        sys.stdout.flush()
        print("\n".join(problems), file=sys.stderr)
        sys.exit(1)


async def _asked(
    cluster: ClusterId, kubeconfig: Sequence[Path] | None, context: str, ask: Ask
) -> tuple[str, str]:
    """What was done, or what is wrong."""
    try:
        async with await connect(kubeconfig, context, name=cluster) as connection, asyncio.timeout(PATIENCE):
            return await ask(cluster, Client(connection)), ""
    except (KubeError, TimeoutError) as error:
        _, problem = state_and_problem(error, context)
        return "", f"mcs: {cluster}: {' '.join(problem.split())}"
