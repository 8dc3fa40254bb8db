"""What Prometheus finds: names, types and labels are held by a golden file, and every number moves when it should."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from mcs import __version__
from mcs.model.names import CHANGE_TIME_ANNOTATION
from mcs.sandbox.resources import SERVICES
from mcs.testing.virtual_time import run_virtual
from tests.e2e.scraping import Scrape, scraped
from tests.scenarios.objects import expanded
from tests.scenarios.world import World, running_world, virtual_now

GOLDEN = Path(__file__).parent / "metrics.golden.txt"
CLUSTERS = ("east", "west")
ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f]*:")


async def _apply(world: World, cluster: str, *shorts: dict[str, Any]) -> None:
    for short in shorts:
        await world.apis[cluster].apply(*expanded(short))


def _slice(*addresses: str, changed: datetime | None = None, name: str = "web") -> dict[str, Any]:
    annotations = {CHANGE_TIME_ANNOTATION: changed.isoformat()} if changed else {}
    return {
        "EndpointSlice": f"shop/{name}-1",
        "service": name,
        "ports": ["http 8080"],
        "ready": list(addresses),
        "metadata": {"annotations": annotations},
    }


async def _export(world: World, cluster: str, *ports: str) -> None:
    await _apply(
        world,
        cluster,
        {"Namespace": "shop"},
        {"Service": "shop/web", "ports": list(ports), "headless": True},
        {"ServiceExport": "shop/web"},
    )


async def _until_idle(world: World) -> None:
    await asyncio.sleep(5)
    assert world.controller is not None
    assert world.controller.fleet.is_idle


async def _controller(world: World) -> Scrape:
    assert world.controller is not None
    return await scraped(world.controller)


async def _dns(world: World, cluster: str) -> Scrape:
    return await scraped(world.dns[cluster])


async def _busy_world(folder: Path) -> dict[str, list[Scrape]]:
    """What the controller and west's DNS server tell before and after a little of everything happened."""
    async with running_world(CLUSTERS, folder) as world:
        for cluster in CLUSTERS:
            await _apply(world, cluster, {"Namespace": "shop"})
            await _apply(world, cluster, {"Node": "n1", "spec": {"podCIDR": "10.244.0.0/24"}})
        await world.start_controller(CLUSTERS)
        await _until_idle(world)
        before = await _controller(world), await _dns(world, "west")
        await _export(world, "east", "http 80")
        await _until_idle(world)
        await _export(world, "west", "http 80", "admin 90")
        await _apply(world, "east", _slice("10.1.0.1", changed=virtual_now()))
        await _apply(world, "east", {"ServiceExport": "shop/absent"})
        await _until_idle(world)
        await world.ask("west", "web.shop.svc", "A")
        await world.ask("west", "nobody.shop.svc", "A")
        after = await _controller(world), await _dns(world, "west")
        return {"controller": [before[0], after[0]], "dns": [before[1], after[1]]}


def test_names_types_and_labels_are_those_of_the_golden_file(tmp_path: Path) -> None:
    scrapes = run_virtual(_busy_world(tmp_path))

    found = [f"{process} {line}" for process, (_, after) in scrapes.items() for line in after.inventory()]
    assert found == GOLDEN.read_text().splitlines()
    for _, after in scrapes.values():
        _check_conventions(after)
    _check_that_numbers_moved(*scrapes["controller"])
    _check_that_dns_numbers_moved(*scrapes["dns"])


def _check_conventions(scrape: Scrape) -> None:
    assert scrape.value("mcs_build_info", version=__version__) == 1
    assert scrape.value("process_resident_memory_bytes") > 0
    assert scrape.value("process_cpu_seconds_total") > 0
    for family in scrape.families.values():
        assert family.documentation, family.name
        assert family.type in ("counter", "gauge", "histogram"), family.name
        # A timestamp of its creation beside every counter would double the series for nothing.
        assert not family.name.endswith("_created")
        for sample in family.samples:
            for label, value in sample.labels.items():
                assert not ADDRESS.search(value), (family.name, label, value)
                assert "web" not in value, (family.name, label, value)


def _check_that_numbers_moved(before: Scrape, after: Scrape) -> None:
    for cluster in CLUSTERS:
        assert after.value("mcs_cluster_state", cluster=cluster, state="reachable") == 1
        assert after.value("mcs_cluster_state", cluster=cluster) == 1
        assert after.value("mcs_cached_objects", cluster=cluster, resource="serviceimports") == 1
        assert before.value("mcs_cached_objects", cluster=cluster, resource="serviceimports") == 0
        assert after.value("mcs_work_queue_depth", cluster=cluster) == 0
        assert after.value("mcs_watch_state", cluster=cluster, state="watching") == 6
        assert after.value("mcs_watch_lists_total", cluster=cluster) == 6
        silence = after.value("mcs_watch_silence_seconds", cluster=cluster, resource="serviceexports")
        assert 0 < silence <= 5.5
    moved = {
        "mcs_watch_events_total": {"cluster": "east", "resource": "serviceexports"},
        "mcs_work_total": {"cluster": "east", "result": "succeeded"},
        "mcs_api_requests_total": {"cluster": "west", "verb": "apply", "resource": "serviceimports"},
        "mcs_api_request_duration_seconds_count": {"cluster": "west", "verb": "apply"},
    }
    for name, labels in moved.items():
        assert after.value(name, **labels) > before.value(name, **labels), name
    assert before.value("mcs_api_requests_total", verb="apply") == 0
    assert after.value("mcs_api_requests_total", verb="watch", code="200") >= 10
    assert after.value("mcs_cluster_pod_range_overlaps", cluster="east") == 1
    conditions = "mcs_service_export_conditions"
    assert after.value(conditions, cluster="east", condition="Valid", status="True") == 1
    assert after.value(conditions, cluster="east", condition="Valid", status="False") == 1
    assert after.value(conditions, cluster="east", condition="Valid") == 2
    assert after.value(conditions, cluster="west", condition="Conflict", status="True") == 1


