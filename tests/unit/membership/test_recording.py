"""What is written into registrations, and that what they say already is not written again."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mcs.membership.health import Answered, Failed, NotConfigured, Probe, desired_status
from mcs.membership.recording import ObservedRegistration, orphan_event, plan_registration
from mcs.membership.registry import Refusal
from mcs.model.actions import Action, Patch, RecordEvent
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.registration import KubeFedCluster

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
LEAVE = "mcs-controller/leave"
OK, FAILED = Answered(True, "v1.34.0", ("a",), "north"), Failed("refused: nothing listens there")
DUPLICATE = Refusal("east", "DuplicateCluster", "delete one of the two")
MALFORMED = Refusal("east", "ConfigurationMalformed", "x")


def registration(
    *finalizers: str, deleted: bool = False, uid: str = "known", probe: Probe | None = None
) -> KubeFedCluster:
    bare = KubeFedCluster(
        metadata=ObjectMeta(
            name="east",
            namespace="system",
            uid="u",
            resource_version="7",
            finalizers=finalizers,
            deletion_timestamp=THEN if deleted else None,
            annotations={"mcs-controller/cluster-uid": uid} if uid else {},
        )
    )
    return bare if probe is None else replace(bare, status=desired_status(bare, probe, THEN))


def planned(of: KubeFedCluster, **known: Any) -> tuple[Action, ...]:
    return plan_registration(ObservedRegistration(registration=of, now=NOW, **known))


def patches(actions: tuple[Action, ...]) -> list[tuple[str, dict[str, Any]]]:
    return [(each.subresource, each.changes) for each in actions if isinstance(each, Patch)]


def events(actions: tuple[Action, ...]) -> list[tuple[str, str]]:
    return [(each.object.type, each.object.reason) for each in actions if isinstance(each, RecordEvent)]


def test_a_member_is_held_by_our_finalizer_and_noted_beside_those_of_others() -> None:
    actions = planned(registration("x/y", uid=""), is_member=True, cluster_uid="seen")
    assert patches(actions) == [
        (
            "",
            {
                "metadata": {
                    "finalizers": ["x/y", LEAVE],
                    "annotations": {"mcs-controller/cluster-uid": "seen"},
                    "resourceVersion": "7",
                }
            },
        )
    ]


@pytest.mark.parametrize(
    ("case", "of", "known"),
    [
        ("it says all already", registration(LEAVE, probe=OK), {"is_member": True, "probe": OK}),
        ("another uid is no news to write", registration(LEAVE), {"is_member": True, "cluster_uid": "other"}),
        ("nothing is known yet", registration(LEAVE), {"is_member": True}),
        ("it is no member", registration(), {}),
        ("a leave goes on", registration(LEAVE, deleted=True), {}),
        ("a leave says nothing of its health", registration(LEAVE, deleted=True), {"probe": FAILED}),
        ("somebody else holds it", registration("x/y", deleted=True), {"is_clean": True}),
        ("a member may leave too", registration(LEAVE, deleted=True), {"refusal": DUPLICATE, "is_member": True}),
    ],
)  # fmt: skip
def test_nothing_is_written(case: str, of: KubeFedCluster, known: dict[str, Any]) -> None:
    assert planned(of, **known) == (), case


@pytest.mark.parametrize("known", [{"is_clean": True}, {"refusal": DUPLICATE}])
def test_a_registration_goes_when_nothing_is_left_or_nothing_ever_was(known: dict[str, Any]) -> None:
    actions = planned(registration("x/y", LEAVE, deleted=True), **known)
    assert patches(actions) == [("", {"metadata": {"finalizers": ["x/y"], "resourceVersion": "7"}})]


def test_a_status_replaces_all_that_was_said_before() -> None:
    ((subresource, changes),) = patches(planned(registration(LEAVE, probe=FAILED), is_member=True, probe=OK))
    assert subresource == "status"
    status = changes["status"]
    assert [each["type"] for each in status["conditions"]] == ["Ready"]
    assert status["conditions"][0]["lastProbeTime"] == NOW
    assert (status["kubernetesVersion"], status["zones"], status["region"]) == ("v1.34.0", ["a"], "north")


@pytest.mark.parametrize(
    ("case", "before", "known", "told"),
    [
        ("a first Ready is no news", None, {"probe": OK}, []),
        ("ready again", FAILED, {"probe": OK}, [("Normal", "ClusterReady")]),
        ("no answer", OK, {"probe": FAILED}, [("Warning", "ClusterNotReachable")]),
        ("no answer from the start", None, {"probe": FAILED}, [("Warning", "ClusterNotReachable")]),
        ("still no answer, for another reason", FAILED, {"probe": Failed("DNS: x")}, []),
        ("an answer that is not ok", OK, {"probe": Answered(False)}, [("Warning", "ClusterNotReady")]),
        ("refused", None, {"refusal": DUPLICATE}, [("Warning", "DuplicateCluster")]),
        ("malformed", OK, {"probe": NotConfigured("x")}, [("Warning", "ClusterConfigMalformed")]),
        ("malformed, and why", OK, {"probe": OK, "refusal": MALFORMED}, [("Warning", "MalformedClusterConfig")]),
    ],
)  # fmt: skip
def test_events_tell_what_is_new(
    case: str, before: Probe | None, known: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    actions = planned(registration(LEAVE, probe=before), is_member=True, **known)
    assert events(actions) == told, case
    assert len(patches(actions)) == 1, case


def test_an_orphan_is_told_of_where_its_registration_would_be() -> None:
    told = orphan_event(ClusterId("east"), "system", NOW).object
    assert (told.metadata.namespace, told.involved_object.name) == ("system", "east")
    assert told.reason == "ClusterOrphaned"
    assert "mcs leave east --force" in told.message
