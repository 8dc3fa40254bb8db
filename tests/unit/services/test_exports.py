"""The conditions of a ServiceExport, and when they are written."""

from typing import Any

import pytest
from msgspec.structs import replace

from mcs.model.actions import Apply, RecordEvent
from mcs.model.meta import Condition
from mcs.model.multicluster import ServiceExport, ServiceExportStatus
from mcs.model.names import MANAGED_BY, MANAGED_BY_LABEL, ServiceKey
from mcs.services.observed import Exporter, ObservedExport
from mcs.services.plan import plan_export
from mcs.testing.builders import WEB, at, export, exporter, headless, observed_export, service


def written(observed: ObservedExport) -> dict[str, Condition]:
    """The conditions that the plan writes, by type; empty when it writes nothing."""
    actions = [action for action in plan_export(observed) if not isinstance(action, RecordEvent)]
    assert len(actions) <= 1
    for action in actions:
        assert isinstance(action, Apply)
        assert (action.cluster, action.subresource) == (observed.cluster, "status")
        assert isinstance(action.object, ServiceExport)
        return {each.type: each for each in action.object.status.conditions}
    return {}


def said(observed: ObservedExport) -> dict[str, tuple[str, str]]:
    return {type_: (each.status, each.reason) for type_, each in written(observed).items()}


def with_conditions(subject: Exporter, *conditions: Condition) -> Exporter:
    status = ServiceExportStatus(conditions=conditions)
    return Exporter(subject.cluster, replace(subject.export, status=status), subject.service, subject.slices)


def after(observed: ObservedExport, subject: Exporter) -> Exporter:
    """The exporter once the plan was carried out."""
    return with_conditions(subject, *written(observed).values())


GOOD = {"Valid": ("True", "Valid"), "Ready": ("True", "Exported"), "Conflict": ("False", "NoConflicts")}
C1 = exporter("c1", service())


@pytest.mark.parametrize(
    ("case", "observed", "conditions"),
    [
        ("an imported export is ready", observed_export(C1, listed="c1"), GOOD),
        (
            "one that is not imported yet is pending",
            observed_export(C1, listed="c2"),
            {**GOOD, "Ready": ("False", "Pending")},
        ),
        (
            "A1: without a Service there is neither readiness nor conflict",
            observed_export(exporter("c1", None)),
            {"Valid": ("False", "NoService"), "Ready": ("False", "Pending")},
        ),
        (
            "A2: an ExternalName Service is of an invalid type",
            observed_export(exporter("c1", service(kind="ExternalName"))),
            {"Valid": ("False", "InvalidServiceType"), "Ready": ("False", "Pending")},
        ),
        (
            "B8: conflicts are told to the oldest",
            observed_export(C1, exporter("c2", headless(), created=1), listed="c1 c2"),
            {**GOOD, "Conflict": ("True", "TypeConflict")},
        ),
        (
            "B8: and to the others",
            observed_export(C1, exporter("c2", headless(), created=1), listed="c1 c2", cluster="c2"),
            {**GOOD, "Conflict": ("True", "TypeConflict")},
        ),
        (
            "several reasons are joined by commas",
            observed_export(C1, exporter("c2", headless(WEB, "http 81"), created=1), listed="c1 c2"),
            {**GOOD, "Conflict": ("True", "PortConflict,TypeConflict")},
        ),
        (
            "an exporter that is not valid is no party to a conflict",
            observed_export(C1, exporter("c2", service(WEB, "http 81", kind="ExternalName")), listed="c1"),
            GOOD,
        ),
        (
            "nor is one that cannot be seen",
            observed_export(C1, exporter("c2", headless()), listed="c1", seen="c1"),
            GOOD,
        ),
    ],
)
def test_conditions(case: str, observed: ObservedExport, conditions: dict[str, Any]) -> None:
    assert said(observed) == conditions, case


def test_f1_an_export_in_a_system_namespace_is_refused() -> None:
    key = ServiceKey("kube-system", "web")
    observed = observed_export(exporter("c1", service(key)), key=key)
    assert said(observed)["Valid"] == ("False", "NamespaceDenied")