def _check_that_dns_numbers_moved(before: Scrape, after: Scrape) -> None:
    queries = "mcs_dns_queries_total"
    assert before.value(queries) == 0
    assert after.value(queries, type="A", rcode="NOERROR", transport="udp") == 1
    assert after.value(queries, type="A", rcode="NXDOMAIN", transport="udp") == 1
    assert after.value(queries) == 2
    assert after.value("mcs_dns_zone_synced") == 1
    assert (before.value("mcs_dns_zone_services"), after.value("mcs_dns_zone_services")) == (0, 1)


async def _measured(folder: Path) -> list[tuple[float, float]]:
    """(count, sum) of "mirrored" and "answerable" in west, after each of four changes."""
    async with running_world(CLUSTERS, folder) as world:
        found = []

        async def note(change: datetime, *addresses: str) -> None:
            await _apply(world, "east", _slice(*addresses, changed=change))
            if world.controller is not None:
                await _until_idle(world)

        async def count() -> None:
            for scrape, stage in (
                (await _controller(world), "mirrored"),
                (await _dns(world, "west"), "answerable"),
            ):
                labels = {"cluster": "west", "stage": stage}
                number = scrape.value("mcs_propagation_seconds_count", **labels)
                found.append((number, round(scrape.value("mcs_propagation_seconds_sum", **labels), 1)))

        await world.start_controller(CLUSTERS)
        await asyncio.sleep(100)
        old = virtual_now() - timedelta(seconds=50)
        await asyncio.sleep(100)
        await _apply(world, "west", {"Namespace": "shop"})
        await _export(world, "east", "http 80")
        await note(old, "10.1.0.1")
        await count()

        await asyncio.sleep(100)
        await note(virtual_now() - timedelta(seconds=7), "10.1.0.2")
        await count()

        await world.stop_controller()
        await note(virtual_now(), "10.1.0.3")
        await asyncio.sleep(10)
        await world.start_controller(CLUSTERS)
        await _until_idle(world)
        assert await world.ask("west", "web.shop.svc", "A") == ["10.1.0.3"]
        await count()

        await note(virtual_now() - timedelta(seconds=2), "10.1.0.4")
        await count()
        return found


def test_propagation_is_measured_from_the_change_to_each_stage(tmp_path: Path) -> None:
    exported_later, seven_seconds_old, while_away, after_restart = zip(
        *[iter(run_virtual(_measured(tmp_path)))] * 2, strict=True
    )

    assert exported_later == ((1, 0.0), (1, 0.0)), "an older change counts from the export"
    assert seven_seconds_old == ((2, 7.0), (2, 7.0))
    # The new controller counts from zero; the DNS server saw the change arrive late, and says so.
    assert while_away == ((0, 0), (3, 17.0)), "the change is older than the controller"
    assert after_restart == ((1, 2.0), (4, 19.0))


async def _malformed_and_cut(folder: Path) -> Scrape:
    """The controller's numbers after east sent an object that cannot be decoded, and west went away."""
    async with running_world(CLUSTERS, folder) as world:
        await world.start_controller(CLUSTERS)
        await _apply(world, "east", {"Namespace": "shop"}, {"Service": "shop/web", "ports": ["http 80"]})
        await _until_idle(world)
        # No API server would take this: it is put behind the back of the sandbox's validation.
        store = world.servers["east"].api.store
        stored = store.get(SERVICES, "shop", "web")
        assert stored is not None
        store.put(SERVICES, stored | {"spec": {"ports": "no list"}})
        await world.servers["west"].stop()
        await asyncio.sleep(60)
        return await _controller(world)


def test_scraping_works_while_a_member_is_unreachable(tmp_path: Path) -> None:
    scrape = run_virtual(_malformed_and_cut(tmp_path))

    assert scrape.value("mcs_cluster_state", cluster="west", state="unreachable") == 1
    assert scrape.value("mcs_cluster_state", cluster="east", state="reachable") == 1
    assert scrape.value("mcs_watch_state", cluster="west", state="waiting") >= 1
    assert scrape.value("mcs_api_requests_total", cluster="west", code="0") > 0
    assert scrape.value("mcs_watch_silence_seconds", cluster="west", resource="services") > 50
    assert scrape.value("mcs_malformed_objects_total", cluster="east", resource="services") == 1
    assert scrape.value("mcs_malformed_objects_total") == 1
