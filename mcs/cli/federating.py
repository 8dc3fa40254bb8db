"""`mcs federate`: have objects of the host made in all members, by the federated objects that take their place.

The objects themselves stay as they are. What is in the way is looked for before anything is written; what is federated
already is left as it is.
"""

import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from mcs.cli.enabled import kind_among, type_configs
from mcs.cli.enabling import RBAC_GROUP, EnableOptions, Enabling
from mcs.cli.installing import Installer, as_yaml
from mcs.cli.problems import UserMistakeError, WrongOptionError
from mcs.cli.reaching import Reached, mistake, reached
from mcs.cli.telling import carried_out
from mcs.federation.definitions import federated_api
from mcs.federation.federating import federated_by_kind, federated_document, is_content, is_of_people
from mcs.kube.discovery import discovered
from mcs.kube.errors import AlreadyExists, KubeError, NotFound, ResourceMissing
from mcs.model.discovery import KindError, ServedKind, kind_named
from mcs.model.federated import (
    FEDERATED_VERSION,
    NAMESPACES_TYPE,
    TYPES_GROUP,
    FederatedObject,
    FederatedTypeConfig,
    federated_resource,
)
from mcs.model.resources import Resource


class FederateOptions(Struct, frozen=True, kw_only=True):
    """What the user may choose."""

    namespace: str
    system_namespace: str
    contents: bool
    enable_type: bool
    skipped: Sequence[str]
    as_yaml: bool


class _Source(Struct, frozen=True):
    """An object that is to be federated."""

    kind: ServedKind
    document: dict[str, Any]

    def __str__(self) -> str:
        metadata = self.document["metadata"]
        where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
        return f"{self.kind.kind} {where}{metadata['name']}"


def federate_object(
    type_: str,
    name: str,
    options: FederateOptions,
    *,
    host_context: str | None,
    kubeconfig: Sequence[Path] | None,
    dry_run: bool,
) -> None:
    """Federate an object of the host, with `contents` all that people have put into a namespace.

    Raises UserMistakeError.
    """
    if options.as_yaml and options.enable_type:
        raise WrongOptionError("--output prints, and enables no type; leave --enable-type away, or --output")

    async def main(said: list[str]) -> None:
        try:
            async with reached("host", kubeconfig, host_context) as host:
                at = Installer(host, said, dry_run=dry_run)
                await Federating(at, options, said).carry_out(type_, name)
        except (KubeError, TimeoutError) as error:
            raise mistake("host", host_context, error) from error

    carried_out(main)


