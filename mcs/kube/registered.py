"""From a registration to a connection: endpoint and checks as they are registered, credentials as they are now.

Credentials are asked for again and again, so that one that rotates is used with the next request, or after the first
that is refused, and neither a cache nor a watch ends for it. Whether a registration is valid is decided in
`mcs.membership.connecting`, as far as that can be told without libraries.
"""

import base64
import ssl
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mcs.kube.config import bare_configuration, check_certificates
from mcs.kube.credentials import Source, check_plugin, from_kubeconfig, from_plugin, written
from mcs.kube.errors import ConfigError, Unauthorized
from mcs.kube.kubeconfig import ChosenContext, sanitised_context, with_data_as_files
from mcs.membership.connecting import Credentials, Endpoint
from mcs.model.registration import ANY_VALIDATION, SUBJECT_NAME, VALIDITY_PERIOD

if TYPE_CHECKING:
    import aiohttp
    from kubernetes_asyncio.client import Configuration

    from mcs.kube.connection import Connection

NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL, which the module ssl does not name."""

CREDENTIALS_HOLD = 10.0
"""Seconds after which the credentials of a registration are looked at again; that costs nothing."""


async def connect_registered(
    name: str,
    endpoint: Endpoint,
    credentials: Callable[[], Credentials],
    allowed_programs: frozenset[str] = frozenset(),
) -> "Connection":
    """A connection to a registered API server; nothing is sent yet. `credentials` gives those of the moment.

    `allowed_programs` are the exec plugins that a kubeconfig among the credentials may run. Raises ConfigError.
    """
    from mcs.kube.connection import Connection

    folder = TemporaryDirectory(prefix="mcs-", ignore_cleanup_errors=True)
    try:
        held = _Held(name, endpoint, Path(folder.name), allowed_programs)
        base = await from_kubeconfig(held.chosen({}))
        await held.prepare(credentials())

        async def load(configuration: "Configuration") -> float:
            await base(configuration)
            return await held.load(configuration, credentials())

        is_socks = endpoint.proxy.startswith("socks5:")
        return Connection(
            name,
            bare_configuration(),
            load,
            proxy=None if is_socks else endpoint.proxy or None,
            folder=folder,
            connector_of=lambda configuration: _connector(configuration, endpoint),
        )
    except BaseException:
        folder.cleanup()
        raise


class _Held:
    """The credentials that are used, made ready when they change."""

    def __init__(self, name: str, endpoint: Endpoint, folder: Path, allowed_programs: frozenset[str]) -> None:
        self._where = f"registration of {name}"
        self._folder = folder
        self._allowed = allowed_programs
        self._credentials: Credentials | None = None
        self._source: Source | None = None
        cluster: dict[str, Any] = {
            "server": endpoint.server,
            "insecure-skip-tls-verify": ANY_VALIDATION in endpoint.disabled_validations,
        }
        if endpoint.server_name:
            cluster["tls-server-name"] = endpoint.server_name
        if endpoint.ca:
            cluster["certificate-authority-data"] = base64.b64encode(endpoint.ca).decode()
        self._cluster = with_data_as_files(cluster, folder, "cluster", self.chosen({}, cluster))
        check_certificates(self.chosen({}))

    def chosen(self, user: dict[str, Any], cluster: dict[str, Any] | None = None) -> ChosenContext:
        """A context with the cluster of the registration and this user."""
        return ChosenContext(self._where, Path("Secret"), cluster or self._cluster, user)

    async def prepare(self, credentials: Credentials) -> None:
        """Take over other credentials. Raises ConfigError for those that cannot be used."""
        if credentials == self._credentials:
            return
        source: Source | None = None
        if credentials.certificate:
            certificate = written(
                self._folder / "client.crt", credentials.certificate.decode("ascii", "replace")
            )
            key = written(self._folder / "client.key", credentials.key.decode("ascii", "replace"))
            user = {"client-certificate": certificate, "client-key": key}
            check_certificates(self.chosen(user))
            source = await from_kubeconfig(self.chosen(user))
        elif credentials.kubeconfig:
            source = await self._from_kubeconfig(credentials.kubeconfig)
        self._credentials, self._source = credentials, source

    async def _from_kubeconfig(self, kubeconfig: bytes) -> Source:
        context = sanitised_context(
            kubeconfig.decode("utf-8", "replace"), "kubeconfig in its Secret", self._allowed
        )
        chosen = context._replace(
            cluster=self._cluster, user=with_data_as_files(context.user, self._folder, "user", context)
        )
        check_certificates(chosen)
        source = await from_kubeconfig(chosen)
        if "exec" in chosen.user:
            check_plugin(chosen)
            source = from_plugin(chosen, source, self._folder)
        return source

    async def load(self, configuration: "Configuration", credentials: Credentials) -> float:
        """Put the credentials of the moment into `configuration`; seconds until they are looked at again."""
        try:
            await self.prepare(credentials)
        except ConfigError as error:
            raise Unauthorized(401, "CredentialsUnavailable", str(error)) from error
        configuration.api_key.pop("BearerToken", None)
        configuration.cert_file = configuration.key_file = None
        if credentials.token:
            configuration.api_key["BearerToken"] = f"Bearer {credentials.token}"
        if self._source is not None:
            return min(
                await self._source(configuration), CREDENTIALS_HOLD if not credentials.kubeconfig else 60.0
            )
        return CREDENTIALS_HOLD


def _connector(configuration: "Configuration", endpoint: Endpoint) -> "aiohttp.BaseConnector":
    """Connections under the TLS checks of an endpoint, through its proxy if that is one of SOCKS."""
    import aiohttp

    tls = _tls(configuration, endpoint)
    limit = configuration.connection_pool_maxsize
    if endpoint.proxy.startswith("socks5:"):
        from mcs.kube.socks import SocksConnector

        tls.checked_name = endpoint.server_name or None
        return SocksConnector.from_url(endpoint.proxy, ssl=tls, limit=limit)
    return aiohttp.TCPConnector(ssl=tls, limit=limit)


class _NamedContext(ssl.SSLContext):
    """Checks certificates for `checked_name`, whatever host is connected to: who connects through SOCKS cannot say."""

    checked_name: str | None = None

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        return super().wrap_bio(
            incoming, outgoing, server_side, self.checked_name or server_hostname, session
        )


def _tls(configuration: "Configuration", endpoint: Endpoint) -> _NamedContext:
    tls = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    if endpoint.ca:
        tls.load_verify_locations(cadata=endpoint.ca.decode("ascii", "replace"))
    else:
        tls.load_default_certs()
    if configuration.cert_file:
        tls.load_cert_chain(configuration.cert_file, configuration.key_file)
    # OpenSSL's strictness (default since Python 3.13) refuses CAs that kubectl and Go accept.
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if VALIDITY_PERIOD in endpoint.disabled_validations:
        tls.verify_flags = ssl.VerifyFlags(int(tls.verify_flags) | NO_CHECK_TIME)
    if endpoint.disabled_validations & {SUBJECT_NAME, ANY_VALIDATION}:
        tls.check_hostname = False
    if ANY_VALIDATION in endpoint.disabled_validations:
        tls.verify_mode = ssl.CERT_NONE
    return tls
