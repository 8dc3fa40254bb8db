"""What is done in one cluster: KubeFed's table, and what differs from it on purpose."""

from __future__ import annotations

from typing import Any

import pytest

from mcs.federation.propagation import Member, Step, decide, decide_removal, finalizer_may_go
from mcs.model.names import ClusterId

OURS = {"presence": "present", "managed": "true"}
GOING = {"presence": "terminating", "managed": "true"}
READY = {"is_ready": True}
WANTED = {"is_ready": True, "is_selected": True}


def member(**seen: Any) -> Member:
    return Member(**{"is_ready": False, "is_selected": False} | seen)


# The rows of KubeFed's table, in its order.
TABLE: list[tuple[dict[str, Any], Step, str | None]] = [
    ({"is_selected": True, **OURS}, "none", "ClusterNotReady"),
    ({**OURS}, "none", None),
    ({**READY}, "none", None),
    ({**READY, **GOING}, "none", "WaitingForRemoval"),
    ({**READY, **OURS}, "delete", "WaitingForRemoval"),
    ({**WANTED, "is_live": True}, "create", ""),
    ({**WANTED, **GOING}, "none", "WaitingForRemoval"),
    ({**WANTED, **OURS}, "update", ""),
]


@pytest.mark.parametrize("number", range(1, len(TABLE) + 1))
def test_row(number: int) -> None:
    seen, step, status = TABLE[number - 1]
    found = decide(member(**seen), may_adopt=True)
    assert (found.step, found.status) == (step, status)


@pytest.mark.parametrize(
    ("case", "seen", "may_adopt", "step", "status"),
    [
        ("a cache may hold labelled objects only, so the member is asked", WANTED, True, "look", ""),
        ("somebody else's is taken over", {**WANTED, "presence": "present"}, True, "adopt", ""),
        ("or not", {**WANTED, "presence": "present"}, False, "none", "AlreadyExists"),
        ("ours needs no adoption", {**WANTED, **OURS}, False, "update", ""),
        (
            "its owner refuses",
            {**WANTED, "presence": "present", "managed": "false"},
            True,
            "none",
            "ManagedLabelFalse",
        ),
        (
            "any other value is as none",
            {**WANTED, "presence": "present", "managed": "x"},
            False,
            "none",
            "AlreadyExists",
        ),
        ("not known yet", {**WANTED, "presence": "unknown"}, True, "none", "CachedRetrievalFailed"),
        ("narrowed while it was away", {"is_recorded": True}, True, "none", "WaitingForRemoval"),
        (
            "narrowed while it is not seen",
            {**READY, "presence": "unknown", "is_recorded": True},
            True,
            "none",
            "WaitingForRemoval",
        ),
        ("nothing was ever there", {**READY, "presence": "unknown"}, True, "none", None),
        ("gone, says a cache", {**READY, "is_recorded": True}, True, "look", "WaitingForRemoval"),
        ("gone, says the member", {**READY, "is_recorded": True, "is_live": True}, True, "forget", None),
        (
            "somebody took our label off",
            {**READY, "presence": "present", "is_recorded": True, "is_live": True},
            True,
            "forget",
            None,
        ),
        ("never ours", {**READY, "presence": "present", "is_live": True}, True, "none", None),
        ("somebody else deletes what is not ours", {**READY, "presence": "terminating"}, True, "none", None),
        ("it has just returned", {**READY, **OURS, "is_held": True}, True, "none", "WaitingForRemoval"),
        ("a hold keeps nothing from being written", {**WANTED, **OURS, "is_held": True}, True, "update", ""),
        (
            "the namespace of the host is not deleted",
            {**READY, **OURS, "is_own_namespace": True},
            True,
            "release",
            "WaitingForRemoval",
        ),
        ("nor created", {**WANTED, "is_own_namespace": True, "is_live": True}, True, "none", ""),
        ("a protected namespace is not written", {**WANTED, "is_protected": True}, True, "none", None),
        ("nor updated", {**WANTED, **OURS, "is_protected": True}, True, "none", None),
        ("nor deleted", {**READY, **OURS, "is_protected": True}, True, "none", None),
        ("nor remembered", {**READY, "is_protected": True, "is_recorded": True}, True, "forget", None),
    ],
)
def test_what_is_done_besides(
    case: str, seen: dict[str, Any], may_adopt: bool, step: Step, status: str | None
) -> None:
    found = decide(member(**seen), may_adopt=may_adopt)
    assert (found.step, found.status) == (step, status), case


@pytest.mark.parametrize(
    ("case", "seen", "is_orphaning", "step", "status"),
    [
        ("deleted though it is still selected", {**WANTED, **OURS}, False, "delete", "WaitingForRemoval"),
        ("and where it is selected no more", {**READY, **OURS}, False, "delete", "WaitingForRemoval"),
        ("a hold is of no account", {**READY, **OURS, "is_held": True}, False, "delete", "WaitingForRemoval"),
        ("it stays, without our label", {**READY, **OURS}, True, "release", "WaitingForRemoval"),
        ("it is going", {**READY, **GOING}, False, "none", "WaitingForRemoval"),
        ("a cache is not believed", {**READY, "is_recorded": True}, False, "look", "WaitingForRemoval"),
        ("the member is", {**READY, "is_recorded": True, "is_live": True}, False, "forget", None),
        (
            "released",
            {**READY, "is_recorded": True, "is_live": True, "presence": "present"},
            True,
            "forget",
            None,
        ),
        ("away, and remembered", {"is_recorded": True}, False, "none", "WaitingForRemoval"),
        ("away, and never written to", {"is_selected": True}, False, "none", None),
        ("the host", {**READY, **OURS, "is_own_namespace": True}, False, "release", "WaitingForRemoval"),
        ("protected", {**READY, **OURS, "is_protected": True}, False, "none", None),
    ],
)
def test_what_is_done_when_the_federated_object_is_deleted(
    case: str, seen: dict[str, Any], is_orphaning: bool, step: Step, status: str | None
) -> None:
    found = decide_removal(member(**seen), is_orphaning=is_orphaning)
    assert (found.step, found.status) == (step, status), case


@pytest.mark.parametrize(
    ("recorded", "may_go"),
    [([], True), (["up"], False), (["down"], True), (["left"], True), (["down", "up"], False)],
)
def test_only_a_cluster_that_can_be_reached_holds_up_a_deletion(recorded: list[str], may_go: bool) -> None:
    ready = {ClusterId("up"): True, ClusterId("down"): False}
    assert finalizer_may_go([ClusterId(each) for each in recorded], ready) is may_go
