"""Where the credentials of one connection come from, and how long they hold.

A source is a coroutine function: it puts host, CA, client certificate and Authorization into a `Configuration` of
kubernetes_asyncio and returns after how many seconds it wants to be asked again. When to ask, and that concurrent
requests share one run, is the connection's business.

Exec plugins are run here rather than by kubernetes_asyncio, which has no timeout, leaves the process behind when
the request is cancelled, inherits our stdin and can block on a full stderr.
"""

import asyncio
import base64
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from mcs.kube.errors import ConfigError, Unauthorized
from mcs.kube.kubeconfig import ChosenContext
from mcs.kube.secrecy import redacted
from mcs.model.meta import parse_timestamp

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

Source = Callable[["Configuration"], Awaitable[float]]

REREAD_AFTER = 60.0
"""Seconds after which token and certificate files are read again; client-go's period for token files."""

PLUGIN_TIMEOUT = 60.0

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


async def from_kubeconfig(chosen: ChosenContext) -> Source:
    """Source for a user of a kubeconfig: token, token file, client certificate, OIDC, basic auth, or exec."""
    from kubernetes_asyncio.config.kube_config import KubeConfigLoader

    # The plugin is ours to run; without a user the library trips over None.
    user = {key: value for key, value in chosen.user.items() if key != "exec"}
    document = {
        "clusters": [{"name": "cluster", "cluster": chosen.cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "context", "context": {"cluster": "cluster", "user": "user"}}],
        "current-context": "context",
    }
    loader = KubeConfigLoader(document, config_base_path=None)

    async def load(configuration: "Configuration") -> float:
        try:
            await loader.load_and_set(configuration)
        except Exception as error:  # the library raises nearly anything for bad files and failed refreshes
            problem = redacted(f"{type(error).__name__}: {error}")
            raise Unauthorized(401, "CredentialsUnavailable", problem) from None
        return REREAD_AFTER

    return load


def from_service_account(folder: Path, environ: Mapping[str, str]) -> Source:
    """Source for a pod: the ServiceAccount's token, which the kubelet rotates, and the cluster's CA."""

    async def load(configuration: "Configuration") -> float:
        from kubernetes_asyncio.config import load_incluster_config
        from kubernetes_asyncio.config.config_exception import ConfigException

        try:
            load_incluster_config(  # type: ignore[no-untyped-call]
                configuration,
                try_refresh_token=False,
                token_filename=str(folder / "token"),
                cert_filename=str(folder / "ca.crt"),
                environ=environ,
            )
        except (ConfigException, OSError) as error:
            raise Unauthorized(401, "CredentialsUnavailable", f"{folder}: {error}") from error
        return REREAD_AFTER

    return load


