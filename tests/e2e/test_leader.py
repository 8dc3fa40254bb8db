"""Several controllers over sandbox API servers, of which one writes: the others are warm, and take over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from mcs.controllers.processes import ControllerProcess, DnsOptions, client_opener
from mcs.model.names import FIELD_MANAGER, ClusterId
from mcs.model.resources import ENDPOINT_SLICES
from mcs.runtime.leader import LeaderElector, LeasePlace
from mcs.sandbox import resources as sandbox
from mcs.sandbox.api import WriteOptions
from mcs.testing.virtual_time import run_virtual
from mcs.web.requests import RequestCounts
from tests.e2e.scraping import fetched, scraped
from tests.scenarios.objects import expanded
from tests.scenarios.world import LOOPBACK, World, running_world, virtual_now

CLUSTERS = ("east", "west")
MIRRORS = "multicluster.kubernetes.io/source-cluster"
PLACE = LeasePlace("mcs-system", "mcs-controller")


@asynccontextmanager
async def replica(name: str, folder: Path, dns: bool = False) -> AsyncIterator[ControllerProcess]:
    """A controller for both clusters whose Lease is in east; left, it ends as after SIGTERM."""

    def opener(cluster: str, leader: LeaderElector | None) -> Any:
        permit = None if leader is None else leader.permit
        return client_opener(cluster, [folder / "kubeconfig"], cluster, RequestCounts(), permit)

    leader = LeaderElector(opener("east", None), PLACE, name, virtual_now)
    openers = {ClusterId(cluster): opener(cluster, leader) for cluster in CLUSTERS}
    process = ControllerProcess(openers, clock=virtual_now, leader=leader)
    process.serve_metrics(LOOPBACK)
    if dns:
        process.serve_dns(process.fleet.members[ClusterId("west")], DnsOptions(listen=LOOPBACK))
    task = asyncio.create_task(process.run(), name=name)
    await process.started.wait()
    try:
        yield process
    finally:
        task.cancel()
        await asyncio.wait([task])


@asynccontextmanager
async def exporting_world(folder: Path) -> AsyncIterator[World]:
    """East exports a Service with one endpoint; nothing works on it yet."""
    async with running_world(CLUSTERS, folder) as world:
        for cluster in CLUSTERS:
            for namespace in ("shop", PLACE.namespace):
                await world.apis[cluster].apply(*expanded({"Namespace": namespace}))
        await world.apis["east"].apply(
            *expanded({"Service": "shop/web", "ports": ["http 80"], "headless": True})
        )
        await endpoint(world, "10.1.0.1")
        await world.apis["east"].apply(*expanded({"ServiceExport": "shop/web"}))
        yield world


async def endpoint(world: World, *addresses: str) -> None:
    ready = {"EndpointSlice": "shop/web-1", "service": "web", "ports": ["http 80"], "ready": list(addresses)}
    await world.apis["east"].apply(*expanded(ready))


async def answers(world: World) -> list[str] | str:
    return await world.ask("west", "web.shop.svc", "A")


async def leader_metric(process: ControllerProcess) -> float:
    return (await scraped(process)).value("mcs_leader")


def test_one_writes_the_other_is_ready_and_takes_over_at_once_when_it_ends(tmp_path: Path) -> None:
    async def story() -> None:
        async with exporting_world(tmp_path) as world, AsyncExitStack() as second:
            async with replica("a", tmp_path) as a:
                await asyncio.sleep(5)
                b = await second.enter_async_context(replica("b", tmp_path))
                await asyncio.sleep(30)
                assert await answers(world) == ["10.1.0.1"]
                assert [await leader_metric(each) for each in (a, b)] == [1, 0]
                assert await fetched(a, "/readyz") == (200, "ok\nleader: this process\n")
                assert await fetched(b, "/readyz") == (200, "ok\nleader: a; this process stands by\n")
                assert (await scraped(b)).value("mcs_cached_objects", resource="serviceexports") == 1
                assert (await scraped(b)).value("mcs_api_requests_total", verb="apply") == 0
                lists = (await scraped(b)).value("mcs_watch_lists_total")
            await endpoint(world, "10.1.0.1", "10.1.0.2")
            await asyncio.sleep(3)
            assert await answers(world) == ["10.1.0.1", "10.1.0.2"]
            assert await leader_metric(b) == 1
            assert (await scraped(b)).value("mcs_watch_lists_total") == lists > 0, "it was warm"
            lease = world.servers["east"].api.get(sandbox.LEASES, PLACE.namespace, PLACE.name)
            assert lease["spec"]["holderIdentity"] == "b"
            assert lease["spec"]["leaseTransitions"] == 1

    run_virtual(story())


def test_a_controller_that_takes_over_has_nothing_to_write_when_nothing_changed(tmp_path: Path) -> None:
    async def story() -> None:
        async with exporting_world(tmp_path) as world, AsyncExitStack() as second:
            async with replica("a", tmp_path):
                await asyncio.sleep(5)
                await second.enter_async_context(replica("b", tmp_path))
                await asyncio.sleep(30)
            written = world.writes()
            await asyncio.sleep(60)
            assert world.writes() == written

    run_virtual(story())


def test_what_a_former_leader_writes_too_late_is_repaired_by_the_present_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with exporting_world(tmp_path) as world, replica("b", tmp_path):
            await asyncio.sleep(10)
            (mirror,) = await world.apis["west"].list(ENDPOINT_SLICES, MIRRORS)
            await endpoint(world, "10.1.0.2")
            await asyncio.sleep(10)
            assert await answers(world) == ["10.1.0.2"]
            stale = {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {key: mirror["metadata"][key] for key in ("name", "namespace", "labels")},
                **{key: mirror[key] for key in ("addressType", "endpoints", "ports")},
            }
            # What the old leader had planned arrives now, under the name that all leaders write with.
            options = WriteOptions(manager=FIELD_MANAGER, force=True)
            west, before = world.servers["west"], world.writes()["west"]
            west.api.apply(sandbox.ENDPOINT_SLICES, stale, options=options)
            await asyncio.sleep(1)
            assert world.writes()["west"] == before + 1
            (mirror,) = await world.apis["west"].list(ENDPOINT_SLICES, MIRRORS)
            assert [each["addresses"] for each in mirror["endpoints"]] == [["10.1.0.2"]]

    run_virtual(story())


def test_dns_goes_on_while_the_host_cluster_is_away_and_the_controller_says_what_is_wrong(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with exporting_world(tmp_path) as world, replica("a", tmp_path, dns=True) as a:
            await asyncio.sleep(10)
            await world.servers["east"].stop()
            await asyncio.sleep(60)
            ready = await fetched(a, "/readyz")
            assert ready.status == 200, "what was seen once can still be served"
            ok, leader, lease = ready.text.splitlines()
            assert (ok, leader) == ("ok", "leader: a; this process stands by")
            assert lease.startswith("lease: east: network: ")
            assert await leader_metric(a) == 0
            await world.servers["east"].start()
            await asyncio.sleep(60)
            assert await leader_metric(a) == 1

    run_virtual(story())


def test_a_controller_that_cannot_use_its_lease_is_not_ready(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_world(CLUSTERS, tmp_path), replica("a", tmp_path) as a:
            await asyncio.sleep(10)
            ready = await fetched(a, "/readyz")
            assert ready.status == 503
            missing, _, lease = ready.text.splitlines()
            assert missing == "lease: it is not known who leads"
            assert "create the namespace mcs-system, or name another with --lease-namespace" in lease

    run_virtual(story())
