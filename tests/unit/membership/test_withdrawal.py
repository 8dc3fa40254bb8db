"""What becomes of the endpoints of a member that is unreachable or drained, and when that changes next."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mcs.membership.withdrawal import ObservedMember, Outage, Policy, Verdict, decide
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
    drained: str | None = None,
    reachable: bool | None = None,
) -> ObservedMember:
    """A member that has been away for so many seconds; None: it is reachable unless said otherwise."""
    return ObservedMember(
        cluster=ClusterId(cluster),
        is_reachable=away is None if reachable is None else reachable,
        outage=None if away is None else Outage(SINCE, timedelta(seconds=away), "Timeout"),
        policy=policy,
        grace=timedelta(seconds=grace),
        drained=drained,
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
        ("whoever is drained is withdrawn while it is reachable", member(drained=SINCE), "withdraw", None),
        ("and while it is away", member(away=1, drained=SINCE), "withdraw", None),
        ("also where outages are kept", member(drained=SINCE, policy="keep"), "withdraw", None),
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


def test_members_drained_by_an_operator_are_withdrawn_also_when_more_than_half_are_away() -> None:
    decisions = decide((member("a", 1000), member("b", 1000, drained="Friday"), member(drained="Friday")))

    assert decisions.is_cut_off
    assert decisions.withdrawn == {"b": "is drained since Friday", "west": "is drained since Friday"}


def test_those_who_are_drained_are_not_away() -> None:
    assert not decide((member("a", 1000), member("b", drained="now"), member())).is_cut_off


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
        (member(drained=SINCE), OTHERS, "is drained since 2026-01-01T00:00:00Z", ""),
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
