"""Types that are enabled and disabled while the controller runs, and what is said of those that cannot run."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mcs.model.federated import (
    FEDERATED_TYPE_CONFIGS,
    target_resource,
)
from mcs.model.resources import KUBEFED_CLUSTERS
from mcs.testing.virtual_time import run_virtual
from tests.e2e.federated_world import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    TYPE_NAMESPACES,
    type_config,
)
from tests.e2e.registry_world import SHOP, SYSTEM, joined, running_registry, settled
from tests.e2e.scraping import Scrape, fetched, scraped
from tests.e2e.types_world import RUNS, Host, Json, federating

HELD = "core.kubefed.io/federated-type-config"


def test_types_are_enabled_disabled_and_enabled_again_at_run_time_and_nothing_is_deleted(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with federating(tmp_path) as (host, process):
            assert process.federation is not None
            types = process.federation.types
            await host.federate(CONFIG_MAPS, "web", {"data": {"value": "1"}})
            await settled()
            assert await host.value("web", "a") is None
            started: list[str] = []
            stopped: list[str] = []
            types.follow(
                lambda each: started.append(each.config.metadata.name),
                lambda each: stopped.append(each.config.metadata.name),
            )
            await host.enable(CONFIG_MAPS)
            await settled()
            assert [await host.value("web", each) for each in "ab"] == ["1", "1"]
            assert await host.status(CONFIG_MAPS) == RUNS
            assert ((await host.config(CONFIG_MAPS)) or {})["metadata"]["finalizers"] == [HELD]
            kind = types.of_kind("FederatedConfigMap")
            assert kind is not None
            assert kind.config.metadata.name == "configmaps"
            assert types.of_kind("ConfigMap") is None
            await host.enable(CONFIG_MAPS, propagation="Disabled")
            await settled()
            rests = {"observedGeneration": 2, "propagationController": "NotRunning"}
            assert await host.status(CONFIG_MAPS) == RUNS | rests
            assert types.of_kind("FederatedConfigMap") is None
            await host.federate(CONFIG_MAPS, "web", {"data": {"value": "2"}})
            await settled()
            assert [await host.value("web", each) for each in "ab"] == ["1", "1"]
            await host.enable(CONFIG_MAPS)
            await settled()
            assert [await host.value("web", each) for each in "ab"] == ["2", "2"]
            assert await host.status(CONFIG_MAPS) == RUNS | {"observedGeneration": 3}
            assert (started, stopped) == (["namespaces", "configmaps", "configmaps"], ["configmaps"])
            await host.api.delete(FEDERATED_TYPE_CONFIGS, SYSTEM, "configmaps")
            await settled()
            assert await host.config(CONFIG_MAPS) is None
            assert [await host.value("web", each) for each in "ab"] == ["2", "2"]
            assert stopped == ["configmaps", "configmaps"]

    run_virtual(run())


def test_a_type_whose_kind_is_not_served_yet_says_so_and_holds_up_no_other(tmp_path: Path) -> None:
    async def run() -> None:
        async with federating(tmp_path) as (host, process):
            await host.enable(DEPLOYMENTS)
            await host.enable(CONFIG_MAPS)
            await host.federate(CONFIG_MAPS, "web", {"data": {"value": "1"}})
            await settled()
            assert await host.value("web", "b") == "1"
            assert await host.status(DEPLOYMENTS) == RUNS | {"propagationController": "NotRunning"}
            assert await host.told("deployments.apps") == {"FederatedKindUnavailable"}
            assert (await fetched(process, "/readyz")).status == 200
            await host.define(DEPLOYMENTS)
            await host.federate(DEPLOYMENTS, "shop", {"spec": deployment()})
            await settled(90)
            assert await host.status(DEPLOYMENTS) == RUNS
            assert (await host.made(DEPLOYMENTS, "shop", "a") or {})["spec"]["replicas"] == 2

    run_virtual(run())


def deployment() -> Json:
    labels = {"app": "shop"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "images.test/c"}]}}
    return {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}


def test_a_type_that_is_changed_begins_anew_with_what_it_says_now(tmp_path: Path) -> None:
    other = type_config("", "configmaps", "ConfigMap")
    api = msgspec.structs.replace(
        other.spec.federated_type, kind="SharedConfigMap", plural_name="sharedconfigmaps"
    )
    other = msgspec.structs.replace(other, spec=msgspec.structs.replace(other.spec, federated_type=api))

    async def run() -> None:
        async with federating(tmp_path) as (host, _):
            await host.define(other)
            await host.enable(CONFIG_MAPS)
            await host.federate(other, "shared", {"data": {"value": "1"}})
            await settled()
            assert await host.value("shared", "a") is None
            await host.enable(other)
            await settled()
            assert await host.value("shared", "a") == "1"

    run_virtual(run())


def test_refusals_are_told_by_an_event_each_and_then_nothing_is_written_any_more(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a"], tmp_path) as registry:
            host = Host(registry)
            await host.define(CONFIG_MAPS, DEPLOYMENTS)
            async with registry.controlled(federates=True) as process:
                await joined(registry, "a")
                await host.enable(CONFIG_MAPS)
                await host.enable(DEPLOYMENTS, name="deployments")
                await settled()
                assert await host.told("configmaps") == {"NamespacesNotFederated"}
                assert await host.told("deployments") == {"InvalidName"}
                stopped = RUNS | {"propagationController": "NotRunning"}
                assert await host.status(CONFIG_MAPS) == stopped
                scrape = await scraped(process)
                assert scrape.value("mcs_federated_type_running", type="configmaps") == 0
                writes = registry.world.writes()
                await settled(300)
                assert registry.world.writes() == writes
                # What one type says is decided anew when another one changes, and not told again.
                await host.enable(DEPLOYMENTS, name="deployments", propagation="Disabled")
                await settled()
                assert (await registry.events()).count(("configmaps", "NamespacesNotFederated")) == 1
                await host.define(TYPE_NAMESPACES)
                await host.enable(TYPE_NAMESPACES)
                await settled()
                assert await host.status(CONFIG_MAPS) == RUNS

    run_virtual(run())


def test_the_configuration_decides_on_adoption_and_one_with_a_mistake_changes_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with federating(tmp_path) as (host, process):
            assert process.federation is not None
            for name in ("one", "two"):
                await host.registry.world.apis["a"].apply(
                    target_resource(CONFIG_MAPS),
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"namespace": SHOP, "name": name},
                        "data": {"value": "there before"},
                    },
                )
            await host.configure(syncController={"adoptResources": "Disabled"})
            await host.enable(CONFIG_MAPS)
            await host.federate(CONFIG_MAPS, "one", {"data": {"value": "1"}})
            await settled()
            assert [await host.value("one", each) for each in "ab"] == ["there before", "1"]
            await host.configure(
                syncController={"adoptResources": "Enabled"}, controllerDuration={"availableDelay": "soon"}
            )
            await settled()
            assert await host.told("kubefed") == {"InvalidConfiguration"}
            assert not process.federation.types.settings.adopts
            await host.federate(CONFIG_MAPS, "two", {"data": {"value": "1"}})
            await settled()
            assert await host.value("two", "a") == "there before"
            await host.configure(syncController={"adoptResources": "Enabled"})
            await settled()
            assert [await host.value(each, "a") for each in ("one", "two")] == ["1", "1"]

    run_virtual(run())


def test_labels_of_registrations_place_objects_and_a_registration_that_is_lost_takes_nothing_away(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with federating(tmp_path) as (host, process):
            await host.enable(CONFIG_MAPS)
            for name, tier in (("a", "gold"), ("b", "silver")):
                await host.api.merge(KUBEFED_CLUSTERS, SYSTEM, name, {"metadata": {"labels": {"tier": tier}}})
            gold = {"clusterSelector": {"matchLabels": {"tier": "gold"}}}
            await host.federate(CONFIG_MAPS, "web", {"data": {"value": "1"}}, gold)
            await settled()
            assert [await host.value("web", each) for each in "ab"] == ["1", None]
            await host.registry.lose("a")
            await settled(120)
            assert [await host.value("web", each) for each in "ab"] == ["1", None]
            await host.api.merge(KUBEFED_CLUSTERS, SYSTEM, "b", {"metadata": {"labels": {"tier": "gold"}}})
            await settled()
            assert [await host.value("web", each) for each in "ab"] == ["1", "1"]
            await host.api.merge(KUBEFED_CLUSTERS, SYSTEM, "b", {"metadata": {"labels": {"tier": "old"}}})
            await settled(120)
            assert [await host.value("web", each) for each in "ab"] == ["1", None]
            await host.registry.leave("b")
            await settled()
            assert process.federation is not None
            assert sorted(process.federation.clusters.registered) == ["a"]

    run_virtual(run())


def test_a_controller_that_is_started_again_waits_for_the_registry_and_writes_nothing_anew(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry:
            host = Host(registry)
            await host.define(TYPE_NAMESPACES, CONFIG_MAPS)
            async with registry.controlled(federates=True):
                await joined(registry, "a", "b")
                await host.enable(TYPE_NAMESPACES, CONFIG_MAPS)
                await host.federate(TYPE_NAMESPACES, SHOP, {})
                await host.federate(CONFIG_MAPS, "web", {"data": {"value": "1"}})
                await settled()
                assert [await host.value("web", each) for each in "ab"] == ["1", "1"]
                writes = registry.world.writes()
            async with registry.controlled(federates=True) as process:
                await settled(120)
                assert process.federation is not None
                assert sorted(process.federation.types.running) == ["configmaps", "namespaces"]
            assert registry.world.writes() == writes

    run_virtual(run())


FAMILIES = [
    "mcs_federated_objects gauge result,type",
    "mcs_federated_type_running gauge type",
    "mcs_federation_queue_depth gauge type",
    "mcs_federation_work_total counter result,type",
]


def test_metrics_tell_of_types_their_objects_and_the_work_on_them(tmp_path: Path) -> None:
    async def run() -> None:
        async with federating(tmp_path) as (host, process):
            await host.enable(CONFIG_MAPS)
            await host.federate(CONFIG_MAPS, "well", {"data": {"value": "1"}})
            await host.federate(CONFIG_MAPS, "not-well", {"data": {"value": ["no text"]}})
            await settled()
            scrape = await scraped(process)
            ours = [line for line in scrape.text.splitlines() if "mcs_feder" in line]
            assert list(Scrape("\n".join((*ours, ""))).inventory()) == FAMILIES
            for result in ("OK", "CheckClusters"):
                assert scrape.value("mcs_federated_objects", type="configmaps", result=result) == 1
            assert scrape.value("mcs_federated_type_running", type="configmaps") == 1
            assert scrape.value("mcs_federation_work_total", type="configmaps", result="succeeded") >= 2
            assert scrape.value("mcs_federation_work_total", result="bug") == 0

    run_virtual(run())
