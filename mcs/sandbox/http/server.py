"""One sandbox API server on a loopback address: TLS, bearer token, kubeconfig, start and stop.

What it answers is decided in `handlers` and below. It waits on nothing but its sockets and the loop's
clock, so it also runs in a loop with virtual time.
"""

import base64
import random
import secrets
import ssl
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from ipaddress import IPv4Network, IPv6Network
from types import TracebackType
from typing import Self

import trustme
import yaml
from aiohttp import web

from mcs.sandbox.api import Api
from mcs.sandbox.errors import StatusError
from mcs.sandbox.http.handlers import LONGEST_BODY, WRITES, Handlers
from mcs.sandbox.resources import SERVICES
from mcs.sandbox.rules.addresses import Network, ServiceAddresses
from mcs.sandbox.rules.bootstrap import install_first_objects
from mcs.sandbox.rules.crds import CustomResources

HOST = "127.0.0.1"
SERVICE_RANGES: tuple[Network, ...] = (IPv4Network("10.96.0.0/16"), IPv6Network("fd00:10:96::/112"))


class ApiServer:
    """A Kubernetes API server of one cluster, in memory.

    `async with ApiServer("east") as server` serves until the block ends; `start` and `stop` may also be
    called in turns, which keeps objects, port, certificates and token. In-process controllers use `api`
    and its `store`.
    """

    def __init__(
        self,
        name: str = "sandbox",
        *,
        port: int = 0,
        tokens: Mapping[str, str] | None = None,
        service_ranges: Sequence[Network] = SERVICE_RANGES,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        chance: random.Random | None = None,
    ) -> None:
        """`tokens` maps bearer tokens to user names; without it one is made. Port 0 means any free one.

        Cluster IPs come from `service_ranges`, the default family first.
        """
        self.name = name
        self.port = port
        self.tokens = dict(tokens or {secrets.token_urlsafe(24): f"{name}-admin"})
        self.api = Api(now=now, chance=chance)
        CustomResources(self.api).install()
        services = partial(self.api.list, SERVICES)
        self.api.hooks.append(ServiceAddresses(service_ranges, services))
        install_first_objects(self.api)
        self._handlers = Handlers(self.api, self.tokens)
        self._authority = trustme.CA(organization_name="mcs sandbox")
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(HOST, "localhost").configure_cert(self._tls)
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Where it listens; its port is known once it started."""
        return f"https://{HOST}:{self.port}"

    @property
    def token(self) -> str:
        """A bearer token that is accepted."""
        return next(iter(self.tokens))

    @property
    def ca_pem(self) -> bytes:
        """The certificate of the authority that vouches for this server."""
        return self._authority.cert_pem.bytes()

    def client_tls(self) -> ssl.SSLContext:
        """A context for clients that trust this server and nobody else."""
        return ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cadata=self.ca_pem.decode())

    def kubeconfig(self) -> str:
        """A kubeconfig with one context, named like the server."""
        return kubeconfig([self])

    @property
    def requests(self) -> Counter[tuple[str, str]]:
        """How many requests came in since the start, by (verb, resource); subresources as `services/status`.

        Dry runs are left out; writes of in-process controllers are no requests.
        """
        return self._handlers.requests

    def writes(self) -> Counter[tuple[str, str]]:
        """The part of `requests` that may change something."""
        return Counter({key: count for key, count in self.requests.items() if key[0] in WRITES})

    async def start(self) -> None:
        """Listen; returns when connections are accepted."""
        app = web.Application(client_max_size=LONGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._handlers.handle)
        runner = web.AppRunner(
            app, access_log=None, handle_signals=False, shutdown_timeout=0.1, handler_cancellation=True
        )
        await runner.setup()
        site = web.TCPSite(runner, HOST, self.port, ssl_context=self._tls, reuse_address=True)
        try:
            await site.start()
        except BaseException:
            await runner.cleanup()
            raise
        self.port = runner.addresses[0][1]
        self._runner = runner

    async def stop(self) -> None:
        """Close the port and every connection at once; objects stay."""
        runner, self._runner = self._runner, None
        if runner is None:
            return
        for site in tuple(runner.sites):
            await site.stop()
        self._abort_connections(runner)
        await runner.cleanup()

    async def restart(self) -> None:
        """Stop and start on the same port with the same objects, as after a crash."""
        await self.stop()
        await self.start()

    def compact(self) -> None:
        """Forget the history: watches and chunks that begin earlier get 410."""
        self.api.store.compact()

    def drop_watches(self) -> int:
        """Cut every open watch without a farewell; returns how many."""
        watching = tuple(self._handlers.watching)
        for connection in watching:
            connection.abort()
        return len(watching)

    def refuse_watches(self, error: StatusError | None) -> None:
        """Answer every new watch with this error, until None is given."""
        self._handlers.watch_refusal = error

    @property
    def open_watches(self) -> int:
        """How many watches are being served."""
        return len(self._handlers.watching)

    def _abort_connections(self, runner: web.AppRunner) -> None:
        if runner.server is not None:
            for connection in tuple(runner.server.connections):
                if connection.transport is not None:
                    connection.transport.abort()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


def kubeconfig(servers: list[ApiServer]) -> str:
    """One kubeconfig with a context for each server; the first is current."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": servers[0].name,
            "clusters": [
                {
                    "name": server.name,
                    "cluster": {
                        "server": server.url,
                        "certificate-authority-data": base64.b64encode(server.ca_pem).decode(),
                    },
                }
                for server in servers
            ],
            "users": [
                {"name": f"{server.name}-admin", "user": {"token": server.token}} for server in servers
            ],
            "contexts": [
                {"name": server.name, "context": {"cluster": server.name, "user": f"{server.name}-admin"}}
                for server in servers
            ],
        },
        sort_keys=False,
    )
