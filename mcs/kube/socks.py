"""Connections through a SOCKS5 proxy, which resolves names itself, with its failures as those of a proxy."""

from typing import Any

from aiohttp_socks import ProxyConnectionError, ProxyConnector, ProxyError, ProxyTimeoutError

from mcs.kube.transport import ProxyFailedError


class SocksConnector(ProxyConnector):
    """A connector that raises ProxyFailedError, which names neither user nor password of the proxy."""

    async def _wrap_create_connection(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return await super()._wrap_create_connection(*args, **kwargs)
        except (ProxyError, ProxyConnectionError, ProxyTimeoutError) as error:
            raise ProxyFailedError(f"cannot connect through the SOCKS proxy: {error}") from error
