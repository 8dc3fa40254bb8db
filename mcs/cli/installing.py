"""Carries out in one cluster what a join or a leave has decided, or, in a dry run, only says it.

Nothing that lacks our label is overwritten or deleted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import yaml

from mcs.cli.problems import UserMistakeError
from mcs.cli.reaching import POLL, SYSTEM, Reached, until_gone
from mcs.kube.errors import Conflict, NotFound, ResourceMissing
from mcs.membership.corefile import COREFILE_KEY, CorefileError, reloads, with_stanza, without_stanza
from mcs.membership.definitions import verdict_on
from mcs.model.installed import CONFIG_MAPS, DEFINITIONS, ConfigMap, Manifest, manifest
from mcs.model.names import MANAGED_BY_LABEL
from mcs.model.resources import NAMESPACES, SERVICES, Resource

COREDNS = "coredns"
PATIENCE = 60.0
"""Seconds until what was asked for must have happened: a definition is served, a namespace or registration is gone."""
_ATTEMPTS = 5


class _Plain(yaml.SafeDumper):
    """Writes the same value twice rather than refer to it, as people and kubectl do."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def as_yaml(document: dict[str, Any]) -> str:
    """The object as YAML, one of several."""
    text = yaml.dump(document, Dumper=_Plain, sort_keys=False, allow_unicode=True)
    return f"---\n{text}".rstrip()


