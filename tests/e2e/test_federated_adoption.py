"""Objects that the members had before, or that somebody in a member has a say in."""

from __future__ import annotations

from pathlib import Path

from mcs.controllers.federation.picture import SyncSettings
from mcs.model.federated import federated_resource, target_resource
from mcs.testing.virtual_time import run_virtual
from tests.e2e.federated_world import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    SHOP,
    Federation,
    Json,
    running_federation,
    settled,
    since,
)
from tests.e2e.test_federated_sync import AT_ONCE, DATA, deployment

TARGET = target_resource(CONFIG_MAPS)
FEDERATED = federated_resource(CONFIG_MAPS)


async def manage(federation: Federation, cluster: str, value: str | None) -> None:
    """Change the managed label of an object in a member."""
    changes = {"metadata": {"labels": {"kubefed.io/managed": value}}}
    await federation.apis[cluster].merge(TARGET, SHOP, "settings", changes)


def test_an_object_labelled_as_unmanaged_is_left_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            running_federation(tmp_path) as federation,
            federation.synced(CONFIG_MAPS, settings=AT_ONCE),
        ):
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled()
            await manage(federation, "b", "false")
            await settled()
            await federation.federate(CONFIG_MAPS, "settings", {"data": {"color": "red"}})
            await settled()
            made = await federation.made(CONFIG_MAPS, "settings")
            assert {cluster: each["data"]["color"] for cluster, each in made.items()} == {
                "a": "red",
                "b": "blue",
                "c": "red",
            }
            assert (await federation.status(CONFIG_MAPS, "settings"))["b"] == "ManagedLabelFalse"
            await federation.host.delete(FEDERATED, SHOP, "settings")
            await settled()
            assert set(await federation.made(CONFIG_MAPS, "settings")) == {"b"}
            assert await federation.federated(CONFIG_MAPS, "settings") is None

    run_virtual(story())


def test_labelled_objects_that_nobody_federates_lose_only_their_label(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation:
            labels = {"kubefed.io/managed": "true", "of": "others"}
            await federation.apis["a"].apply(TARGET, config_map("left", labels=labels))
            async with federation.synced(CONFIG_MAPS, settings=AT_ONCE):
                await settled()
                made = await federation.made(CONFIG_MAPS, "left")
                assert made["a"]["metadata"]["labels"] == {"of": "others"}

    run_virtual(story())


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> Json:
    """A ConfigMap as users write it."""
    metadata: Json = {"namespace": SHOP, "name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def test_what_is_not_to_be_adopted_stays_as_it_is(tmp_path: Path) -> None:
    async def story() -> None:
        settings = SyncSettings(adopts=False)
        async with (
            running_federation(tmp_path) as federation,
            federation.synced(CONFIG_MAPS, settings=settings),
        ):
            await federation.apis["b"].apply(TARGET, config_map("settings", color="green"))
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled()
            assert (await federation.status(CONFIG_MAPS, "settings"))["b"] == "AlreadyExists"
            assert (await federation.made(CONFIG_MAPS, "settings"))["b"]["data"] == {"color": "green"}
            await federation.host.delete(FEDERATED, SHOP, "settings")
            await settled()
            assert set(await federation.made(CONFIG_MAPS, "settings")) == {"b"}

    run_virtual(story())


def test_of_an_adopted_object_a_field_goes_with_the_template_and_what_the_template_never_had_stays(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(CONFIG_MAPS):
            await federation.apis["b"].create(
                TARGET, config_map("settings", color="blue", size="small", own="kept")
            )
            both = {"data": {"color": "blue", "size": "small"}}
            await federation.federate(CONFIG_MAPS, "settings", both)
            await settled()
            made = (await federation.made(CONFIG_MAPS, "settings"))["b"]
            assert made["data"] == {"color": "blue", "size": "small", "own": "kept"}
            before = federation.writes()
            await settled(60)
            assert since(before, federation.writes()) == {}
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled()
            made = (await federation.made(CONFIG_MAPS, "settings"))["b"]
            assert made["data"] == {"color": "blue", "own": "kept"}

    run_virtual(story())


def test_replicas_that_are_retained_belong_to_the_member(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(DEPLOYMENTS):
            target = target_resource(DEPLOYMENTS)
            await federation.federate(DEPLOYMENTS, "web", deployment(2), retainReplicas=True)
            await settled()
            await federation.apis["b"].merge(target, SHOP, "web", {"spec": {"replicas": 9}})
            await settled()
            await federation.federate(DEPLOYMENTS, "web", deployment(2, "web:2"), retainReplicas=True)
            await settled()
            made = await federation.made(DEPLOYMENTS, "web")
            assert {cluster: each["spec"]["replicas"] for cluster, each in made.items()} == {
                "a": 2,
                "b": 9,
                "c": 2,
            }
            images = {each["spec"]["template"]["spec"]["containers"][0]["image"] for each in made.values()}
            assert images == {"web:2"}

    run_virtual(story())
