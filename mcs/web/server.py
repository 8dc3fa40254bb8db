"""HTTP for operators: `/metrics`, `/healthz` and `/readyz`. What ready means is told by the serving process."""

from collections.abc import Callable
from types import TracebackType

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

log = structlog.get_logger(__name__)
Readiness = Callable[[], list[str]]
"""What is still missing, one line each; an empty list means ready."""
Notes = Callable[[], list[str]]
"""What else to know of a process, ready or not, one line each."""


class WebServer:
    """Serves on `host` and `port` (0 lets the system choose); `url` holds once it is entered.

    Answers come from memory, so that no cluster can delay them. Entering raises OSError when the address is not free.
    """

    def __init__(
        self, host: str, port: int, registry: CollectorRegistry, missing: Readiness, notes: Notes = list
    ) -> None:
        self._host = host
        self._port = port
        self._registry = registry
        self._missing = missing
        self._notes = notes
        application = web.Application()
        application.router.add_get("/metrics", self._metrics)
        application.router.add_get("/healthz", self._healthz)
        application.router.add_get("/readyz", self._readyz)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)

    @property
    def url(self) -> str:
        """Root URL, with the port that is really listened on."""
        host, port = self._runner.addresses[0][:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def __aenter__(self) -> "WebServer":
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except BaseException:
            await self._runner.cleanup()
            raise
        log.info("serving metrics and probes", url=self.url)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    async def _healthz(self, _: web.Request) -> web.Response:
        # A loop that hangs gives no answer, which is what a liveness probe takes for "no".
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        missing = self._missing()
        lines = (*(missing or ("ok",)), *self._notes())
        return web.Response(status=503 if missing else 200, text="".join(f"{line}\n" for line in lines))
