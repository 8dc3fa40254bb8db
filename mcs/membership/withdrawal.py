"""Whose endpoints are withdrawn: what it means that a member has been unreachable for so long, or is drained.

From what is known of all members to one verdict on each, with its reason in words. Which services that touches, and
that the last ready endpoints of a service stay whatever is decided here, is the part of `mcs.services`; what counts as
unreachable, and since when, is observed by the shell.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Literal

from msgspec import Struct

from mcs.model.names import ClusterId
from mcs.model.registration import DRAINED_ANNOTATION, UNREACHABLE_ANNOTATION, UNREACHABLE_GRACE_ANNOTATION

Policy = Literal["drain", "keep"]
"""What becomes of the endpoints of a member that stays away: withdrawn after the grace, or kept for ever."""

Verdict = Literal["serve", "withdraw", "leave"]
"""Serve the member's endpoints, withdraw them, or leave them as they are, whatever an earlier verdict made of them."""

DEFAULT_GRACE = timedelta(minutes=5)
_LONGEST_GRACE = timedelta(days=3650)
_DURATION = re.compile(
    r"(?:(?P<hours>[0-9]{1,6})h)?(?:(?P<minutes>[0-9]{1,6})m)?(?:(?P<seconds>[0-9]{1,6})s)?"
)


class Terms(Struct, frozen=True):
    """What holds for a member that is unreachable, and for one that is drained.

    `grace` is how long an outage is borne before endpoints are withdrawn; zero: for ever. `is_drained` when an operator
    wants the member drained, whatever its state; None while it is not known whether it is its turn.
    """

    policy: Policy = "drain"
    grace: timedelta = DEFAULT_GRACE
    is_drained: bool | None = False


def parse_grace(text: str) -> timedelta | None:
    """The duration that a Go duration of hours, minutes and seconds means ("5m", "1h30m", "0"), at most ten years.

    None when it is no such duration.
    """
    found = _DURATION.fullmatch(text)
    if text == "0":
        return timedelta()
    if found is None or not text:
        return None
    parts = {unit: int(number) for unit, number in found.groupdict("0").items()}
    return min(timedelta(**parts), _LONGEST_GRACE)


def terms_of(annotations: Mapping[str, str], default: Terms) -> Terms:
    """What a registration says of its member; what it does not say, or cannot be understood, is as in `default`."""
    policy = annotations.get(UNREACHABLE_ANNOTATION, "")
    grace = parse_grace(annotations.get(UNREACHABLE_GRACE_ANNOTATION, ""))
    return Terms(
        "keep" if policy == "keep" else "drain" if policy == "drain" else default.policy,
        default.grace if grace is None else grace,
        annotations.get(DRAINED_ANNOTATION) == "true",
    )


class Outage(Struct, frozen=True):
    """A member is unreachable: since when as it was recorded (RFC 3339), for how long now, and what is wrong.

    The length is given, not worked out of `since`: whoever saw it begin measures it by a clock that nobody sets.
    `problem` is one word as the errors of an API server tell it apart ("timeout"), empty when it is not known.
    """

    since: str
    length: timedelta
    problem: str = ""


class ObservedMember(Struct, frozen=True, kw_only=True):
    """What decides on one member. One that is neither `is_reachable` nor has an `outage` is not known yet."""

    cluster: ClusterId
    is_reachable: bool
    outage: Outage | None = None
    terms: Terms = Terms()


class Decision(Struct, frozen=True):
    """The verdict on one member; `reason` is a clause about it ("is unreachable since ..."), empty when all is well."""

    verdict: Verdict
    reason: str = ""
    detail: str = ""
    """What else an operator wants to know: when the verdict will change, or what keeps it from doing so."""
    is_away: bool = False


class Decisions(Struct, frozen=True):
    """The verdicts on all members. `due` is after how long time alone changes one of them; None: never.

    `withdrawn` are the clusters whose endpoints are withdrawn, with the reasons.
    """

    of: Mapping[ClusterId, Decision]
    withdrawn: Mapping[ClusterId, str] = {}
    due: timedelta | None = None
    is_cut_off: bool = False
    """More than half of the members are unreachable at once: more likely it is the controller that is."""

    def verdict(self, cluster: ClusterId) -> Verdict:
        """The verdict on a cluster; one that was not observed is left as it is."""
        found = self.of.get(cluster)
        return "leave" if found is None else found.verdict


def decide(members: Iterable[ObservedMember], sighted: timedelta | None = None) -> Decisions:
    """Whose endpoints to serve, to withdraw or to leave as they are.

    While more than half of the members are unreachable nothing is withdrawn for its outage, and nothing that was
    withdrawn before comes back for it; what an operator drains is withdrawn all the same. `sighted` is for how long
    that has been over, None: it never was so. Outages count from then on: members do not come back all at once.
    """
    members = tuple(members)
    away = sum(member.outage is not None for member in members)
    is_cut_off = 2 * away > len(members)
    cut_off = (
        f"{away} of {len(members)} members are, so this controller takes itself for cut off"
        if is_cut_off
        else ""
    )
    decisions = {member.cluster: _decision(member, cut_off, sighted) for member in members}
    return Decisions(
        decisions,
        {cluster: each.reason for cluster, each in decisions.items() if each.verdict == "withdraw"},
        None
        if is_cut_off
        else min(filter(None, (_left(member, sighted) for member in members)), default=None),
        is_cut_off,
    )


def _decision(member: ObservedMember, cut_off: str, sighted: timedelta | None) -> Decision:
    outage = member.outage
    if member.terms.is_drained is None and outage is None:
        return Decision("leave", "is to be drained by an operator")
    if member.terms.is_drained:
        return Decision("withdraw", "is drained by an operator", is_away=outage is not None)
    if outage is None:
        return Decision("serve" if member.is_reachable else "leave")
    reason = f"is unreachable since {outage.since}"
    if outage.problem:
        reason += f" ({outage.problem})"
    return Decision(*_verdict_on_outage(member, reason, cut_off, sighted), is_away=True)


def _verdict_on_outage(
    member: ObservedMember, reason: str, cut_off: str, sighted: timedelta | None
) -> tuple[Verdict, str, str]:
    if not _is_withdrawn_in_time(member):
        return "serve", reason, "its endpoints are kept"
    if cut_off:
        return "leave", reason, f"{cut_off} and withdraws nothing"
    if _left(member, sighted) is not None:
        return "leave", reason, f"its endpoints are kept for {_in_words(member.terms.grace)}"
    return "withdraw", reason, "its endpoints are withdrawn"


def _is_withdrawn_in_time(member: ObservedMember) -> bool:
    return member.terms.policy == "drain" and member.terms.grace > timedelta()


def _left(member: ObservedMember, sighted: timedelta | None) -> timedelta | None:
    """How much of the grace is left; None when it is over or nobody counts."""
    if member.terms.is_drained or member.outage is None or not _is_withdrawn_in_time(member):
        return None
    length = member.outage.length
    left = member.terms.grace - (length if sighted is None else min(length, sighted))
    return left if left > timedelta() else None


def _in_words(duration: timedelta) -> str:
    seconds = duration.total_seconds()
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"
