"""A ReplicaSchedulingPreference from its application to replicas in members, by sandbox API servers in virtual time."""

from __future__ import annotations

from pathlib import Path

from mcs.testing.virtual_time import run_virtual
from tests.e2e.federated_world import DEPLOYMENTS, settled, since
from tests.e2e.preferences_world import (
    CLOUDS,
    FOUNDING,
    GRACE,
    HOLD_DOWN,
    preferring,
    set_node,
    template,
)

AWS, AZURE = CLOUDS


def test_ten_replicas_six_to_four_through_the_loss_of_a_cluster_and_its_return(tmp_path: Path) -> None:
    async def story() -> None:
        async with preferring(tmp_path) as world:
            await world.prefer(FOUNDING)
            await settled(20)
            assert await world.plan() == {AWS: 6, AZURE: 4}
            assert await world.asked() == await world.ready() == {AWS: 6, AZURE: 4}
            assert await world.conditions() == {"Planned": "Planned", "AllPlaced": "AllPlaced"}

            world.federation.clusters.set_ready(AZURE, False)
            await settled(GRACE - 5)
            assert await world.plan() == {AWS: 6, AZURE: 4}
            assert await world.reasons() == {AWS: "Weight", AZURE: "NotReady"}
            await settled(20)
            assert await world.plan() == {AWS: 10, AZURE: 0}
            assert await world.reasons() == {AWS: "Weight", AZURE: "Lost"}
            assert await world.ready() == {AWS: 10, AZURE: 4}

            world.federation.clusters.set_ready(AZURE, True)
            await settled(HOLD_DOWN - 5)
            assert await world.plan() == {AWS: 10, AZURE: 0}
            assert await world.reasons() == {AWS: "Weight", AZURE: "Returned"}
            assert await world.ready() == {AWS: 10, AZURE: 4}
            await settled(20)
            assert await world.plan() == {AWS: 6, AZURE: 4}
            assert await world.asked() == await world.ready() == {AWS: 6, AZURE: 4}

    run_virtual(story())


def test_what_does_not_fit_into_a_cluster_goes_to_the_other_and_comes_back_with_room(tmp_path: Path) -> None:
    async def story() -> None:
        async with preferring(tmp_path, {AZURE: "2500m"}) as world:
            await settled(5)
            before = world.federation.writes()
            await world.prefer(FOUNDING)
            await settled(20)
            written = since(before, world.federation.writes())
            assert written["host"]["federateddeployments"] == 1
            assert await world.plan() == await world.asked() == {AWS: 8, AZURE: 2}
            assert await world.reasons() == {AWS: "Weight", AZURE: "Capacity"}
            await set_node(world.federation, AZURE, "9")
            await settled(30)
            assert await world.plan() == await world.ready() == {AWS: 6, AZURE: 4}

    run_virtual(story())


def test_nothing_is_written_while_nothing_changes(tmp_path: Path) -> None:
    async def story() -> None:
        async with preferring(tmp_path) as world:
            await world.prefer(FOUNDING)
            await settled(60)
            before = world.federation.writes()
            await settled(600)
            assert since(before, world.federation.writes()) == {}
            world.federation.clusters.annotate(AZURE, something="else")
            await world.restart()
            await settled(60)
            assert since(before, world.federation.writes()) == {}

    run_virtual(story())


def test_a_drained_cluster_is_emptied_only_as_replicas_are_ready_elsewhere(tmp_path: Path) -> None:
    async def story() -> None:
        async with preferring(tmp_path) as world:
            await world.prefer(FOUNDING)
            await settled(20)
            world.federation.clusters.annotate(AZURE, cordoned="true", drained="true")
            fewest = 10
            for _ in range(50):
                await settled(0.1)
                fewest = min(fewest, sum((await world.ready()).values()))
            assert await world.plan() == await world.ready() == {AWS: 10, AZURE: 0}
            assert fewest == 10
            world.federation.clusters.annotate(AZURE)
            await settled(20)
            assert await world.plan() == await world.ready() == {AWS: 6, AZURE: 4}

    run_virtual(story())


