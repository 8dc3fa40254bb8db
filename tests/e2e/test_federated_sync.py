"""What a federated object makes of its members, by sandbox API servers in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcs.controllers.federation.picture import SyncSettings
from mcs.model.federated import federated_resource
from mcs.testing.virtual_time import run_virtual
from tests.e2e.federated_world import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    MEMBERS,
    SHOP,
    running_federation,
    settled,
    since,
)

DATA = {"data": {"color": "blue"}}
ORPHAN = {"kubefed.io/orphan": "true"}
AT_ONCE = SyncSettings(hold_down=0)


def deployment(replicas: int = 2, image: str = "web:1") -> dict[str, Any]:
    """A template."""
    labels = {"app": "web"}
    return {
        "metadata": {"labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": image}]},
            },
        },
    }


def test_an_object_is_made_in_the_clusters_where_it_is_placed(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(CONFIG_MAPS):
            await federation.federate(CONFIG_MAPS, "settings", DATA, clusters=("a", "b"))
            await settled()
            made = await federation.made(CONFIG_MAPS, "settings")
            assert {cluster: each["data"] for cluster, each in made.items()} == {
                "a": {"color": "blue"},
                "b": {"color": "blue"},
            }
            assert made["a"]["metadata"]["labels"] == {"kubefed.io/managed": "true"}
            assert await federation.status(CONFIG_MAPS, "settings") == {"a": "", "b": ""}
            assert await federation.ledger(CONFIG_MAPS, "settings") == ["a", "b"]

    run_virtual(story())


def test_a_change_of_the_template_reaches_every_cluster_and_an_override_only_its_own(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(DEPLOYMENTS):
            await federation.federate(DEPLOYMENTS, "web", deployment())
            await settled()
            before = federation.writes()
            await federation.federate(DEPLOYMENTS, "web", deployment(image="web:2"))
            await settled()
            written = since(before, federation.writes())
            assert {name: written[name] for name in MEMBERS} == {name: {"deployments": 1} for name in MEMBERS}
            made = await federation.made(DEPLOYMENTS, "web")
            images = {each["spec"]["template"]["spec"]["containers"][0]["image"] for each in made.values()}
            assert images == {"web:2"}

            before = federation.writes()
            more = [{"path": "/spec/replicas", "value": 7}]
            await federation.federate(DEPLOYMENTS, "web", deployment(image="web:2"), overrides={"b": more})
            await settled()
            written = since(before, federation.writes())
            assert {name: written[name] for name in MEMBERS if name in written} == {"b": {"deployments": 1}}
            made = await federation.made(DEPLOYMENTS, "web")
            assert {cluster: each["spec"]["replicas"] for cluster, each in made.items()} == {
                "a": 2,
                "b": 7,
                "c": 2,
            }

    run_virtual(story())


def test_what_a_new_object_costs(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(DEPLOYMENTS):
            await settled()
            before = federation.writes()
            await federation.federate(DEPLOYMENTS, "web", deployment())
            await settled()
            assert since(before, federation.writes()) == {
                "host": {
                    # One by the user, one for the finalizer.
                    "federateddeployments": 2,
                    "federateddeployments/status": 1,
                    "propagatedversions": 1,
                    # Before the first write to a member, and after the last.
                    "propagatedversions/status": 2,
                },
                **{name: {"deployments": 1} for name in MEMBERS},
            }

            before = federation.writes()
            await settled(600)
            assert since(before, federation.writes()) == {}

    run_virtual(story())


def test_nothing_is_written_after_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation:
            async with federation.synced(DEPLOYMENTS, CONFIG_MAPS):
                await federation.federate(DEPLOYMENTS, "web", deployment())
                await federation.federate(CONFIG_MAPS, "settings", DATA)
                await settled()
            assert federation.clusters.followers == []
            before = federation.writes()
            # Until it is listed, nothing is known of it, which is no news.
            federation.slow_lists["b"] = 5
            async with federation.synced(DEPLOYMENTS, CONFIG_MAPS):
                await settled(120)
            assert since(before, federation.writes()) == {}

    run_virtual(story())


def test_a_narrowed_placement_deletes(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            running_federation(tmp_path) as federation,
            federation.synced(CONFIG_MAPS, settings=AT_ONCE),
        ):
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled()
            await federation.federate(CONFIG_MAPS, "settings", DATA, clusters=("a",))
            await settled()
            assert set(await federation.made(CONFIG_MAPS, "settings")) == {"a"}
            assert await federation.status(CONFIG_MAPS, "settings") == {"a": ""}
            assert await federation.ledger(CONFIG_MAPS, "settings") == ["a"]

    run_virtual(story())


def test_a_change_of_labels_moves_what_is_selected_by_them(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            running_federation(tmp_path) as federation,
            federation.synced(CONFIG_MAPS, settings=AT_ONCE),
        ):
            for name, env in (("a", "prod"), ("b", "prod"), ("c", "dev")):
                federation.clusters.register(name, env=env)
            await federation.federate(CONFIG_MAPS, "settings", DATA, clusters=None, selector={"env": "prod"})
            await settled()
            assert set(await federation.made(CONFIG_MAPS, "settings")) == {"a", "b"}
            federation.clusters.register("b", env="dev")
            await settled()
            assert set(await federation.made(CONFIG_MAPS, "settings")) == {"a"}

    run_virtual(story())


def test_without_a_federated_namespace_nothing_is_placed(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            running_federation(tmp_path, is_namespace_federated=False) as federation,
            federation.synced(CONFIG_MAPS, settings=AT_ONCE),
        ):
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled()
            assert await federation.made(CONFIG_MAPS, "settings") == {}
            found = await federation.federated(CONFIG_MAPS, "settings")
            assert found is not None
            (condition,) = found["status"]["conditions"]
            assert (condition["status"], condition["reason"]) == ("False", "NamespaceNotFederated")

            await federation.federate_namespace(("b", "c"))
            await settled()
            assert set(await federation.made(CONFIG_MAPS, "settings")) == {"b", "c"}
            await federation.federate_namespace(("c",))
            await settled()
            assert set(await federation.made(CONFIG_MAPS, "settings")) == {"c"}

    run_virtual(story())


def test_a_deleted_object_is_deleted_everywhere_before_it_goes(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(CONFIG_MAPS):
            await federation.federate(CONFIG_MAPS, "settings", DATA)
            await settled()
            await federation.host.delete(federated_resource(CONFIG_MAPS), SHOP, "settings")
            await settled()
            assert await federation.made(CONFIG_MAPS, "settings") == {}
            assert await federation.federated(CONFIG_MAPS, "settings") is None
            assert await federation.ledger(CONFIG_MAPS, "settings") is None
            assert await federation.tombstones() == []

    run_virtual(story())


def test_an_orphaned_object_stays_without_our_label(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(CONFIG_MAPS):
            await federation.federate(CONFIG_MAPS, "settings", DATA, annotations=ORPHAN)
            await settled()
            await federation.host.delete(federated_resource(CONFIG_MAPS), SHOP, "settings")
            await settled()
            made = await federation.made(CONFIG_MAPS, "settings")
            assert set(made) == set(MEMBERS)
            assert all("labels" not in each["metadata"] for each in made.values())
            assert await federation.federated(CONFIG_MAPS, "settings") is None
            assert await federation.ledger(CONFIG_MAPS, "settings") is None

    run_virtual(story())


def test_the_options_of_a_deletion_are_passed_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(CONFIG_MAPS):
            odd = {"kubefed.io/deleteoption": "foreground, please"}
            await federation.federate(CONFIG_MAPS, "settings", DATA, clusters=("a",), annotations=odd)
            await settled()
            await federation.host.delete(federated_resource(CONFIG_MAPS), SHOP, "settings")
            await settled()
            assert await federation.status(CONFIG_MAPS, "settings") == {"a": "DeletionFailed"}
            assert "deleteoption" in await federation.message(CONFIG_MAPS, "settings", "a")

            foreground = {"kubefed.io/deleteoption": '{"propagationPolicy": "Foreground"}'}
            changes = {"metadata": {"annotations": foreground}}
            await federation.host.merge(federated_resource(CONFIG_MAPS), SHOP, "settings", changes)
            await settled()
            (made,) = (await federation.made(CONFIG_MAPS, "settings")).values()
            assert made["metadata"]["finalizers"] == ["foregroundDeletion"]
            assert await federation.status(CONFIG_MAPS, "settings") == {"a": "WaitingForRemoval"}

    run_virtual(story())
