"""Which clusters may have replicas just now, and what becomes of those of the others, when and how many at once.

A cluster that is not ready keeps what it has for a grace: nothing moves. Then it is lost, and its replicas are planned
elsewhere; what was asked of it is left as it is, so that nothing is deleted or stopped there on its return, before
its state has been planned with again. Back it has no part for a hold-down. All times come from what is recorded on
registrations and preferences, so that a restart forgets none of them.

Three brakes: more than half of the clusters away is more likely to be our own link, and nothing moves; when that is
over graces count anew; and not more than a few clusters are given up at a time, in the order in which they were lost.

How replicas are divided among those that may have some is decided in `division`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from msgspec import Struct

from mcs.model.meta import parse_timestamp, timestamp
from mcs.model.names import ClusterId
from mcs.model.taints import NO_EXECUTE, NO_SCHEDULE, Taint, Toleration, is_tolerated

Part = Literal["share", "keep", "leave", "move"]
"""What part a cluster takes in a division: its share; at most what it has; none, and what is asked of it is left as it
is; none, and what runs there goes as soon as it runs elsewhere."""

Standing = Literal[
    "Ready",
    "Cordoned",
    "Tainted",
    "NotReady",
    "NotProbed",
    "NotSeen",
    "CutOff",
    "EvictionBudget",
    "Lost",
    "Returned",
    "Evicted",
    "Draining",
    "Drained",
]
"""Why it takes that part, as the reason of a status."""

PARTS: Mapping[Standing, Part] = {
    "Ready": "share",
    "Cordoned": "keep",
    "Tainted": "keep",
    "NotReady": "keep",
    "NotProbed": "keep",
    "NotSeen": "keep",
    "CutOff": "keep",
    "EvictionBudget": "keep",
    "Lost": "leave",
    "Returned": "leave",
    "Evicted": "move",
    "Draining": "leave",
    "Drained": "move",
}

OUT: tuple[Standing, ...] = ("Lost", "Returned")
"""Standings of a cluster that was given up and has no part again yet."""

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 10**8
"""Seconds: three years."""


class Terms(Struct, frozen=True):
    """How patient one is. `grace` and `hold_down` are KubeFed's unavailableDelay and availableDelay.

    In each `pace` at most `at_once` clusters are given up: the eviction budget.
    """

    grace: timedelta = timedelta(seconds=60)
    hold_down: timedelta = timedelta(seconds=20)
    at_once: int = 1
    pace: timedelta = timedelta(seconds=60)


class ObservedCluster(Struct, frozen=True, kw_only=True):
    """What a registration tells. `since` is from when on it is ready, or not; None when it was never probed.

    A cluster that `is_draining` is emptied in the order of `draining`: others are made ready to stand in for it. It
    `is_drained` once its replicas are to go.
    """

    cluster: ClusterId
    is_ready: bool
    since: datetime | None = None
    is_cordoned: bool = False
    is_draining: bool = False
    is_drained: bool = False
    taints: Sequence[Taint] = ()


class Stands(Struct, frozen=True):
    """How a cluster stands; `message` is a clause about it, empty for one that is ready and nothing else."""

    standing: Standing
    message: str = ""

    @property
    def part(self) -> Part:
        """What part it takes."""
        return PARTS[self.standing]


class Standings(Struct, frozen=True):
    """How all clusters stand, and when time alone changes that next; None: never."""

    of: Mapping[ClusterId, Stands]
    due: datetime | None = None


def standings(
    clusters: Iterable[ObservedCluster],
    tolerations: Sequence[Toleration],
    out: Collection[ClusterId],
    now: datetime,
    terms: Terms,
) -> Standings:
    """How each cluster stands for a workload; `out` are those that had a standing of OUT when it was planned last."""
    clusters = sorted(clusters, key=lambda each: each.cluster)
    is_cut_off = 2 * sum(_is_away(each) for each in clusters) > len(clusters)
    sighted = _LONG_AGO if is_cut_off else _sighted(clusters)
    leaves = {each.cluster: _leaves(each, tolerations, sighted, terms) for each in clusters}
    turns = _turns({cluster: at for cluster, at in leaves.items() if at is not None}, terms)
    found: dict[ClusterId, Stands] = {}
    dues: list[datetime] = []
    for each in clusters:
        cluster = each.cluster
        if not each.is_ready and cluster in out:
            found[cluster] = Stands("Lost", _away(each))
            continue
        if not each.is_ready and (each.since is None or is_cut_off):
            found[cluster] = _not_judged(each)
            continue
        if each.is_ready and each.is_draining:
            found[cluster] = Stands(
                "Draining", "is drained, and keeps what it has until others stand in for it"
            )
            continue
        back = each.since + terms.hold_down if cluster in out and each.since else now
        leaving, turn = leaves[cluster], turns.get(cluster)
        dues += (at for at in (back, turn) if at is not None and at > now)
        if back > now:
            found[cluster] = Stands("Returned", f"is back, and has replicas again from {timestamp(back)} on")
        elif leaving is None or turn is None:
            found[cluster] = _staying(each, tolerations)
        else:
            found[cluster] = _leaving(each, leaving, turn, now)
    return Standings(found, min(dues, default=None))


def _is_away(observed: ObservedCluster) -> bool:
    return not observed.is_ready and observed.since is not None


def _away(observed: ObservedCluster) -> str:
    return f"is not ready since {timestamp(observed.since)}" if observed.since else "is not ready"


def _sighted(clusters: Sequence[ObservedCluster]) -> datetime:
    """When so many had come back that no more than half were away: graces do not count from before that."""
    returned = sorted((each.since for each in clusters if each.is_ready and each.since), reverse=True)
    gone = [each.since for each in clusters if not each.is_ready and each.since]
    for back, moment in enumerate(returned, 1):
        if 2 * (back + sum(since < moment for since in gone)) > len(clusters):
            return moment
    return _LONG_AGO


def _leaves(
    observed: ObservedCluster, tolerations: Sequence[Toleration], sighted: datetime, terms: Terms
) -> datetime | None:
    """When the cluster is to be given up; None when nothing asks for that."""
    moments = [_evicts(taint, tolerations) for taint in observed.taints if taint.effect == NO_EXECUTE]
    if observed.is_drained:
        moments.append(_LONG_AGO)
    if not observed.is_ready and observed.since is not None:
        moments.append(max(observed.since, sighted) + terms.grace)
    return min((each for each in moments if each is not None), default=None)


def _evicts(taint: Taint, tolerations: Sequence[Toleration]) -> datetime | None:
    """When a taint drives out: at once, after the shortest of the tolerations for it, or never.

    Without a readable time from which seconds count, they are over.
    """
    meant = [each for each in tolerations if each.tolerates(taint)]
    limits = [each.toleration_seconds for each in meant if each.toleration_seconds is not None]
    if meant and not limits:
        return None
    added = parse_timestamp(taint.time_added or "")
    if not limits or added is None:
        return _LONG_AGO
    return added + timedelta(seconds=max(0, min(*limits, _LONGEST)))


def _turns(leaving: Mapping[ClusterId, datetime], terms: Terms) -> dict[ClusterId, datetime]:
    """When each is given up within the budget: first who is to be first, then by name."""
    turns: list[tuple[ClusterId, datetime]] = []
    for cluster, at in sorted(leaving.items(), key=lambda pair: (pair[1], pair[0])):
        before = turns[-terms.at_once][1] + terms.pace if len(turns) >= terms.at_once else at
        turns.append((cluster, max(at, before)))
    return dict(turns)


def _not_judged(observed: ObservedCluster) -> Stands:
    if observed.since is None:
        return Stands("NotProbed", "was never seen ready, and has nothing new until it is")
    why = "more than half of the clusters are, so this controller takes itself for cut off and moves nothing"
    return Stands("CutOff", f"{_away(observed)}; {why}")


def _leaving(observed: ObservedCluster, leaving: datetime, turn: datetime, now: datetime) -> Stands:
    if not observed.is_ready:
        what = _away(observed)
    else:
        what = (
            "is drained" if observed.is_drained else "has a taint that drives out what does not tolerate it"
        )
    if turn <= now:
        standing: Standing = (
            "Lost" if not observed.is_ready else "Drained" if observed.is_drained else "Evicted"
        )
        return Stands(standing, what)
    if leaving <= now:
        return Stands(
            "EvictionBudget",
            f"{what}; others are given up first, and it keeps what it has until {timestamp(turn)}",
        )
    return Stands(
        "Tainted" if observed.is_ready else "NotReady",
        f"{what}, and keeps what it has until {timestamp(turn)}",
    )


def _staying(observed: ObservedCluster, tolerations: Sequence[Toleration]) -> Stands:
    for taint in observed.taints:
        if taint.effect == NO_SCHEDULE and not is_tolerated(taint, tolerations):
            return Stands("Tainted", f"has the taint {taint.key}:{NO_SCHEDULE} and gets nothing new")
    if observed.is_cordoned:
        return Stands("Cordoned", "is cordoned and gets nothing new")
    return Stands("Ready")
