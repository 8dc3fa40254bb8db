"""Reading kubeconfig files: which files, how several merge, and one context of them, checked.

Nothing is connected or run here. Every mistake a user can make is a ConfigError that names file and context.
Source: "Organizing Cluster Access Using kubeconfig Files", the first file to set a name or current-context wins.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec
import yaml
from msgspec import Struct, field

from mcs.kube.errors import ConfigError

DATA_FIELDS = ("certificate-authority", "client-certificate", "client-key")
FILE_FIELDS = (*DATA_FIELDS, "tokenFile")


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


def choose_context(files: Sequence[Path], context: str | None) -> ChosenContext:
    """The named context, or the current one, of the merged files. Every file must exist."""
    parsed = [(file, _parse(file)) for file in files]
    contexts = _merged((file, config.contexts) for file, config in parsed)
    wanted = context or next((config.current_context for _, config in parsed if config.current_context), None)
    known = ", ".join(sorted(contexts)) or "none"
    if not wanted:
        raise ConfigError(
            f"no current-context is set; name a context (there are: {known})",
            file=files[0] if files else None,
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
    return ChosenContext(
        wanted,
        file,
        _with_absolute_paths(cluster.cluster, cluster_file, wanted),
        _with_absolute_paths(user, user_file, wanted),
    )


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
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"is not YAML: {' '.join(str(error).split())}", file=file) from error
    if document is None:
        raise ConfigError("is empty; write a kubeconfig into it or leave it out", file=file)
    try:
        return msgspec.convert(document, _Kubeconfig)
    except msgspec.ValidationError as error:
        raise ConfigError(f"is not a kubeconfig: {error}", file=file) from error


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
    proxy = cluster.get("proxy-url")
    if proxy and not _is_url(proxy):
        problem = f"proxy-url {proxy!r} is not supported; use an http or https proxy"
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
    """Relative paths are relative to the file they stand in; an exec command only if it contains a slash."""
    result = dict(part)
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