@pytest.mark.parametrize(
    ("case", "observed"),
    [
        ("there is no export in this cluster", observed_export(exporter("c2", service()))),
        ("the export is going", observed_export(exporter("c1", service(), export_=export(terminating=True)))),
        ("the cluster itself is not seen", observed_export(C1, seen="c2", listed="c1")),
    ],
)
def test_nothing_is_said_when(case: str, observed: ObservedExport) -> None:
    assert plan_export(observed) == (), case


def test_each_conflict_has_a_line_of_its_own() -> None:
    observed = observed_export(C1, exporter("c2", headless(WEB, "http 81"), created=1), listed="c1")
    lines = written(observed)["Conflict"].message.split("\n")
    assert [line.split(".")[0] for line in lines] == ["Conflicting ports", "Conflicting type"]


def test_the_generation_that_was_judged_is_named() -> None:
    assert {each.observed_generation for each in written(observed_export(C1, listed="c1")).values()} == {1}


@pytest.mark.parametrize("key", ["k", "bad key "])
def test_a_message_is_cut_to_what_the_api_takes(key: str) -> None:
    labels = {f"{key}{number}": "1" for number in range(5000)}
    crowded = exporter("c1", service(), export_=export(labels=labels))
    other = exporter("c2", service(), created=1)
    messages = [
        condition.message
        for cluster in ("c1", "c2")
        for condition in written(observed_export(crowded, other, cluster=cluster, listed="c1 c2")).values()
    ]
    assert max(map(len, messages)) == 32768
    assert any(message.endswith("…") for message in messages)


@pytest.mark.parametrize("labels", [{"bad key": "1"}])
def test_b17_a_label_that_no_import_can_carry_is_reported_and_blocks_nothing(labels: dict[str, str]) -> None:
    observed = observed_export(exporter("c1", service(), export_=export(labels=labels)), listed="c1")
    assert said(observed) == GOOD
    assert 'label "bad key" is no valid key' in written(observed)["Valid"].message


def test_the_same_again_writes_nothing() -> None:
    observed = observed_export(C1, listed="c1")
    assert plan_export(observed_export(after(observed, C1), listed="c1", now=200)) == ()


def test_a11_a_transition_time_changes_with_the_status_only() -> None:
    pending = observed_export(C1, listed="", now=100)
    waiting = after(pending, C1)
    ready = written(observed_export(waiting, listed="c1", now=200))
    assert ready["Valid"].last_transition_time == at(100)
    assert ready["Ready"].last_transition_time == at(200)
    assert ready["Conflict"].last_transition_time == at(100)


def test_a11_validity_that_comes_and_goes_leaves_one_condition_of_a_type() -> None:
    subject = C1
    for turn in range(20):
        now_service = service() if turn % 2 else None
        subject = Exporter(subject.cluster, subject.export, now_service, ())
        subject = after(observed_export(subject, listed="c1" if turn % 2 else "", now=turn), subject)
        types = [each.type for each in subject.export.status.conditions]
        assert len(types) == len(set(types))
        assert ("Conflict" in types) is bool(turn % 2)


def test_conditions_of_others_are_neither_written_nor_missed() -> None:
    theirs = Condition(type="Theirs", status="True", reason="Why", message="", last_transition_time=at(0))
    observed = observed_export(with_conditions(C1, theirs), listed="c1")
    mine = written(observed)
    assert "Theirs" not in mine
    assert plan_export(observed_export(with_conditions(C1, theirs, *mine.values()), listed="c1")) == ()


def test_a_conflict_stays_while_the_other_party_cannot_be_seen() -> None:
    both = observed_export(C1, exporter("c2", headless(), created=1), listed="c1 c2")
    told = after(both, C1)
    assert plan_export(observed_export(told, listed="c1 c2", seen="c1")) == ()
    assert said(observed_export(told, listed="c1", seen="c1 c2"))["Conflict"] == ("False", "NoConflicts")


def test_an_import_of_somebody_else_is_named_as_what_stands_in_the_way() -> None:
    observed = observed_export(C1, listed="")
    assert "not managed by mcs-controller" in written(observed)["Ready"].message
    assert observed.own_import is not None
    metadata = replace(observed.own_import.metadata, labels={MANAGED_BY_LABEL: MANAGED_BY})
    ours = ObservedExport(
        observed.cluster,
        observed.key,
        observed.seen,
        observed.exporters,
        replace(observed.own_import, metadata=metadata),
        observed.now,
    )
    assert written(ours)["Ready"].message == "The service is not imported in this cluster yet."
