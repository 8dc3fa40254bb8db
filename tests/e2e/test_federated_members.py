"""Members that are away, slow, without rights, or have objects of somebody else, while objects are propagated."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mcs.controllers.federation.picture import SyncSettings
from mcs.model.federated import PROPAGATED_VERSIONS, federated_resource, target_resource
from mcs.runtime.leader import LeaderElector, LeasePlace
from mcs.sandbox.errors import forbidden
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.store import Object
from mcs.testing.virtual_time import run_virtual
from tests.e2e.federated_world import (
    CONFIG_MAPS,
    MEMBERS,
    SHOP,
    SYSTEM,
    Federation,
    Json,
    running_federation,
    settled,
    since,
)
from tests.e2e.test_federated_sync import AT_ONCE, DATA, ORPHAN
from tests.scenarios.world import virtual_now

HOLD = SyncSettings(hold_down=30)
TARGET = target_resource(CONFIG_MAPS)
FEDERATED = federated_resource(CONFIG_MAPS)


async def lose(federation: Federation, name: str) -> None:
    """A member goes away."""
    await federation.servers[name].stop()
    federation.clusters.set_ready(name, False)


async def get_back(federation: Federation, name: str) -> None:
    """It is back."""
    await federation.servers[name].start()
    federation.clusters.set_ready(name, True)


def test_a_member_that_is_away_holds_up_nobody_and_is_written_once_it_is_back(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(CONFIG_MAPS, settings=HOLD):
            await settled()
            await lose(federation, "b")
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled()
            assert await federation.status(CONFIG_MAPS, "settings") == {
                "a": "",
                "b": "ClusterNotReady",
                "c": "",
            }
            assert await federation.ledger(CONFIG_MAPS, "settings") == ["a", "c"]
            await get_back(federation, "b")
            await settled(20)
            assert set(await federation.made(CONFIG_MAPS, "settings")) == set(MEMBERS)
            assert await federation.status(CONFIG_MAPS, "settings") == dict.fromkeys(MEMBERS, "")

    run_virtual(story())


def test_what_lost_its_placement_while_its_cluster_was_away_is_deleted_some_time_after_the_return(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(CONFIG_MAPS, settings=HOLD):
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled(60)
            await lose(federation, "b")
            await federation.federate(CONFIG_MAPS, "settings", DATA, clusters=("a", "c"))
            await settled(60)
            assert await federation.status(CONFIG_MAPS, "settings") == {
                "a": "",
                "b": "WaitingForRemoval",
                "c": "",
            }
            await get_back(federation, "b")
            await settled(25)
            assert set(await federation.made(CONFIG_MAPS, "settings")) == set(MEMBERS)
            assert "just returned" in await federation.message(CONFIG_MAPS, "settings", "b")
            await settled(10)
            assert set(await federation.made(CONFIG_MAPS, "settings")) == {"a", "c"}
            assert await federation.ledger(CONFIG_MAPS, "settings") == ["a", "c"]
            assert await federation.status(CONFIG_MAPS, "settings") == {"a": "", "c": ""}

    run_virtual(story())


def test_nothing_is_deleted_in_a_cluster_that_is_selected_again_during_its_hold(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(CONFIG_MAPS, settings=HOLD):
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled(60)
            uid = (await federation.made(CONFIG_MAPS, "settings"))["b"]["metadata"]["uid"]
            await lose(federation, "b")
            await federation.federate(CONFIG_MAPS, "settings", DATA, clusters=("a", "c"))
            await settled(60)
            await get_back(federation, "b")
            await settled(20)
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled(60)
            assert (await federation.made(CONFIG_MAPS, "settings"))["b"]["metadata"]["uid"] == uid

    run_virtual(story())


async def _deleted_while_away(folder: Path, annotations: dict[str, str]) -> dict[str, Json]:
    async with running_federation(folder) as federation:
        async with federation.synced(CONFIG_MAPS, settings=AT_ONCE):
            await federation.federate(CONFIG_MAPS, "settings", DATA, annotations=annotations)
            await settled()
            await lose(federation, "b")
            await federation.host.delete(FEDERATED, SHOP, "settings")
            await settled()
            assert await federation.federated(CONFIG_MAPS, "settings") is None
            assert await federation.ledger(CONFIG_MAPS, "settings") is None
            (stone,) = await federation.tombstones()
            assert [each["clusterName"] for each in stone["status"]["clusterVersions"]] == ["b"]
        async with federation.synced(CONFIG_MAPS, settings=AT_ONCE):
            await settled()
            await get_back(federation, "b")
            await settled(30)
            assert await federation.tombstones() == []
            return await federation.made(CONFIG_MAPS, "settings")


def test_a_tombstone_remembers_what_is_to_be_deleted_in_a_cluster_that_is_away(tmp_path: Path) -> None:
    assert run_virtual(_deleted_while_away(tmp_path, {})) == {}


def test_a_tombstone_remembers_that_what_is_left_is_to_stay(tmp_path: Path) -> None:
    left = run_virtual(_deleted_while_away(tmp_path, ORPHAN))
    assert set(left) == set(MEMBERS)
    assert all("labels" not in each["metadata"] for each in left.values())


def test_an_object_that_is_federated_again_deletes_nothing_by_its_tombstone(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            running_federation(tmp_path) as federation,
            federation.synced(CONFIG_MAPS, settings=AT_ONCE),
        ):
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled()
            uid = (await federation.made(CONFIG_MAPS, "settings"))["b"]["metadata"]["uid"]
            await lose(federation, "b")
            await federation.host.delete(FEDERATED, SHOP, "settings")
            await settled()
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled()
            assert await federation.tombstones() == []
            assert await federation.ledger(CONFIG_MAPS, "settings") == ["a", "b", "c"]
            await get_back(federation, "b")
            await settled(30)
            assert (await federation.made(CONFIG_MAPS, "settings"))["b"]["metadata"]["uid"] == uid

    run_virtual(story())


def test_a_registration_that_goes_deletes_nothing_and_is_remembered(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            running_federation(tmp_path) as federation,
            federation.synced(CONFIG_MAPS, settings=AT_ONCE),
        ):
            await federation.federate(CONFIG_MAPS, "settings", DATA, clusters=None, selector={})
            await settled()
            federation.clusters.unregister("b")
            await settled()
            assert set(await federation.made(CONFIG_MAPS, "settings")) == set(MEMBERS)
            assert await federation.status(CONFIG_MAPS, "settings") == {"a": "", "c": ""}
            await federation.host.delete(FEDERATED, SHOP, "settings")
            await settled()
            assert await federation.federated(CONFIG_MAPS, "settings") is None
            assert set(await federation.made(CONFIG_MAPS, "settings")) == {"b"}
            federation.clusters.register("b")
            await settled()
            assert await federation.made(CONFIG_MAPS, "settings") == {}
            assert await federation.tombstones() == []

    run_virtual(story())


def test_a_change_in_a_member_is_undone_and_one_that_comes_again_later_each_time(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(CONFIG_MAPS):
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled()
            before = federation.writes()
            for number in range(40):
                changes = {"data": {"color": f"red {number}"}}
                await federation.apis["b"].merge(TARGET, SHOP, "settings", changes)
                await settled(0.5)
            await settled(60)
            made = await federation.made(CONFIG_MAPS, "settings")
            assert made["b"]["data"] == {"color": "blue"}
            written = since(before, federation.writes())
            assert written["b"]["configmaps"] - 40 < 10
            assert set(written) == {"b", "host"}
            # One status tells of it, however often it comes again.
            assert written["host"]["federatedconfigmaps/status"] == 1
            told = await federation.message(CONFIG_MAPS, "settings", "b")
            assert told.startswith("Somebody had changed data.color")
            assert (await federation.status(CONFIG_MAPS, "settings"))["b"] == ""
            assert await federation.message(CONFIG_MAPS, "settings", "a") == ""

            await federation.apis["b"].delete(TARGET, SHOP, "settings")
            await settled()
            assert set(await federation.made(CONFIG_MAPS, "settings")) == set(MEMBERS)

    run_virtual(story())


def _refuse(operation: str, resource: ResourceType, old: Object | None, new: Object | None) -> Object | None:
    if resource.plural == "configmaps":
        raise forbidden(
            resource, "settings", 'User "mcs" cannot create resource "configmaps" in namespace "shop"'
        )
    return new


def test_a_member_without_the_right_says_which_verb_is_missing_and_the_others_proceed(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(CONFIG_MAPS):
            hooks = federation.servers["b"].api.hooks
            hooks.append(_refuse)
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled()
            assert await federation.status(CONFIG_MAPS, "settings") == {
                "a": "",
                "b": "CreationFailed",
                "c": "",
            }
            assert "cannot create" in await federation.message(CONFIG_MAPS, "settings", "b")
            assert "CreateInClusterFailed" in await federation.events()
            before = federation.writes()
            await settled(30)
            assert "host" not in since(before, federation.writes())
            hooks.remove(_refuse)
            await settled(120)
            assert await federation.status(CONFIG_MAPS, "settings") == dict.fromkeys(MEMBERS, "")

    run_virtual(story())


def test_a_member_in_which_nothing_may_be_listed_says_so_and_is_not_written_to(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation:
            federation.unlisted.add("b")
            async with federation.synced(CONFIG_MAPS):
                await federation.federate(CONFIG_MAPS, "settings", DATA)
                await settled(30)
                status = await federation.status(CONFIG_MAPS, "settings")
                assert status == {"a": "", "b": "CachedRetrievalFailed", "c": ""}
                assert "cannot list" in await federation.message(CONFIG_MAPS, "settings", "b")
                assert set(await federation.made(CONFIG_MAPS, "settings")) == {"a", "c"}

    run_virtual(story())


def test_one_of_two_controllers_writes_and_the_other_takes_over(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation:

            def leader(name: str) -> LeaderElector:
                place = LeasePlace(SYSTEM, "federation")
                return LeaderElector(federation.opener("host"), place, name, virtual_now)

            first, second = leader("first"), leader("second")
            async with second, federation.synced(CONFIG_MAPS, leader=second, settings=AT_ONCE):
                async with first, federation.synced(CONFIG_MAPS, leader=first, settings=AT_ONCE):
                    await settled(30)
                    assert first.is_leading != second.is_leading
                    before = federation.writes()
                    await federation.federate(CONFIG_MAPS, "settings", DATA)
                    await settled()
                    written = since(before, federation.writes())
                    assert {name: written[name] for name in MEMBERS} == {
                        name: {"configmaps": 1} for name in MEMBERS
                    }
                await settled(60)
                assert second.is_leading
                await federation.federate(
                    CONFIG_MAPS, "settings", {"data": {"color": "red"}}, clusters=("a",)
                )
                await settled()
                made = await federation.made(CONFIG_MAPS, "settings")
                assert {cluster: each["data"]["color"] for cluster, each in made.items()} == {"a": "red"}

    run_virtual(story())


def test_a_slow_member_delays_no_other_nor_the_status(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation:
            federation.slow["b"] = 20.0
            async with federation.synced(CONFIG_MAPS):
                await settled()
                await asyncio.gather(
                    *(federation.federate(CONFIG_MAPS, f"s{number}", DATA) for number in range(30))
                )
                await settled(2)
                for number in range(30):
                    made = await federation.made(CONFIG_MAPS, f"s{number}")
                    assert {"a", "c"} <= set(made)
                    status = await federation.status(CONFIG_MAPS, f"s{number}")
                    assert status["a"] == status["c"] == ""
                    assert status["b"] != ""
                assert (await federation.status(CONFIG_MAPS, "s0"))["b"] == "CreationTimedOut"
                await settled(120)
                for number in range(30):
                    assert await federation.status(CONFIG_MAPS, f"s{number}") == dict.fromkeys(MEMBERS, "")

    run_virtual(story())


def test_one_bad_object_or_override_stops_no_other(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(CONFIG_MAPS):
            await federation.federate(CONFIG_MAPS, "odd", {"data": {"color": 5}})
            nowhere: list[dict[str, Any]] = [{"op": "remove", "path": "/data/size"}]
            await federation.federate(CONFIG_MAPS, "settings", DATA, overrides={"b": nowhere})
            metadata = {"namespace": SHOP, "name": "broken"}
            await federation.host.apply(
                FEDERATED,
                {
                    "apiVersion": FEDERATED.api_version,
                    "kind": FEDERATED.kind,
                    "metadata": metadata,
                    "spec": {"template": [1]},
                },
            )
            await settled(60)
            assert await federation.status(CONFIG_MAPS, "settings") == {
                "a": "",
                "b": "ApplyOverridesFailed",
                "c": "",
            }
            assert "/data/size" in await federation.message(CONFIG_MAPS, "settings", "b")
            assert await federation.status(CONFIG_MAPS, "odd") == dict.fromkeys(MEMBERS, "CreationFailed")
            # What was found invalid is not tried again until something changes.
            before = federation.writes()
            await settled(300)
            assert since(before, federation.writes()) == {}

    run_virtual(story())


def test_without_its_ledger_a_deleted_object_is_looked_for_where_it_was_placed(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation:
            async with federation.synced(CONFIG_MAPS):
                await federation.federate(CONFIG_MAPS, "settings", DATA)
                await settled()
            await lose(federation, "b")
            # As when their namespace is deleted, which takes the ledger first.
            await federation.host.delete(PROPAGATED_VERSIONS, SHOP, "configmap-settings")
            await federation.host.delete(FEDERATED, SHOP, "settings")
            async with federation.synced(CONFIG_MAPS, settings=AT_ONCE):
                await settled()
                assert set(await federation.made(CONFIG_MAPS, "settings")) == {"b"}
                assert await federation.federated(CONFIG_MAPS, "settings") is None
                await get_back(federation, "b")
                await settled(30)
                assert await federation.made(CONFIG_MAPS, "settings") == {}

    run_virtual(story())
