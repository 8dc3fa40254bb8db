"""Reading kubeconfig files: which files, how several merge, and one context of them, checked.

Nothing is connected or run here. Every mistake a user can make is a ConfigError that names file and context.
Source: "Organizing Cluster Access Using kubeconfig Files", the first file to set a name or current-context wins.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec
import yaml
from msgspec import Struct, field

from mcs.kube.errors import ConfigError

DATA_FIELDS = ("certificate-authority", "client-certificate", "client-key")
FILE_FIELDS = (*DATA_FIELDS, "tokenFile")

FILES_KEPT_PARSED = 16
"""A hundred contexts of one file are chosen one by one, and YAML is slow: 0.1 s for a file of a hundred."""


class _NamedCluster(Struct):
    name: str
    cluster: dict[str, Any]


class _NamedUser(Struct):
    name: str
    user: dict[str, Any] | None = None


class _Context(Struct):
    cluster: str
    user: str = ""


class _NamedContext(Struct):
    name: str
    context: _Context


class _Kubeconfig(Struct, rename="kebab"):
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None
    current_context: str | None = field(default=None)


class _ClusterTypes(Struct, rename="kebab"):
    """What the fields of a cluster must be; a text "false" would else switch TLS verification off."""

    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    tls_server_name: str | None = None
    insecure_skip_tls_verify: bool | None = None


class _Variable(Struct):
    name: str
    value: str


class _PluginTypes(Struct, rename="camel"):
    command: str | None = None
    api_version: str | None = None
    args: list[str] | None = None
    env: list[_Variable] | None = None
    interactive_mode: str | None = None
    install_hint: str | None = None
    provide_cluster_info: bool | None = None


class _UserTypes(Struct, rename="kebab"):
    """What the fields of a user must be."""

    token: str | int | None = None
    token_file: str | None = field(name="tokenFile", default=None)
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    username: str | None = None
    password: str | None = None
    auth_provider: dict[str, Any] | None = None
    exec: _PluginTypes | None = None


class ChosenContext(NamedTuple):
    """One context with its cluster and user, as they stand in the file, paths made absolute.

    An anonymous user is an empty mapping. `file` is where the context stands.
    """

    name: str
    file: Path
    cluster: dict[str, Any]
    user: dict[str, Any]


_Named = TypeVar("_Named", _NamedCluster, _NamedUser, _NamedContext)


def default_files(environ: Mapping[str, str], home: Path, separator: str) -> tuple[Path, ...]:
    """The files kubectl would read: those of KUBECONFIG that exist, else ~/.kube/config if it exists."""
    listed = tuple(Path(part).expanduser() for part in environ.get("KUBECONFIG", "").split(separator) if part)
    existing = tuple(file for file in listed or (home / ".kube/config",) if file.exists())
    if listed and not existing:
        names = ", ".join(map(str, listed))
        raise ConfigError(f"KUBECONFIG names {names}, and none of them exists; correct or unset it")
    return existing


def context_names(file: Path) -> tuple[str, ...]:
    """The contexts of a file, in its order. Raises ConfigError."""
    return tuple(each.name for each in _parse(file).contexts or ())


def choose_context(files: Sequence[Path], context: str | None) -> ChosenContext:
    """The named context, or the current one, of the merged files. Every file must exist."""
    chosen, cluster_file, user_file = _chosen([(file, _parse(file)) for file in files], context)
    return chosen._replace(
        cluster=_with_absolute_paths(chosen.cluster, cluster_file, chosen.name),
        user=_with_absolute_paths(chosen.user, user_file, chosen.name),
    )


def sanitised_context(text: str, where: str, allowed_programs: frozenset[str]) -> ChosenContext:
    """The current context, or the only one, of a kubeconfig that came over the network. Raises ConfigError.

    It may neither read files nor run programs, but for exec plugins whose command is one of `allowed_programs`, as
    it is written there. `where` names it in messages, none of which repeats what it holds.
    """
    file = Path(where)
    try:
        config = _parsed(text, file, _WithoutAliases)
    except yaml.YAMLError as error:
        raise ConfigError("is not YAML without aliases; write a kubeconfig there", file=file) from error
    only = config.contexts[0].name if config.contexts and len(config.contexts) == 1 else None
    chosen, _, _ = _chosen([(file, config)], config.current_context or only)
    for part in (chosen.cluster, chosen.user):
        for key in FILE_FIELDS:
            if part.get(key):
                problem = (
                    f"{key} names a file, which a kubeconfig in a Secret may not; write its contents there"
                )
                raise ConfigError(problem, file=file, context=chosen.name)
    if chosen.user.get("auth-provider"):
        problem = "auth-provider is not allowed in a Secret; use a token or a client certificate"
        raise ConfigError(problem, file=file, context=chosen.name)
    if (plugin := chosen.user.get("exec")) is not None:
        _check_allowed(plugin, allowed_programs, file, chosen.name)
    return chosen


def _check_allowed(plugin: Mapping[str, Any], allowed: frozenset[str], file: Path, context: str) -> None:
    command = str(plugin["command"])
    if command not in allowed:
        problem = f"its user runs {command!r}; use a token, or allow that with --allow-exec {command}"
        raise ConfigError(problem, file=file, context=context)
    for variable in plugin.get("env") or ():
        if (name := str(variable["name"])).startswith(_LOADER_VARIABLES):
            problem = f"env of its exec sets {name}, by which other programs could be run; remove it"
            raise ConfigError(problem, file=file, context=context)


_LOADER_VARIABLES = ("LD_", "DYLD_", "PATH", "PYTHON", "NODE_", "BASH_", "ENV")
"""Variables of these names decide what a program loads or runs."""


def _chosen(
    parsed: Sequence[tuple[Path, _Kubeconfig]], context: str | None
) -> tuple[ChosenContext, Path, Path]:
    """The context, and the files in which its cluster and its user stand, with paths as they stand there."""
    contexts = _merged((file, config.contexts) for file, config in parsed)
    wanted = context or next((config.current_context for _, config in parsed if config.current_context), None)
    known = ", ".join(sorted(contexts)) or "none"
    if not wanted:
        raise ConfigError(
            f"no current-context is set; name a context (there are: {known})",
            file=parsed[0][0] if parsed else None,
        )
    if wanted not in contexts:
        where = ", ".join(str(file) for file, _ in parsed)
        raise ConfigError(f"there is no such context in {where} (there are: {known})", context=wanted)
    file, entry = contexts[wanted]
    clusters = _merged((path, config.clusters) for path, config in parsed)
    users = _merged((path, config.users) for path, config in parsed)
    name = entry.context.cluster
    if name not in clusters:
        raise ConfigError(f"its cluster {name!r} is not defined under clusters", file=file, context=wanted)
    cluster_file, cluster = clusters[name]
    _check_cluster(cluster.cluster, cluster_file, wanted)
    user: dict[str, Any] = {}
    user_file = file
    if entry.context.user:
        if entry.context.user not in users:
            problem = f"its user {entry.context.user!r} is not defined under users"
            raise ConfigError(problem, file=file, context=wanted)
        user_file, named_user = users[entry.context.user]
        user = named_user.user or {}
        _check_user(user, user_file, wanted)
    return ChosenContext(wanted, file, cluster.cluster, user), cluster_file, user_file


def with_data_as_files(
    part: Mapping[str, Any], folder: Path, prefix: str, chosen: ChosenContext
) -> dict[str, Any]:
    """`part` with each `…-data` field written to a file in `folder` and replaced by that file's path."""
    result = dict(part)
    for key in DATA_FIELDS:
        data = result.pop(f"{key}-data", None)
        if not data:
            continue
        try:
            content = base64.b64decode("".join(str(data).split()), validate=True)
        except (binascii.Error, ValueError) as error:
            problem = f"{key}-data is not base64 ({error}); write the file again"
            raise ConfigError(problem, file=chosen.file, context=chosen.name) from error
        path = folder / f"{prefix}-{key}.pem"
        path.touch(mode=0o600)
        path.write_bytes(content)
        result[key] = str(path)
    return result