class Installer:
    """Writes to one cluster; `said` collects what there is to tell of it, or in a dry run the objects.

    With `is_yaml`, as in any dry run, what is said must be YAML.
    """

    def __init__(self, where: Reached, said: list[str], *, dry_run: bool, is_yaml: bool = False) -> None:
        self.where = where
        self._client = where.client
        self._said = said
        self._dry_run = dry_run
        self._is_yaml = dry_run or is_yaml

    def tell(self, remark: str) -> None:
        """A line for the user, which is a comment where the rest is YAML."""
        line = f"{self.where.name}: {remark}"
        self._said.append(f"# {line}" if self._is_yaml else line)

    async def check(self, manifests: Iterable[Manifest]) -> None:
        """Raises UserMistakeError when one of the names is taken by what is not ours."""
        wanted = [each for each in manifests if each.resource is not NAMESPACES]
        owners = await asyncio.gather(*(self._stranger(each) for each in wanted))
        for each, owner in zip(wanted, owners, strict=True):
            if owner is not None:
                by = f", managed by {owner}" if owner else ""
                raise UserMistakeError(
                    f"{self.where.name}: there is a {each} already{by}, which mcs join did not make; remove it first"
                )

    async def _stranger(self, each: Manifest) -> str | None:
        try:
            found = await self._client.get(each.resource, each.namespace, each.name)
        except (NotFound, ResourceMissing):
            return None
        return None if found.is_ours else found.metadata.labels.get(MANAGED_BY_LABEL, "")

    async def apply(self, *manifests: Manifest) -> None:
        """Apply them one after the other; a namespace that is there already is left as it is."""
        for each in manifests:
            if self._dry_run:
                self._print(each.document)
            elif each.resource is NAMESPACES:
                await self._ensure_namespace(each)
            else:
                await self._applied(each)

    async def _applied(self, each: Manifest) -> None:
        await self._when_served(lambda: self._client.apply_document(each.resource, each.document))

    async def _when_served(self, write: Callable[[], Awaitable[Any]]) -> None:
        # An API server takes a moment to serve what has just been defined.
        for _ in range(_ATTEMPTS):
            try:
                await write()
            except ResourceMissing:
                await asyncio.sleep(1)
            else:
                return
        await write()

    async def _ensure_namespace(self, each: Manifest) -> None:
        try:
            present = await self._client.get(NAMESPACES, "", each.name)
        except NotFound:
            present = None
        if present is not None and present.is_terminating:
            if not await until_gone(self._client, NAMESPACES, "", each.name, PATIENCE):
                raise UserMistakeError(
                    f"{self.where.name}: its namespace {each.name} is still being deleted; try later"
                )
            present = None
        if present is None:
            await self._client.apply_document(NAMESPACES, each.document)

    async def define(self, definitions: Iterable[dict[str, Any]]) -> None:
        """Install the definitions that are absent or older, and return when they are served."""
        for document in definitions:
            name = document["metadata"]["name"]
            try:
                present = await self._client.get(DEFINITIONS, "", name)
            except NotFound:
                present = None
            verdict = verdict_on(document, present)
            if verdict.remark:
                self.tell(verdict.remark)
            if verdict.action != "keep":
                await self.put_definition(document)

    async def put_definition(self, document: dict[str, Any]) -> None:
        """Apply a definition, and return when it is served."""
        if self._dry_run:
            self._print(document)
            return
        await self._client.apply_document(DEFINITIONS, document)
        await self._established(document["metadata"]["name"])

    async def _established(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE
        while not (await self._client.get(DEFINITIONS, "", name)).is_established:
            if loop.time() > end:
                raise UserMistakeError(
                    f"{self.where.name}: its API server does not establish {name}; look at its status"
                )
            await asyncio.sleep(POLL)

    async def create(self, resource: Resource[Any], document: dict[str, Any]) -> None:
        """Create what others than us are to own from then on. Raises AlreadyExists."""
        if self._dry_run:
            self._print(document)
            return
        await self._when_served(lambda: self._client.create_document(resource, document))

    async def patch(
        self, resource: Resource[Any], namespace: str, name: str, changes: dict[str, Any]
    ) -> None:
        """Change some fields of an object, whosever it is."""
        if self._dry_run:
            self._print({**manifest(resource, name, namespace).document, **changes})
        else:
            await self._client.patch(resource, namespace, name, changes)

    async def forward(self, zone: str, service: Manifest) -> None:
        """Have the cluster's CoreDNS ask the Service for the zone. Raises UserMistakeError where that cannot be."""
        address = "CLUSTER-IP"
        if not self._dry_run:
            found = await self._client.get(SERVICES, service.namespace, service.name)
            address = found.spec.cluster_ip or address
        text = await self._change_corefile(lambda text: with_stanza(text, zone, address))
        if text and not reloads(text):
            self.tell("its Corefile has no plugin reload; restart its CoreDNS")

    async def check_corefile(self, zone: str) -> None:
        """Raises UserMistakeError when CoreDNS cannot be told of the zone."""
        try:
            with_stanza(await self._corefile(), zone, "CLUSTER-IP")
        except CorefileError as error:
            raise UserMistakeError(f"{self.where.name}: {error}") from error

    async def forward_no_more(self, zone: str) -> None:
        """Take our stanza back, and leave the rest as it is; nothing to do where there is no such ConfigMap."""
        try:
            await self._client.get(CONFIG_MAPS, SYSTEM, COREDNS)
        except NotFound:
            return
        await self._change_corefile(lambda text: without_stanza(text, zone))

    async def _corefile(self) -> str:
        return (await self._config_map()).data.get(COREFILE_KEY, "")

    async def _config_map(self) -> ConfigMap:
        try:
            found = await self._client.get(CONFIG_MAPS, SYSTEM, COREDNS)
        except NotFound:
            found = ConfigMap()
        if COREFILE_KEY not in found.data:
            raise UserMistakeError(
                f"{self.where.name}: it has no ConfigMap {SYSTEM}/{COREDNS} with a Corefile; join with "
                "--no-dns, and see "
                "docs/dns-in-front.md for other DNS servers"
            )
        return found

    async def _change_corefile(self, change: Any) -> str:
        """The new text, empty when it is as it was. Tried again when somebody else changed it meanwhile."""
        for _ in range(_ATTEMPTS):
            found = await self._config_map()
            before = found.data[COREFILE_KEY]
            try:
                after: str = change(before)
            except CorefileError as error:
                raise UserMistakeError(f"{self.where.name}: {error}") from error
            if after == before:
                return ""
            if self._dry_run:
                self._print(manifest(CONFIG_MAPS, COREDNS, SYSTEM, data={COREFILE_KEY: after}).document)
                return after
            changes = {
                "metadata": {"resourceVersion": found.metadata.resource_version},
                "data": {COREFILE_KEY: after},
            }
            try:
                await self._client.patch(CONFIG_MAPS, SYSTEM, COREDNS, changes)
            except Conflict:
                continue
            return after
        raise UserMistakeError(
            f"{self.where.name}: somebody else keeps changing its Corefile; try again later"
        )

    async def delete(self, resource: Resource[Any], namespace: str, name: str) -> bool:
        """Delete an object of ours; whether there was one."""
        try:
            found = await self._client.get(resource, namespace, name)
        except (NotFound, ResourceMissing):
            return False
        if not found.is_ours:
            return False
        if self._dry_run:
            self._print(manifest(resource, name, namespace if resource.namespaced else "").document)
        else:
            await self._client.delete(resource, namespace, name, uid=found.metadata.uid)
        return True

    async def delete_all(self, resources: Sequence[Resource[Any]], found: Iterable[Any]) -> None:
        """Delete objects that were just listed, each of the resource beside it."""
        for resource, each in zip(resources, found, strict=True):
            if self._dry_run:
                self._print(manifest(resource, each.metadata.name, each.metadata.namespace).document)
            else:
                metadata = each.metadata
                await self._client.delete(resource, metadata.namespace, metadata.name, uid=metadata.uid)

    def _print(self, document: dict[str, Any]) -> None:
        text = as_yaml(document).removeprefix("---\n")
        self._said.append(f"---\n# {self.where.context or self.where.name}\n{text}")
