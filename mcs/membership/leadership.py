"""Who leads: what one candidate does about a Lease, at a moment of its own clock.

The rules are those of client-go's leader election (k8s.io/client-go/tools/leaderelection): a Lease has expired when it
was *seen* unchanged for as long as it lasts, so that the clocks of two machines are never compared; each write carries
the resourceVersion that was seen, so that of two candidates one wins. Leading ends earlier than the Lease by
`Timing.deadline`, counted from the moment at which the renewal was sent: what is asked of a server until then can be
answered before anybody else may lead. Requests, sleeping and the clock itself are left to `mcs.runtime.leader`.
"""

from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mcs.model.leases import Lease, LeaseSpec, micro_timestamp

NEVER = float("-inf")


class Timing(Struct, frozen=True):
    """Seconds: how long a Lease lasts, when its holder gives up renewing it, how often candidates try."""

    lease: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0

    @property
    def request(self) -> float:
        """How long one request about the Lease may take; two attempts fit before the deadline."""
        return min(self.deadline / 2, self.reserve)

    @property
    def reserve(self) -> float:
        """The longest that a request may take which leaves at the deadline: it ends before the Lease does."""
        return 0.8 * (self.lease - self.deadline)


class Candidate(Struct, frozen=True):
    """What one candidate knows of the Lease; all moments are of its own clock, in seconds.

    `lease` is as it was last seen, and has been what it is since `since`; it is not fresh when a request whose answer
    did not come may have changed it. `renewed` is when the write left us that last made or kept us the leader.
    """

    identity: str
    timing: Timing = Timing()
    lease: Lease | None = None
    is_fresh: bool = False
    since: float = NEVER
    renewed: float = NEVER

    @property
    def leads_until(self) -> float:
        """From then on nothing may be written, unless the Lease is renewed before."""
        return self.renewed + self.timing.deadline

    @property
    def holder(self) -> str:
        """Who leads, as far as was seen; empty when nobody does."""
        return self.lease.holder if self.lease is not None else ""

    def allowance(self, now: float) -> float:
        """How many seconds a request that leaves now may take; it may not leave when there are none.

        It ends before the Lease can be anybody else's, at the latest.
        """
        if now >= self.leads_until:
            return 0.0
        return self.leads_until + self.timing.reserve - now

    def having_seen(self, lease: Lease | None, now: float) -> "Candidate":
        """After the Lease was read; None when there is none.

        A Lease that is gone was deleted by somebody: whoever held it may believe in it for as long as it lasted.
        """
        if lease is None:
            gone = None if self.lease is None else Lease(spec=self.lease.spec)
            return replace(self, lease=gone, is_fresh=True, renewed=NEVER)
        is_same = self.lease is not None and self.lease.spec == lease.spec
        renewed = self.renewed if lease.holder == self.identity else NEVER
        return replace(
            self, lease=lease, is_fresh=True, since=self.since if is_same else now, renewed=renewed
        )

    def having_written(self, lease: Lease, sent: float, now: float) -> "Candidate":
        """After a write of ours, which left at `sent`, was answered with what the Lease now is."""
        return replace(self, lease=lease, is_fresh=True, since=now, renewed=sent)

    def having_failed(self) -> "Candidate":
        """After a write without an answer, or refused because the Lease had changed: it must be read again."""
        return replace(self, is_fresh=False)

    def expires(self) -> float:
        """When somebody else's Lease may be taken if it is not seen to change; long past when it is nobody's."""
        if self.lease is None or self.lease.holder in ("", self.identity):
            return NEVER
        return self.since + (self.lease.spec.lease_duration_seconds or self.timing.lease)

    def wanted(self, now: float, wall: datetime) -> Lease | None:
        """The Lease to write now, to become or to stay the leader; None while it is somebody else's.

        Without a resourceVersion it is to be created. `wall` is the time of the day, for those who read it.
        """
        if now < self.expires():
            return None
        before = self.lease or Lease()
        moment = micro_timestamp(wall)
        is_ours = before.holder == self.identity
        transitions = before.spec.lease_transitions or 0
        spec = LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=int(self.timing.lease),
            acquire_time=before.spec.acquire_time if is_ours else moment,
            renew_time=moment,
            lease_transitions=transitions if is_ours or self.lease is None else transitions + 1,
        )
        return replace(before, spec=spec)

    def given_back(self, wall: datetime) -> Lease | None:
        """The Lease to write so that the next leader need not wait; None when it is not ours to give."""
        if self.lease is None or not self.is_fresh or self.lease.holder != self.identity:
            return None
        moment = micro_timestamp(wall)
        spec = replace(
            self.lease.spec,
            holder_identity="",
            lease_duration_seconds=1,
            acquire_time=moment,
            renew_time=moment,
        )
        return replace(self.lease, spec=spec)

    def pause(self, tried: float, now: float) -> float:
        """Seconds until the next attempt, after one that began at `tried`: sooner when a Lease expires before."""
        due = tried + self.timing.retry
        expires = self.expires()
        if now < expires < due:
            due = expires
        return max(due - now, 0.0)


def changes(lease: Lease) -> dict[str, Any]:
    """`lease` as a JSON merge patch that fails unless the Lease still is the one that was seen."""
    spec = lease.spec
    return {
        "metadata": {"resourceVersion": lease.metadata.resource_version},
        "spec": {
            "holderIdentity": spec.holder_identity,
            "leaseDurationSeconds": spec.lease_duration_seconds,
            "acquireTime": spec.acquire_time,
            "renewTime": spec.renew_time,
            "leaseTransitions": spec.lease_transitions,
        },
    }
