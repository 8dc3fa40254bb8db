"""`mcs migrate kubefed`: what changes when mcs takes over a KubeFed host, and, if that is wished, what makes it ready.

Members are read only. What is in the way is told before anything is written, and a migration that broke off is run
again: what is so already is not written again.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from msgspec import Struct, structs
from rich.console import Console

from mcs.cli.answers import PATIENCE
from mcs.cli.drawing import draw
from mcs.cli.enabled import type_configs
from mcs.cli.enabling import own_definitions
from mcs.cli.installing import Installer
from mcs.cli.problems import UserMistakeError
from mcs.cli.reaching import Reached, all_of, mistake, reached, registrations
from mcs.cli.tables import Table
from mcs.cli.telling import carried_out
from mcs.federation.definitions import Verdict, federated_definition, verdict_on
from mcs.federation.migration import (
    CONTROLLER,
    Finding,
    answers_for_kubefed,
    controller_problem,
    definition_verdict,
    ledgers_to_free,
    object_findings,
    settings_findings,
    type_findings,
)
from mcs.federation.placement import Gate, Placed, Registered, is_protected_namespace, place
from mcs.kube.client import Client
from mcs.kube.discovery import discovered, has_replicas
from mcs.kube.errors import ConfigError, KubeError, NotFound, ResourceMissing
from mcs.kube.registered import connect_registered
from mcs.membership.connecting import NotUsableError, credentials_of, endpoint_of, secret_of
from mcs.model.discovery import ServedKind
from mcs.model.federated import (
    CLUSTER_PROPAGATED_VERSIONS,
    CONFIG_NAME,
    KUBEFED_CONFIGS,
    MANAGED,
    MANAGED_LABEL,
    NAMESPACES_TYPE,
    PROPAGATED_VERSIONS,
    FederatedObject,
    FederatedTypeConfig,
    KubeFedConfig,
    Placement,
    federated_resource,
    target_resource,
)
from mcs.model.installed import DEFINITIONS, DEPLOYMENTS
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.registration import READY, KubeFedCluster
from mcs.model.resources import SECRETS, Resource
from mcs.model.targets import TargetObject


def _whole(resource: Resource[Any]) -> Resource[TargetObject]:
    return Resource(
        group=resource.group,
        version=resource.version,
        plural=resource.plural,
        kind=resource.kind,
        type=TargetObject,
        namespaced=resource.namespaced,
    )


def _webhooks(plural: str, kind: str) -> Resource[TargetObject]:
    return Resource(
        group="admissionregistration.k8s.io",
        version="v1",
        plural=plural,
        kind=kind,
        type=TargetObject,
        namespaced=False,
    )


_WEBHOOKS = (
    _webhooks("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    _webhooks("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
)
_LEDGERS = (PROPAGATED_VERSIONS, CLUSTER_PROPAGATED_VERSIONS)


class _Member(Struct, frozen=True):
    """A registered cluster; without a client it is not seen, and `problem` says why."""

    registration: KubeFedCluster
    client: Client | None
    problem: str = ""


class _Type(Struct, frozen=True):
    """A type, its objects, and what becomes of the definition of its federated kind."""

    config: FederatedTypeConfig
    objects: Sequence[FederatedObject]
    definition: dict[str, Any]
    verdict: Verdict


class _Host(Struct, frozen=True, kw_only=True):
    """What was found in a KubeFed host."""

    controller: str
    members: Sequence[_Member]
    types: Sequence[_Type]
    settings: KubeFedConfig | None
    definitions: Sequence[tuple[dict[str, Any], Verdict]]
    ledgers: Mapping[str, Sequence[tuple[str, str]]]
    webhooks: Sequence[tuple[Resource[TargetObject], TargetObject]]

    @property
    def registered(self) -> Registered:
        return {each.registration.cluster: each.registration.metadata.labels for each in self.members}


def migrate_kubefed(
    *, namespace: str, adopt: bool, host_context: str | None, kubeconfig: Sequence[Path] | None, dry_run: bool
) -> None:
    """Report what would change, and with `adopt` make the host ready to be taken over. Raises UserMistakeError."""

    async def main(said: list[str]) -> None:
        try:
            async with AsyncExitStack() as stack:
                where = await stack.enter_async_context(reached("host", kubeconfig, host_context))
                host = await _observe(where, namespace, stack)
                findings = await _findings(host, namespace)
                if not dry_run:
                    draw(_tables(host, findings), Console())
                if not adopt:
                    return
                sys.stdout.flush()
                await _adopt(Installer(where, said, dry_run=dry_run), host)
        except (KubeError, TimeoutError) as error:
            raise mistake("host", host_context, error) from error

    carried_out(main)


async def _observe(where: Reached, namespace: str, stack: AsyncExitStack) -> _Host:
    client = where.client
    configs = await type_configs(where, namespace)
    registered = await registrations(client, namespace)
    if not configs and not registered:
        raise UserMistakeError(
            f"host: there is no KubeFed in the namespace {namespace}: neither type configurations nor registrations; "
            "name another with --namespace"
        )
    kinds = {each.name: each for each in reversed((await discovered(client.connection)).kinds)}
    secrets = {
        each.metadata.name: each
        async for page in client.list_pages(SECRETS, namespace=namespace)
        for each in page.items
    }
    members = await asyncio.gather(*(_member(each, secrets, stack) for each in registered))
    return _Host(
        controller=controller_problem(
            await _found(client, _whole(DEPLOYMENTS), namespace, CONTROLLER), namespace
        ),
        members=members,
        types=[await _type(client, each, kinds) for each in configs],
        settings=await _settings(client, namespace),
        definitions=[
            (each, definition_verdict(each, await _found(client, _whole(DEFINITIONS), "", _name(each))))
            for each in own_definitions()
        ],
        ledgers={
            each.plural: list(
                ledgers_to_free([ledger.document for ledger in await _all(client, _whole(each))])
            )
            for each in _LEDGERS
        },
        webhooks=[
            (resource, each)
            for resource in _WEBHOOKS
            for each in await _all(client, resource)
            if answers_for_kubefed(each.document)
        ],
    )


async def _member(registration: KubeFedCluster, secrets: Mapping[str, Any], stack: AsyncExitStack) -> _Member:
    """The cluster as its registration says that it is reached."""
    try:
        secret = secret_of(registration, secrets)
        credentials = credentials_of(secret)
        connection = await connect_registered(
            registration.cluster, endpoint_of(registration, secret), lambda: credentials
        )
        await stack.enter_async_context(connection)
        client = Client(connection)
        async with asyncio.timeout(PATIENCE):
            await client.version()
    except (NotUsableError, ConfigError, KubeError, TimeoutError) as error:
        return _Member(registration, None, " ".join(str(error).split()) or f"no answer within {PATIENCE:g} s")
    return _Member(registration, client)


async def _type(client: Client, config: FederatedTypeConfig, kinds: Mapping[str, ServedKind]) -> _Type:
    federated = federated_resource(config)
    objects = await _all(client, federated)
    target = kinds.get(config.metadata.name)
    if target is None:
        remark = f"the host does not serve {config.metadata.name}, so the definition stays as it is"
        return _Type(config, objects, {}, Verdict("keep", remark))
    target = structs.replace(target, version=config.spec.target_type.version)
    replicas = await has_replicas(client.connection, target)
    definition = federated_definition(target, config.spec.federated_type, has_replicas=replicas)
    present = await _found(client, _whole(DEFINITIONS), "", _name(definition))
    return _Type(config, objects, definition, verdict_on(definition, present))


async def _settings(client: Client, namespace: str) -> KubeFedConfig | None:
    try:
        return await client.get(KUBEFED_CONFIGS, namespace, CONFIG_NAME)
    except (NotFound, ResourceMissing):
        return None


async def _found(
    client: Client, resource: Resource[TargetObject], namespace: str, name: str
) -> dict[str, Any] | None:
    try:
        return (await client.get(resource, namespace, name)).document
    except (NotFound, ResourceMissing):
        return None


async def _all(client: Client, resource: Resource[Any]) -> list[Any]:
    try:
        return await all_of(client, resource)
    except (NotFound, ResourceMissing):
        return []


def _name(document: Mapping[str, Any]) -> str:
    return str(document["metadata"]["name"])


async def _findings(host: _Host, namespace: str) -> list[Finding]:
    """All that will be otherwise, of settings, types and objects."""
    found = list(settings_findings(host.settings, namespace))
    if host.controller:
        found.append(Finding("KubeFed", host.controller))
    is_required = host.settings is None or host.settings.spec.scope == "Cluster"
    around = {
        each.metadata.namespace: each.spec.placement
        for type_ in host.types
        if type_.config.metadata.name == NAMESPACES_TYPE
        for each in type_.objects
    }
    for type_ in host.types:
        found += type_findings(type_.config)
        seen = await asyncio.gather(*(_present(each, type_.config) for each in host.members))
        present: dict[ClusterId, Mapping[ServiceKey, Any]] = {}
        for member, answer in zip(host.members, seen, strict=True):
            if isinstance(answer, Finding):
                found.append(answer)
            elif answer is not None:
                present[member.registration.cluster] = answer
        for each in type_.objects:
            found += _of_object(type_.config, each, host.registered, present, around, is_required, namespace)
    return found


def _of_object(
    config: FederatedTypeConfig,
    federated: FederatedObject,
    registered: Registered,
    present: Mapping[ClusterId, Mapping[ServiceKey, Any]],
    around: Mapping[str, Placement],
    is_required: bool,
    system_namespace: str,
) -> list[Finding]:
    target, key = target_resource(config), federated.key
    if config.metadata.name == NAMESPACES_TYPE and is_protected_namespace(key.name, system_namespace):
        return []
    gate = Gate(around.get(key.namespace), is_required) if target.namespaced else None
    placed = place(federated.spec.placement, registered, gate)
    clusters = placed.clusters if isinstance(placed, Placed) else ()
    there = ServiceKey(key.namespace if target.namespaced else "", key.name)
    return list(
        object_findings(
            federated,
            federated_resource(config).kind,
            target,
            {each: present[each].get(there) for each in clusters if each in present},
        )
    )


async def _present(member: _Member, config: FederatedTypeConfig) -> Mapping[ServiceKey, Any] | Finding | None:
    """What KubeFed has made of a type in a member; a finding where that may not be read, None where it is not seen."""
    if member.client is None:
        return None
    target = target_resource(config)
    try:
        found = await all_of(member.client, target, f"{MANAGED_LABEL}={MANAGED}")
    except (KubeError, TimeoutError) as error:
        what = f"its {target} cannot be compared: {' '.join(str(error).split())}"
        return Finding(f"cluster {member.registration.cluster}", what)
    return {each.key: each.document for each in found}


def _tables(host: _Host, findings: Sequence[Finding]) -> list[Table]:
    return [
        Table(
            "Clusters",
            ("CLUSTER", "READY", "API SERVER", "WHAT"),
            tuple(_cluster_row(each) for each in host.members),
        ),
        Table(
            "Types",
            ("TYPE", "FEDERATED KIND", "PROPAGATION", "OBJECTS"),
            tuple(
                (
                    each.config.metadata.name,
                    each.config.spec.federated_type.kind,
                    each.config.spec.propagation,
                    str(len(each.objects)),
                )
                for each in host.types
            ),
        ),
        Table(
            "Otherwise than with KubeFed",
            ("OBJECT", "WHAT"),
            tuple((each.about, each.what) for each in findings),
        ),
        Table("What mcs migrate kubefed --adopt does", ("STEP",), tuple((each,) for each in _steps(host))),
    ]


def _cluster_row(member: _Member) -> tuple[str, ...]:
    registration = member.registration
    ready = registration.condition(READY)
    return (
        registration.cluster,
        ready.status if ready else "Unknown",
        registration.spec.api_endpoint,
        f"cannot be reached, and is not compared: {member.problem}" if member.problem else "-",
    )


def _steps(host: _Host) -> list[str]:
    """In words, what is still to do."""
    verdicts = [*(verdict for _, verdict in host.definitions), *(each.verdict for each in host.types)]
    steps = [each.remark for each in verdicts if each.remark]
    steps += [
        f"the definition {_name(each)} is new"
        for each, verdict in host.definitions
        if verdict.action == "create"
    ]
    ledgers = sum(map(len, host.ledgers.values()))
    if ledgers:
        steps.append(
            f"{ledgers} PropagatedVersions outlive their objects until what these made is gone, and are kept"
        )
    steps += [
        f"the {resource.kind} {each.metadata.name} is deleted: without KubeFed's pods it refuses every write"
        for resource, each in host.webhooks
    ]
    return steps


async def _adopt(at: Installer, host: _Host) -> None:
    """Make the host ready. Raises UserMistakeError while KubeFed runs, or a definition cannot be replaced."""
    problems = [
        each.remark
        for each in (*(verdict for _, verdict in host.definitions), *(each.verdict for each in host.types))
        if each.action == "refuse"
    ]
    if problem := host.controller or "; ".join(problems):
        raise UserMistakeError(f"host: {problem}")
    for resource, each in host.webhooks:
        await at.delete_all([resource], [each])
    documents = [*host.definitions, *((each.definition, each.verdict) for each in host.types)]
    for document, verdict in documents:
        if verdict.action != "keep":
            await at.put_definition(document)
    for ledger in _LEDGERS:
        for namespace, name in host.ledgers[ledger.plural]:
            await at.patch(ledger, namespace, name, {"metadata": {"ownerReferences": None}})
    at.tell(
        "is ready: run mcs controller --registry --federation, and leave KubeFed's Deployment without replicas"
    )
