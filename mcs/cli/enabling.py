"""`mcs enable`: have a type federated, and the members allow it.

What is in the way is looked for before anything is written; what is so already is not written again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from mcs.cli.enabled import served_kind, type_configs
from mcs.cli.installing import Installer, as_yaml
from mcs.cli.problems import UserMistakeError, WrongOptionError
from mcs.cli.reaching import Reached, mistake, reached
from mcs.cli.telling import carried_out
from mcs.federation.definitions import (
    federated_api,
    federated_definition,
    type_config,
    type_problem,
    verdict_on,
)
from mcs.kube.discovery import has_replicas
from mcs.kube.errors import KubeError, NotFound
from mcs.kube.packaged import definition_documents
from mcs.membership.access import system_namespace, type_role
from mcs.model.discovery import ServedKind
from mcs.model.federated import (
    CORE_GROUP,
    FEDERATED_TYPE_CONFIGS,
    NAMESPACES_TYPE,
    SCHEDULING_GROUP,
    APIResource,
    FederatedTypeConfig,
)
from mcs.model.installed import DEFINITIONS
from mcs.model.resources import Resource
from mcs.model.targets import TargetObject

_WHOLE_DEFINITIONS = Resource(
    group=DEFINITIONS.group,
    version=DEFINITIONS.version,
    plural=DEFINITIONS.plural,
    kind=DEFINITIONS.kind,
    type=TargetObject,
    namespaced=False,
)
RBAC_GROUP = "rbac.authorization.k8s.io"


class EnableOptions(Struct, frozen=True, kw_only=True):
    """What the user may choose. Without a version it is the one that the API server prefers."""

    namespace: str
    version: str = ""
    federated_group: str
    federated_version: str


def enable_type(
    type_: str,
    options: EnableOptions,
    *,
    host_context: str | None,
    members: Sequence[str],
    kubeconfig: Sequence[Path] | None,
    output: str | None,
    dry_run: bool,
) -> None:
    """Enable a type in the host, and allow it in the members of the contexts given. Raises UserMistakeError.

    With `output` only the definition and the configuration are printed, whatever is there already.
    """
    if output not in (None, "yaml"):
        raise WrongOptionError(f"--output {output} is not yaml")
    if output and members:
        raise WrongOptionError("--output prints what is for the host; leave --context away, or --output")

    async def main(said: list[str]) -> None:
        try:
            async with reached("host", kubeconfig, host_context) as host:
                target = await served_kind(host, type_, options.version)
                enabling = Enabling(host, target, options)
                if output:
                    said.extend(as_yaml(each) for each in await enabling.documents())
                    return
                # Without members to write to, all that is printed can be applied in one.
                is_yaml = dry_run or not members
                await enabling.carry_out(Installer(host, said, dry_run=dry_run, is_yaml=is_yaml))
        except (KubeError, TimeoutError) as error:
            raise mistake("host", host_context, error) from error
        if not members:
            _tell_role(target, said)
        for context in members:
            try:
                async with reached(context, kubeconfig, context) as member:
                    await allow(Installer(member, said, dry_run=dry_run), target)
            except (KubeError, TimeoutError) as error:
                raise mistake(context, context, error) from error

    carried_out(main)


class Enabling:
    """One type that is to be federated by a host."""

    def __init__(self, host: Reached, target: ServedKind, options: EnableOptions) -> None:
        self._host = host
        self._target = target
        self._options = options
        self.federated: APIResource = federated_api(
            target, options.federated_group, options.federated_version
        )
        self._config = type_config(target, self.federated, options.namespace)

    async def documents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The definition and the configuration."""
        replicas = await has_replicas(self._host.client.connection, self._target)
        return federated_definition(self._target, self.federated, has_replicas=replicas), self._config

    async def carry_out(self, at: Installer) -> None:
        """Look, then write. Raises UserMistakeError before the first write when something is in the way."""
        namespace, target = self._options.namespace, self._target
        present = await type_configs(self._host, namespace)
        problem = type_problem(target, self.federated, present)
        definition, config = await self.documents()
        name = definition["metadata"]["name"]
        verdict = verdict_on(definition, await _defined(self._host, name))
        if verdict.action == "refuse":
            problem = problem or verdict.remark
        if problem:
            raise UserMistakeError(f"host: {problem}")
        await at.define(own_definitions())
        await at.apply(system_namespace(namespace))
        if verdict.remark:
            at.tell(verdict.remark)
        if verdict.action != "keep":
            await at.put_definition(definition)
        was = next((each for each in present if each.metadata.name == target.name), None)
        at.tell(f"{target.name} {await self._configured(at, config, was)}, as {self.federated.kind}")
        names = {each.metadata.name for each in present if each.is_enabled} | {target.name}
        if target.namespaced and NAMESPACES_TYPE not in names:
            at.tell(f"nothing in a namespace is propagated before {NAMESPACES_TYPE} is enabled, too")

    async def _configured(
        self, at: Installer, config: dict[str, Any], was: FederatedTypeConfig | None
    ) -> str:
        """Write the configuration, unless it is as it should be; what to say of it."""
        if was is None:
            await at.create(FEDERATED_TYPE_CONFIGS, config)
            return "is enabled"
        if was.is_terminating:
            raise UserMistakeError(f"host: {was.metadata.name} is just being disabled; try later")
        if self._says(was):
            return "is enabled already"
        changes = {"spec": config["spec"]}
        await at.patch(FEDERATED_TYPE_CONFIGS, was.metadata.namespace, was.metadata.name, changes)
        return "is enabled again" if not was.is_enabled else "is enabled in another version than before"

    def _says(self, was: FederatedTypeConfig) -> bool:
        same = was.spec.target_type.version == self._target.version
        return same and was.is_enabled and was.spec.federated_type == self.federated


async def _defined(host: Reached, name: str) -> dict[str, Any] | None:
    """The definition of this name, whole."""
    try:
        return (await host.client.get(_WHOLE_DEFINITIONS, "", name)).document
    except NotFound:
        return None


def own_definitions() -> list[dict[str, Any]]:
    """The definitions that a host needs for federation."""
    groups = (f".{CORE_GROUP}", f".{SCHEDULING_GROUP}")
    return [each for each in definition_documents() if each["metadata"]["name"].endswith(groups)]


async def allow(member: Installer, target: ServedKind) -> None:
    """Give who works in a member the right to objects of a type."""
    if target.group == RBAC_GROUP:
        raise UserMistakeError(f"{member.where.name}: {_NOT_GIVEN}")
    role = type_role(target.group, target.plural)
    await member.check([role])
    await member.apply(role)
    member.tell(f"allows {target.name}, once it has joined with --federation")


_NOT_GIVEN = (
    "roles are propagated only to members that joined with --federation=all: who may write roles may do all"
)


def _tell_role(target: ServedKind, said: list[str]) -> None:
    if target.group == RBAC_GROUP:
        said.append(f"# {_NOT_GIVEN}")
        return
    said.append(
        "# members need this, unless they have joined with --federation=all; --context MEMBER applies it there:"
    )
    said.append(as_yaml(type_role(target.group, target.plural).document))
