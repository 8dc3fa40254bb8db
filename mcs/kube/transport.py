"""The connections to one API server under one TLS configuration, and network failures as types."""

import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

import aiohttp

from mcs.kube.errors import Failure, Unreachable, WatchSilent

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

CONNECT_TIMEOUT = 5.0
REQUEST_TIMEOUT = 30.0
SILENCE_TIMEOUT = 90.0
"""A watch that asks for bookmarks hears from a living server about once a minute."""

ONE_REQUEST = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT, sock_connect=CONNECT_TIMEOUT)
A_WATCH = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=SILENCE_TIMEOUT)

MAX_CONNECTIONS = 128
"""To one API server: about 64 requests at a time beside the watches, which keep a connection each."""

NETWORK_ERRORS = (aiohttp.ClientError, TimeoutError, OSError)


class ProxyFailedError(aiohttp.ClientConnectionError):
    """A proxy that aiohttp itself does not know could not be connected through."""


def library_connector(configuration: "Configuration") -> aiohttp.BaseConnector:
    """The connector that kubernetes_asyncio makes for a configuration."""
    from kubernetes_asyncio.client import ApiClient

    library = ApiClient(configuration).rest_client.pool_manager
    connector = library.connector
    assert connector is not None
    # The library's session trusts the environment: for each request it reads ~/.netrc in a thread, and it
    # refuses to send our Authorization to a host that is named there. Only its connector is taken over.
    library.detach()
    return connector


ConnectorOf = Callable[["Configuration"], aiohttp.BaseConnector]


class Transport:
    """A session that is closed by the last of its users once it is retired.

    Made anew when a certificate changed: requests under way end on the old one, watches with their next round.
    """

    def __init__(self, configuration: "Configuration", connector_of: ConnectorOf = library_connector) -> None:
        self.session = aiohttp.ClientSession(
            connector=connector_of(configuration), cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=2**21
        )
        self._users = 0
        self._is_retired = False

    def enter(self) -> None:
        """Count a request that uses the session."""
        self._users += 1

    async def leave(self) -> None:
        """Take back `enter`."""
        self._users -= 1
        if self._is_retired and not self._users:
            await self.session.close()

    async def retire(self) -> None:
        """Close the session when nobody uses it any more."""
        self._is_retired = True
        if not self._users:
            await self.session.close()


def unreachable(name: str, error: Exception, timeout: aiohttp.ClientTimeout) -> Unreachable:
    """What `error` of the network means to somebody who knows the cluster as `name`."""
    if isinstance(error, aiohttp.SocketTimeoutError):
        return WatchSilent(f"{name}: silent for {timeout.sock_read:g} s", Failure.TIMEOUT, "it fell silent")
    failure, detail = _told(error, timeout)
    if failure is Failure.TIMEOUT:
        return Unreachable(f"{name}: {detail}", failure, detail)
    kind = failure if failure in (Failure.TLS, Failure.PROXY) else Failure.NETWORK
    return Unreachable(f"{name}: {kind}: {detail}", failure, detail)


def _told(error: Exception, timeout: aiohttp.ClientTimeout) -> tuple[Failure, str]:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return Failure.TIMEOUT, f"no connection within {timeout.sock_connect:g} s"
        case TimeoutError():
            return Failure.TIMEOUT, f"no answer within {timeout.total or 0:g} s"
        case aiohttp.ClientConnectorCertificateError() | ssl.SSLCertVerificationError():
            return Failure.TLS, f"its certificate is not accepted: {error}"
        case aiohttp.ClientOSError(__cause__=ssl.SSLCertVerificationError()):
            return Failure.TLS, f"its certificate is not accepted: {error}"
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return Failure.TLS, str(error)
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError() | ProxyFailedError():
            return Failure.PROXY, str(error)
        case aiohttp.ClientConnectorDNSError():
            return Failure.DNS, str(error)
        case aiohttp.ClientConnectorError(os_error=ConnectionRefusedError()) | ConnectionRefusedError():
            return Failure.REFUSED, str(error)
        case _:
            return Failure.NETWORK, str(error) or type(error).__name__