class Federating:
    """One command: what is federated, in a host with its types."""

    def __init__(self, at: Installer, options: FederateOptions, said: list[str]) -> None:
        self._at = at
        self._host: Reached = at.where
        self._options = options
        self._said = said
        self._configs: dict[str, FederatedTypeConfig] = {}

    async def carry_out(self, type_: str, name: str) -> None:
        """Look at everything, then write. Raises UserMistakeError."""
        found = await discovered(self._host.client.connection)
        kind = kind_among(self._host, type_, found)
        if self._options.contents and kind.name != NAMESPACES_TYPE:
            raise WrongOptionError("--contents goes with a namespace: mcs federate namespace NAME --contents")
        await self._read_configs()
        skipped = self._skipped(found.kinds)
        sources = [await self._source(kind, name)]
        if self._options.contents:
            kinds = [each for each in _once(found.kinds) if is_content(each) and each.name not in skipped]
            sources += [each async for each in self._contents(kinds, name)]
        if self._options.as_yaml:
            self._said.extend(as_yaml(self._federated(each)[1]) for each in sources)
            return
        await self._enable([each.kind for each in sources])
        for each in sources:
            await self._write(each)
        await self._tell_what_is_missing(sources[0])

    async def _read_configs(self) -> None:
        found = await type_configs(self._host, self._options.system_namespace)
        self._configs = {each.metadata.name: each for each in found}

    def _skipped(self, kinds: Sequence[ServedKind]) -> set[str]:
        try:
            return {kind_named(each, kinds).name for each in self._options.skipped}
        except KindError as error:
            raise UserMistakeError(f"--skip-api-resources: {error}") from error

    async def _source(self, kind: ServedKind, name: str) -> _Source:
        namespace = self._options.namespace if kind.namespaced else ""
        try:
            found = await self._host.client.get(kind.resource, namespace, name)
        except NotFound as error:
            what = f"{namespace}/{name}" if namespace else name
            raise UserMistakeError(
                f"host: there is no {kind.kind} {what}; name the namespace with -n"
            ) from error
        return _Source(kind, _whole(kind, found.document))

    async def _contents(self, kinds: Sequence[ServedKind], namespace: str) -> AsyncIterator[_Source]:
        """What people have put into the namespace; of roles only what is federated on purpose."""
        for kind in kinds:
            if kind.group == RBAC_GROUP and kind.name not in self._configs:
                continue
            async for page in self._host.client.list_pages(kind.resource, namespace=namespace):
                for item in page.items:
                    if is_of_people(kind, item.document):
                        yield _Source(kind, _whole(kind, item.document))

    async def _enable(self, kinds: Sequence[ServedKind]) -> None:
        """Have all these types enabled. Raises UserMistakeError when they are not and shall not be."""
        missing = {each.name: each for each in kinds if not self._is_enabled(each.name)}
        if not missing:
            return
        if not self._options.enable_type:
            names = ", ".join(sorted(missing))
            skipping = ", or leave them out by --skip-api-resources" if self._options.contents else ""
            raise UserMistakeError(
                f"host: not enabled: {names}; give --enable-type, or run mcs enable for each{skipping}"
            )
        options = EnableOptions(
            namespace=self._options.system_namespace,
            federated_group=TYPES_GROUP,
            federated_version=FEDERATED_VERSION,
        )
        for each in missing.values():
            await Enabling(self._host, each, options).carry_out(self._at)
            self._at.tell(f"members must allow it: mcs enable {each.name} --context MEMBER")
        await self._read_configs()

    def _is_enabled(self, name: str) -> bool:
        return name in self._configs and self._configs[name].is_enabled

    def _federated(self, source: _Source) -> tuple[Resource[FederatedObject], dict[str, Any]]:
        """The federated kind, and the object; where the type is not enabled, what it would be called if it were."""
        config = self._configs.get(source.kind.name)
        if config is not None:
            resource = federated_resource(config)
        else:
            api = federated_api(source.kind)
            resource = Resource(
                group=api.group,
                version=api.version,
                plural=api.plural_name,
                kind=api.kind,
                type=FederatedObject,
                namespaced=api.scope == "Namespaced",
            )
        return resource, federated_document(source.document, resource.api_version, resource.kind)

    async def _write(self, source: _Source) -> None:
        resource, document = self._federated(source)
        try:
            await self._at.create(resource, document)
        except AlreadyExists:
            self._at.tell(f"{source} is federated already, and was left as it is")
        else:
            self._at.tell(f"{source} is federated, to all members")

    async def _tell_what_is_missing(self, first: _Source) -> None:
        namespace = first.document["metadata"].get("namespace", "")
        config = self._configs.get(NAMESPACES_TYPE)
        if not namespace or self._options.contents:
            return
        try:
            if config is None:
                raise NotFound(404)
            await self._host.client.get(federated_resource(config), namespace, namespace)
        except (NotFound, ResourceMissing):
            self._at.tell(
                f"nothing in {namespace} is propagated before it is, too: mcs federate namespace {namespace}"
            )


def _once(kinds: Sequence[ServedKind]) -> list[ServedKind]:
    """Each kind in the version that is preferred, by name."""
    return [each for _, each in sorted({each.name: each for each in reversed(kinds)}.items())]


def _whole(kind: ServedKind, document: dict[str, Any]) -> dict[str, Any]:
    """With apiVersion and kind, which the items of a list lack."""
    return {**document, "apiVersion": kind.resource.api_version, "kind": kind.kind}


def federate_file(file: Path) -> None:
    """Print the federated objects of those in a file, "-" for standard input; no cluster is asked.

    Raises UserMistakeError.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserMistakeError(f"--filename {file} cannot be read: {error}") from error
    made, problems = [], []
    for number, document in enumerate(_items(documents), start=1):
        if _is_object(document):
            made.append(as_yaml(federated_by_kind(document)))
        else:
            problems.append(
                f"mcs: --filename {file}: object {number} lacks apiVersion, kind or metadata.name"
            )
    if made:
        print("\n".join(made), flush=True)
    if problems:
        print("\n".join(problems), file=sys.stderr)
        sys.exit(1)


def _items(documents: Sequence[Any]) -> list[Any]:
    """The objects, those of a List one by one."""
    return [
        item
        for each in documents
        for item in (
            each["items"] if isinstance(each, dict) and isinstance(each.get("items"), list) else [each]
        )
    ]


def _is_object(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return all(
        isinstance(each, str) and each for each in (document.get("apiVersion"), document.get("kind"), name)
    )