class ExecStatus(Struct, rename="camel", frozen=True):
    """ExecCredential.status (client.authentication.k8s.io/v1)."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str = ""


class _ExecCredential(Struct, rename="camel"):
    api_version: str
    kind: str
    status: ExecStatus


def check_plugin(chosen: ChosenContext) -> None:
    """Raises ConfigError when the program of an exec plugin cannot be found, or must talk to a person."""
    command = str(chosen.user["exec"]["command"])
    if chosen.user["exec"].get("interactiveMode") == "Always":
        problem = f"its user needs the program {command!r} to ask a person; use credentials that need nobody"
        raise ConfigError(problem, file=chosen.file, context=chosen.name)
    if shutil.which(command) is None:
        hint = chosen.user["exec"].get("installHint", "") or "install it or correct the path"
        problem = f"its user needs the program {command!r}, which cannot be run: {str(hint).strip()}"
        raise ConfigError(problem, file=chosen.file, context=chosen.name)


def from_plugin(chosen: ChosenContext, base: Source, folder: Path) -> Source:
    """Source that runs the exec plugin of a user after `base` has set everything else.

    Certificates it returns are written to `folder`; a file that is written again is a new certificate.
    """
    plugin = chosen.user["exec"]

    async def load(configuration: "Configuration") -> float:
        await base(configuration)
        status = await run_plugin(plugin, chosen.cluster)
        if status.token:
            configuration.api_key["BearerToken"] = f"Bearer {status.token.strip()}"
        if status.client_certificate_data:
            if not status.client_key_data:
                raise _plugin_failed(plugin, "it returned a client certificate without its key")
            configuration.cert_file = written(folder / "exec.crt", status.client_certificate_data)
            configuration.key_file = written(folder / "exec.key", status.client_key_data)
        if not (status.token or status.client_certificate_data):
            raise _plugin_failed(plugin, "it returned neither a token nor a client certificate")
        return renew_in(status.expiration_timestamp, datetime.now(UTC))

    return load


def renew_in(expiration_timestamp: str, now: datetime) -> float:
    """Seconds until credentials that expire then are renewed: when a fifth of their life is left.

    Without an expiration they hold until the server refuses them (KEP-541).
    """
    expires = parse_timestamp(expiration_timestamp)
    return max(1.0, 0.8 * (expires - now).total_seconds()) if expires else inf


async def run_plugin(plugin: dict[str, Any], cluster: dict[str, Any]) -> ExecStatus:
    """What the exec plugin answers. Raises Unauthorized when it fails, hangs or answers something else."""
    api_version = str(plugin.get("apiVersion") or "client.authentication.k8s.io/v1")
    info: dict[str, Any] = {
        "apiVersion": api_version,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    if plugin.get("provideClusterInfo"):
        info["spec"]["cluster"] = _cluster_info(cluster)
    extra = {str(item["name"]): str(item["value"]) for item in plugin.get("env") or ()}
    environment = {**os.environ, **extra, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
    try:
        process = await asyncio.create_subprocess_exec(
            plugin["command"],
            *map(str, plugin.get("args") or ()),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise _plugin_failed(plugin, str(error)) from error
    try:
        async with asyncio.timeout(PLUGIN_TIMEOUT):
            stdout, stderr = await process.communicate()
    except TimeoutError as error:
        raise _plugin_failed(plugin, f"it did not finish within {PLUGIN_TIMEOUT:g} s") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()
    if process.returncode:
        said = redacted(stderr.decode(errors="replace").strip())[-300:]
        raise _plugin_failed(plugin, f"it ended with code {process.returncode}: {said}")
    try:
        answer = msgspec.json.decode(stdout, type=_ExecCredential)
    except msgspec.MsgspecError as error:
        raise _plugin_failed(plugin, f"its answer is no ExecCredential: {error}") from error
    if answer.api_version != api_version:
        raise _plugin_failed(plugin, f"it answered {answer.api_version}, asked was {api_version}")
    return answer.status


def _cluster_info(cluster: dict[str, Any]) -> dict[str, Any]:
    ca = cluster.get("certificate-authority")
    extensions = {item["name"]: item["extension"] for item in cluster.get("extensions") or ()}
    info = {
        "server": cluster["server"],
        "tls-server-name": cluster.get("tls-server-name"),
        "insecure-skip-tls-verify": cluster.get("insecure-skip-tls-verify"),
        "certificate-authority-data": base64.b64encode(Path(ca).read_bytes()).decode() if ca else None,
        "proxy-url": cluster.get("proxy-url"),
        "config": extensions.get("client.authentication.k8s.io/exec"),
    }
    return {key: value for key, value in info.items() if value is not None}


def _plugin_failed(plugin: dict[str, Any], problem: str) -> Unauthorized:
    return Unauthorized(401, "CredentialsUnavailable", f"credential plugin {plugin['command']!r}: {problem}")


def written(path: Path, content: str) -> str:
    """The path of a file that only we can read and that holds `content`; left alone if it does already."""
    if not path.exists() or path.read_text() != content:
        path.touch(mode=0o600)
        path.write_text(content)
    return str(path)