def test_a_cordoned_cluster_keeps_what_it_has_and_gets_nothing_new(tmp_path: Path) -> None:
    async def story() -> None:
        async with preferring(tmp_path) as world:
            await world.prefer(FOUNDING)
            await settled(20)
            world.federation.clusters.annotate(AZURE, cordoned="true")
            await world.prefer(FOUNDING.replace("totalReplicas: 10", "totalReplicas: 20"))
            await settled(20)
            assert await world.plan() == await world.ready() == {AWS: 16, AZURE: 4}
            assert await world.conditions() == {
                "Planned": "Planned",
                "AllPlaced": "AllPlaced",
                "Consistent": "OverridesDifferFromTotal",
            }

    run_virtual(story())


def test_what_is_wrong_with_one_preference_is_told_there_and_stops_no_other(tmp_path: Path) -> None:
    async def story() -> None:
        async with preferring(tmp_path) as world:
            await world.prefer("overrides: [{clusterName: cluster-aws, spec: {replicas: -3}}]", "wrong")
            await world.prefer("{targetKind: FederatedCronJob, totalReplicas: 3}", "kind")
            await world.prefer("totalReplicas: 3", "missing")
            await world.prefer(FOUNDING)
            await settled(20)
            assert await world.conditions("wrong") == {"Planned": "TargetNotFound"}
            await world.federation.federate(DEPLOYMENTS, "wrong", template(), clusters=None)
            await settled(5)
            assert await world.conditions("wrong") == {"Planned": "SpecNotValid"}
            assert await world.conditions("kind") == {"Planned": "KindNotFederated"}
            assert await world.conditions("missing") == {"Planned": "TargetNotFound"}
            assert await world.ready() == {AWS: 6, AZURE: 4}
            types = world.types.copy()
            world.types.clear()
            await world.prefer("totalReplicas: 5", "wrong")
            await settled(5)
            assert await world.conditions("wrong") == {"Planned": "KindNotFederated"}
            world.types.extend(types)
            await settled(10)
            assert await world.conditions("wrong") == {"Planned": "Planned", "AllPlaced": "AllPlaced"}
            await world.prefer("totalReplicas: 4", "wrong")
            await settled(5)
            assert await world.conditions("wrong") == {"Planned": "Planned", "AllPlaced": "AllPlaced"}

    run_virtual(story())


def test_the_form_of_kubefed_over_three_clusters_within_the_selector(tmp_path: Path) -> None:
    async def story() -> None:
        async with preferring(tmp_path, {"third": "50"}) as world:
            await world.federation.federate(
                DEPLOYMENTS, "app", template(), clusters=None, selector={"tier": "gold"}
            )
            for cluster in CLOUDS:
                world.federation.clusters.register(cluster, tier="gold")
            await world.prefer("totalReplicas: 9")
            await settled(20)
            assert await world.ready() == {AWS: 3, AZURE: 3, "third": 3}
            await world.prefer("{totalReplicas: 8, rebalance: true, intersectWithClusterSelector: true}")
            await settled(100)
            assert await world.plan() == await world.ready() == {AWS: 4, AZURE: 4}

    run_virtual(story())


def test_a_controller_that_starts_while_a_cluster_is_away_moves_nothing_before_its_grace_is_over(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with preferring(tmp_path) as world:
            await world.prefer(FOUNDING)
            await settled(20)
            world.federation.clusters.set_ready(AZURE, False)
            await settled(GRACE - 20)
            await world.restart()
            await settled(10)
            assert await world.plan() == {AWS: 6, AZURE: 4}
            await settled(20)
            assert await world.plan() == {AWS: 10, AZURE: 0}
            await world.restart()
            await settled(20)
            assert await world.plan() == {AWS: 10, AZURE: 0}
            world.federation.clusters.set_ready(AZURE, True)
            await settled(HOLD_DOWN - 5)
            await world.restart()
            await settled(4)
            assert await world.reasons() == {AWS: "Weight", AZURE: "Returned"}
            await settled(10)
            assert await world.plan() == {AWS: 6, AZURE: 4}

    run_virtual(story())
