"""Clusters join, export, leave and join again while a controller follows the registry; nothing is applied by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcs.controllers.processes import ControllerProcess, client_opener
from mcs.controllers.registry import RegistryOptions
from mcs.controllers.tokens import TokenKeeper
from mcs.membership.tokens import token_life
from mcs.model.resources import (
    ENDPOINT_SLICES,
    KUBEFED_CLUSTERS,
    NAMESPACES,
    SERVICE_IMPORTS,
    SERVICES,
)
from mcs.sandbox.http.server import ApiServer
from mcs.web.requests import RequestCounts
from tests.e2e.membership_commands import NAMESPACE, Commands
from tests.e2e.test_membership_commands import token_of
from tests.lab.mcs import eventually
from tests.scenarios.objects import expanded

pytestmark = pytest.mark.timeout(150)


class Clock:
    """The time of the wall, and what a test adds to it."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@asynccontextmanager
async def controlled(mcs: Commands, clock: Clock) -> AsyncIterator[ControllerProcess]:
    """A controller that follows the registry of the host, until the block ends."""
    counts = RequestCounts()
    host = RegistryOptions(client_opener("host", [mcs.config], "host", counts), NAMESPACE)
    process = ControllerProcess({}, clock=clock, requests=counts, registered=host)
    task = asyncio.create_task(process.run(), name="controller")
    try:
        await process.started.wait()
        yield process
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    await eventually(holds.__name__, holds, seconds=40)


async def annotated(mcs: Commands, name: str, annotation: str) -> bool:
    found = await mcs.api["host"].get(KUBEFED_CLUSTERS, NAMESPACE, name)
    return found is not None and annotation in found["metadata"]["annotations"]


async def export_web(mcs: Commands, cluster: str, *, ready: bool = True) -> None:
    slice_of_web: dict[str, Any] = {"EndpointSlice": "shop/web-1", "service": "web", "ports": ["http 80"]}
    slice_of_web["ready" if ready else "not ready"] = ["10.1.0.7"]
    await mcs.api[cluster].apply(*expanded({"Service": "shop/web", "ports": ["http 80"]}))
    await mcs.api[cluster].apply(*expanded(slice_of_web))
    await mcs.api[cluster].apply(*expanded({"ServiceExport": "shop/web"}))


async def mirrors(mcs: Commands, cluster: str) -> dict[str, tuple[str, str]]:
    """Uid and resourceVersion of the mirrors in a cluster, by the cluster that each came from."""
    found = await mcs.api[cluster].list(ENDPOINT_SLICES, "multicluster.kubernetes.io/source-cluster")
    return {
        each["metadata"]["labels"]["multicluster.kubernetes.io/source-cluster"]: (
            each["metadata"]["uid"],
            each["metadata"]["resourceVersion"],
        )
        for each in found
    }


async def importing(mcs: Commands, cluster: str) -> list[str]:
    """The clusters that the import of shop/web in a cluster names."""
    found = await mcs.api[cluster].get(SERVICE_IMPORTS, "shop", "web")
    clusters: list[dict[str, Any]] = (found or {}).get("status", {}).get("clusters", [])
    return sorted(each["cluster"] for each in clusters)


@asynccontextmanager
async def three_clusters(folder: Path) -> AsyncIterator[Commands]:
    async with ApiServer("host") as host, ApiServer("eu") as eu, ApiServer("us") as us:
        mcs = Commands(folder, [host, eu, us])
        for name in ("eu", "us"):
            await mcs.api[name].apply(*expanded({"Namespace": "shop"}))
        yield mcs


