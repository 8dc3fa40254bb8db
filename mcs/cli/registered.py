"""`mcs clusters`, and `mcs cordon`, `uncordon` and `drain`: the members of a registry, and what is asked of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from mcs.cli.drawing import draw
from mcs.cli.options import parse_member
from mcs.cli.problems import UserMistakeError
from mcs.cli.reaching import mistake, reached, registrations
from mcs.cli.tables import Table
from mcs.cli.telling import carried_out
from mcs.kube.errors import KubeError
from mcs.model.registration import CORDONED_ANNOTATION, DRAINED_ANNOTATION, READY, KubeFedCluster
from mcs.model.resources import KUBEFED_CLUSTERS

CORDON: Mapping[str, str | None] = {CORDONED_ANNOTATION: "true"}
DRAIN: Mapping[str, str | None] = {CORDONED_ANNOTATION: "true", DRAINED_ANNOTATION: "true"}
UNCORDON: Mapping[str, str | None] = {CORDONED_ANNOTATION: None, DRAINED_ANNOTATION: None}


def members_table(registered: Sequence[KubeFedCluster]) -> Table:
    """How each member is doing and what is asked of it, in the order given."""
    headings = ("CLUSTER", "READY", "VERSION", "REGION", "ZONES", "STATE", "API SERVER", "WHAT")
    return Table("Members", headings, tuple(_row(each) for each in registered))


def _row(each: KubeFedCluster) -> tuple[str, ...]:
    ready, status = each.condition(READY), each.status
    words = {
        "leaving": each.is_terminating,
        "drained": each.is_drained,
        "cordoned": each.is_cordoned,
    }
    telling = [
        f"{condition.type} {condition.status}, {condition.reason}: {condition.message}"
        for condition in status.conditions
        if (condition.status == "True") != (condition.type == READY)
    ]
    return (
        each.cluster,
        ready.status if ready else "Unknown",
        status.kubernetes_version or "-",
        each.spec.region or status.region or "-",
        ", ".join(each.spec.zones or status.zones) or "-",
        ", ".join(word for word, holds in words.items() if holds) or "member",
        each.spec.api_endpoint,
        " ".join("; ".join(telling).split()) or "-",
    )


def print_clusters(kubeconfig: Sequence[Path] | None, host_context: str | None, namespace: str) -> None:
    """Print the members that the registry names. Raises UserMistakeError."""

    async def main(said: list[str]) -> None:
        try:
            async with reached("host", kubeconfig, host_context) as host:
                found = await registrations(host.client, namespace)
        except (KubeError, TimeoutError) as error:
            raise mistake("host", host_context, error) from error
        draw([members_table(found)], Console())

    carried_out(main)


def mark_cluster(
    name: str,
    annotations: Mapping[str, str | None],
    done: str,
    *,
    kubeconfig: Sequence[Path] | None,
    host_context: str | None,
    namespace: str,
    dry_run: bool,
) -> None:
    """Set annotations of a registration, None to remove one; `done` says what it then is. Raises UserMistakeError."""
    cluster = parse_member(name)

    async def main(said: list[str]) -> None:
        try:
            async with reached("host", kubeconfig, host_context) as host:
                present = await registrations(host.client, namespace)
                found = next((each for each in present if each.cluster == cluster), None)
                if found is None:
                    known = ", ".join(each.cluster for each in present) or "none"
                    raise UserMistakeError(f"{cluster}: there is no such member (there are: {known})")
                changes = {"metadata": {"annotations": annotations}}
                if dry_run:
                    said.append(_as_yaml(found, changes))
                elif all(found.metadata.annotations.get(key) == value for key, value in annotations.items()):
                    said.append(f"{cluster}: {done} already")
                else:
                    await host.client.patch(KUBEFED_CLUSTERS, namespace, found.metadata.name, changes)
                    said.append(f"{cluster}: {done}")
        except (KubeError, TimeoutError) as error:
            raise mistake("host", host_context, error) from error

    carried_out(main)


def _as_yaml(found: KubeFedCluster, changes: dict[str, Any]) -> str:
    """The change as a patch of the registration."""
    document = {
        "apiVersion": KUBEFED_CLUSTERS.api_version,
        "kind": KUBEFED_CLUSTERS.kind,
        "metadata": {
            "name": found.metadata.name,
            "namespace": found.metadata.namespace,
            "annotations": dict(changes["metadata"]["annotations"]),
        },
    }
    return yaml.safe_dump(document, sort_keys=False, explicit_start=True).rstrip()
