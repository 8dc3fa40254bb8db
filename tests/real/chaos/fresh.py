"""Whether clusters hold what a fresh computation says: planned from their sources, by nothing but the pure functions.

Everything is read anew from the API servers. Two things are asked of each service in each cluster: whether the plan
leaves anything to do, and whether the same comes of it in a cluster that has held nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, NoReturn

import msgspec

from mcs.controllers import clusters
from mcs.controllers.clusters import ClusterCaches
from mcs.controllers.processes import utc_now
from mcs.controllers.services import ServicesController
from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.model.multicluster import ServiceImport
from mcs.model.names import ClusterId
from mcs.model.services import Service
from mcs.model.slices import EndpointSlice
from mcs.runtime.fleet import Fleet, Member
from mcs.services.observed import ObservedTarget
from mcs.services.plan import plan_export, plan_target
from mcs.testing.simulated_target import SimulatedTarget, in_words
from tests.lab.control_planes import ControlPlane


async def differences(planes: Sequence[ControlPlane]) -> list[str]:
    """What is not as a fresh computation says, one line each. Raises KubeError when a server cannot be read."""
    members = [await _read(plane) for plane in planes]
    fleet = Fleet(members)
    return list(found(ServicesController(fleet, utc_now), fleet))


async def _read(plane: ControlPlane) -> Member[Any]:
    member: Member[Any] = Member(ClusterId(plane.name), _no_client, clusters.REFLECTED)
    async with await connect([plane.kubeconfig()], None) as connection:
        client = Client(connection)
        for each in clusters.REFLECTED:
            pages = [page async for page in client.list_pages(each.resource)]
            member.caches[each.resource.plural].replace([item for page in pages for item in page.items])
    return member


def _no_client() -> AbstractAsyncContextManager[NoReturn]:
    raise AssertionError("a fresh computation works with nothing but what was read")


def found(controller: ServicesController, fleet: Fleet[Any]) -> Iterator[str]:
    """Every difference, of clusters whose caches hold what their API servers do."""
    caches = {cluster: ClusterCaches.of(member.caches) for cluster, member in fleet.members.items()}
    exported = {each.key for each_caches in caches.values() for each in each_caches.exports}
    for cluster in sorted(caches):
        for key in sorted(exported | caches[cluster].imported()):
            observed = controller.observe_target(cluster, key)
            for what in in_words(plan_target(observed)):
                yield f"{cluster} {key}: left to do: {what}"
            for what in sorted(_meaning(observed) ^ _from_nothing(observed)):
                yield f"{cluster} {key}: not as from nothing: {what}"
            export = controller.observe_export(cluster, key)
            for what in in_words(plan_export(export)) if export is not None else ():
                yield f"{cluster} {key}: left to say: {what}"


def _from_nothing(observed: ObservedTarget) -> set[str]:
    """What comes of the plans for a cluster that holds nothing of the service yet."""
    target = SimulatedTarget(observed.target, observed.key)
    while actions := plan_target(_in_place_of(observed, target)):
        target.carry_out(actions)
    return _meaning(_in_place_of(observed, target))


def _in_place_of(observed: ObservedTarget, target: SimulatedTarget) -> ObservedTarget:
    return replace(
        observed, derived=target.derived, service_import=target.service_import, mirrors=target.mirrors
    )


def _meaning(observed: ObservedTarget) -> set[str]:
    """What of the present objects does not depend on when, and in which cluster, they were made."""
    derived, service_import = observed.derived, observed.service_import
    addresses = derived.spec.cluster_ips[:2] if derived is not None else ()
    found = {_mirror_in_words(each) for each in observed.mirrors}
    if derived is not None:
        found.add(_derived_in_words(derived))
    if service_import is not None:
        found.add(_import_in_words(service_import, addresses))
    return found


def _mirror_in_words(mirror: EndpointSlice) -> str:
    said = (mirror.address_type, mirror.ports, mirror.endpoints, sorted(mirror.metadata.labels.items()))
    return f"mirror {mirror.metadata.name} {_json(said)}"


def _derived_in_words(derived: Service) -> str:
    said = (derived.spec.ports, derived.spec.ip_families, sorted(derived.metadata.labels.items()))
    return f"derived Service {derived.metadata.name} {_json(said)}"


def _import_in_words(service_import: ServiceImport, addresses: Sequence[str]) -> str:
    spec, status = service_import.spec, service_import.status
    ips = tuple(f"derived {addresses.index(ip)}" if ip in addresses else ip for ip in spec.ips)
    conditions = [(each.type, each.status, each.reason) for each in status.conditions]
    return f"import {_json((msgspec.structs.replace(spec, ips=ips), status.clusters, conditions))}"


def _json(said: object) -> str:
    return msgspec.json.encode(said).decode()
