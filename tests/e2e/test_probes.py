"""What /healthz and /readyz say while API servers come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from mcs.controllers.processes import ControllerProcess, DnsOptions, DnsProcess, Process, client_opener
from mcs.model.names import ClusterId
from mcs.sandbox.http.server import ApiServer
from mcs.testing.virtual_time import run_virtual
from mcs.web.requests import RequestCounts
from tests.e2e.scraping import Answer, fetched, scraped
from tests.scenarios.world import LOOPBACK, World, running_world, virtual_now

CLUSTERS = ("east", "west")
LONG = 300
"""Seconds after which nothing changes any more by itself."""


@asynccontextmanager
async def _running(process: Process) -> AsyncIterator[Process]:
    process.serve_metrics(LOOPBACK)
    task = asyncio.create_task(process.run(), name="process under test")
    await process.started.wait()
    try:
        yield process
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _controller(folder: Path) -> ControllerProcess:
    openers = {
        ClusterId(name): client_opener(name, [folder / "kubeconfig"], name, RequestCounts())
        for name in CLUSTERS
    }
    return ControllerProcess(openers, clock=virtual_now)


def _dns(folder: Path) -> DnsProcess:
    opener = client_opener("east", [folder / "kubeconfig"], "east", RequestCounts())
    return DnsProcess(ClusterId("east"), opener, DnsOptions(listen=LOOPBACK), clock=virtual_now)


async def _ready(process: Process) -> Answer:
    """What /readyz answers; health and metrics are told whatever the clusters do."""
    assert await fetched(process, "/healthz") == Answer(200, "ok\n")
    await scraped(process)
    return await fetched(process, "/readyz")


async def _stop_all(world: World) -> None:
    for server in world.servers.values():
        await server.stop()


async def _controller_answers(folder: Path) -> dict[str, Answer]:
    async with running_world(CLUSTERS, folder) as world:
        await _stop_all(world)
        answers = {}
        async with _running(_controller(folder)) as process:
            answers["at once"] = await _ready(process)
            await asyncio.sleep(LONG)
            answers["nothing seen"] = await _ready(process)
            await world.servers["west"].start()
            await asyncio.sleep(LONG)
            answers["one seen"] = await _ready(process)
            await world.servers["west"].stop()
            await asyncio.sleep(LONG)
            answers["gone again"] = await _ready(process)
        return answers


def test_the_controller_is_ready_once_it_has_seen_every_member_it_can_reach(tmp_path: Path) -> None:
    answers = run_virtual(_controller_answers(tmp_path))

    assert answers["at once"].status == 503
    assert [line.split(":")[0] for line in answers["at once"].text.splitlines()] == [
        "cluster east",
        "cluster west",
    ]
    assert answers["nothing seen"].status == 503
    first, second = answers["nothing seen"].text.splitlines()
    assert first.startswith("cluster east: unreachable: east: network: ")
    assert second.startswith("cluster west: unreachable: west: network: ")
    assert answers["one seen"] == Answer(200, "ok\n")
    assert answers["gone again"] == Answer(200, "ok\n"), "what was seen once can still be served"


async def _dns_answers(folder: Path) -> dict[str, Answer]:
    async with running_world(CLUSTERS, folder) as world:
        await world.servers["east"].stop()
        answers = {}
        both = _controller(folder)
        both.serve_dns(both.fleet.members[ClusterId("east")], DnsOptions(listen=LOOPBACK))
        async with _running(_dns(folder)) as process, _running(both):
            answers["at once"] = await _ready(process)
            await asyncio.sleep(LONG)
            answers["unreachable"] = await _ready(process)
            answers["in the controller"] = await _ready(both)
            await world.servers["east"].start()
            await asyncio.sleep(LONG)
            answers["synced"] = await _ready(process)
            answers["synced in the controller"] = await _ready(both)
            await world.servers["east"].stop()
            await asyncio.sleep(LONG)
            answers["gone again"] = await _ready(process)
        return answers


def test_dns_is_ready_once_its_zone_is_complete_and_stays_so(tmp_path: Path) -> None:
    answers = run_virtual(_dns_answers(tmp_path))

    assert answers["at once"].status == 503
    assert answers["at once"].text.endswith("dns: its zone is not complete\n")
    for answer in (answers["unreachable"], answers["in the controller"]):
        assert answer.status == 503
        cluster, zone = answer.text.splitlines()
        assert cluster.startswith("cluster east: unreachable: ")
        assert zone == "dns: its zone is not complete"
    assert answers["synced"] == answers["synced in the controller"] == Answer(200, "ok\n")
    assert answers["gone again"] == Answer(200, "ok\n")


async def _without_crds(folder: Path) -> Answer:
    async with ApiServer("east", now=virtual_now) as server:
        (folder / "kubeconfig").write_text(server.kubeconfig())
        async with _running(_dns(folder)) as process:
            await asyncio.sleep(LONG)
            return await _ready(process)


def test_readiness_says_which_crds_a_cluster_lacks(tmp_path: Path) -> None:
    answer = run_virtual(_without_crds(tmp_path))

    assert answer.status == 503
    first, _ = answer.text.splitlines()
    assert first == "cluster east: does not serve serviceimports; apply the files of crds/"
