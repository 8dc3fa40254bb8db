"""A preference through the loss of a member, its return and a drain, on real API servers, as an importer sees it.

The controllers of Kubernetes make Pods and EndpointSlices; a stand-in for kubelets makes the Pods ready.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from tests.lab.mcs import eventually
from tests.real.chaos.api import AdminApi
from tests.real.guide import DELAYS, MEMBERS, Guide, guided
from tests.real.joined import SYSTEM, mcs
from tests.real.kubelet import kubelet
from tests.real.test_preferences import PREFERENCE, TEMPLATE, planned, size

TOTAL = 10
SOURCE = "multicluster.kubernetes.io/source-cluster"
TYPES = ("namespaces", "deployments.apps", "services")
BOTH = {"a": (6, "Weight"), "b": (4, "Weight")}
EXPORT = {
    "apiVersion": "multicluster.x-k8s.io/v1beta1",
    "kind": "ServiceExport",
    "metadata": {"name": "web", "namespace": "shop"},
}


class Observer:
    """What the importer a shows of web, looked at all the time; `least` is the fewest ready endpoints since `begin`."""

    def __init__(self, api: AdminApi) -> None:
        self._api = api
        self.ready: dict[str, int] = {}
        self.least: int | None = None

    def begin(self) -> None:
        """All is there: count from now on."""
        self.least = sum(self.ready.values())

    async def run(self) -> None:
        """Until cancelled."""
        path = f"/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?labelSelector={SOURCE}"
        while True:
            found: dict[str, int] = {}
            for each in (await self._api.request("GET", path))["items"]:
                source = each["metadata"]["labels"][SOURCE]
                ready = sum(one["conditions"].get("ready", True) for one in each.get("endpoints") or ())
                found[source] = found.get(source, 0) + ready
            self.ready = found
            if self.least is not None:
                self.least = min(self.least, sum(found.values()))
            await asyncio.sleep(0.1)


@asynccontextmanager
async def observed(guide: Guide) -> AsyncIterator[Observer]:
    async with AdminApi(guide.planes["a"]) as api:
        observer = Observer(api)
        task = asyncio.create_task(observer.run())
        try:
            yield observer
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def six_and_four(folder: Path) -> AsyncIterator[tuple[Guide, Observer]]:
    """Web runs in both members, and an observer has begun to count."""
    async with guided(folder) as (guide, _), AsyncExitStack() as stack:
        await guide.host("apply", "-f", "-", stdin=json.dumps(DELAYS))
        for number, member in enumerate(MEMBERS):
            await size(guide, member, "50")
            await stack.enter_async_context(kubelet(guide.planes[member], "shop", f"10.{number}.0"))
        for type_ in TYPES:
            await guide.enable(type_)
            for member in MEMBERS:
                await guide.allow(member, type_)
        await guide.apply("FederatedNamespace", "shop", {})
        ports = [{"name": "http", "port": 80}]
        await guide.apply("FederatedService", "web", {"spec": {"selector": {"app": "web"}, "ports": ports}})
        await guide.apply("FederatedDeployment", "web", TEMPLATE)
        await guide.host("apply", "-f", "-", stdin=json.dumps(PREFERENCE))
        await eventually("a has its namespace", lambda: guide.get("a", "namespace/shop"), seconds=60)
        await guide.kubectl["a"]("apply", "-f", "-", stdin=json.dumps(EXPORT))
        observer = await stack.enter_async_context(observed(guide))
        # b exports it, too, for replicas have gone there.
        await eventually("six and four", shown(guide, observer, {"a": 6, "b": 4}, BOTH), seconds=90)
        observer.begin()
        yield guide, observer


def shown(
    guide: Guide, observer: Observer, ready: dict[str, int], plan: dict[str, tuple[int, str]]
) -> Callable[[], Awaitable[bool]]:
    """Whether the importer shows so many ready endpoints, and the preference tells this plan."""

    async def is_so() -> bool:
        return observer.ready == ready and await planned(guide) == plan

    return is_so


async def test_ten_replicas_go_where_they_can_and_nobody_ever_sees_fewer(tmp_path: Path) -> None:
    async with six_and_four(tmp_path) as (guide, observer):
        await guide.planes["b"].kill()
        lost = {"a": (TOTAL, "Weight"), "b": (0, "Lost")}
        await eventually("ten and none", shown(guide, observer, {"a": TOTAL, "b": 4}, lost), seconds=120)
        await guide.planes["b"].start()
        await eventually("six and four again", shown(guide, observer, {"a": 6, "b": 4}, BOTH), seconds=120)
        assert observer.least == TOTAL


async def test_a_member_is_drained_and_nobody_ever_sees_fewer(tmp_path: Path) -> None:
    async with six_and_four(tmp_path) as (guide, observer):
        kubeconfig = guide.planes.kubeconfig()
        await mcs("drain", "b", "--host-context", "host", kubeconfig=kubeconfig)
        drained = {"a": (TOTAL, "Weight"), "b": (0, "Drained")}
        await eventually("ten and none", shown(guide, observer, {"a": TOTAL}, drained), seconds=120)
        registration = await guide.get("host", "kubefedcluster/b", *SYSTEM) or {}
        conditions = {each["type"]: each for each in registration["status"]["conditions"]}
        assert conditions["Drained"]["status"] == "True"
        assert await guide.replicas("b") == (0, 0)
        await mcs("uncordon", "b", "--host-context", "host", kubeconfig=kubeconfig)
        await eventually("six and four again", shown(guide, observer, {"a": 6, "b": 4}, BOTH), seconds=120)
        assert observer.least == TOTAL
