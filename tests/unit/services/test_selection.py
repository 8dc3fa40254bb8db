"""Selective export: where an export counts, what it says of that, and with whom it can be in conflict."""

import pytest

from mcs.model.names import ClusterId
from mcs.services.observed import Exporter
from mcs.services.plan import plan_export
from mcs.services.selection import exports_to, selection_message
from mcs.testing.builders import export, exporter, headless, observed_export, service
from mcs.testing.simulated_clusterset import CLUSTERS, SimulatedClusterset

MEMBERS = frozenset(ClusterId(each) for each in CLUSTERS)


def limited(cluster: str, to: str | None, *, is_headless: bool = False, created: float = 0) -> Exporter:
    exported = headless() if is_headless else service()
    return exporter(cluster, exported, export_=export(created=created, to=to))


@pytest.mark.parametrize(
    ("case", "to", "counts_in"),
    [
        ("off by default", None, ["c1", "c2", "c3"]),
        ("the clusters that are named, and its own", "c3", ["c2", "c3"]),
        ("blanks and empty names are nothing", " c3 ,, ", ["c2", "c3"]),
        ("an empty list names none", "", ["c2"]),
        ("an unknown name is nobody's", "c9,C3", ["c2"]),
    ],
)
def test_where_an_export_counts(case: str, to: str | None, counts_in: list[str]) -> None:
    subject = limited("c2", to)
    assert [each for each in CLUSTERS if exports_to(subject, ClusterId(each))] == counts_in, case
    world = SimulatedClusterset().settle(subject)
    assert [each for each in CLUSTERS if world.targets[each].service_import] == counts_in, case


def test_what_a_limited_export_says() -> None:
    assert selection_message(limited("c2", None), MEMBERS) == ""
    assert selection_message(limited("c2", "c3"), MEMBERS) == ' It is exported to "c2", "c3" only.'
    assert selection_message(limited("c2", "c3,x,y"), MEMBERS) == (
        ' It is exported to "c2", "c3" only. No cluster of the set is called "x", "y"; correct '
        "mcs-controller/export-to."
    )


def test_unknown_names_are_told_by_the_condition_valid() -> None:
    status, *_ = plan_export(observed_export(limited("c1", "nowhere"), listed="c1"))
    (valid, *_) = status.object.status.conditions  # type: ignore[union-attr]
    assert (valid.status, valid.reason) == ("True", "Valid")
    assert 'No cluster of the set is called "nowhere"' in valid.message


@pytest.mark.parametrize(
    ("case", "exported", "in_conflict"),
    [
        (
            "two that meet nowhere",
            [limited("c1", "c3"), limited("c2", "", is_headless=True, created=1)],
            [],
        ),
        (
            "two that meet in a third",
            [limited("c1", "c3"), limited("c2", "c3", is_headless=True, created=1)],
            ["c1", "c2"],
        ),
        (
            "one that comes to the other",
            [limited("c1", "c2"), limited("c2", "", is_headless=True, created=1)],
            ["c1", "c2"],
        ),
        (
            "two that meet where a third does not come",
            [limited("c1", ""), limited("c2", "c3", is_headless=True, created=1), limited("c3", "c2")],
            ["c2", "c3"],
        ),
        (
            "the one between two that do not meet",
            [limited("c1", "c2"), limited("c2", "c3", is_headless=True, created=1), limited("c3", "")],
            ["c1", "c2", "c3"],
        ),
    ],
)
def test_only_those_that_meet_are_in_conflict(
    case: str, exported: list[Exporter], in_conflict: list[str]
) -> None:
    world = SimulatedClusterset().settle(*exported)
    told = [cluster for cluster, reason in world.reasons("Conflict").items() if reason == "TypeConflict"]
    assert told == in_conflict, case


def test_a_limit_that_is_narrowed_takes_back_and_one_that_is_lifted_gives() -> None:
    world = SimulatedClusterset().settle(limited("c2", None))
    world.settle(limited("c2", "c1"))
    assert [each for each in CLUSTERS if world.targets[each].service_import] == ["c1", "c2"]
    world.settle(limited("c2", None))
    assert len(world.imports) == 3
