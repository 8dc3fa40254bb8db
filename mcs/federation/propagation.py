"""What is done with one federated object in one cluster, and what is told of it.

Source: KubeFed's table of actions. What it gets wrong is not repeated: each cluster is decided by itself, so that one
that is away holds up nobody; and what was ever written is known by the ledger, not by the present placement, so that
an object is deleted in a cluster that was away while its placement was narrowed.

Nothing is created, and nothing forgotten, on the word of a cache alone: the caller looks at the member, and asks
again with what it has seen.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from mcs.model.federated import (
    ALREADY_EXISTS,
    CACHED_RETRIEVAL_FAILED,
    CLUSTER_NOT_READY,
    MANAGED,
    MANAGED_LABEL_FALSE,
    OK,
    UNMANAGED,
    WAITING_FOR_REMOVAL,
)
from mcs.model.names import ClusterId

Presence = Literal["unknown", "absent", "present", "terminating"]

Step = Literal["none", "create", "update", "adopt", "delete", "release", "look", "forget"]
"""`adopt` updates what somebody else has made, `release` takes our label off an object that stays, `look` asks the
member itself, `forget` removes the entry of the ledger."""

WRITES: frozenset[Step] = frozenset({"create", "update", "adopt"})
"""Steps that need an entry of the ledger before them."""


class Member(Struct, frozen=True, kw_only=True):
    """One cluster as seen for one federated object.

    `managed` is the value of the managed label, None without one. With `is_live` the member itself was asked, not a
    cache, which may hold labelled objects only. `is_recorded` when the ledger has an entry. A cluster `is_held` while
    nothing may be deleted there, because it has just returned. `is_protected` for a namespace that is never touched,
    `is_own_namespace` for the one in which the federated namespace itself is: the member is the host, as the uid of
    the namespace tells.
    """

    is_ready: bool
    is_selected: bool
    presence: Presence = "absent"
    managed: str | None = None
    is_live: bool = False
    is_recorded: bool = False
    is_held: bool = False
    is_protected: bool = False
    is_own_namespace: bool = False


class Decision(Struct, frozen=True):
    """What to do, and what the cluster's status is if that goes well; nothing is told of it when that is None."""

    step: Step = "none"
    status: str | None = None
    message: str = ""


_NOTHING = Decision()
_FINE = Decision(status=OK)
_AWAY = Decision(
    status=CLUSTER_NOT_READY, message="The cluster is not ready; the object is written once it is."
)
_UNSEEN = Decision(
    status=CACHED_RETRIEVAL_FAILED, message="It is not known yet whether the cluster has the object."
)
_REMEMBERED = Decision(
    status=WAITING_FOR_REMOVAL,
    message="The cluster cannot be looked into; what it may hold is deleted there once it can.",
)
_GOING = Decision(status=WAITING_FOR_REMOVAL, message="The object is being deleted there.")
_HELD = Decision(
    status=WAITING_FOR_REMOVAL, message="The cluster has just returned; nothing is deleted there for a while."
)
_REFUSED = Decision(
    status=MANAGED_LABEL_FALSE,
    message='The object is labelled kubefed.io/managed "false", so it is left alone.',
)
_TAKEN = Decision(
    status=ALREADY_EXISTS,
    message="There is such an object already, and adoption is disabled (KubeFedConfig, adoptResources).",
)


def decide(member: Member, *, may_adopt: bool) -> Decision:
    """For an object that is to be where it is selected and nowhere else."""
    if member.is_protected:
        return Decision("forget") if member.is_recorded else _NOTHING
    if not member.is_selected:
        return _unselected(member)
    if not member.is_ready:
        return _AWAY
    match member.presence:
        case "unknown":
            return _UNSEEN
        case "terminating":
            return _GOING
        case "absent":
            # The namespace of the host is there, or nothing could be federated from it.
            return _FINE if member.is_own_namespace else Decision("create" if member.is_live else "look", OK)
        case "present":
            return _existing(member, may_adopt=may_adopt)


def _existing(member: Member, *, may_adopt: bool) -> Decision:
    if member.managed == UNMANAGED:
        return _REFUSED
    if member.managed == MANAGED:
        return Decision("update", OK)
    return Decision("adopt", OK) if may_adopt else _TAKEN


def _unselected(member: Member) -> Decision:
    if member.is_ready and member.presence == "present" and member.managed == MANAGED and member.is_held:
        return _HELD
    return _removal(member, is_orphaning=False)


def decide_removal(member: Member, *, is_orphaning: bool) -> Decision:
    """For an object whose federated object is being deleted. A hold is of no account: somebody asked for it."""
    if member.is_protected:
        return Decision("forget") if member.is_recorded else _NOTHING
    return _removal(member, is_orphaning=is_orphaning)


def _removal(member: Member, *, is_orphaning: bool) -> Decision:
    if not member.is_ready or member.presence == "unknown":
        return _REMEMBERED if member.is_recorded else _NOTHING
    if member.presence == "absent" or member.managed != MANAGED:
        if not member.is_recorded:
            return _NOTHING
        return Decision("forget") if member.is_live else Decision("look", WAITING_FOR_REMOVAL)
    if member.presence == "terminating":
        return _GOING
    if is_orphaning or member.is_own_namespace:
        return Decision("release", WAITING_FOR_REMOVAL)
    return Decision("delete", WAITING_FOR_REMOVAL)


def finalizer_may_go(recorded: Iterable[ClusterId], is_ready: Mapping[ClusterId, bool]) -> bool:
    """Whether a deleted federated object may go although these clusters are still in its ledger.

    Those that are not ready, or registered no more, hold up nobody: their entries outlive the federated object, as a
    tombstone.
    """
    return not any(is_ready.get(cluster, False) for cluster in recorded)
