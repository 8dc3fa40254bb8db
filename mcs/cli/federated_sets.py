"""The federated set that a command looks at, from files or from the host cluster. Nothing is written to either."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from mcs.cli.logs import set_up_logs
from mcs.cli.problems import UserMistakeError, WrongOptionError
from mcs.cli.reaching import mistake, registrations
from mcs.cli.running import run
from mcs.cli.status import INTERRUPTED
from mcs.federation.manifests import Found, read_manifests, snapshot_of
from mcs.federation.snapshot import ObjectKey, Snapshot, target_kind
from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.errors import ConfigError, KubeError, NotFound, ResourceMissing
from mcs.model.federated import (
    CORE_GROUP,
    FEDERATED_TYPE_CONFIGS,
    KUBEFED_CONFIGS,
    federated_resource,
)
from mcs.model.resources import Resource
from mcs.model.scheduling import REPLICA_SCHEDULING_PREFERENCES

_PREFERENCE_NAMES = ("rsp", "replicaschedulingpreference", "replicaschedulingpreferences")
_SUFFIXES = (".yaml", ".yml", ".json")


class Source(Struct, frozen=True, kw_only=True):
    """Where a set is read: from files, when there are any, else from the host cluster of a context."""

    files: Sequence[Path] = ()
    kubeconfig: Sequence[Path] | None = None
    host_context: str | None = None
    namespace: str


def read_set(source: Source) -> Snapshot:
    """The set. Raises UserMistakeError when it cannot be read, or has no cluster."""
    snapshot = from_files(source.files, source.namespace) if source.files else _live(source)
    if not snapshot.clusters:
        where = "the files have" if source.files else f"namespace {source.namespace} of the host cluster has"
        raise UserMistakeError(f"{where} no KubeFedCluster, so there is nowhere to place anything")
    return snapshot


def from_files(files: Sequence[Path], namespace: str) -> Snapshot:
    """The set that files, and folders of them, make up, whether complete or not. Raises UserMistakeError."""
    documents = [each for file in files for path in _within(file) for each in _documents(path)]
    return read_manifests(documents, system_namespace=namespace)


def _within(file: Path) -> Iterable[Path]:
    if not file.is_dir():
        return [file]
    return sorted(path for path in file.rglob("*") if path.suffix in _SUFFIXES and path.is_file())


def _documents(file: Path) -> list[object]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserMistakeError(f"{file} cannot be read: {error}") from error
    try:
        return [json.loads(text)]
    except ValueError:
        pass
    try:
        return list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError as error:
        raise UserMistakeError(f"{file} is neither JSON nor YAML: {' '.join(str(error).split())}") from error


def _live(source: Source) -> Snapshot:
    set_up_logs("error", as_json=False)
    found: list[Snapshot] = []

    async def main() -> None:
        try:
            connection = await connect(source.kubeconfig, source.host_context, name="host")
        except ConfigError as error:
            raise UserMistakeError(str(error)) from error
        async with connection:
            try:
                found.append(await _read(Client(connection), source.namespace))
            except KubeError as error:
                raise mistake("host", source.host_context, error) from error

    if not run(main):
        sys.exit(INTERRUPTED)
    return found[0]


async def _read(client: Client, namespace: str) -> Snapshot:
    problems: list[str] = []
    types = [
        each
        for each in await _listed(client, FEDERATED_TYPE_CONFIGS, problems)
        if each.metadata.namespace == namespace
    ]
    objects = []
    for config in types:
        resource = federated_resource(config)
        if resource.kind:
            objects += [(resource.kind, each) for each in await _listed(client, resource, problems)]
    found = Found(
        clusters=await registrations(client, namespace),
        types=types,
        objects=objects,
        preferences=await _listed(client, REPLICA_SCHEDULING_PREFERENCES, problems),
        settings=[
            each
            for each in await _listed(client, KUBEFED_CONFIGS, problems)
            if each.metadata.namespace == namespace
        ],
        problems=problems,
    )
    return snapshot_of(found, system_namespace=namespace)


async def _listed(client: Client, resource: Resource[Any], problems: list[str]) -> list[Any]:
    """The objects of a kind; none where it is not defined, which is said only of kinds that a type names."""
    items: list[Any] = []
    try:
        async for page in client.list_pages(resource):
            items += page.items
            problems += [
                f"{resource.kind} {each.namespace}/{each.name} cannot be read: {each.error}"
                for each in page.malformed
            ]
    except (NotFound, ResourceMissing):
        if resource.group != CORE_GROUP and resource is not REPLICA_SCHEDULING_PREFERENCES:
            problems.append(f"the host cluster does not know {resource.plural}.{resource.group}")
    return items


def find_object(snapshot: Snapshot, text: str, namespace: str | None) -> ObjectKey:
    """The federated object that `KIND/NAME` means; KIND is that of its target or its own, or the plural of either.

    Without a namespace it must be the only one of its name. Raises UserMistakeError.
    """
    kind, slash, name = text.partition("/")
    if not slash or not kind or not name or "/" in name:
        raise WrongOptionError(f"{text!r} names no object; write KIND/NAME, for example deployment/web")
    kinds = {each for each in _kinds(snapshot) if kind.lower() in _names_of(each, snapshot)}
    if kind.lower() in _PREFERENCE_NAMES:
        found = [key for key in snapshot.preferences if key.name == name and key in snapshot.objects]
    else:
        found = [key for key in snapshot.objects if key.kind in kinds and key.name == name]
    found = [key for key in found if namespace is None or key.namespace in ("", namespace)]
    if len(found) == 1:
        return found[0]
    if found:
        namespaces = ", ".join(sorted(key.namespace for key in found))
        raise UserMistakeError(f"there is {text} in namespaces {namespaces}; say which with -n NAMESPACE")
    where = f" in namespace {namespace}" if namespace else ""
    there = ", ".join(sorted(_kinds(snapshot))) or "none"
    raise UserMistakeError(f"there is no federated {text}{where}; kinds of federated objects: {there}")


def _kinds(snapshot: Snapshot) -> set[str]:
    return {key.kind for key in snapshot.objects}


def _names_of(kind: str, snapshot: Snapshot) -> set[str]:
    """How a kind may be written, in small letters."""
    target = target_kind(ObjectKey(kind, "", ""), snapshot.types)
    names = {kind, target, f"{kind}s", f"{target}s"}
    if config := snapshot.types.get(kind):
        spec = config.spec
        names |= {config.metadata.name, spec.target_type.plural_name, spec.federated_type.plural_name}
    return {name.lower() for name in names}


def check_output(output: str) -> bool:
    """Whether JSON is asked for instead of tables. Raises WrongOptionError."""
    if output not in ("table", "json"):
        raise WrongOptionError(f"--output {output} is neither table nor json")
    return output == "json"


def end_with(problems: Sequence[str]) -> None:
    """Say on standard error what could not be read, and exit with 1 when there is anything of that."""
    if problems:
        sys.stdout.flush()
        print("\n".join(f"mcs: {' '.join(problem.split())}" for problem in problems), file=sys.stderr)
        sys.exit(1)
