"""Addresses for Services of type LoadBalancer, as a cloud would give them (Kubernetes concepts, "Service")."""

from collections.abc import Callable

from mcs.sandbox.resources import SERVICES
from mcs.sandbox.store import Object
from mcs.sandbox.workloads.actions import Actions, Update, until_due

FreeAddress = Callable[[str], str | None]
"""The next free load balancer address of a family."""


def waits_for_a_load_balancer(service: Object) -> bool:
    """Whether the Service is a LoadBalancer without an address that this cluster provides."""
    spec = service["spec"]
    if spec.get("type") != "LoadBalancer" or spec.get("loadBalancerClass"):
        return False
    return not service.get("status", {}).get("loadBalancer", {}).get("ingress")


def plan_load_balancer(service: Object, free_address: FreeAddress, age: float, delay: float) -> Actions:
    """Give the addresses once `delay` seconds have passed; `age` is how many have."""
    if not waits_for_a_load_balancer(service):
        return []
    if waiting := until_due(delay, age):
        return waiting
    found = [free_address(family) for family in service["spec"].get("ipFamilies", ())]
    ingress = [{"ip": address, "ipMode": "VIP"} for address in found if address]
    if not ingress:
        return []
    status = {**service.get("status", {}), "loadBalancer": {"ingress": ingress}}
    return [Update(SERVICES, {**service, "status": status}, "status")]
