"""How members are judged from their probes, and what their registrations say."""

from __future__ import annotations

import pytest

from mcs.membership.health import (
    Answered,
    Failed,
    Health,
    Judged,
    NotConfigured,
    Probe,
    Thresholds,
    desired_status,
    health_of,
    next_judged,
    remembered,
    zones_and_region,
)
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.registration import ClusterCondition, KubeFedCluster, KubeFedClusterSpec, KubeFedClusterStatus

EAST = ClusterId("east")
OK, NOT_OK, FAILED = Answered(True, "v1.34.0"), Answered(False), Failed("timeout: no answer within 3 s")
KUBEFED = Thresholds(success=1, failure=3)
THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


@pytest.mark.parametrize(
    ("case", "probes", "thresholds", "states"),
    [
        ("three failures in a row make a ready member not ready", "R x x x", KUBEFED, "R R R x"),
        ("one failure after a long good time changes nothing", "R R R R x R R R", KUBEFED, "R R R R R R R R"),
        ("failures that are not in a row change nothing", "R R x R x R x R", KUBEFED, "R R R R R R R R"),
        ("one good probe makes it ready again", "R R R R x x x R", KUBEFED, "R R R R R R x R"),
        ("the first probe counts at once", "x R", KUBEFED, "x R"),
        ("a member that flaps stays what it was", "R x R x R x R x", KUBEFED, "R R R R R R R R"),
        (
            "two good probes in a row are needed where two are asked for",
            "x x x R",
            Thresholds(2, 3),
            "x x x x",
        ),
        ("and two suffice", "x x x R R x", Thresholds(2, 3), "x x x x R R"),
        ("good probes that are not in a row do not", "x R x R x R", Thresholds(2, 3), "x x x x x x"),
    ],
)
def test_a_state_is_left_when_enough_probes_in_a_row_say_the_contrary(
    case: str, probes: str, thresholds: Thresholds, states: str
) -> None:
    judged: Judged | None = None
    shown = []
    for each in probes.split():
        judged = next_judged(judged, OK if each == "R" else FAILED, thresholds)
        shown.append("R" if judged.is_ready else "x")
    assert " ".join(shown) == states, case


def test_another_reason_not_to_be_ready_is_taken_over_at_once() -> None:
    judged = next_judged(Judged(FAILED), NOT_OK, KUBEFED)
    assert judged == Judged(NOT_OK)


def registration(*conditions: ClusterCondition, **spec: object) -> KubeFedCluster:
    return KubeFedCluster(
        metadata=ObjectMeta(name="east"),
        spec=KubeFedClusterSpec(**spec),  # type: ignore[arg-type]
        status=KubeFedClusterStatus(conditions=conditions),
    )


@pytest.mark.parametrize(
    ("case", "probe", "conditions"),
    [
        ("well", OK, [("Ready", "True", "ClusterReady", "/healthz responded with ok")]),
        (
            "answers, but not ok",
            NOT_OK,
            [
                ("Ready", "False", "ClusterNotReady", "/healthz responded without ok"),
                ("Offline", "False", "ClusterReachable", "cluster is reachable"),
            ],
        ),
        (
            "no answer",
            FAILED,
            [
                (
                    "Offline",
                    "True",
                    "ClusterNotReachable",
                    "cluster is not reachable: timeout: no answer within 3 s",
                )
            ],
        ),
        (
            "cannot be asked",
            NotConfigured("its CA is none"),
            [
                (
                    "ConfigMalformed",
                    "True",
                    "ClusterConfigMalformed",
                    "cluster's configuration may be malformed",
                )
            ],
        ),
    ],
)
def test_the_conditions_are_those_of_kubefed(
    case: str, probe: Probe, conditions: list[tuple[str, str, str, str]]
) -> None:
    written = desired_status(registration(), probe, NOW).conditions
    assert [(each.type, each.status, each.reason, each.message) for each in written] == conditions, case
    assert (
        {each.last_probe_time for each in written} == {each.last_transition_time for each in written} == {NOW}
    )


def test_nothing_is_written_while_nothing_changes() -> None:
    status = desired_status(registration(), OK, THEN)
    same = KubeFedCluster(metadata=ObjectMeta(name="east"), status=status)
    assert desired_status(same, OK, NOW) is status


@pytest.mark.parametrize(
    ("before", "after", "type_", "since"),
    [
        (FAILED, Failed("refused: nothing listens there"), "Offline", THEN),
        (FAILED, NOT_OK, "Offline", NOW),
        (NOT_OK, FAILED, "Offline", NOW),
        (OK, NOT_OK, "Ready", NOW),
        (OK, Answered(True, "v1.35.0"), "Ready", THEN),
    ],
)
def test_the_time_of_a_transition_stays_while_the_status_does(
    before: Probe, after: Probe, type_: str, since: str
) -> None:
    first = desired_status(registration(), before, THEN)
    written = KubeFedCluster(
        metadata=ObjectMeta(name="east"), status=desired_status(registration(*first.conditions), after, NOW)
    )
    found = written.condition(type_)
    assert found is not None
    assert (found.last_transition_time, found.last_probe_time) == (since, NOW)


