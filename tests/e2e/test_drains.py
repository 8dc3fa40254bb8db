"""A cluster is drained in the order of federation: no importer ever shows fewer ready endpoints than there were."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.controllers.federation.drains import LONGEST_TTL
from mcs.model.federated import target_resource
from mcs.model.resources import (
    ENDPOINT_SLICES,
    KUBEFED_CLUSTERS,
    NODES,
    SERVICE_EXPORTS,
    SERVICES,
)
from mcs.model.scheduling import REPLICA_SCHEDULING_PREFERENCES
from mcs.sandbox.store import Change, ChangeType
from mcs.sandbox.workloads.simulator import Simulator
from mcs.testing.virtual_time import run_virtual
from tests.e2e.federated_world import DEPLOYMENTS
from tests.e2e.federated_world import SERVICES as SERVICE_TYPE
from tests.e2e.preferences_world import template
from tests.e2e.registry_world import SHOP, SYSTEM, joined, running_registry, settled
from tests.e2e.types_world import Host, federating
from tests.scenarios.world import CUSTOM_RESOURCE_DEFINITIONS

MEMBERS = ("a", "b", "c")
TOTAL = 6
SOURCE = "multicluster.kubernetes.io/source-cluster"
EVEN = "{totalReplicas: 6, rebalance: true, clusters: {'*': {weight: 1}}}"
FAIR = yaml.safe_dump(
    {
        "totalReplicas": TOTAL,
        "overrides": [{"clusterName": each, "spec": {"replicas": 2}} for each in MEMBERS],
    }
)


class Watch:
    """What importers show of app, counted at each change of it: `least` is the fewest endpoints that any ever had."""

    def __init__(self, host: Host) -> None:
        self.least = TOTAL
        self._mirrors: dict[str, dict[str, tuple[str, int]]] = {each: {} for each in MEMBERS}
        stores = {each: host.registry.world.servers[each].api.store for each in MEMBERS}
        self._ends = [store.listen(partial(self._seen, each)) for each, store in stores.items()]

    def begin(self, least: int = TOTAL) -> None:
        """All is as it should be: count from now on."""
        self.least = least

    def end(self) -> None:
        """Stop looking."""
        for each in self._ends:
            each()

    def ready(self, importer: str) -> dict[str, int]:
        """The ready endpoints of each cluster that an importer shows."""
        found: dict[str, int] = {}
        for source, count in self._mirrors[importer].values():
            found[source] = found.get(source, 0) + count
        return found

    def _seen(self, importer: str, change: Change) -> None:
        metadata = change.new["metadata"]
        source = metadata.get("labels", {}).get(SOURCE)
        if change.resource.plural == ENDPOINT_SLICES.plural and source:
            endpoints = (change.new["endpoints"] or ()) if change.type != ChangeType.DELETED else ()
            count = sum(each["conditions"].get("ready", True) for each in endpoints)
            self._mirrors[importer][metadata["name"]] = (source, count)
            self.least = min(self.least, sum(self.ready(importer).values()))


@asynccontextmanager
async def serving(
    folder: Path, preference: str, exporters: Sequence[str]
) -> AsyncIterator[tuple[Host, Watch]]:
    """App runs in all members as a preference divides it; some export it; an observer watches all."""
    async with federating(folder, MEMBERS) as (host, _):
        world, watch = host.registry.world, Watch(host)
        await host.define(DEPLOYMENTS)
        await host.enable(DEPLOYMENTS)
        for number, each in enumerate(MEMBERS):
            await _prepare(world.apis[each], f"10.{number}.0.0/24", is_exported=each in exporters)
        tasks = [asyncio.create_task(Simulator(world.servers[each].api).run()) for each in MEMBERS]
        await host.federate(DEPLOYMENTS, "app", template("100m"))
        resource = REPLICA_SCHEDULING_PREFERENCES
        await host.api.apply(
            resource,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": "app", "namespace": SHOP},
                "spec": yaml.safe_load(preference),
            },
        )
        await settled(40)
        try:
            yield host, watch
        finally:
            watch.end()
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def _prepare(api: Any, pods: str, *, is_exported: bool) -> None:
    node = {"metadata": {"name": "node"}, "spec": {"podCIDR": pods, "podCIDRs": [pods]}}
    await api.apply(NODES, {"apiVersion": "v1", "kind": "Node"} | node)
    await api.merge(NODES, "", "node", {"spec": {"taints": None}})
    await api.merge(NODES, "", "node/status", {"status": {"allocatable": {"cpu": "50", "pods": "110"}}})
    metadata = {"namespace": SHOP, "name": "app"}
    ports = [{"name": "http", "port": 80}]
    await api.apply(
        SERVICES,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"selector": {"app": "app"}, "ports": ports},
        },
    )
    if is_exported:
        await api.apply(
            SERVICE_EXPORTS,
            {"apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceExport", "metadata": metadata},
        )


async def federate_service(host: Host) -> None:
    """The Service itself is federated, in the place of those that are there."""
    await host.define(SERVICE_TYPE)
    await host.enable(SERVICE_TYPE)
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    await host.federate(SERVICE_TYPE, "app", {"spec": {"selector": {"app": "app"}, "ports": ports}})
    await settled(20)


async def exporting(host: Host) -> dict[str, bool]:
    """The members that export app, and whether their exports follow replicas."""
    world, found = host.registry.world, {}
    for each in MEMBERS:
        export = await world.apis[each].get(SERVICE_EXPORTS, SHOP, "app")
        if export is not None:
            annotations = export["metadata"].get("annotations", {})
            found[each] = annotations.get("mcs-controller/follows-replicas") == "true"
    return found


async def mark(host: Host, cluster: str, drained: str | None) -> None:
    """As `mcs drain` and `mcs uncordon` do."""
    annotations = {"mcs-controller/drained": drained, "mcs-controller/cordoned": drained}
    await host.api.merge(KUBEFED_CLUSTERS, SYSTEM, cluster, {"metadata": {"annotations": annotations}})


async def replicas(host: Host) -> dict[str, int]:
    """What the Deployments of the members ask for."""
    found = {each: await host.made(DEPLOYMENTS, "app", each) for each in MEMBERS}
    return {each: made["spec"]["replicas"] if made else 0 for each, made in found.items()}


async def stage(host: Host, cluster: str) -> tuple[str, str] | None:
    """The condition that tells of a drain."""
    return (await host.registry.conditions(cluster)).get("Drained")


@pytest.mark.parametrize("preference", [EVEN, FAIR], ids=["kubefed", "fair"])
def test_nobody_loses_an_endpoint_while_a_cluster_is_drained(tmp_path: Path, preference: str) -> None:
    async def story() -> None:
        async with serving(tmp_path, preference, MEMBERS) as (host, watch):
            assert await replicas(host) == {"a": 2, "b": 2, "c": 2}
            assert watch.ready("c") == {"a": 2, "b": 2, "c": 2}
            watch.begin()
            await mark(host, "b", "true")
            await settled(LONGEST_TTL / 2)
            assert await replicas(host) == {"a": 3, "b": 2, "c": 3}
            assert watch.ready("c") == {"a": 3, "b": 0, "c": 3}
            assert await stage(host, "b") == ("False", "WaitingForCachedAnswers")
            await settled(LONGEST_TTL + 20)
            assert await replicas(host) == {"a": 3, "b": 0, "c": 3}
            assert await stage(host, "b") == ("True", "Drained")
            assert watch.least == TOTAL
            await mark(host, "b", None)
            await settled(60)
            assert await replicas(host) == {"a": 2, "b": 2, "c": 2}
            assert watch.ready("a") == {"a": 2, "b": 2, "c": 2}
            assert await stage(host, "b") is None

    run_virtual(story())


def test_what_only_the_drained_cluster_exports_stays_and_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, FAIR, ["b"]) as (host, watch):
            watch.begin(2)
            assert watch.ready("c") == {"b": 2}
            await mark(host, "b", "true")
            await settled(LONGEST_TTL + 60)
            assert watch.ready("c") == {"b": 2}
            found = await host.registry.registration("b")
            assert found is not None
            told = next(each for each in found["status"]["conditions"] if each["type"] == "Drained")
            assert "Only this cluster has shop/app" in told["message"]
            assert watch.least == 2

    run_virtual(story())


def test_exports_follow_replicas_so_that_the_only_exporter_can_be_drained(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, FAIR, ["b"]) as (host, watch):
            assert await exporting(host) == {"b": False}
            await federate_service(host)
            assert await exporting(host) == {"a": True, "b": False, "c": True}
            assert watch.ready("c") == {"a": 2, "b": 2, "c": 2}
            watch.begin()
            await mark(host, "b", "true")
            await settled(LONGEST_TTL + 60)
            assert await replicas(host) == {"a": 3, "b": 0, "c": 3}
            assert await stage(host, "b") == ("True", "Drained")
            assert watch.ready("c") == {"a": 3, "b": 0, "c": 3}
            assert watch.least == TOTAL
            await host.registry.world.apis["b"].delete(SERVICE_EXPORTS, SHOP, "app")
            await settled(20)
            assert await exporting(host) == {}

    run_virtual(story())


def test_a_cluster_without_replicas_follows_no_more(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, FAIR, ["b"]) as (host, watch):
            await federate_service(host)
            watch.begin()
            await mark(host, "c", "true")
            await settled(LONGEST_TTL + 60)
            assert await stage(host, "c") == ("True", "Drained")
            assert await exporting(host) == {"a": True, "b": False}
            assert watch.ready("a") == {"a": 3, "b": 3, "c": 0}
            assert watch.least == TOTAL

    run_virtual(story())


def test_an_export_follows_as_soon_as_the_service_is_there(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, FAIR, ["b"]) as (host, _):
            api, service = host.registry.world.apis["c"], target_resource(SERVICE_TYPE)
            await api.merge(service, SHOP, "app", {"metadata": {"labels": {"kubefed.io/managed": "false"}}})
            await federate_service(host)
            assert await exporting(host) == {"a": True, "b": False}
            await api.merge(service, SHOP, "app", {"metadata": {"labels": {"kubefed.io/managed": "true"}}})
            await settled(20)
            assert await exporting(host) == {"a": True, "b": False, "c": True}

    run_virtual(story())


def test_without_the_kind_of_preferences_a_member_is_drained_all_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_registry(MEMBERS, tmp_path) as registry:
            host, resource = Host(registry), REPLICA_SCHEDULING_PREFERENCES
            watch = Watch(host)
            await host.api.delete(CUSTOM_RESOURCE_DEFINITIONS, "", f"{resource.plural}.{resource.group}")
            async with registry.controlled(federates=True):
                for number, each in enumerate(MEMBERS):
                    await registry.export(each, "app", f"10.{number}.0.1")
                await joined(registry, *MEMBERS)
                await settled(20)
                assert watch.ready("c") == {"a": 1, "b": 1, "c": 1}
                await mark(host, "b", "true")
                await settled(LONGEST_TTL + 20)
                assert watch.ready("c") == {"a": 1, "b": 0, "c": 1}
                assert await stage(host, "b") == ("True", "Drained")
            watch.end()

    run_virtual(story())
