"""The zone of one cluster follows its caches: not before they are complete, and once per turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry

from mcs.controllers.propagation import Propagation
from mcs.controllers.zone import REFLECTED, ZoneFeed
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ServiceImport, ServiceImportSpec
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.slices import IPV4, Endpoint, EndpointSlice
from mcs.runtime.fleet import Member
from mcs.testing.virtual_time import run_virtual
from mcs_dns.zone import Zone

DB = ServiceKey("shop", "db")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def import_(version: int, uid: str = "u") -> ServiceImport:
    metadata = ObjectMeta(name="db", namespace="shop", uid=uid, resource_version=str(version))
    return ServiceImport(metadata=metadata, spec=ServiceImportSpec(type="Headless", ports=()))


def mirror(version: int, address: str) -> EndpointSlice:
    labels = {
        "multicluster.kubernetes.io/service-name": "db",
        "multicluster.kubernetes.io/source-cluster": "east",
    }
    metadata = ObjectMeta(
        name="db-1", namespace="shop", uid="m", resource_version=str(version), labels=labels
    )
    return EndpointSlice(metadata=metadata, address_type=IPV4, endpoints=(Endpoint(addresses=(address,)),))


class Here:
    """A feed with its caches, what it published and what it measured."""

    def __init__(self) -> None:
        self.member: Member[Any] = Member(ClusterId("west"), _never, REFLECTED)
        self.imports, self.slices = (self.member.caches[each.resource.plural] for each in REFLECTED)
        self.published: list[Zone] = []
        self.measured: list[EndpointSlice | None] = []
        propagation = Propagation(CollectorRegistry(), lambda: NOW)
        propagation.answerable = lambda cluster, before, after: self.measured.append(after)  # type: ignore[method-assign]
        self.feed = ZoneFeed(self.member, Zone.empty(), self.published.append, propagation)

    def sync(self) -> None:
        for cache in (self.imports, self.slices):
            cache.replace(list(cache))
        self.member._tell_synced()

    def answered(self) -> list[str]:
        service = self.published[-1].services.get(DB)
        return [address for each in service.endpoints for address in each.addresses] if service else []


def _never() -> Any:
    raise NotImplementedError


def after(*turns: Callable[[Here], None]) -> Here:
    """What a feed has come to after these changes, a turn of the loop for each."""

    async def run() -> Here:
        here = Here()
        for change in turns:
            change(here)
            for _ in range(3):
                await asyncio.sleep(0)
        return here

    return run_virtual(run())


def exists(here: Here) -> None:
    here.imports.put(import_(1))
    here.slices.put(mirror(2, "10.1.0.1"))


def test_nothing_is_published_or_gathered_before_everything_was_listed() -> None:
    def lists_one_resource_alone(here: Here) -> None:
        here.slices.replace([mirror(2, "10.1.0.1")])
        for version in range(3, 100):
            here.slices.put(mirror(version, f"10.1.0.{version}"))

    here = after(lists_one_resource_alone)
    assert here.published == []
    here = after(lists_one_resource_alone, exists, Here.sync)
    assert len(here.published) == 1
    assert here.published[-1].synced
    assert here.answered() == ["10.1.0.99"]
    assert len(here.measured) <= 1


def test_many_changes_of_one_turn_are_one_zone() -> None:
    def changes(here: Here) -> None:
        for version in range(3, 50):
            here.slices.put(mirror(version, f"10.1.0.{version}"))

    here = after(exists, Here.sync, changes)
    assert len(here.published) == 2
    assert here.answered() == ["10.1.0.49"]
    assert len(here.measured) == 47


def test_an_import_that_goes_and_comes_within_one_turn_answers_on() -> None:
    def goes_and_comes(here: Here) -> None:
        here.imports.discard(DB, "5")
        here.imports.put(import_(6, uid="another"))

    here = after(exists, Here.sync, goes_and_comes)
    assert here.answered() == ["10.1.0.1"]


def test_an_import_that_goes_is_answered_no_more() -> None:
    here = after(exists, Here.sync, lambda here: here.imports.discard(DB, "5"))
    assert DB not in here.published[-1].services
