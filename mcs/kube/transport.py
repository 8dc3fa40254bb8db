"""The connections to one API server under one TLS configuration, and network failures as types."""

import ssl
from typing import TYPE_CHECKING

import aiohttp

from mcs.kube.errors import Unreachable, WatchSilent

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


class Transport:
    """A session that is closed by the last of its users once it is retired.

    Made anew when a certificate changed: requests under way end on the old one, watches with their next round.
    """

    def __init__(self, configuration: "Configuration") -> None:
        from kubernetes_asyncio.client import ApiClient

        library = ApiClient(configuration).rest_client.pool_manager
        connector = library.connector
        # The library's session trusts the environment: for each request it reads ~/.netrc in a thread, and it
        # refuses to send our Authorization to a host that is named there. Only its connector is taken over.
        library.detach()
        self.session = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=2**21
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
    match error:
        case aiohttp.ConnectionTimeoutError():
            return Unreachable(f"{name}: no connection within {timeout.sock_connect:g} s")
        case aiohttp.SocketTimeoutError():
            return WatchSilent(f"{name}: silent for {timeout.sock_read:g} s")
        case TimeoutError():
            return Unreachable(f"{name}: no answer within {timeout.total or 0:g} s")
        case aiohttp.ClientConnectorCertificateError() | ssl.SSLCertVerificationError():
            return Unreachable(f"{name}: TLS: its certificate is not accepted: {error}")
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return Unreachable(f"{name}: TLS: {error}")
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return Unreachable(f"{name}: proxy: {error}")
        case _:
            return Unreachable(f"{name}: network: {error or type(error).__name__}")
