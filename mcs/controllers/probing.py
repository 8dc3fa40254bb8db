"""Asks members, each by itself, how they are doing. What follows is decided in `mcs.membership.health`."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol
from zlib import crc32

import structlog

from mcs.kube.client import Version
from mcs.kube.errors import ConfigError, Failure, KubeError, why_not_reachable
from mcs.membership.health import Answered, Failed, Judged, NotConfigured, Probe, Thresholds, next_judged
from mcs.model.names import ClusterId
from mcs.runtime.cancellation import raise_if_cancelled

log = structlog.get_logger(__name__)

PERIOD = 10.0
"""Seconds from one probe of a member to the next; KubeFed's default."""

TIMEOUT = 3.0
"""Seconds in which a probe must be answered; KubeFed's default."""


class Probed(Protocol):
    """What probing needs of a client (`mcs.kube.client.Client` is one)."""

    async def is_healthy(self) -> bool: ...

    async def version(self) -> Version: ...


OpenProbed = Callable[[], AbstractAsyncContextManager[Probed]]


class Prober:
    """Probes one member until it is cancelled and calls `on_judged` whenever it is judged by another probe.

    `judged` may be given: what it was judged by before a restart.
    """

    def __init__(
        self,
        cluster: ClusterId,
        open_client: OpenProbed,
        on_judged: Callable[[ClusterId], None],
        judged: Judged | None = None,
        thresholds: Thresholds | None = None,
    ) -> None:
        self.cluster = cluster
        self.judged = judged
        self.is_fresh = False
        """False while nothing has been asked yet, so that `judged` is from before a restart."""
        self._open_client = open_client
        self._on_judged = on_judged
        self._thresholds = thresholds or Thresholds()
        self._is_given_anew = asyncio.Event()

    def reconnect(self) -> None:
        """The member is to be reached in another way: open a new connection, at once."""
        self._is_given_anew.set()

    async def run(self) -> None:
        """Probe every PERIOD; members are not all probed at the same moment."""
        pause = crc32(self.cluster.encode()) % 1000 / 1000
        while True:
            await self._pause(pause)
            self._is_given_anew.clear()
            try:
                async with self._open_client() as client:
                    while not self._is_given_anew.is_set():
                        self._take(await probe(client))
                        await self._pause(PERIOD)
            except ConfigError as error:
                self._take(NotConfigured(str(error)))
            except KubeError as error:
                self._take(Failed(why_not_reachable(error)))
            except Exception as error:
                log.exception("unexpected failure of a probe", cluster=self.cluster)
                self._take(Failed(f"{Failure.OTHER}: {type(error).__name__}"))
            raise_if_cancelled()
            pause = PERIOD if not self._is_given_anew.is_set() else 0.0

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_given_anew.wait()

    def _take(self, probe: Probe) -> None:
        before, self.judged = self.judged, next_judged(self.judged, probe, self._thresholds)
        if not self.is_fresh or before is None or before.probe != self.judged.probe:
            self.is_fresh = True
            self._on_judged(self.cluster)


async def probe(client: Probed) -> Probe:
    """One probe, answered within TIMEOUT or failed."""
    try:
        async with asyncio.timeout(TIMEOUT):
            is_ok = await client.is_healthy()
            return Answered(is_ok, (await client.version()).git_version)
    except TimeoutError:
        return Failed(f"{Failure.TIMEOUT}: no answer within {TIMEOUT:g} s")
    except ConfigError as error:
        return NotConfigured(str(error))
    except KubeError as error:
        return Failed(why_not_reachable(error))
