"""Which changes of conditions are told as Events, and that what stays is not."""

import pytest
from msgspec.structs import replace

from mcs.model.actions import RecordEvent
from mcs.model.meta import Condition
from mcs.model.multicluster import ServiceExportStatus
from mcs.services.events import export_events
from mcs.services.observed import Exporter
from mcs.services.plan import plan_export
from mcs.testing.builders import WEB, at, export, exporter, headless, observed_export, service
from mcs.testing.simulated_clusterset import exports
from mcs.testing.simulated_target import SimulatedTarget, settled_target

VALID = ("Valid", "True", "Valid")
GONE = ("Valid", "False", "NoService")
WRONG = ("Valid", "False", "InvalidServiceType")
AGREED = ("Conflict", "False", "NoConflicts")
PORTS = ("Conflict", "True", "PortConflict")
MORE = ("Conflict", "True", "PortConflict,TypeConflict")
Said = tuple[str, str, str]


def conditions(*said: Said) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            type=type_,
            status=status,  # type: ignore[arg-type]
            reason=reason,
            message=f"because of {reason}",
            last_transition_time=at(0),
        )
        for type_, status, reason in said
    )


@pytest.mark.parametrize(
    ("case", "before", "after", "told"),
    [
        ("a first Valid is no news", (), (VALID, AGREED), []),
        ("nor is what stays", (VALID, PORTS), (VALID, PORTS), []),
        ("an export that is not valid from the start", (), (GONE,), ["Warning NoService"]),
        ("validity lost", (VALID, AGREED), (GONE,), ["Warning NoService"]),
        ("another reason", (GONE,), (WRONG,), ["Warning InvalidServiceType"]),
        ("validity won", (GONE,), (VALID, AGREED), ["Normal Valid"]),
        ("a conflict from the start", (), (VALID, PORTS), ["Warning Conflict"]),
        ("a conflict appears", (VALID, AGREED), (VALID, PORTS), ["Warning Conflict"]),
        ("a conflict changes", (VALID, PORTS), (VALID, MORE), ["Warning ConflictChanged"]),
        ("a conflict ends", (VALID, PORTS), (VALID, AGREED), ["Normal ConflictEnded"]),
        (
            "a conflict ends with validity",
            (VALID, PORTS),
            (GONE,),
            ["Warning NoService", "Normal ConflictEnded"],
        ),
    ],
)
def test_what_is_told_of_an_export(
    case: str, before: tuple[Said, ...], after: tuple[Said, ...], told: list[str]
) -> None:
    subject = replace(export(), status=ServiceExportStatus(conditions=conditions(*before)))
    events = export_events(exporter("c1", service()).cluster, subject, conditions(*after), at(9))
    assert [f"{each.object.type} {each.object.reason}" for each in events] == told, case


def test_an_event_names_its_object_and_is_named_after_what_it_says() -> None:
    (first,) = export_events(exporter("c1").cluster, export(), conditions(GONE), at(9))
    (again,) = export_events(exporter("c1").cluster, export(), conditions(GONE), at(9))
    (later,) = export_events(exporter("c1").cluster, export(), conditions(GONE), at(10))
    about = first.object.involved_object
    assert (about.kind, about.namespace, about.name, about.uid) == (
        "ServiceExport",
        "demo",
        "web",
        "export-demo/web",
    )
    assert about.api_version == "multicluster.x-k8s.io/v1beta1"
    assert first.object.metadata.namespace == "demo"
    assert first == again
    assert first.object.metadata.name != later.object.metadata.name


def test_a_long_message_is_cut_to_what_an_event_takes() -> None:
    long = replace(conditions(GONE)[0], message="x" * 5000)
    (event,) = export_events(exporter("c1").cluster, export(), (long,), at(9))
    assert len(event.object.message) == 1024


def test_the_status_goes_before_the_event_that_tells_of_it() -> None:
    actions = plan_export(observed_export(exporter("c1", None, export_=export())))
    assert [isinstance(action, RecordEvent) for action in actions] == [False, True]


OLD, YOUNG = exports("c1", service()), exports("c2", headless())


@pytest.mark.parametrize(
    ("case", "before", "after", "told"),
    [
        ("a new import is no news", (), (OLD,), []),
        ("a younger exporter of another type flips nothing", (OLD,), (OLD, YOUNG), []),
        ("the oldest goes and the type with it", (OLD, YOUNG), (YOUNG,), ["TypeChanged"]),
        ("and back", (YOUNG,), (OLD,), ["TypeChanged"]),
        ("an import that goes says nothing", (OLD,), (), []),
    ],
)
def test_what_is_told_of_an_import(
    case: str, before: tuple[Exporter, ...], after: tuple[Exporter, ...], told: list[str]
) -> None:
    target = settled_target(*before) if before else SimulatedTarget("c1", WEB)
    target.rounds_to_rest(after, ("c1", "c2", "c3"), at(200))
    assert [event.reason for event in target.events] == told, case
    assert {event.involved_object.kind for event in target.events} <= {"ServiceImport"}
