"""Probes of one member: in time, over one connection, with a new one as soon as it is reached in another way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from mcs.controllers.probing import Prober
from mcs.kube.client import Version
from mcs.kube.errors import ConfigError, Failure, ServerError, Unreachable
from mcs.membership.health import Answered, Failed, Judged, NotConfigured, Probe
from mcs.model.names import ClusterId
from mcs.testing.virtual_time import run_virtual

EAST = ClusterId("east")


class Server:
    """Answers as it is told, after `delay` seconds."""

    def __init__(self) -> None:
        self.answer: bool | Exception = True
        self.delay = 0.0
        self.failure_to_connect: Exception | None = None
        self.opened = 0
        self.open = 0

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Server]:
        if self.failure_to_connect is not None:
            raise self.failure_to_connect
        self.opened += 1
        self.open += 1
        try:
            yield self
        finally:
            self.open -= 1

    async def is_healthy(self) -> bool:
        await asyncio.sleep(self.delay)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def version(self) -> Version:
        return Version(git_version="v1.34.0")


class Story:
    """A prober at work, and when it told that a member is judged anew."""

    def __init__(self, server: Server, judged: Judged | None = None) -> None:
        self.server = server
        self.told: list[Probe] = []
        self.prober = Prober(EAST, server.connect, self._tell, judged)

    def _tell(self, cluster: ClusterId) -> None:
        assert self.prober.judged is not None
        self.told.append(self.prober.judged.probe)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Story]:
        task = asyncio.create_task(self.prober.run(), name="east/probe")
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])
        assert self.server.open == 0


OK = Answered(True, "v1.34.0")


@pytest.mark.parametrize(
    ("answer", "delay", "probe"),
    [
        (True, 0.0, OK),
        (True, 2.9, OK),
        (True, 3.1, Failed("timeout: no answer within 3 s")),
        (False, 0.0, Answered(False, "v1.34.0")),
        (
            ServerError(503),
            0.0,
            Failed("5xx: it answers 503; check its API server, or what stands before it"),
        ),
        (Unreachable("east: no", Failure.TLS, "it has expired"), 0.0, Failed("TLS: it has expired")),
        (ConfigError("no token"), 0.0, NotConfigured("no token")),
    ],
)
def test_what_a_probe_finds(answer: bool | Exception, delay: float, probe: Probe) -> None:
    async def run() -> None:
        server = Server()
        server.answer, server.delay = answer, delay
        async with Story(server).running() as story:
            await asyncio.sleep(5)
            assert story.told == [probe]

    run_virtual(run())


def test_it_is_told_when_three_probes_in_a_row_fail_and_once_only() -> None:
    async def run() -> None:
        server = Server()
        async with Story(server).running() as story:
            await asyncio.sleep(100)
            server.answer = ServerError(500)
            await asyncio.sleep(15)
            server.answer = True
            await asyncio.sleep(100)
            assert (story.told, server.opened) == ([OK], 1)
            server.answer = ServerError(500)
            await asyncio.sleep(300)
            assert [type(each) for each in story.told] == [Answered, Failed]

    run_virtual(run())


def test_what_was_judged_before_a_restart_stands_until_it_is_contradicted() -> None:
    async def run() -> None:
        server = Server()
        server.answer = ServerError(500)
        async with Story(server, Judged(OK)).running() as story:
            await asyncio.sleep(15)
            assert story.told == [OK]
            await asyncio.sleep(15)
            assert [type(each) for each in story.told] == [Answered, Failed]

    run_virtual(run())


def test_another_way_to_reach_a_member_is_tried_at_once() -> None:
    async def run() -> None:
        server = Server()
        server.failure_to_connect = ConfigError("its CA is none")
        async with Story(server).running() as story:
            await asyncio.sleep(2)
            assert story.told == [NotConfigured("its CA is none")]
            server.failure_to_connect = None
            story.prober.reconnect()
            await asyncio.sleep(0.1)
            assert (story.told[1:], server.opened) == ([OK], 1)
            for _ in range(100):
                story.prober.reconnect()
                await asyncio.sleep(0.1)
            assert server.open == 1

    run_virtual(run())


def test_a_bug_of_ours_ends_no_prober() -> None:
    async def run() -> None:
        server = Server()
        server.answer = RuntimeError("a bug")
        async with Story(server).running() as story:
            await asyncio.sleep(60)
            server.answer = True
            await asyncio.sleep(60)
            assert story.told == [Failed("other: RuntimeError"), OK]

    with capture_logs():
        run_virtual(run())
