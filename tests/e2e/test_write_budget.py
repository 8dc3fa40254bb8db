"""What an export may cost: so many writes in each cluster and no more, by resource. Events are not counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcs.controllers import services as services_controller
from mcs.model.actions import Action, Apply
from mcs.model.names import CHANGE_TIME_ANNOTATION
from mcs.model.slices import EndpointSlice
from mcs.services.observed import ObservedTarget
from mcs.services.plan import plan_target
from mcs.testing.virtual_time import run_virtual
from tests.scenarios.objects import expanded
from tests.scenarios.world import World, running_world

CLUSTERS = ("east", "west", "south")
SOURCES = ("east", "west")
NOT_COUNTED = frozenset({"events", "leases"})

Writes = Mapping[str, Mapping[str, int]]
"""By cluster, then by resource; subresources as "serviceexports/status"."""

IMPORT = {"services": 1, "serviceimports": 1, "serviceimports/status": 1}


def _web(last: int = 1) -> list[dict[str, Any]]:
    return [
        {"Service": "shop/web", "ports": ["http 80", "dns 53/UDP"]},
        _endpoints(last),
    ]


def _endpoints(last: int) -> dict[str, Any]:
    ready = [f"10.1.0.{host}" for host in range(1, last + 1)]
    return {"EndpointSlice": "shop/web-1", "service": "web", "ports": ["http 8080"], "ready": ready}


def _counts(world: World) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for name, server in world.servers.items():
        counts[name] = Counter()
        for (_, resource), count in server.writes().items():
            plural, slash, subresource = resource.partition("/")
            plural = plural.partition(".")[0]
            if plural not in NOT_COUNTED:
                counts[name][plural + slash + subresource] += count
    return counts


async def _writes_of(world: World, cluster: str, *shorts: dict[str, Any]) -> Writes:
    """What the controller writes because somebody applies `shorts` in a cluster."""
    before = _counts(world)
    for short in shorts:
        await world.apis[cluster].apply(*expanded(short))
        before[cluster][expanded(short)[0].plural] += 1
    await asyncio.sleep(20)
    after = _counts(world)
    return {name: dict(after[name] - before[name]) for name in CLUSTERS}


async def _costs(folder: Path) -> tuple[Writes, Writes, Writes]:
    """The writes of a first export, of an endpoint that changes, and of a second exporter that agrees."""
    async with running_world(CLUSTERS, folder) as world:
        for cluster in CLUSTERS:
            await world.apis[cluster].apply(*expanded({"Namespace": "shop"}))
        for cluster in SOURCES:
            for short in _web():
                await world.apis[cluster].apply(*expanded(short))
        await world.start_controller(CLUSTERS)
        await asyncio.sleep(5)
        export = {"ServiceExport": "shop/web"}
        first = await _writes_of(world, "east", export)
        changed = await _writes_of(world, "east", _endpoints(2))
        second = await _writes_of(world, "west", export)
        return first, changed, second


def test_an_export_an_endpoint_and_a_second_exporter_cost_what_they_must(tmp_path: Path) -> None:
    first, changed, second = run_virtual(_costs(tmp_path))

    new = {**IMPORT, "endpointslices": 1}
    assert first == {"east": {**new, "serviceexports/status": 1}, "west": new, "south": new}
    assert changed == {name: {"endpointslices": 1} for name in CLUSTERS}
    joined = {"endpointslices": 1, "serviceimports/status": 1}
    assert second == {"east": joined, "west": {**joined, "serviceexports/status": 1}, "south": joined}


def test_a_write_too_many_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wasteful(observed: ObservedTarget) -> tuple[Action, ...]:
        actions = plan_target(observed)
        mirrors = [
            each for each in actions if isinstance(each, Apply) and isinstance(each.object, EndpointSlice)
        ]
        return (*(_stamped_before(each) for each in mirrors), *actions)

    def _stamped_before(action: Apply) -> Apply:
        mirror: Any = action.object
        metadata = type(mirror.metadata)(
            name=mirror.metadata.name,
            namespace=mirror.metadata.namespace,
            labels=mirror.metadata.labels,
            annotations={CHANGE_TIME_ANNOTATION: "2000-01-01T00:00:00Z"},
        )
        stamped = EndpointSlice(
            metadata=metadata,
            address_type=mirror.address_type,
            endpoints=mirror.endpoints,
            ports=mirror.ports,
        )
        return Apply(cluster=action.cluster, resource=action.resource, object=stamped)

    monkeypatch.setattr(services_controller, "plan_target", wasteful)
    _, changed, _ = run_virtual(_costs(tmp_path))

    assert changed["south"] == {"endpointslices": 2}
