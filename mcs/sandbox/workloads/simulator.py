"""The thin shell around the planning modules: changes become keys, a key becomes a plan, a plan is carried out.

Runs in the event loop of its API server and takes durations from the loop's clock, so that virtual time governs it.
A plan is made and carried out without an await between: it never works on an old picture.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime
from ipaddress import ip_network
from typing import assert_never

import structlog

from mcs.sandbox.api import Api
from mcs.sandbox.resources import ENDPOINT_SLICES, NODES, PODS, REPLICA_SETS, SERVICES, ResourceType
from mcs.sandbox.rules.addresses import AddressPool, Network
from mcs.sandbox.store import Change, ChangeType, Object
from mcs.sandbox.workloads.actions import Actions, carry_out
from mcs.sandbox.workloads.deployments import plan_deployment
from mcs.sandbox.workloads.endpoint_slices import plan_endpoint_slices
from mcs.sandbox.workloads.garbage import OwnerGraph, observed_dependents, owner_uids, plan_collection
from mcs.sandbox.workloads.keys import Work, WorkKey, keys_for
from mcs.sandbox.workloads.load_balancers import plan_load_balancer
from mcs.sandbox.workloads.namespaces import plan_namespace
from mcs.sandbox.workloads.pods import Pace, plan_pod, stage_of
from mcs.sandbox.workloads.replica_sets import plan_replica_set
from mcs.sandbox.workloads.stateful_sets import plan_stateful_set

log = structlog.get_logger(__name__)

Contents = Iterator[tuple[ResourceType, Object]]


class Simulator:
    """The controllers, the scheduler and the kubelets of one cluster; `run` it as a task."""

    def __init__(
        self, api: Api, *, load_balancer_ranges: Sequence[Network] = (), pace: Pace | None = None
    ) -> None:
        self._api = api
        self._pace = pace or Pace()
        self._graph = OwnerGraph()
        self._pod_pools: dict[str, AddressPool] = {}
        self._balancer_pools = {f"IPv{n.version}": AddressPool(n) for n in load_balancer_ranges}
        self._dirty: dict[WorkKey, datetime] = {}
        self._wake = asyncio.Event()
        self._timers: dict[WorkKey, asyncio.TimerHandle] = {}
        self._entered: dict[WorkKey, tuple[object, float]] = {}

    async def run(self) -> None:
        """Work on what is stored and on every later change until cancelled."""
        stop = self._api.store.listen(self._see)
        try:
            self._see_everything()
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._dirty:
                    key = next(iter(self._dirty))
                    self._reconcile(key, self._dirty.pop(key))
                    # Requests are answered between two plans.
                    await asyncio.sleep(0)
        finally:
            stop()
            for timer in self._timers.values():
                timer.cancel()

    def _see_everything(self) -> None:
        store = self._api.store
        for resource in self._api.registry:
            for obj in store.list(resource):
                self._see(Change(store.revision, ChangeType.ADDED, resource, None, obj))

    def _see(self, change: Change) -> None:
        now = self._api.now()
        for place in self._graph.follow(change):
            self._add(WorkKey(Work.GARBAGE, *place.key, place.resource), now)
        for key in keys_for(change, self._api.store.list):
            if change.type is ChangeType.DELETED and key.resource is change.resource:
                self._entered.pop(key, None)
            self._add(key, now)

    def _add(self, key: WorkKey, changed_at: datetime) -> None:
        self._dirty.setdefault(key, changed_at)
        self._wake.set()

    def _reconcile(self, key: WorkKey, changed_at: datetime) -> None:
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        obj = self._api.store.get(key.resource, key.namespace, key.name)
        if obj is None:
            return
        try:
            actions = self._planned(key, obj, changed_at)
            again = carry_out(self._api, actions, key.work.manager)
        except Exception:
            log.exception("a simulated controller failed", work=key.work.name, name=key.name)
            return
        if again is not None:
            self._timers[key] = asyncio.get_running_loop().call_later(again, self._add, key, changed_at)

    def _planned(self, key: WorkKey, obj: Object, changed_at: datetime) -> Actions:
        store, namespace, now = self._api.store, key.namespace, self._api.now()
        match key.work:
            case Work.DEPLOYMENT:
                return plan_deployment(obj, store.list(REPLICA_SETS, namespace), now)
            case Work.REPLICA_SET:
                return plan_replica_set(obj, store.list(PODS, namespace))
            case Work.STATEFUL_SET:
                return plan_stateful_set(obj, store.list(PODS, namespace))
            case Work.POD:
                age = self._age(key, stage_of(obj))
                nodes, pods = store.list(NODES), store.list(PODS)
                return plan_pod(obj, nodes, pods, self._pod_addresses, age, self._pace, now)
            case Work.ENDPOINTS:
                pods, slices = store.list(PODS, namespace), store.list(ENDPOINT_SLICES, namespace)
                return plan_endpoint_slices(obj, pods, store.list(NODES), slices, changed_at)
            case Work.LOAD_BALANCER:
                age = self._age(key, obj["spec"].get("type"))
                return plan_load_balancer(obj, self._balancer_address, age, self._pace.load_balancer)
            case Work.NAMESPACE:
                age = self._age(key, obj["metadata"].get("deletionTimestamp"))
                return plan_namespace(obj, self._contents(key.name), age, self._pace.namespace)
            case Work.GARBAGE:
                absent = {uid for uid in owner_uids(obj) if not self._graph.exists(uid)}
                dependents = observed_dependents(self._graph, store, obj)
                return plan_collection(key.resource, obj, absent, dependents)
            case other:
                assert_never(other)

    def _age(self, key: WorkKey, stage: object) -> float:
        """Seconds since the object entered its present stage."""
        now = asyncio.get_running_loop().time()
        found = self._entered.get(key)
        if found is None or found[0] != stage:
            found = self._entered[key] = (stage, now)
        return now - found[1]

    def _contents(self, namespace: str) -> Contents:
        for resource in self._api.registry:
            if resource.namespaced:
                for obj in self._api.store.list(resource, namespace):
                    yield resource, obj

    def _pod_addresses(self, node: Object) -> list[str]:
        pods = self._api.store.list(PODS)
        taken = {entry["ip"] for pod in pods for entry in pod.get("status", {}).get("podIPs") or ()}
        ranges = node["spec"].get("podCIDRs") or ()
        pools = [self._pod_pools.setdefault(text, AddressPool(ip_network(text))) for text in ranges]
        found = [pool.free_address(taken.__contains__) for pool in pools]
        return [address for address in found if address is not None]

    def _balancer_address(self, family: str) -> str | None:
        services = self._api.store.list(SERVICES)
        status = [service.get("status", {}).get("loadBalancer", {}) for service in services]
        taken = {entry.get("ip") for each in status for entry in each.get("ingress") or ()}
        pool = self._balancer_pools.get(family)
        return pool.free_address(taken.__contains__) if pool is not None else None
