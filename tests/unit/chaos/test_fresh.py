"""A fresh computation finds what a controller has left undone, and nothing where it has done its work."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from mcs.controllers.clusters import REFLECTED
from mcs.controllers.services import ServicesController
from mcs.model.actions import Apply
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.services import Namespace
from mcs.runtime.fleet import Fleet, Member
from mcs.services.plan import plan_export
from mcs.testing.builders import WEB, export, headless, slice_, slice_port
from mcs.testing.simulated_target import SimulatedTarget
from mcs.testing.virtual_time import run_virtual
from tests.real.chaos.fresh import found

EAST = ClusterId("east")
SOURCES: dict[str, list[Any]] = {
    "namespaces": [Namespace(metadata=ObjectMeta(name=WEB.namespace))],
    "services": [headless()],
    "serviceexports": [export()],
    "endpointslices": [slice_("web-1", "10.1.0.7", ports=(slice_port("http 80"),))],
}


def computed(sources: dict[str, list[Any]], target: SimulatedTarget) -> tuple[list[str], ServicesController]:
    """What a fresh computation says of a cluster with these sources, in which `target` is what was made."""

    async def run() -> tuple[list[str], ServicesController]:
        member: Member[Any] = Member(EAST, lambda: None, REFLECTED)  # type: ignore[arg-type, return-value]
        for plural, cache in member.caches.items():
            made = [obj for (each, _), obj in target.objects.items() if each == plural]
            cache.replace([*sources.get(plural, []), *made])
        fleet = Fleet([member])
        controller = ServicesController(fleet, lambda: datetime(2026, 1, 1, tzinfo=UTC))
        return list(found(controller, fleet)), controller

    return run_virtual(run())


def worked() -> tuple[dict[str, list[Any]], SimulatedTarget]:
    """The sources and the target when a controller has done all its work."""
    target, sources = SimulatedTarget(EAST, WEB), dict(SOURCES)
    for _ in range(5):
        _, controller = computed(sources, target)
        observed = controller.observe_target(EAST, WEB)
        target.rounds_to_rest(observed.exporters, [EAST], observed.now)
        told = controller.observe_export(EAST, WEB)
        for action in plan_export(told) if told is not None else ():
            if isinstance(action, Apply):
                status: Any = action.object
                sources["serviceexports"] = [replace(export(), status=status.status)]
    return sources, target


def words(lines: Iterable[str]) -> set[str]:
    """Which differences there are, without what they are about."""
    return {line.removeprefix(f"east {WEB}: ").split(" {")[0].split(" [")[0] for line in lines}


def test_nothing_differs_where_all_work_is_done() -> None:
    sources, target = worked()
    assert target.service_import is not None
    assert len(target.mirrors) == 1
    assert computed(sources, target)[0] == []


def test_what_was_never_made_is_missed() -> None:
    lines, _ = computed(SOURCES, SimulatedTarget(EAST, WEB))
    assert {"left to do: apply serviceimports", "left to do: apply endpointslices"} <= words(lines)
    assert "left to say: apply serviceexports/status" in words(lines)


def test_what_nobody_exports_any_more_is_told() -> None:
    sources, target = worked()
    lines, _ = computed(sources | {"serviceexports": []}, target)
    assert {"left to do: delete serviceimports", "left to do: delete endpointslices"} <= words(lines)


def test_a_mirror_with_other_endpoints_is_told() -> None:
    sources, target = worked()
    (mirror,) = target.mirrors
    target.put("endpointslices", replace(mirror, endpoints=()))
    lines, _ = computed(sources, target)
    assert "left to do: apply endpointslices" in words(lines)
    assert sum("not as from nothing: mirror" in line for line in lines) == 2
