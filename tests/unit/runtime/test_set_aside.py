"""What a Service that nobody exports costs, with its slice: bytes that are counted, not measured by a clock."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import msgspec

from mcs.controllers.clusters import REFLECTED
from mcs.model.names import ServiceKey
from mcs.model.resources import ENDPOINT_SLICES, SERVICES
from mcs.runtime.cache import Cache
from mcs.runtime.demand import Demand
from mcs.testing.builders import service, slice_

MANY = 3000
AT_MOST = 300
"""Bytes."""


def test_a_service_that_nobody_exports_costs_a_few_bytes_with_its_slice() -> None:
    keys = [ServiceKey(f"team-{number % 50}", f"service-{number}") for number in range(MANY)]
    services = [msgspec.json.encode(service(key)) for key in keys]
    slices = [
        msgspec.json.encode(slice_(f"{key.name}-x7k2p", "10.0.0.1", "10.0.0.2", key=key)) for key in keys
    ]
    caches: dict[str, Cache[Any]] = {
        each.resource.plural: Cache(each.indexes, each.on_demand) for each in REFLECTED
    }
    demand = Demand(caches, REFLECTED)
    tracemalloc.start()
    try:
        for resource, lines in ((SERVICES, services), (ENDPOINT_SLICES, slices)):
            caches[resource.plural].replace([msgspec.json.decode(line, type=resource.type) for line in lines])
        caches["serviceexports"].replace([])
        demand.begin()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held / MANY <= AT_MOST
