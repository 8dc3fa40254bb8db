"""Garbage collection and the end of namespaces, in a whole simulated cluster."""

import asyncio

from mcs.sandbox.resources import (
    CONFIGMAPS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    NAMESPACES,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
)
from mcs.sandbox.rules.deletion import DeleteOptions
from mcs.sandbox.store import Change, ChangeType, Object
from mcs.sandbox.workloads.ownership import controller_of
from tests.unit.sandbox.workloads.simulated_cluster import (
    SimulatedCluster,
    in_virtual_time,
    service_spec,
    workload,
)


def owner(uid: str, name: str = "o", *, block: bool = False) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": block}


def names(cluster: SimulatedCluster) -> list[str]:
    return [obj["metadata"]["name"] for obj in cluster.objects(CONFIGMAPS)]


def dependent(cluster: SimulatedCluster, name: str, *owners: Object) -> Object:
    metadata = {"name": name, "namespace": "shop", "ownerReferences": list(owners)}
    return cluster.api.create(CONFIGMAPS, {"metadata": metadata})


def test_a_dependent_goes_with_its_last_owner_only() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        first, second = (cluster.create(CONFIGMAPS, n)["metadata"]["uid"] for n in ("o1", "o2"))
        dependent(cluster, "d", owner(first, "o1"), owner(second, "o2"))
        cluster.api.delete(CONFIGMAPS, "shop", "o1")
        await asyncio.sleep(1)
        assert names(cluster) == ["d", "o2"]
        assert [ref["uid"] for ref in cluster.get(CONFIGMAPS, "d")["metadata"]["ownerReferences"]] == [second]
        cluster.api.delete(CONFIGMAPS, "shop", "o2")
        await asyncio.sleep(1)
        assert names(cluster) == []

    in_virtual_time(scene)


def test_a_dependent_of_nobody_goes_at_once() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        dependent(cluster, "d", owner("nobody"))
        await asyncio.sleep(1)
        assert names(cluster) == []

    in_virtual_time(scene)


def test_in_the_foreground_the_owner_goes_last() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 2))
        await asyncio.sleep(30)
        gone: list[str] = []

        def look(change: Change) -> None:
            if change.type is ChangeType.DELETED and change.resource in (DEPLOYMENTS, REPLICA_SETS, PODS):
                gone.append(change.resource.kind)

        cluster.api.store.listen(look)
        cluster.api.delete(DEPLOYMENTS, "shop", "web", DeleteOptions(propagation="Foreground"))
        await asyncio.sleep(30)
        assert gone == ["Pod", "Pod", "ReplicaSet", "Deployment"]

    in_virtual_time(scene)


def test_orphans_stay_and_forget_their_owner() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(STATEFUL_SETS, "db", spec=workload("db", 2, serviceName="db"))
        await asyncio.sleep(30)
        cluster.api.delete(STATEFUL_SETS, "shop", "db", DeleteOptions(propagation="Orphan"))
        await asyncio.sleep(30)
        assert cluster.pod_names() == ["db-0", "db-1"]
        assert not cluster.objects(STATEFUL_SETS)
        assert [controller_of(pod) for pod in cluster.objects(PODS)] == [None, None]

    in_virtual_time(scene)


def test_an_owner_that_comes_back_adopts_its_orphans() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        wanted = ((DEPLOYMENTS, "web", workload("web", 2)), (STATEFUL_SETS, "db", workload("db", 2)))
        for resource, name, spec in wanted:
            cluster.create(resource, name, spec=spec)
        await asyncio.sleep(30)
        pods = {pod["metadata"]["uid"] for pod in cluster.objects(PODS)}
        for resource, name, _ in wanted:
            cluster.api.delete(resource, "shop", name, DeleteOptions(propagation="Orphan"))
        await asyncio.sleep(1)
        for resource, name, spec in wanted:
            cluster.create(resource, name, spec=spec)
        await asyncio.sleep(30)
        assert {pod["metadata"]["uid"] for pod in cluster.objects(PODS)} == pods
        assert len(cluster.objects(REPLICA_SETS)) == 1
        for resource, name, _ in wanted:
            assert cluster.get(resource, name)["status"]["readyReplicas"] == 2

    in_virtual_time(scene)


def test_a_pod_whose_label_is_changed_is_let_go_of_and_replaced() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 2))
        cluster.create(SERVICES, "web", spec=service_spec("web"))
        await asyncio.sleep(30)
        name = cluster.pod_names()[0]
        cluster.change(PODS, name, lambda pod: pod["metadata"]["labels"].update(app="debug"))
        await asyncio.sleep(30)
        assert name in cluster.pod_names()
        assert controller_of(cluster.get(PODS, name)) is None
        assert name not in {e["targetRef"]["name"] for e in cluster.endpoints("web")}
        assert len(cluster.ready("web")) == 2

    in_virtual_time(scene)


def test_a_deleted_service_takes_its_slices_along() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(SERVICES, "web", spec=service_spec("web", ipFamilyPolicy="RequireDualStack"))
        await asyncio.sleep(1)
        assert len(cluster.objects(ENDPOINT_SLICES)) == 2
        cluster.api.delete(SERVICES, "shop", "web")
        await asyncio.sleep(1)
        assert not cluster.objects(ENDPOINT_SLICES)

    in_virtual_time(scene)


def test_a_namespace_goes_when_it_is_empty_and_takes_everything_along() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 2))
        cluster.create(SERVICES, "web", spec=service_spec("web"))
        held = {"name": "held", "namespace": "shop", "finalizers": ["example.com/hold"]}
        cluster.api.create(CONFIGMAPS, {"metadata": held})
        await asyncio.sleep(30)
        cluster.api.delete(NAMESPACES, "", "shop")
        await asyncio.sleep(1)
        assert cluster.api.get(NAMESPACES, "", "shop")["status"]["phase"] == "Terminating"
        await asyncio.sleep(30)
        left = {r.plural: len(cluster.objects(r)) for r in cluster.api.registry if r.namespaced}
        assert {plural for plural, count in left.items() if count} == {"configmaps"}
        cluster.change(CONFIGMAPS, "held", lambda c: c["metadata"].pop("finalizers"))
        await asyncio.sleep(1)
        assert cluster.api.store.get(NAMESPACES, "", "shop") is None

    in_virtual_time(scene)
