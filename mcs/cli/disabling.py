"""`mcs disable` and `mcs orphaning-deletion`: end the federation of a type, and what becomes of what an object made."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from mcs.cli.enabled import enabled_type, type_configs
from mcs.cli.installing import Installer
from mcs.cli.problems import UserMistakeError
from mcs.cli.reaching import POLL, Reached, mistake, reached, until_gone
from mcs.cli.telling import carried_out
from mcs.kube.errors import KubeError, NotFound, ResourceMissing
from mcs.model.federated import (
    FEDERATED_TYPE_CONFIGS,
    NAMESPACES_TYPE,
    ORPHAN_ANNOTATION,
    FederatedObject,
    FederatedTypeConfig,
    federated_resource,
)
from mcs.model.installed import DEFINITIONS

PATIENCE = 10.0
"""Seconds until the controller must have ended the propagation of a type."""


def disable_type(
    type_: str,
    *,
    namespace: str,
    delete_definition: bool,
    host_context: str | None,
    kubeconfig: Sequence[Path] | None,
    dry_run: bool,
) -> None:
    """End the propagation of a type; with `delete_definition` its federated kind goes, too. Raises UserMistakeError.

    What is in the members stays there.
    """

    async def main(said: list[str]) -> None:
        try:
            async with reached("host", kubeconfig, host_context) as host:
                config = await enabled_type(host, type_, namespace)
                at = Installer(host, said, dry_run=dry_run)
                await _disable(at, config, delete_definition=delete_definition, dry_run=dry_run)
        except (KubeError, TimeoutError) as error:
            raise mistake("host", host_context, error) from error

    carried_out(main)


async def _disable(
    at: Installer, config: FederatedTypeConfig, *, delete_definition: bool, dry_run: bool
) -> None:
    name, namespace = config.metadata.name, config.metadata.namespace
    client = at.where.client
    if delete_definition:
        await _check_unused(at.where, config)
    if config.is_enabled:
        await at.patch(FEDERATED_TYPE_CONFIGS, namespace, name, {"spec": {"propagation": "Disabled"}})
        if not dry_run:
            await _stopped(at.where, config)
    await at.delete_all([FEDERATED_TYPE_CONFIGS], [config])
    is_gone = dry_run or await until_gone(client, FEDERATED_TYPE_CONFIGS, namespace, name, PATIENCE)
    rest = "" if is_gone else "; its configuration goes when the controller has let go of it"
    at.tell(f"{name} is disabled, and what was propagated stays in the members{rest}")
    if name == NAMESPACES_TYPE:
        left = [each.metadata.name for each in await type_configs(at.where, namespace)]
        left = [each for each in left if each != name]
        if left:
            at.tell(f"nothing in a namespace is propagated any more, of {', '.join(left)}")
    if delete_definition:
        await _check_unused(at.where, config)
        federated = federated_resource(config)
        try:
            defined = await client.get(DEFINITIONS, "", f"{federated.plural}.{federated.group}")
        except NotFound:
            return
        await at.delete_all([DEFINITIONS], [defined])
        at.tell(f"{federated.kind} is defined no more")


async def _check_unused(where: Reached, config: FederatedTypeConfig) -> None:
    """Raises UserMistakeError while there are objects of the federated kind: they would go with its definition."""
    federated = federated_resource(config)
    found: list[FederatedObject] = []
    try:
        async for page in where.client.list_pages(federated):
            found.extend(page.items)
    except (NotFound, ResourceMissing):
        return
    if found:
        key = found[0].key
        example = f"{key}" if key.namespace else key.name
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise UserMistakeError(
            f"host: there is the {federated.kind} {example}{more}; delete them first, or leave --delete-crd away"
        )


async def _stopped(where: Reached, config: FederatedTypeConfig) -> None:
    """Wait until the controller says that it propagates the type no longer."""
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE
    metadata = config.metadata
    while True:
        found = await where.client.get(FEDERATED_TYPE_CONFIGS, metadata.namespace, metadata.name)
        if found.status.propagation_controller != "Running":
            return
        if loop.time() > end:
            raise UserMistakeError(
                f"host: {metadata.name} is disabled, but is said to be propagated still after {PATIENCE:g} s; "
                "is mcs controller --federation running? Run mcs disable again when it is"
            )
        await asyncio.sleep(POLL)


def orphaning(
    verb: str,
    type_: str,
    name: str,
    *,
    namespace: str,
    system_namespace: str,
    host_context: str | None,
    kubeconfig: Sequence[Path] | None,
    dry_run: bool,
) -> None:
    """Say what becomes of what a federated object made when it is deleted, or ("status") print that.

    Raises UserMistakeError.
    """

    async def main(said: list[str]) -> None:
        try:
            async with reached("host", kubeconfig, host_context) as host:
                config = await enabled_type(host, type_, system_namespace)
                resource = federated_resource(config)
                where = namespace if resource.namespaced else ""
                try:
                    found = await host.client.get(resource, where, name)
                except NotFound as error:
                    what = f"{where}/{name}" if where else name
                    raise UserMistakeError(f"host: there is no {resource.kind} {what}") from error
                if verb == "status":
                    said.append("Enabled" if found.is_orphaning else "Disabled")
                    return
                at = Installer(host, said, dry_run=dry_run)
                wanted = verb == "enable"
                what = "stays in" if wanted else "goes from"
                if found.is_orphaning != wanted:
                    annotations = {ORPHAN_ANNOTATION: "true" if wanted else None}
                    await at.patch(resource, where, name, {"metadata": {"annotations": annotations}})
                at.tell(f"what {resource.kind} {name} made {what} the members when it is deleted")
        except (KubeError, TimeoutError) as error:
            raise mistake("host", host_context, error) from error

    carried_out(main)
