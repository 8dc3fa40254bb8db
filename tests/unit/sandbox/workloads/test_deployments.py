"""Deployments: replica sets, rollouts one step at a time, and what their status says."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcs.sandbox.resources import DEPLOYMENTS, ENDPOINT_SLICES, PODS, REPLICA_SETS, SERVICES
from mcs.sandbox.store import Change, Object
from mcs.sandbox.workloads.actions import Create, Update
from mcs.sandbox.workloads.conditions import condition
from mcs.sandbox.workloads.deployments import plan_deployment, surge_and_unavailable, template_hash
from tests.unit.sandbox.workloads.simulated_cluster import (
    WALL,
    SimulatedCluster,
    in_virtual_time,
    service_spec,
    template,
    workload,
)


def deployment(replicas: int, surge: int | str, unavailable: int | str, **spec: Any) -> Object:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return {
        "metadata": {"name": "web", "namespace": "shop", "uid": "d", "generation": 1},
        "spec": {**workload("web", replicas), "strategy": strategy, **spec},
    }


def replica_set(name: str, revision: int, replicas: int, available: int) -> Object:
    owner = {"uid": "d", "kind": "Deployment", "name": "web", "controller": True}
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": name,
            "labels": {"pod-template-hash": name, "app": "web"},
            "annotations": {"deployment.kubernetes.io/revision": str(revision)},
            "ownerReferences": [owner],
        },
        "spec": {"replicas": replicas},
        "status": {"replicas": replicas, "availableReplicas": available},
    }


CURRENT = template_hash(template("web"))


def step(wanted: Object, new: tuple[int, int], *old: tuple[int, int]) -> tuple[int, ...]:
    """Replicas of the new and the old ReplicaSets after one plan; each is given as (replicas, available)."""
    sets = [replica_set(f"old{n}", n + 1, *counts) for n, counts in enumerate(old)]
    sets.append(replica_set(CURRENT, len(old) + 1, *new))
    found = {rs["metadata"]["name"]: rs["spec"]["replicas"] for rs in sets}
    for action in plan_deployment(wanted, sets, WALL):
        if isinstance(action, Update) and action.resource is REPLICA_SETS:
            found[action.obj["metadata"]["name"]] = action.obj["spec"]["replicas"]
    return found[CURRENT], *(found[f"old{n}"] for n in range(len(old)))


STEPS = [
    ("room for one more", deployment(3, 1, 0), (0, 0), [(3, 3)], (1, 3)),
    ("the new one is not ready yet", deployment(3, 1, 0), (1, 0), [(3, 3)], (1, 3)),
    ("the new one is ready", deployment(3, 1, 0), (1, 1), [(3, 3)], (1, 2)),
    ("then there is room again", deployment(3, 1, 0), (1, 1), [(2, 2)], (2, 2)),
    ("without surge an old one goes first", deployment(3, 0, 1), (0, 0), [(3, 3)], (0, 2)),
    ("an unready old one goes before a ready one", deployment(3, 1, 1), (2, 1), [(1, 1), (1, 0)], (2, 1, 0)),
    ("the oldest goes first", deployment(4, 1, 1), (3, 3), [(1, 1), (1, 1)], (3, 0, 0)),
    ("too few are available to lose even unready ones", deployment(3, 1, 0), (1, 0), [(3, 1)], (1, 3)),
    ("a status not yet renewed", deployment(3, 1, 0), (1, 0), [(3, 4)], (1, 3)),
    ("scaled up", deployment(5, 1, 0), (3, 3), [], (5,)),
    ("scaled down", deployment(1, 1, 0), (3, 3), [], (1,)),
    ("paused: nothing old goes", deployment(3, 1, 0, paused=True), (1, 1), [(3, 3)], (1, 3)),
    ("done", deployment(3, 1, 0), (3, 3), [(0, 0)], (3, 0)),
]


@pytest.mark.parametrize(
    ("wanted", "new", "old", "expected"), [row[1:] for row in STEPS], ids=[row[0] for row in STEPS]
)
def test_one_step_of_a_rollout(
    wanted: Object, new: tuple[int, int], old: list[tuple[int, int]], expected: tuple[int, ...]
) -> None:
    assert step(wanted, new, *old) == expected


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int]:
    replicas = draw(st.integers(0, 6))
    return replicas, draw(st.integers(0, replicas))


@given(st.integers(0, 8), st.integers(0, 3), st.integers(0, 3), counts(), st.lists(counts(), max_size=3))
def test_no_step_costs_more_availability_or_pods_than_allowed(
    wanted: int, surge: int, unavailable: int, new: tuple[int, int], old: list[tuple[int, int]]
) -> None:
    asked = deployment(wanted, surge, unavailable)
    surge, unavailable = surge_and_unavailable(asked)
    after = step(asked, new, *old)
    before = [new, *old]
    available = sum(has for _, has in before)
    # Of a ReplicaSet that shrinks, the unready pods go first.
    still = sum(min(has, replicas) for (_, has), replicas in zip(before, after, strict=True))
    if new[0] <= wanted:
        assert still >= min(available, wanted - unavailable)
    assert sum(after) <= max(wanted + surge, sum(replicas for replicas, _ in before))


SHARES = [
    (4, "25%", "25%", (1, 1)),
    (3, "25%", "25%", (1, 0)),
    (10, 2, "30%", (2, 3)),
    (1, 0, 0, (0, 1)),
]


@pytest.mark.parametrize(("replicas", "surge", "unavailable", "expected"), SHARES)
def test_surge_rounds_up_and_unavailable_down(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    assert surge_and_unavailable(deployment(replicas, surge, unavailable)) == expected


def test_the_first_replica_set_carries_the_hash_in_name_labels_and_selector() -> None:
    (created, *_) = plan_deployment(deployment(2, 1, 0), [], WALL)
    assert isinstance(created, Create)
    made = created.obj
    assert made["metadata"]["name"] == f"web-{CURRENT}"
    assert made["spec"]["replicas"] == 2
    labels = {"app": "web", "pod-template-hash": CURRENT}
    assert made["spec"]["selector"]["matchLabels"] == labels
    assert made["spec"]["template"]["metadata"]["labels"] == labels
    assert made["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] == "3"


def progress(cluster: SimulatedCluster) -> tuple[str, str]:
    found = cluster.get(DEPLOYMENTS, "web")
    reasons = [(condition(found, kind) or {"reason": ""})["reason"] for kind in ("Available", "Progressing")]
    return reasons[0], reasons[1]


def set_image(cluster: SimulatedCluster, image: str) -> None:
    cluster.change(DEPLOYMENTS, "web", lambda d: d["spec"].update(template=template("web", image)))


def test_pods_become_ready_and_the_status_says_so() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 3))
        await asyncio.sleep(2.9)
        assert progress(cluster) == ("MinimumReplicasUnavailable", "ReplicaSetUpdated")
        await asyncio.sleep(0.2)
        status = cluster.get(DEPLOYMENTS, "web")["status"]
        counts = {key: value for key, value in status.items() if key.endswith("eplicas")}
        fields = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        assert counts == dict.fromkeys(fields, 3)
        assert status["observedGeneration"] == 1
        assert progress(cluster) == ("MinimumReplicasAvailable", "NewReplicaSetAvailable")

    in_virtual_time(scene)


def test_a_quiet_cluster_writes_nothing() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 3))
        cluster.create(SERVICES, "web", spec=service_spec("web", type="LoadBalancer"))
        await asyncio.sleep(30)
        revision = cluster.api.store.revision
        await asyncio.sleep(600)
        assert cluster.api.store.revision == revision

    in_virtual_time(scene)


def test_a_rolling_update_replaces_one_after_the_other_and_keeps_every_address_it_promised() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 3))
        cluster.create(SERVICES, "web", spec=service_spec("web"))
        await asyncio.sleep(30)
        before, seen = cluster.ready("web"), []

        def look(change: Change) -> None:
            if change.resource is ENDPOINT_SLICES:
                seen.append((len(cluster.ready("web")), len(cluster.endpoints("web"))))

        stop = cluster.api.store.listen(look)
        set_image(cluster, "pause:2")
        await asyncio.sleep(60)
        stop()
        assert min(ready for ready, _ in seen) == 3
        assert max(ready for ready, _ in seen) == 4
        assert not set(before) & set(cluster.ready("web"))
        assert len(cluster.ready("web")) == len(cluster.pod_names()) == 3
        found = cluster.get(DEPLOYMENTS, "web")
        assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
        assert progress(cluster) == ("MinimumReplicasAvailable", "NewReplicaSetAvailable")

    in_virtual_time(scene)


def test_an_old_template_gets_its_replica_set_back_under_a_new_revision() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 1))
        for image in ("pause:2", "pause:1"):
            await asyncio.sleep(30)
            set_image(cluster, image)
        await asyncio.sleep(30)
        sets = {rs["spec"]["replicas"]: rs["metadata"]["annotations"] for rs in cluster.objects(REPLICA_SETS)}
        revisions = {n: found["deployment.kubernetes.io/revision"] for n, found in sets.items()}
        assert revisions == {1: "3", 0: "2"}

    in_virtual_time(scene)


def test_recreate_ends_all_old_pods_before_the_first_new_one() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 2, strategy={"type": "Recreate"}))
        await asyncio.sleep(30)
        old, mixed = set(cluster.pod_names()), []

        def look(change: Change) -> None:
            if change.resource is PODS:
                names = set(cluster.pod_names())
                active = [p for p in cluster.objects(PODS) if "deletionTimestamp" not in p["metadata"]]
                mixed.append(bool(names - old) and any(p["metadata"]["name"] in old for p in active))

        stop = cluster.api.store.listen(look)
        set_image(cluster, "pause:2")
        await asyncio.sleep(60)
        stop()
        assert not any(mixed)
        assert len(cluster.pod_names()) == 2
        assert not old & set(cluster.pod_names())

    in_virtual_time(scene)


def test_scaling_down_takes_the_unready_and_the_young_first() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 2))
        await asyncio.sleep(30)
        first = cluster.pod_names()
        cluster.change(DEPLOYMENTS, "web", lambda d: d["spec"].update(replicas=4))
        await asyncio.sleep(30)
        assert len(cluster.pod_names()) == 4
        cluster.change(DEPLOYMENTS, "web", lambda d: d["spec"].update(replicas=2))
        await asyncio.sleep(30)
        assert cluster.pod_names() == first

    in_virtual_time(scene)


def test_a_deleted_deployment_takes_replica_sets_and_pods_along() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 2))
        await asyncio.sleep(30)
        cluster.api.delete(DEPLOYMENTS, "shop", "web")
        await asyncio.sleep(30)
        assert not cluster.objects(REPLICA_SETS)
        assert not cluster.objects(PODS)

    in_virtual_time(scene)


def test_a_pod_that_is_deleted_comes_back_under_another_name() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 2))
        await asyncio.sleep(30)
        gone, kept = cluster.pod_names()
        cluster.api.delete(PODS, "shop", gone)
        await asyncio.sleep(30)
        assert len(cluster.pod_names()) == 2
        assert kept in cluster.pod_names()
        assert gone not in cluster.pod_names()

    in_virtual_time(scene)
