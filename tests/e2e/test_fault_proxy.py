"""The fault proxy of the chaos run makes the faults that it says, as seen by our own client in front of the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
import trustme
import yaml

from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.errors import Expired, KubeError, ServerError, TooManyRequests, Unreachable
from mcs.model.resources import NAMESPACES
from mcs.sandbox.http.server import ApiServer
from mcs.sandbox.resources import NAMESPACES as SERVED
from tests.lab.control_planes import free_ports
from tests.real.chaos.proxy import FaultProxy
from tests.real.chaos.schedule import Kind


class Behind:
    """A client whose API server stands behind a fault proxy."""

    def __init__(self, client: Client, proxy: FaultProxy, server: ApiServer) -> None:
        self.client = client
        self.proxy = proxy
        self._server = server

    async def list(self) -> str:
        """Read everything; the version of the list."""
        async with aclosing(self.client.list_pages(NAMESPACES)) as pages:
            return [page async for page in pages][-1].resource_version

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[asyncio.Task[None]]:
        """A watch that has begun; its end is that of the task."""
        version = await self.list()
        self._server.api.create(SERVED, {"metadata": {"name": f"after-{version}"}})
        events = self.client.watch(NAMESPACES, version)
        await anext(events)

        async def watch() -> None:
            async with aclosing(events):
                async for _ in events:
                    pass

        task = asyncio.create_task(watch())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def behind(server: ApiServer, tmp_path: Path) -> AsyncIterator[Behind]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "proxy.crt")
    (tmp_path / "server.crt").write_bytes(server.ca_pem)
    (port,) = free_ports(1)
    async with FaultProxy(port, server.url, tmp_path / "server.crt", authority) as proxy:
        config = yaml.safe_load(server.kubeconfig())
        config["clusters"][0]["cluster"] = {"server": proxy.url, "certificate-authority": "proxy.crt"}
        (tmp_path / "config").write_text(yaml.safe_dump(config))
        async with await connect([tmp_path / "config"], None) as connection:
            yield Behind(Client(connection), proxy, server)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Kind.ANSWER_429, TooManyRequests),
        (Kind.ANSWER_500, ServerError),
        (Kind.REFUSE, Unreachable),
    ],
)
async def test_a_fault_of_every_request_lasts_until_it_is_mended(
    kind: Kind, expected: type[KubeError], behind: Behind
) -> None:
    await behind.list()
    async with behind.proxy.suffering(kind):
        with pytest.raises(expected):
            await behind.list()
    assert await behind.list()


@pytest.mark.parametrize("kind", [Kind.ANSWER_410, Kind.WATCHES_GONE])
async def test_a_watch_that_is_too_old_ends_with_410(kind: Kind, behind: Behind) -> None:
    async with behind.watching() as watch:
        async with behind.proxy.suffering(kind):
            await asyncio.wait([watch])
            version = await behind.list()
            if kind is Kind.ANSWER_410:
                with pytest.raises(Expired):
                    await anext(behind.client.watch(NAMESPACES, version))
        assert isinstance(watch.exception(), Expired if kind is Kind.WATCHES_GONE else Unreachable)


@pytest.mark.parametrize("kind", [Kind.CUT_WATCHES, Kind.REFUSE])
async def test_watches_that_are_cut_end_as_by_a_lost_connection(kind: Kind, behind: Behind) -> None:
    async with behind.watching() as watch:
        async with behind.proxy.suffering(kind):
            await asyncio.wait([watch])
        assert isinstance(watch.exception(), Unreachable)


async def test_in_a_black_hole_nothing_ends_and_nothing_comes_before_it_is_mended(behind: Behind) -> None:
    async with behind.watching() as watch:
        async with behind.proxy.suffering(Kind.BLACK_HOLE):
            request = asyncio.create_task(behind.list())
            await asyncio.wait([request, watch], timeout=0.2)
            assert not request.done()
            assert not watch.done()
        assert await request
        assert not watch.done()


async def test_answers_are_late_by_as_much_as_was_asked(behind: Behind) -> None:
    await behind.list()
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with behind.proxy.suffering(Kind.DELAY, 0.2):
        await behind.list()
    assert loop.time() - began >= 0.2


async def test_a_server_that_is_away_is_away_behind_the_proxy_too(behind: Behind, server: ApiServer) -> None:
    async with behind.watching() as watch:
        await server.stop()
        await asyncio.wait([watch])
        with pytest.raises(Unreachable):
            await behind.list()
        await server.start()
        assert await behind.list()


async def test_what_does_not_happen_to_a_connection_is_refused(behind: Behind) -> None:
    with pytest.raises(ValueError, match="clock stepped does not happen to a connection"):
        async with behind.proxy.suffering(Kind.STEP_CLOCK):
            pass
