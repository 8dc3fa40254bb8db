"""Which simulated controllers have to look at what, because of one change in the store."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from mcs.sandbox.resources import (
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
    ResourceType,
)
from mcs.sandbox.store import Change, ChangeType, Object, Objects, key_of
from mcs.sandbox.workloads.endpoint_slices import SERVICE_NAME, selects
from mcs.sandbox.workloads.ownership import controller_of


class Work(Enum):
    """The simulated controllers; the value is the field manager a real cluster shows."""

    DEPLOYMENT = ("deployment", "kube-controller-manager")
    REPLICA_SET = ("replica set", "kube-controller-manager")
    STATEFUL_SET = ("stateful set", "kube-controller-manager")
    POD = ("pod", "kubelet")
    ENDPOINTS = ("endpoints", "kube-controller-manager")
    LOAD_BALANCER = ("load balancer", "cloud-controller-manager")
    NAMESPACE = ("namespace", "kube-controller-manager")
    GARBAGE = ("garbage", "kube-controller-manager")

    @property
    def manager(self) -> str:
        """The field manager of its writes."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class WorkKey:
    """One object one controller has to look at."""

    work: Work
    namespace: str
    name: str
    resource: ResourceType


_OWN_WORK = {
    DEPLOYMENTS: (Work.DEPLOYMENT,),
    REPLICA_SETS: (Work.REPLICA_SET,),
    STATEFUL_SETS: (Work.STATEFUL_SET,),
    PODS: (Work.POD,),
    SERVICES: (Work.ENDPOINTS, Work.LOAD_BALANCER),
    NAMESPACES: (Work.NAMESPACE,),
}
_CONTROLLERS = {
    "Deployment": (Work.DEPLOYMENT, DEPLOYMENTS),
    "ReplicaSet": (Work.REPLICA_SET, REPLICA_SETS),
    "StatefulSet": (Work.STATEFUL_SET, STATEFUL_SETS),
}

ListObjects = Callable[[ResourceType, str | None], Objects]


def keys_for(change: Change, objects: ListObjects) -> Iterator[WorkKey]:
    """Every key the change touches. Garbage collection has its own bookkeeping (see `garbage`)."""
    resource, (namespace, name) = change.resource, key_of(change.new)
    for work in _OWN_WORK.get(resource, ()):
        yield WorkKey(work, namespace, name, resource)
    for obj in (change.old, change.new):
        yield from _controller_keys(obj, namespace)
    if resource is PODS:
        yield from _service_keys(change, objects(SERVICES, namespace), namespace)
    elif resource is ENDPOINT_SLICES:
        if service := change.new["metadata"].get("labels", {}).get(SERVICE_NAME):
            yield WorkKey(Work.ENDPOINTS, namespace, service, SERVICES)
    elif resource is NODES:
        yield from _node_keys(objects)
    if change.type is ChangeType.DELETED and namespace:
        yield WorkKey(Work.NAMESPACE, "", namespace, NAMESPACES)


def _controller_keys(obj: Object | None, namespace: str) -> Iterator[WorkKey]:
    reference = controller_of(obj) if obj is not None else None
    if reference is not None and reference["kind"] in _CONTROLLERS:
        work, owner = _CONTROLLERS[reference["kind"]]
        yield WorkKey(work, namespace, reference["name"], owner)


def _service_keys(change: Change, services: Iterable[Object], namespace: str) -> Iterator[WorkKey]:
    pods = [pod for pod in (change.old, change.new) if pod is not None]
    for service in services:
        if any(selects(service, pod) for pod in pods):
            yield WorkKey(Work.ENDPOINTS, namespace, service["metadata"]["name"], SERVICES)


def _node_keys(objects: ListObjects) -> Iterator[WorkKey]:
    for pod in objects(PODS, None):
        if not pod["spec"].get("nodeName"):
            yield WorkKey(Work.POD, *key_of(pod), PODS)
    for service in objects(SERVICES, None):
        yield WorkKey(Work.ENDPOINTS, *key_of(service), SERVICES)
