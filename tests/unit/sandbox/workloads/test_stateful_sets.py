"""StatefulSets: members in order, by name, and what their status says."""

import asyncio
from typing import Any

import pytest

from mcs.sandbox.resources import ENDPOINT_SLICES, PODS, SERVICES, STATEFUL_SETS
from mcs.sandbox.store import Change, ChangeType, Object
from mcs.sandbox.workloads.actions import Create, Delete
from mcs.sandbox.workloads.stateful_sets import REVISION, plan_stateful_set, revision_of
from tests.unit.sandbox.workloads.simulated_cluster import (
    SimulatedCluster,
    in_virtual_time,
    service_spec,
    template,
    workload,
)

NEW, OLD = "new", "old"


def stateful_set(replicas: int, **spec: Any) -> Object:
    return {
        "metadata": {"name": "db", "namespace": "shop", "uid": "s", "generation": 1},
        "spec": {**workload("db", replicas), "serviceName": "db", **spec},
    }


def pod(ordinal: int, state: str) -> Object:
    """States: "+" ready, "-" not ready, "x" being deleted; a trailing "o" means of an older revision."""
    revision = "db-old" if state.endswith("o") else revision_of(stateful_set(1))
    made: Object = {
        "metadata": {
            "name": f"db-{ordinal}",
            "uid": f"p{ordinal}",
            "labels": {REVISION: revision, "app": "db"},
            "ownerReferences": [{"uid": "s", "kind": "StatefulSet", "name": "db", "controller": True}],
        },
        "status": {"conditions": [{"type": "Ready", "status": "True" if state[0] == "+" else "False"}]},
    }
    if state[0] == "x":
        made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return made


PARALLEL = {"podManagementPolicy": "Parallel"}
ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}
PARTITION = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}
STEPS: list[tuple[str, Object, list[str], list[str]]] = [
    ("the first one", stateful_set(3), [], ["+db-0"]),
    ("the next one waits for the first", stateful_set(3), ["-"], []),
    ("the next one", stateful_set(3), ["+"], ["+db-1"]),
    ("all at once", stateful_set(3, **PARALLEL), [], ["+db-0", "+db-1", "+db-2"]),
    ("complete", stateful_set(3), ["+", "+", "+"], []),
    ("the highest goes first", stateful_set(1), ["+", "+", "+"], ["-db-2"]),
    ("one after the other", stateful_set(1), ["+", "+", "x"], []),
    ("down all at once", stateful_set(1, **PARALLEL), ["+", "+", "+"], ["-db-2", "-db-1"]),
    ("nothing goes while one is not ready", stateful_set(1), ["-", "+"], []),
    ("a gap is filled first", stateful_set(3), ["+", "", "+"], ["+db-1"]),
    ("an update begins at the top", stateful_set(3), ["+o", "+o", "+o"], ["-db-2"]),
    ("an update waits", stateful_set(3), ["+o", "+o", "-"], []),
    ("an update goes down", stateful_set(3), ["+o", "+o", "+"], ["-db-1"]),
    ("an update stops at the partition", stateful_set(3, **PARTITION), ["+o", "+o", "+"], []),
    ("updates are left to deletions", stateful_set(3, **ON_DELETE), ["+o", "+o", "+o"], []),
    ("other ordinals", stateful_set(2, ordinals={"start": 5}), [], ["+db-5"]),
]


@pytest.mark.parametrize(
    ("wanted", "pods", "expected"), [row[1:] for row in STEPS], ids=[row[0] for row in STEPS]
)
def test_one_step(wanted: Object, pods: list[str], expected: list[str]) -> None:
    present = [pod(ordinal, state) for ordinal, state in enumerate(pods) if state]
    found = []
    for action in plan_stateful_set(wanted, present):
        if isinstance(action, Create | Delete):
            sign = "+" if isinstance(action, Create) else "-"
            found.append(sign + action.obj["metadata"]["name"])
    assert found == expected


def test_members_come_in_order_and_have_names_in_both_families() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        born: list[str] = []

        def look(change: Change) -> None:
            if change.resource is PODS and change.type is ChangeType.ADDED:
                born.append(change.new["metadata"]["name"])
                older = [p for p in cluster.objects(PODS) if p["metadata"]["name"] != born[-1]]
                assert all(
                    {"type": "Ready", "status": "True"}.items() <= c.items()
                    for p in older
                    for c in p["status"]["conditions"]
                    if c["type"] == "Ready"
                )

        stop = cluster.api.store.listen(look)
        headless = {"clusterIP": "None", "ipFamilyPolicy": "RequireDualStack"}
        cluster.create(SERVICES, "db", spec=service_spec("db", **headless))
        cluster.create(STATEFUL_SETS, "db", spec=workload("db", 3, serviceName="db"))
        await asyncio.sleep(30)
        stop()
        assert born == ["db-0", "db-1", "db-2"]
        for family in ("IPv4", "IPv6"):
            assert [e["hostname"] for e in cluster.endpoints("db", family)] == born
        assert all(
            s["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
            for s in cluster.objects(ENDPOINT_SLICES)
        )

    in_virtual_time(scene)


def test_an_update_keeps_names_and_replaces_one_member_at_a_time() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(SERVICES, "db", spec=service_spec("db", clusterIP="None"))
        cluster.create(STATEFUL_SETS, "db", spec=workload("db", 3, serviceName="db"))
        await asyncio.sleep(30)
        before, fewest = set(cluster.ready("db")), [3]

        def look(change: Change) -> None:
            if change.resource is ENDPOINT_SLICES:
                fewest.append(len(cluster.ready("db")))

        stop = cluster.api.store.listen(look)
        image = template("db", "pause:2")
        cluster.change(STATEFUL_SETS, "db", lambda s: s["spec"].update(template=image))
        await asyncio.sleep(60)
        stop()
        assert min(fewest) == 2
        assert not before & set(cluster.ready("db"))
        assert cluster.pod_names() == ["db-0", "db-1", "db-2"]
        status = cluster.get(STATEFUL_SETS, "db")["status"]
        assert status["currentRevision"] == status["updateRevision"]
        assert (status["readyReplicas"], status["updatedReplicas"], status["observedGeneration"]) == (3, 3, 2)

    in_virtual_time(scene)
