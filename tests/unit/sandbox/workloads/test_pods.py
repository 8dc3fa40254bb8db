"""Pods and load balancers: what happens to them, and when, on the loop's clock."""

import asyncio
from collections import Counter

from mcs.sandbox.resources import DEPLOYMENTS, NODES, PODS, SERVICES
from mcs.sandbox.store import Object
from mcs.sandbox.workloads.conditions import is_true
from mcs.sandbox.workloads.pods import stage_of
from tests.unit.sandbox.workloads.simulated_cluster import (
    PACE,
    SimulatedCluster,
    in_virtual_time,
    service_spec,
    template,
    workload,
)


def stage(cluster: SimulatedCluster) -> str:
    return stage_of(cluster.get(PODS, "p")).value


def bare_pod(cluster: SimulatedCluster, **spec: object) -> Object:
    return cluster.create(PODS, "p", spec={**template("p")["spec"], **spec})


def test_a_pod_goes_through_its_stages_at_the_given_pace() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        bare_pod(cluster)
        seen = []
        for wait in (0.1, PACE.start, PACE.ready):
            await asyncio.sleep(wait)
            status = cluster.get(PODS, "p")["status"]
            seen.append((stage(cluster), status["phase"], len(status.get("podIPs", ()))))
        assert seen == [("scheduled", "Pending", 0), ("running", "Running", 2), ("ready", "Running", 2)]
        cluster.api.delete(PODS, "shop", "p")
        await asyncio.sleep(PACE.stop - 0.1)
        assert stage(cluster) == "terminating"
        await asyncio.sleep(0.2)
        assert not cluster.pod_names()

    in_virtual_time(scene)


def test_a_pod_with_a_readiness_gate_waits_for_it() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        bare_pod(cluster, readinessGates=[{"conditionType": "example.com/warm"}])
        await asyncio.sleep(10)
        for value in ("False", "True", "False"):
            pod = cluster.get(PODS, "p")
            others = [c for c in pod["status"]["conditions"] if c["type"] != "example.com/warm"]
            gate = {"type": "example.com/warm", "status": value, "lastTransitionTime": "2026-01-01T00:00:00Z"}
            status = {**pod["status"], "conditions": [*others, gate]}
            cluster.api.update_status(PODS, {**pod, "status": status})
            await asyncio.sleep(1)
            assert is_true(cluster.get(PODS, "p"), "Ready") is (value == "True")

    in_virtual_time(scene)


def test_pods_spread_over_nodes_and_never_share_an_address() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec=workload("web", 10))
        await asyncio.sleep(10)
        pods = cluster.objects(PODS)
        assert Counter(p["spec"]["nodeName"] for p in pods) == {"east-1": 5, "east-2": 5}
        addresses = [entry["ip"] for p in pods for entry in p["status"]["podIPs"]]
        assert len(set(addresses)) == 20
        node = {n["metadata"]["name"]: n["spec"]["podCIDRs"] for n in cluster.api.list(NODES)}
        assert node == {
            "east-1": ["10.244.1.0/24", "fd00:10:244:1::/64"],
            "east-2": ["10.244.2.0/24", "fd00:10:244:2::/64"],
        }

    in_virtual_time(scene)


def test_a_pod_without_a_free_node_waits_for_one() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        for name in ("east-1", "east-2"):
            node = cluster.api.get(NODES, "", name)
            cluster.api.update(NODES, {**node, "spec": {**node["spec"], "unschedulable": True}})
        bare_pod(cluster)
        await asyncio.sleep(10)
        assert stage(cluster) == "unscheduled"
        node = cluster.api.get(NODES, "", "east-2")
        spec = {key: value for key, value in node["spec"].items() if key != "unschedulable"}
        cluster.api.update(NODES, {**node, "spec": spec})
        await asyncio.sleep(10)
        assert cluster.get(PODS, "p")["spec"]["nodeName"] == "east-2"
        assert stage(cluster) == "ready"

    in_virtual_time(scene)


def test_a_load_balancer_gets_its_address_after_a_while_and_nobody_elses() -> None:
    async def scene(cluster: SimulatedCluster) -> None:
        for name in ("a", "b"):
            cluster.create(SERVICES, name, spec=service_spec("web", type="LoadBalancer"))
        cluster.create(SERVICES, "c", spec=service_spec("web"))
        other = {"type": "LoadBalancer", "loadBalancerClass": "example.com/other"}
        cluster.create(SERVICES, "d", spec=service_spec("web", **other))
        await asyncio.sleep(PACE.load_balancer - 0.1)
        assert cluster.get(SERVICES, "a")["status"]["loadBalancer"] == {}
        await asyncio.sleep(0.2)
        found = {s["metadata"]["name"]: s["status"]["loadBalancer"] for s in cluster.objects(SERVICES)}
        assert found == {
            "a": {"ingress": [{"ip": "192.0.2.17", "ipMode": "VIP"}]},
            "b": {"ingress": [{"ip": "192.0.2.18", "ipMode": "VIP"}]},
            "c": {},
            "d": {},
        }
        cluster.change(SERVICES, "a", lambda s: s["spec"].update(type="ClusterIP"))
        assert cluster.get(SERVICES, "a")["status"]["loadBalancer"] == {}

    in_virtual_time(scene)