async def test_an_export_crosses_to_who_joins_and_is_withdrawn_from_who_stays(tmp_path: Path) -> None:
    async with three_clusters(tmp_path) as mcs:
        assert (await mcs("join", "eu", "--no-dns"))[0] == 0
        async with controlled(mcs, Clock()) as controller:
            await export_web(mcs, "eu")
            assert (await mcs("join", "us", "--no-dns"))[0] == 0
            await export_web(mcs, "us")

            async def both() -> bool:
                return await importing(mcs, "eu") == await importing(mcs, "us") == ["eu", "us"]

            await until(both)

            async def ready() -> bool:
                _, out, _ = await mcs("clusters")
                return [line.split()[:2] for line in out.splitlines()[2:]] == [["eu", "True"], ["us", "True"]]

            await until(ready)
            before = await mirrors(mcs, "eu"), await mirrors(mcs, "us")
            writes = mcs.writes("eu")
            assert (await mcs("join", "us", "--no-dns"))[0] == 0
            await asyncio.sleep(0.5)
            assert (await mirrors(mcs, "eu"), await mirrors(mcs, "us")) == before
            assert mcs.writes("eu") == writes

            leaving = asyncio.create_task(
                mcs("leave", "us", "--drain", "--wait", "--cluster", "eu"), name="leave"
            )
            await until(lambda: annotated(mcs, "us", "mcs-controller/drained"))
            # A controller that drains withdraws them; here they end by themselves.
            await export_web(mcs, "us", ready=False)

            async def goes() -> bool:
                found = await mcs.api["us"].get(NAMESPACES, "", NAMESPACE)
                return found is not None and "deletionTimestamp" in found["metadata"]

            await until(goes)
            await mcs.api["us"].finalize_namespace(NAMESPACE)
            assert await leaving == (0, "us: has left\n", "")
            assert await importing(mcs, "eu") == ["eu"]
            assert (await mirrors(mcs, "eu")).keys() == {"eu"}
            assert await mirrors(mcs, "us") == {}
            assert await mcs.api["us"].get(SERVICE_IMPORTS, "shop", "web") is None
            assert await mcs.api["us"].get(SERVICES, "shop", "web") is not None
            assert set(controller.fleet.members) == {"eu"}

            assert (await mcs("join", "us", "--no-dns"))[0] == 0
            await until(both)


async def test_what_came_from_a_member_that_was_destroyed_goes_when_it_leaves_by_force(
    tmp_path: Path,
) -> None:
    async with three_clusters(tmp_path) as mcs, controlled(mcs, Clock()):
        for name in ("eu", "us"):
            assert (await mcs("join", name, "--no-dns"))[0] == 0
            await export_web(mcs, name)

        async def both() -> bool:
            return await importing(mcs, "eu") == ["eu", "us"]

        await until(both)
        await mcs.servers["us"].stop()
        kept = await mirrors(mcs, "eu")
        status, out, errors = await mcs("leave", "us", "--force", "--wait")
        assert (status, errors, out.splitlines()[-1]) == (0, "", "us: has left")
        assert await importing(mcs, "eu") == ["eu"]
        left = await mirrors(mcs, "eu")
        assert left == {"eu": kept["eu"]}
        status, out, _ = await mcs("leave", "us", "--force", "--wait")
        assert (status, out.splitlines()[-1]) == (0, "us: is no member; there is nothing to leave")


async def test_a_token_is_replaced_before_it_expires_and_its_registration_says_until_when(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcs.controllers.tokens.PERIOD", 0.1)
    clock = Clock()
    async with three_clusters(tmp_path) as mcs:
        mcs.servers["eu"].api.now = clock
        assert (await mcs("join", "eu", "--no-dns", "--token-life", "1h"))[0] == 0
        first = await token_of(mcs, "eu")
        async with controlled(mcs, clock) as controller:

            async def condition() -> dict[str, Any]:
                found = await mcs.api["host"].get(KUBEFED_CLUSTERS, NAMESPACE, "eu")
                conditions = (found or {}).get("status", {}).get("conditions", [])
                return next((each for each in conditions if each["type"] == "TokenExpiring"), {})

            await until(condition)
            assert (await condition())["reason"] == "TokenValid"
            clock.ahead = timedelta(minutes=49)

            async def replaced() -> bool:
                return await token_of(mcs, "eu") != first

            await until(replaced)
            old, new = token_life(first), token_life(await token_of(mcs, "eu"))
            assert old is not None
            assert new is not None
            assert (new.account, new.seconds) == (old.account, 3600)
            assert timedelta(minutes=48) < new.expires - old.expires < timedelta(minutes=51)

            async def told() -> bool:
                return f"{new.expires:%Y-%m-%dT%H:%M:%SZ}" in (await condition())["message"]

            await until(told)
            assert controller.registry is not None
            assert isinstance(controller.registry.tokens, TokenKeeper)
            assert [life.expires for life in controller.registry.tokens.lives.values()] == [new.expires]
            # What the old token could do, nothing needs any more.
            del mcs.servers["eu"].tokens[first.decode()]
            await mcs.api["eu"].apply(
                NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
            )
            assert set(controller.fleet.seen) == {"eu"}