def test_what_the_registration_says_of_zones_goes_before_what_the_nodes_do() -> None:
    probe = Answered(True, "v1.34.0", ("b", "c"), "north")
    told = desired_status(registration(), probe, NOW)
    assert (told.kubernetes_version, told.zones, told.region) == ("v1.34.0", ("b", "c"), "north")
    given = desired_status(registration(zones=("a",), region="south"), probe, NOW)
    assert (given.zones, given.region) == (("a",), "south")


def test_a_member_that_cannot_be_reached_keeps_its_version_and_zones() -> None:
    status = desired_status(registration(), Answered(True, "v1.34.0", ("a",), "north"), THEN)
    lost = desired_status(KubeFedCluster(status=status), FAILED, NOW)
    assert (lost.kubernetes_version, lost.zones, lost.region) == ("v1.34.0", ("a",), "north")


def test_a_registration_that_is_refused_says_why() -> None:
    written = desired_status(registration(), None, NOW, ("DuplicateCluster", "delete one")).conditions
    assert [(each.type, each.status, each.reason, each.message) for each in written] == [
        ("Refused", "True", "DuplicateCluster", "delete one")
    ]


def offline(status: str, since: str | None) -> ClusterCondition:
    return ClusterCondition(
        type="Offline", status="True" if status else "False", last_probe_time=NOW, last_transition_time=since
    )


@pytest.mark.parametrize("probe", [OK, NOT_OK, FAILED])
def test_a_restart_goes_on_from_what_was_written(probe: Probe) -> None:
    status = desired_status(registration(), probe, THEN)
    before = remembered(status)
    assert before is not None
    assert before.is_ready is (probe is OK)
    again = desired_status(KubeFedCluster(status=status), before.probe, NOW)
    assert again is status


def test_a_restart_does_not_forget_since_when_a_member_is_unreachable() -> None:
    status = desired_status(registration(), FAILED, THEN)
    health = health_of(EAST, status)
    assert health == Health(
        EAST, False, THEN, "cluster is not reachable: timeout: no answer within 3 s", is_offline=True
    )
    assert health.unreachable_since == THEN
    once_more = next_judged(remembered(status), Failed("refused: nothing listens there"), KUBEFED)
    later = desired_status(KubeFedCluster(status=status), once_more.probe, NOW)
    assert health_of(EAST, later).unreachable_since == THEN


@pytest.mark.parametrize(
    ("case", "probe", "is_ready", "unreachable_since"),
    [
        ("well", OK, True, ""),
        ("answers, but not ok", NOT_OK, False, ""),
        ("cannot be asked", NotConfigured("x"), False, ""),
    ],
)
def test_only_an_offline_member_is_unreachable(
    case: str, probe: Probe, is_ready: bool, unreachable_since: str
) -> None:
    health = health_of(EAST, desired_status(registration(), probe, THEN))
    assert (health.is_ready, health.since, health.unreachable_since) == (is_ready, THEN, unreachable_since), (
        case
    )


def test_a_member_of_which_nothing_is_said_is_not_ready() -> None:
    assert remembered(KubeFedClusterStatus()) is None
    assert health_of(EAST, KubeFedClusterStatus()) == Health(EAST, False)


TOPOLOGY = "topology.kubernetes.io"
OLD = "failure-domain.beta.kubernetes.io"


@pytest.mark.parametrize(
    ("case", "labels", "zones", "region"),
    [
        ("no node", [], (), ""),
        (
            "two zones",
            [{f"{TOPOLOGY}/zone": "b"}, {f"{TOPOLOGY}/zone": "a"}, {f"{TOPOLOGY}/zone": "b"}],
            ("a", "b"),
            "",
        ),
        ("the predecessors of the labels", [{f"{OLD}/zone": "a", f"{OLD}/region": "n"}], ("a",), "n"),
        ("the labels of today first", [{f"{OLD}/zone": "a", f"{TOPOLOGY}/zone": "z"}], ("z",), ""),
        ("nodes of two regions", [{f"{TOPOLOGY}/region": "n"}, {f"{TOPOLOGY}/region": "s"}], (), ""),
        ("nodes without labels", [{}, {f"{TOPOLOGY}/zone": "a", f"{TOPOLOGY}/region": "n"}], ("a",), "n"),
    ],
)
def test_zones_and_region_are_those_of_the_nodes(
    case: str, labels: list[dict[str, str]], zones: tuple[str, ...], region: str
) -> None:
    assert zones_and_region(labels) == (zones, region), case