def _parse(file: Path) -> _Kubeconfig:
    try:
        text = file.read_text()
    except FileNotFoundError:
        raise ConfigError("does not exist; check the path", file=file) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", file=file) from error
    try:
        return _parsed_before(text, file)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        # The error itself quotes the line, which may be that of a token.
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise ConfigError(f"is not YAML{where}; correct it", file=file) from None


class _WithoutAliases(yaml.SafeLoader):
    """Refuses aliases, with which a few lines can stand for gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


def _parsed(text: str, file: Path, loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> _Kubeconfig:
    document = yaml.load(text, Loader=loader)
    if document is None:
        raise ConfigError("is empty; write a kubeconfig into it or leave it out", file=file)
    try:
        return msgspec.convert(document, _Kubeconfig)
    except msgspec.ValidationError as error:
        raise ConfigError(f"is not a kubeconfig: {error}", file=file) from error


@lru_cache(FILES_KEPT_PARSED)
def _parsed_before(text: str, file: Path) -> _Kubeconfig:
    """By its text, so that a file which has changed is another one."""
    return _parsed(text, file)


def _merged(parts: Iterable[tuple[Path, list[_Named] | None]]) -> dict[str, tuple[Path, _Named]]:
    merged: dict[str, tuple[Path, _Named]] = {}
    for file, entries in parts:
        for entry in entries or ():
            merged.setdefault(entry.name, (file, entry))
    return merged


def _check_cluster(cluster: Mapping[str, Any], file: Path, context: str) -> None:
    _check_types(cluster, _ClusterTypes, "cluster", file, context)
    server = cluster.get("server")
    if not _is_url(server):
        problem = f"server must be an http or https URL, not {server!r}"
        raise ConfigError(problem, file=file, context=context)
    if "@" in urlsplit(str(server)).netloc:
        problem = "server has a user or password in its URL, which is not supported; write them under users"
        raise ConfigError(problem, file=file, context=context)
    proxy = cluster.get("proxy-url")
    if proxy and not _is_url(proxy):
        shown = "" if "@" in str(proxy) else f" {proxy!r}"
        problem = f"proxy-url{shown} is not supported; use an http or https proxy"
        raise ConfigError(problem, file=file, context=context)


def _is_url(text: object) -> bool:
    """True for an http or https URL of a host."""
    if not isinstance(text, str):
        return False
    try:
        url = urlsplit(text)
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        return False


def _check_types(part: Mapping[str, Any], types: type[Struct], name: str, file: Path, context: str) -> None:
    try:
        msgspec.convert(part, types)
    except msgspec.ValidationError as error:
        raise ConfigError(f"its {name} is not valid: {error}", file=file, context=context) from error


def _check_user(user: Mapping[str, Any], file: Path, context: str) -> None:
    _check_types(user, _UserTypes, "user", file, context)
    if any(user.get(key) for key in ("as", "as-uid", "as-groups", "as-user-extra")):
        # Ignoring it would silently act with more rights than the file asks for.
        problem = "impersonation ('as') is not supported; use credentials of the user itself"
        raise ConfigError(problem, file=file, context=context)
    plugin = user.get("exec")
    if plugin is not None and not plugin.get("command"):
        raise ConfigError("exec of its user names no command", file=file, context=context)


def _with_absolute_paths(part: Mapping[str, Any], file: Path, context: str) -> dict[str, Any]:
    """A copy; relative paths are relative to the file they stand in, an exec command only if it contains a slash."""
    result = deepcopy(dict(part))
    folder = file.absolute().parent
    for key in FILE_FIELDS:
        if not result.get(key) or result.get("token" if key == "tokenFile" else f"{key}-data"):
            continue
        path = folder / result[key]
        if not path.is_file():
            raise ConfigError(f"{key} {path} does not exist", file=file, context=context)
        result[key] = str(path)
    plugin = result.get("exec")
    if plugin and "/" in plugin["command"]:
        result["exec"] = {**plugin, "command": str(folder / plugin["command"])}
    return result
