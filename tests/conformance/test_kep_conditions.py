"""KEP-1645, conditions of an export besides its conflicts: valid or not, exported or not, and in which form."""

import re
from typing import Any

import pytest
from msgspec.structs import replace

from mcs.services.plan import plan_export
from mcs.testing.builders import WEB, export, exporter, headless, observed_export, service
from mcs.testing.simulated_clusterset import exports
from tests.conformance.small_clusterset import conflict_of, settled


@pytest.mark.spec("KEP-1645#exporting-services: Ready when exported", "MUST")
@pytest.mark.parametrize(
    ("listed", "status", "reason"),
    [(None, "False", "Pending"), ("c2", "False", "Pending"), ("c1 c2", "True", "Exported")],
)
def test_an_export_is_ready_once_its_import_lists_it(listed: str | None, status: str, reason: str) -> None:
    (told, *_) = plan_export(observed_export(exports("c1", service()), listed=listed))
    (ready,) = [each for each in told.object.status.conditions if each.type == "Ready"]  # type: ignore[union-attr]
    assert (ready.status, ready.reason) == (status, reason)


@pytest.mark.spec("KEP-1645#exporting-services: Valid", "MUST")
@pytest.mark.parametrize(
    ("exported", "status", "reason", "message"),
    [
        (service(), "True", "Valid", "can be exported"),
        (None, "False", "NoService", 'no Service "demo/web"'),
        (
            service(kind="ExternalName"),
            "False",
            "InvalidServiceType",
            'type "ExternalName" cannot be exported',
        ),
    ],
)
def test_an_export_says_whether_it_is_valid_and_why_not(
    exported: Any, status: str, reason: str, message: str
) -> None:
    (valid,) = [each for each in settled(exports("c1", exported)).conditions["c1"] if each.type == "Valid"]
    assert (valid.status, valid.reason) == (status, reason)
    assert message in valid.message


@pytest.mark.spec("KEP-1645#exporting-services: conditions are well formed", "MUST")
def test_conditions_are_as_the_api_takes_them() -> None:
    long = {f"key-{number}": "x" for number in range(4000)}
    world = settled(
        exporter("c1", service(WEB, "http 80"), export_=export(created=1, labels=long)),
        exporter("c2", headless(WEB, "http 81"), export_=export(created=2)),
        exporter("c3", None, export_=export()),
    )
    told = [each for found in world.conditions.values() for each in found]
    told += [each for found in world.imports for each in found.status.conditions]
    pattern = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
    assert [each for each in told if not pattern.fullmatch(each.reason) or len(each.reason) > 1024] == []
    assert max(len(each.message) for each in told) == 32768
    assert [each for each in told if not each.message or not each.last_transition_time] == []


@pytest.mark.spec("KEP-1645#exporting-services: conditions are well formed", "MUST")
def test_a_transition_time_changes_with_the_status_and_not_with_the_reason() -> None:
    older, newer = exports("c1", service()), exports("c2", headless())
    first = conflict_of(settled(older, newer), "c1").last_transition_time
    world = settled(older, newer).settle(older, exports("c2", headless(WEB, "http 81")))
    assert conflict_of(world, "c1").reason == "PortConflict,TypeConflict"
    assert conflict_of(world, "c1").last_transition_time == first
    assert conflict_of(world.settle(older), "c1").last_transition_time > first


@pytest.mark.spec("KEP-1645#exporting-services: conditions are well formed", "MUST")
def test_conditions_name_the_generation_that_they_judge() -> None:
    own = export()
    own = replace(own, metadata=replace(own.metadata, generation=7))
    world = settled(exporter("c1", service(), export_=own))
    assert [each.observed_generation for each in world.conditions["c1"]] == [7, 7, 7]
