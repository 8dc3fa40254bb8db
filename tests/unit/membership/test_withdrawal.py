"""What becomes of the endpoints of a member that is unreachable or drained, and when that changes next."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mcs.membership.withdrawal import (
    ObservedMember,
    Outage,
    Policy,
    Terms,
    Verdict,
    decide,
    parse_grace,
    terms_of,
)
from mcs.model.names import ClusterId

WEST = ClusterId("west")
SINCE = "2026-01-01T00:00:00Z"
AWAY = f"is unreachable since {SINCE} (Timeout)"


def member(
    cluster: str = "west",
    away: float | None = None,
    *,
    policy: Policy = "drain",
    grace: float = 300,
    drained: bool | None = False,
    reachable: bool | None = None,
) -> ObservedMember:
    """A member that has been away for so many seconds; None: it is reachable unless said otherwise."""
    return ObservedMember(
        cluster=ClusterId(cluster),
        is_reachable=away is None if reachable is None else reachable,
        outage=None if away is None else Outage(SINCE, timedelta(seconds=away), "Timeout"),
        terms=Terms(policy, timedelta(seconds=grace), drained),
    )


OTHERS = (member("a"), member("b"), member("c"))


@pytest.mark.parametrize(
    ("sentence", "observed", "verdict", "due"),
    [
        ("a reachable member serves", member(), "serve", None),
        ("one of which nothing is known yet is left", member(reachable=False), "leave", None),
        ("one away within its grace is left, until that is over", member(away=100), "leave", 200),
        ("so is one that has just gone", member(away=0), "leave", 300),
        ("at the end of the grace it is withdrawn", member(away=300), "withdraw", None),
        ("and so it stays", member(away=1e6), "withdraw", None),
        ("another grace, another end", member(away=100, grace=60), "withdraw", None),
        ("a grace of zero lasts for ever", member(away=1e6, grace=0), "serve", None),
        ("kept is kept", member(away=1e6, policy="keep"), "serve", None),
        ("kept within the grace, too", member(away=1, policy="keep"), "serve", None),
        ("whoever is drained is withdrawn while it is reachable", member(drained=True), "withdraw", None),
        ("and while it is away", member(away=1, drained=True), "withdraw", None),
        ("whose turn to be drained is not known is left", member(drained=None), "leave", None),
        ("but withdrawn after an outage", member(away=300, drained=None), "withdraw", None),
        ("also where outages are kept", member(drained=True, policy="keep"), "withdraw", None),
    ],
)
def test_the_verdict_on_one_member_among_others(
    sentence: str, observed: ObservedMember, verdict: Verdict, due: float | None
) -> None:
    decisions = decide((observed, *OTHERS))

    assert decisions.verdict(WEST) == verdict, sentence
    assert (WEST in decisions.withdrawn) is (verdict == "withdraw"), sentence
    assert decisions.due == (None if due is None else timedelta(seconds=due)), sentence


@pytest.mark.parametrize(
    ("sentence", "away", "all_", "is_cut_off"),
    [
        ("one of three", 1, 3, False),
        ("one of two is half and not more", 1, 2, False),
        ("two of three", 2, 3, True),
        ("two of four", 2, 4, False),
        ("three of four", 3, 4, True),
        ("the only one", 1, 1, True),
        ("everybody", 5, 5, True),
    ],
)
def test_with_more_than_half_away_nothing_changes(
    sentence: str, away: int, all_: int, is_cut_off: bool
) -> None:
    decisions = decide(member(f"m{n}", 1000 if n < away else None) for n in range(all_))

    assert decisions.is_cut_off is is_cut_off, sentence
    verdicts = [decisions.verdict(ClusterId(f"m{n}")) for n in range(all_)]
    assert verdicts == ["leave" if is_cut_off else "withdraw"] * away + ["serve"] * (all_ - away), sentence


@pytest.mark.parametrize(
    ("sighted", "verdict", "due"),
    [(0, "leave", 300), (299, "leave", 1), (300, "withdraw", None), (9000, "withdraw", None)],
)
def test_after_being_cut_off_every_outage_has_its_whole_grace(
    sighted: float, verdict: Verdict, due: float | None
) -> None:
    """Members come back one after the other, and the last ones must not pay for it."""
    decisions = decide((member(away=8000), *OTHERS), timedelta(seconds=sighted))

    assert decisions.verdict(WEST) == verdict
    assert decisions.due == (None if due is None else timedelta(seconds=due))


def test_members_drained_by_an_operator_are_withdrawn_also_when_more_than_half_are_away() -> None:
    decisions = decide((member("a", 1000), member("b", 1000, drained=True), member(drained=True)))

    assert decisions.is_cut_off
    assert decisions.withdrawn == {"b": "is drained by an operator", "west": "is drained by an operator"}


def test_those_who_are_drained_are_not_away() -> None:
    assert not decide((member("a", 1000), member("b", drained=True), member())).is_cut_off


def test_the_next_change_is_the_first_end_of_a_grace_and_none_while_cut_off() -> None:
    members = [member("a", 10, grace=60), member("b", 100), member("c", 400), member("d", 5, policy="keep")]
    well = [member(f"w{n}") for n in range(4)]

    assert decide((*members, *well)).due == timedelta(seconds=50)
    assert decide(members).due is None


def test_a_cluster_that_is_no_member_is_left_as_it_is() -> None:
    assert decide(OTHERS).verdict(WEST) == "leave"


@pytest.mark.parametrize(
    ("observed", "others", "reason", "detail"),
    [
        (member(away=1), OTHERS, AWAY, "its endpoints are kept for 5 min"),
        (member(away=301), OTHERS, AWAY, "its endpoints are withdrawn"),
        (member(away=301), (), AWAY,
         "1 of 1 members are, so this controller takes itself for cut off and withdraws nothing"),
        (member(away=9, policy="keep"), OTHERS, AWAY, "its endpoints are kept"),
        (member(drained=True), OTHERS, "is drained by an operator", ""),
        (member(), OTHERS, "", ""),
    ],
)  # fmt: skip
def test_the_reason_says_since_when_and_why(
    observed: ObservedMember, others: tuple[ObservedMember, ...], reason: str, detail: str
) -> None:
    decision = decide((observed, *others)).of[WEST]

    assert (decision.reason, decision.detail) == (reason, detail)


def test_the_reason_does_not_change_while_the_outage_lasts() -> None:
    """It stands in the conditions of many objects."""
    reasons = {decide((member(away=away), *OTHERS)).of[WEST].reason for away in (0, 299, 300, 9999)}

    assert len(reasons) == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("30s", 30),
        ("1h30m", 5400),
        ("5m0s", 300),
        ("45", None),
        ("5m", 300),
        ("2h", 7200),
        ("999999h", 3650 * 86400),
        ("", None),
        ("5 m", None),
        ("-5m", None),
        ("1.5h", None),
        ("5d", None),
        ("٣m", None),
    ],
)
def test_how_a_grace_is_written(text: str, seconds: float | None) -> None:
    assert parse_grace(text) == (None if seconds is None else timedelta(seconds=seconds))


DEFAULT = Terms("keep", timedelta(seconds=9))


@pytest.mark.parametrize(
    ("sentence", "said", "expected"),
    [
        ("nothing is said", {}, DEFAULT),
        ("drained, and when", {"unreachable": "drain", "unreachable-grace": "1m"}, Terms(grace=timedelta(minutes=1))),
        ("kept, after the grace of all", {"unreachable": "keep"}, DEFAULT),
        ("a grace of zero is a grace", {"unreachable-grace": "0"}, Terms("keep", timedelta())),
        ("what is not understood is as not said", {"unreachable": "Keep!", "unreachable-grace": "soon"}, DEFAULT),
        ("drained by an operator", {"drained": "true"}, Terms("keep", timedelta(seconds=9), is_drained=True)),
        ("drained is only what says true", {"drained": "no"}, DEFAULT),
    ],
)  # fmt: skip
def test_what_a_registration_says_goes_before_what_holds_for_the_set(
    sentence: str, said: dict[str, str], expected: Terms
) -> None:
    annotations = {f"mcs-controller/{name}": value for name, value in said.items()}

    assert terms_of(annotations, DEFAULT) == expected, sentence
