"""From what the user configured to a connection: kubeconfig files and contexts, or the pod's ServiceAccount.

kubernetes_asyncio is imported when a connection is made and not before: it costs 0.4 s and 63 MB.
"""

import os
from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcs.kube.credentials import (
    SERVICE_ACCOUNT,
    check_plugin,
    from_kubeconfig,
    from_plugin,
    from_service_account,
)
from mcs.kube.errors import ConfigError
from mcs.kube.kubeconfig import ChosenContext, choose_context, default_files, with_data_as_files

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

    from mcs.kube.connection import Connection


async def connect(
    files: Sequence[Path] | None = None,
    context: str | None = None,
    *,
    name: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> "Connection":
    """A connection to the API server of `context`, by default the current one, in `files`.

    Without files: those of KUBECONFIG, else ~/.kube/config, else the ServiceAccount of the pod we run in. Nothing
    is sent yet, no plugin runs. `name` is used in messages. Raises ConfigError.
    """
    chosen_files = tuple(files) if files else default_files(environ, Path.home(), os.pathsep)
    if chosen_files:
        chosen = choose_context(chosen_files, context)
        return await connect_context(chosen, name=name, environ=environ)
    if context is None and environ.get("KUBERNETES_SERVICE_HOST"):
        return connect_in_cluster(name=name or "in-cluster", environ=environ)
    raise ConfigError(
        "there is no kubeconfig: name one, set KUBECONFIG or create ~/.kube/config", context=context
    )


async def connect_context(
    chosen: ChosenContext, *, name: str | None = None, environ: Mapping[str, str] = os.environ
) -> "Connection":
    """A connection to the API server of one context that was read and checked. Raises ConfigError."""
    from mcs.kube.connection import Connection

    if "exec" in chosen.user:
        check_plugin(chosen)
    try:
        folder = TemporaryDirectory(prefix="mcs-", ignore_cleanup_errors=True)
    except OSError as error:
        problem = f"no folder for its certificates: {error}; set TMPDIR to a writable folder"
        raise ConfigError(problem, file=chosen.file, context=chosen.name) from error
    try:
        private = Path(folder.name)
        chosen = chosen._replace(
            cluster=with_data_as_files(chosen.cluster, private, "cluster", chosen),
            user=with_data_as_files(chosen.user, private, "user", chosen),
        )
        check_certificates(chosen)
        source = await from_kubeconfig(chosen)
        if "exec" in chosen.user:
            source = from_plugin(chosen, source, private)
        proxy = chosen.cluster.get("proxy-url") or environment_proxy(chosen.cluster["server"], environ)
        return Connection(name or chosen.name, bare_configuration(), source, proxy=proxy, folder=folder)
    except BaseException:
        folder.cleanup()
        raise


def connect_in_cluster(
    *, name: str = "in-cluster", folder: Path = SERVICE_ACCOUNT, environ: Mapping[str, str] = os.environ
) -> "Connection":
    """A connection to the API server of the cluster that this pod runs in, as its ServiceAccount.

    Raises ConfigError outside a pod, or in a pod without a ServiceAccount token.
    """
    from mcs.kube.connection import Connection

    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError("this is no pod: KUBERNETES_SERVICE_HOST and _PORT are not set; name a kubeconfig")
    if not (folder / "token").is_file():
        problem = "does not exist; let the pod mount its token (automountServiceAccountToken)"
        raise ConfigError(problem, file=folder / "token")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    proxy = environment_proxy(server, environ)
    return Connection(name, bare_configuration(), from_service_account(folder, environ), proxy=proxy)


def bare_configuration() -> "Configuration":
    """A configuration of the library with what all connections have in common."""
    from kubernetes_asyncio.client import Configuration

    from mcs.kube.transport import MAX_CONNECTIONS

    configuration = Configuration()
    configuration.connection_pool_maxsize = MAX_CONNECTIONS
    # OpenSSL's strictness (default since Python 3.13) refuses CAs that kubectl and Go accept.
    configuration.disable_strict_ssl_verification = True
    return configuration


def environment_proxy(server: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY prescribe for a server, as Go programs read them.

    NO_PROXY entries are host names, domain suffixes, addresses, networks, or "*".
    """
    url = urlsplit(server)
    host = url.hostname or ""

    def setting(key: str) -> str:
        return environ.get(key) or environ.get(key.upper()) or ""

    proxy = setting(f"{url.scheme}_proxy")
    if not proxy or host == "localhost":
        return None
    excluded = [entry.strip().lower() for entry in setting("no_proxy").split(",") if entry.strip()]
    if any(_covers(entry, host, url.port) for entry in excluded):
        return None
    try:
        if ip_address(host).is_loopback:
            return None
    except ValueError:
        pass
    return proxy if "://" in proxy else f"http://{proxy}"


def _covers(entry: str, host: str, port: int | None) -> bool:
    if entry == "*":
        return True
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        name, _, entry_port = entry.partition(":")
        if entry_port and entry_port != str(port):
            return False
        suffix = name.removeprefix("*").removeprefix(".")
        return (host == suffix and not name.startswith((".", "*."))) or host.endswith(f".{suffix}")


def check_certificates(chosen: ChosenContext) -> None:
    """Raises ConfigError for a CA or client certificate that cannot be loaded, before it fails each request."""
    import ssl

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if ca := chosen.cluster.get("certificate-authority"):
            tls.load_verify_locations(ca)
        if certificate := chosen.user.get("client-certificate"):
            tls.load_cert_chain(certificate, chosen.user.get("client-key"))
    except (ssl.SSLError, OSError) as error:
        problem = f"its CA or client certificate cannot be loaded: {error}"
        raise ConfigError(problem, file=chosen.file, context=chosen.name) from error
