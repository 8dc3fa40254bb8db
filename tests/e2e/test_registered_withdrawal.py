"""What registrations say of outages: drained members, a grace of their own, and since when they have been Offline."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from mcs.model.resources import ENDPOINT_SLICES, KUBEFED_CLUSTERS, SERVICE_EXPORTS
from mcs.testing.virtual_time import run_virtual
from tests.e2e.registry_world import SHOP, SYSTEM, Registry, joined, running_registry, settled
from tests.e2e.scraping import scraped

SOURCE = "multicluster.kubernetes.io/source-cluster"


async def serving(registry: Registry, cluster: str) -> list[str]:
    """The clusters whose mirrors in a cluster have ready endpoints."""
    return sorted(
        each["metadata"]["labels"][SOURCE]
        for each in await registry.world.apis[cluster].list(ENDPOINT_SLICES)
        if SOURCE in each["metadata"].get("labels", {})
        and any(one["conditions"].get("ready", True) for one in each["endpoints"])
    )


async def annotate(registry: Registry, name: str, annotations: dict[str, str | None]) -> None:
    """Change annotations of a registration, as `kubectl annotate` does."""
    changes: dict[str, Any] = {f"mcs-controller/{key}": value for key, value in annotations.items()}
    await registry.host.merge(KUBEFED_CLUSTERS, SYSTEM, name, {"metadata": {"annotations": changes}})


async def three_exporters(registry: Registry) -> None:
    """a, b and c are members and export web."""
    for number, name in enumerate("abc"):
        await registry.export(name, "web", f"10.{number}.0.1")
    await joined(registry, "a", "b", "c")


def test_a_member_that_is_drained_serves_nobody_until_it_is_not(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b", "c"], tmp_path) as registry, registry.controlled() as process:
            await three_exporters(registry)
            await annotate(registry, "b", {"drained": "true"})
            await settled(5)
            for cluster in "abc":
                assert await serving(registry, cluster) == ["a", "c"]
            scrape = await scraped(process)
            assert scrape.value("mcs_member_withdrawn", cluster="b") == 1
            assert scrape.value("mcs_member_unreachable_seconds", cluster="b", problem="") == 0
            export = await registry.world.apis["b"].get(SERVICE_EXPORTS, SHOP, "web")
            assert export is not None
            ready = next(each for each in export["status"]["conditions"] if each["type"] == "Ready")
            assert (ready["status"], "is drained by an operator" in ready["message"]) == ("True", True)
            await annotate(registry, "b", {"drained": None})
            await settled(5)
            for cluster in "abc":
                assert await serving(registry, cluster) == ["a", "b", "c"]

    run_virtual(run())


def test_a_registration_may_have_a_grace_or_keep_what_is_unreachable(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b", "c", "d"], tmp_path) as registry, registry.controlled():
            await three_exporters(registry)
            await joined(registry, "d")
            await annotate(registry, "b", {"unreachable-grace": "30s"})
            await annotate(registry, "c", {"unreachable-grace": "30s", "unreachable": "keep"})
            await registry.world.servers["b"].stop()
            await registry.world.servers["c"].stop()
            await settled(25)
            assert await serving(registry, "a") == ["a", "b", "c"]
            await settled(10)
            assert await serving(registry, "a") == ["a", "c"]
            await settled(600)
            assert await serving(registry, "a") == ["a", "c"]
            await annotate(registry, "c", {"unreachable": None})
            await settled(5)
            assert await serving(registry, "a") == ["a"]

    with capture_logs():
        run_virtual(run())


def test_the_grace_goes_on_while_no_controller_runs(tmp_path: Path) -> None:
    """It is counted from the recorded transition to Offline."""

    async def run() -> None:
        async with running_registry(["a", "b", "c"], tmp_path) as registry:
            async with registry.controlled():
                await three_exporters(registry)
                await registry.world.servers["b"].stop()
                await settled(60)
                assert "Offline" in await registry.conditions("b")
                assert await serving(registry, "a") == ["a", "b", "c"]
            await asyncio.sleep(400)
            assert await serving(registry, "a") == ["a", "b", "c"]
            async with registry.controlled() as process:
                await settled(30)
                assert await serving(registry, "a") == ["a", "c"]
                scrape = await scraped(process)
                assert scrape.value("mcs_member_unreachable_seconds", cluster="b", problem="refused") > 400

    with capture_logs():
        run_virtual(run())
