"""A cluster in memory with its simulated controllers, in virtual time and without a socket."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

from mcs.sandbox.demo.clusterset import dual_stack
from mcs.sandbox.http.server import ApiServer
from mcs.sandbox.resources import ENDPOINT_SLICES, NAMESPACES, NODES, PODS, ResourceType
from mcs.sandbox.store import Object, Objects
from mcs.sandbox.workloads.nodes import node_objects
from mcs.sandbox.workloads.pods import Pace
from mcs.sandbox.workloads.simulator import Simulator
from mcs.testing.virtual_time import START, run_virtual

WALL = datetime(2026, 1, 1, tzinfo=UTC)
PACE = Pace(start=1, ready=2, stop=4, load_balancer=3)
SHAPE = dual_stack("east", 0)


def now() -> datetime:
    """The wall clock of the tests: it follows the loop's."""
    try:
        return WALL + timedelta(seconds=asyncio.get_running_loop().time() - START)
    except RuntimeError:
        return WALL


class SimulatedCluster:
    """What a test does with the cluster, in namespace `shop`."""

    def __init__(self) -> None:
        self.server = ApiServer("east", service_ranges=SHAPE.service_ranges, now=now, chance=random.Random(1))
        self.api = self.server.api
        for node in node_objects("east", 2, SHAPE.pod_ranges, SHAPE.node_ranges, WALL):
            made = self.api.create(NODES, node)
            self.api.update_status(NODES, {**made, "status": node["status"]})
        self.api.create(NAMESPACES, {"metadata": {"name": "shop"}})

    def create(self, resource: ResourceType, name: str, **content: Any) -> Object:
        return self.api.create(resource, {"metadata": {"name": name, "namespace": "shop"}, **content})

    def get(self, resource: ResourceType, name: str) -> Object:
        return self.api.get(resource, "shop", name)

    def objects(self, resource: ResourceType) -> Objects:
        return self.api.list(resource, "shop")

    def change(self, resource: ResourceType, name: str, edit: Callable[[Object], Any]) -> Object:
        copy = deepcopy(self.get(resource, name))
        edit(copy)
        return self.api.update(resource, copy)

    def pod_names(self) -> list[str]:
        return sorted(pod["metadata"]["name"] for pod in self.objects(PODS))

    def endpoints(self, service: str, family: str = "IPv4") -> Objects:
        slices = [s for s in self.objects(ENDPOINT_SLICES) if s["addressType"] == family]
        label = "kubernetes.io/service-name"
        own = [s for s in slices if s["metadata"]["labels"][label] == service]
        return [endpoint for each in own for endpoint in each.get("endpoints") or ()]

    def ready(self, service: str) -> list[str]:
        """Ready IPv4 addresses of a Service."""
        return [e["addresses"][0] for e in self.endpoints(service) if e["conditions"]["ready"]]


@asynccontextmanager
async def simulated() -> AsyncIterator[SimulatedCluster]:
    """A cluster whose controllers run until the block ends."""
    cluster = SimulatedCluster()
    simulator = Simulator(cluster.api, load_balancer_ranges=[ip_network("192.0.2.0/26")], pace=PACE)
    task = asyncio.create_task(simulator.run(), name="simulator")
    try:
        yield cluster
    finally:
        task.cancel()
        await asyncio.wait([task])


def in_virtual_time(scene: Callable[[SimulatedCluster], Coroutine[Any, Any, None]]) -> None:
    """Play a scene in a fresh cluster."""

    async def play() -> None:
        async with simulated() as cluster:
            await scene(cluster)

    run_virtual(play())


def template(app: str, image: str = "pause:1") -> Object:
    """A pod template with a named port."""
    ports = [{"name": "http", "containerPort": 8080}]
    containers = [{"name": "main", "image": image, "ports": ports}]
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers}}


def workload(app: str, replicas: int, **spec: Any) -> Object:
    """The `spec` of a Deployment or StatefulSet."""
    return {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": app}},
        "template": template(app),
        **spec,
    }


def service_spec(app: str, **spec: Any) -> Object:
    """The `spec` of a Service that selects the app on its named port."""
    return {"selector": {"app": app}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}], **spec}
