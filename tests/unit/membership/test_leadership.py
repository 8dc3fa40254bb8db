"""What a candidate does about the Lease: when it takes it, when it waits, and how long it may write."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mcs.membership.leadership import NEVER, Candidate, Timing, changes
from mcs.model.leases import Lease, LeaseSpec, micro_timestamp
from mcs.model.meta import ObjectMeta

WALL = datetime(2026, 1, 1, 12, 0, 0, 250, UTC)
NOW = 1000.0


def lease(holder: str, *, version: str = "7", renewed: str = "t1", seconds: int | None = 15) -> Lease:
    return Lease(
        metadata=ObjectMeta(name="mcs-controller", namespace="system", resource_version=version),
        spec=LeaseSpec(
            holder_identity=holder,
            lease_duration_seconds=seconds,
            acquire_time="t0",
            renew_time=renewed,
            lease_transitions=3,
        ),
    )


def a(*seen: tuple[Lease | None, float]) -> Candidate:
    """Candidate "a" after it saw the Lease at these moments."""
    candidate = Candidate("a")
    for found, when in seen:
        candidate = candidate.having_seen(found, when)
    return candidate


def leading(since: float = NOW) -> Candidate:
    return a((lease("a"), since)).having_written(lease("a", version="8"), since, since + 0.1)


OF_B = lease("b")


@pytest.mark.parametrize(
    ("candidate", "now", "takes"),
    [
        pytest.param(a((None, NOW)), NOW, True, id="there is no Lease"),
        pytest.param(a((lease(""), NOW)), NOW, True, id="it was given back"),
        pytest.param(a((lease("a"), NOW)), NOW, True, id="it is its own, of before it was stopped"),
        pytest.param(a((OF_B, NOW)), NOW, False, id="another's, seen for the first time, however old"),
        pytest.param(a((OF_B, NOW), (OF_B, NOW + 14)), NOW + 14.9, False, id="another's, unchanged for too short"),
        pytest.param(a((OF_B, NOW), (OF_B, NOW + 14)), NOW + 15, True, id="another's, unchanged as long as it lasts"),
        pytest.param(
            a((OF_B, NOW), (lease("b", renewed="t2"), NOW + 14)), NOW + 28.9, False, id="another's, seen to be renewed"
        ),
        pytest.param(a((lease("b", seconds=40), NOW)), NOW + 39, False, id="another's that lasts longer"),
        pytest.param(a((lease("b", seconds=None), NOW)), NOW + 14, False, id="another's that says no duration"),
        pytest.param(a((OF_B, NOW), (None, NOW + 1)), NOW + 14, False, id="another's, deleted before it had expired"),
        pytest.param(a((OF_B, NOW), (None, NOW + 1)), NOW + 15, True, id="another's, deleted and by now expired"),
        pytest.param(
            a((OF_B, NOW), (lease("b", version="9"), NOW + 14)), NOW + 15, True, id="another's with a new label alone"
        ),
    ],
)  # fmt: skip
def test_a_lease_is_taken_only_when_nobody_can_hold_it(candidate: Candidate, now: float, takes: bool) -> None:
    assert (candidate.wanted(now, WALL) is not None) == takes


def test_who_takes_the_lease_of_another_says_so_and_counts_it() -> None:
    wanted = a((OF_B, NOW)).wanted(NOW + 15, WALL)
    assert wanted is not None
    moment = "2026-01-01T12:00:00.000250Z"
    assert wanted.spec == LeaseSpec(
        holder_identity="a",
        lease_duration_seconds=15,
        acquire_time=moment,
        renew_time=moment,
        lease_transitions=4,
    )
    assert changes(wanted)["metadata"] == {"resourceVersion": "7"}, "or two could win"


def test_who_renews_changes_nothing_but_the_time() -> None:
    wanted = leading().wanted(NOW + 2, WALL)
    assert wanted is not None
    assert wanted.spec == lease("a", renewed=micro_timestamp(WALL)).spec
    assert wanted.metadata.resource_version == "8"


def test_a_lease_that_is_made_anew_carries_no_version_and_no_memory() -> None:
    for candidate in (a((None, NOW)), a((OF_B, NOW), (None, NOW + 1))):
        wanted = candidate.wanted(NOW + 15, WALL)
        assert wanted is not None
        assert wanted.metadata == ObjectMeta()


@pytest.mark.parametrize(
    ("candidate", "after", "seconds"),
    [
        pytest.param(a((None, NOW)), 0, 0, id="not elected: none"),
        pytest.param(a((lease("a"), NOW)), 0, 0, id="the Lease names it, but it has not renewed it: none"),
        pytest.param(leading(), 0, 14, id="just renewed: until a second before the Lease ends"),
        pytest.param(leading(), 9.5, 4.5, id="just before the deadline"),
        pytest.param(leading(), 10, 0, id="at the deadline: none, though the Lease lasts on"),
        pytest.param(leading(), 3600, 0, id="stopped for an hour: none"),
        pytest.param(leading().having_failed(), 5, 9, id="a renewal without an answer takes nothing away"),
        pytest.param(leading().having_seen(lease("b"), NOW + 5), 5, 0, id="another was seen to lead: none"),
        pytest.param(leading().having_seen(None, NOW + 5), 5, 0, id="somebody deleted the Lease: none"),
        pytest.param(leading().having_seen(lease("a"), NOW + 5), 5, 9, id="still its own when it is read"),
    ],
)
def test_a_write_may_take_as_long_as_nobody_else_can_lead(
    candidate: Candidate, after: float, seconds: float
) -> None:
    assert candidate.allowance(NOW + after) == pytest.approx(seconds)


def test_a_lease_counts_from_when_its_renewal_left_not_from_when_it_was_answered() -> None:
    candidate = a((lease("a"), NOW)).having_written(lease("a"), sent=NOW, now=NOW + 3.9)
    assert candidate.leads_until == NOW + 10


def test_requests_that_leave_at_the_deadline_end_before_the_lease() -> None:
    for timing in (Timing(), Timing(lease=60, deadline=40, retry=5), Timing(lease=4, deadline=3, retry=0.5)):
        assert timing.deadline + timing.reserve < timing.lease
        assert timing.request < timing.lease - timing.deadline
        assert timing.retry + timing.request < timing.deadline, "a second attempt fits"


@pytest.mark.parametrize(
    ("candidate", "holder"),
    [
        pytest.param(leading(), "", id="its own is given back"),
        pytest.param(leading().having_failed(), None, id="not while it may have changed"),
        pytest.param(a((OF_B, NOW)), None, id="another's is left alone"),
        pytest.param(a((None, NOW)), None, id="there is none"),
    ],
)
def test_only_its_own_lease_is_given_back(candidate: Candidate, holder: str | None) -> None:
    given = candidate.given_back(WALL)
    assert (None if given is None else given.holder) == holder
    assert given is None or a((given, NOW)).wanted(NOW, WALL) is not None, "the next one takes it at once"


@pytest.mark.parametrize(
    ("candidate", "now", "pause"),
    [
        pytest.param(leading(), NOW + 2.5, 1.5, id="the next attempt comes its time after the last began"),
        pytest.param(leading(), NOW + 6, 0, id="after a slow attempt the next comes at once"),
        pytest.param(a((OF_B, NOW - 13.5)), NOW + 1, 0.5, id="when the Lease expires before, then"),
    ],
)
def test_the_pause_between_attempts(candidate: Candidate, now: float, pause: float) -> None:
    began = NOW + 2 if pause == 1.5 else NOW
    assert candidate.pause(began, now) == pytest.approx(pause)


def test_nobody_leads_before_the_first_look() -> None:
    fresh = Candidate("a")
    assert (fresh.leads_until, fresh.holder, fresh.is_fresh) == (NEVER, "", False)
