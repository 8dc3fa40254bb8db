"""Keeps the verdicts on all members up to date: observes who is reachable, decides, and says whom that touches.

Outages begin when they are noticed and end when the member is reachable again; until then a member that connects anew
counts as away. Their length is measured by the loop's clock, so that a wall clock that is set withdraws nothing.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import structlog
from msgspec import Struct
from msgspec.structs import replace

from mcs.controllers.clusters import ClusterCaches
from mcs.membership.withdrawal import Decisions, ObservedMember, Outage, Terms, decide
from mcs.model.meta import parse_timestamp, timestamp
from mcs.model.names import ClusterId, ServiceKey
from mcs.runtime.fleet import CRD_MISSING, Fleet, Member, Reachability

log = structlog.get_logger(__name__)


class _Outage(Struct, frozen=True):
    since: str
    began: float
    """By the loop's clock."""
    problem: str


class WithdrawalController:
    """Holds `decisions`, and gives them to `take` whenever one has changed.

    `terms` gives what holds for a member, and `recorded` since when its registration says that it is unreachable, so
    that a restart does not begin to count anew. `clock` is the wall clock by which outages are dated.
    """

    def __init__(
        self,
        fleet: Fleet[Any],
        clock: Callable[[], datetime],
        take: Callable[[Decisions], None],
        terms: Callable[[ClusterId], Terms] = lambda _: Terms(),
        recorded: Callable[[ClusterId], str] = lambda _: "",
    ) -> None:
        self.decisions = Decisions({})
        self._fleet = fleet
        self._clock = clock
        self._take = take
        self._terms = terms
        self._recorded = recorded
        self._outages: dict[ClusterId, _Outage] = {}
        self._sighted: float | None = None
        """When this controller found that it is not cut off any more, by the loop's clock."""
        self._woken = asyncio.Event()
        fleet.follow(self._engaged, self._disengaged)

    @property
    def outages(self) -> dict[ClusterId, Outage]:
        """The members that are unreachable now."""
        return {cluster: self._measured(outage) for cluster, outage in self._outages.items()}

    def wake(self) -> None:
        """Something that decides may have changed."""
        self._woken.set()

    async def run(self) -> None:
        """Decide whenever something changed or is due, until cancelled."""
        while True:
            self._woken.clear()
            self._decide()
            due = self.decisions.due
            with suppress(TimeoutError):
                async with asyncio.timeout(due.total_seconds() if due is not None else None):
                    await self._woken.wait()

    def _engaged(self, member: Member[Any]) -> None:
        member.on_health(self.wake)
        self.wake()

    def _disengaged(self, member: Member[Any]) -> None:
        self._outages.pop(member.cluster, None)
        self.wake()

    def _decide(self) -> None:
        before, moment = self.decisions, asyncio.get_running_loop().time()
        if before.is_cut_off:
            self._sighted = moment
        sighted = None if self._sighted is None else timedelta(seconds=moment - self._sighted)
        now = self.decisions = decide(map(self._observe, list(self._fleet.members.values())), sighted)
        if now.is_cut_off != before.is_cut_off:
            log.warning(
                "more than half of the members unreachable" if now.is_cut_off else "members reachable again"
            )
        for cluster in sorted(now.of):
            self._tell(cluster, before, now)
        if now.of != before.of:
            self._take(now)

    def _observe(self, member: Member[Any]) -> ObservedMember:
        cluster, terms = member.cluster, self._terms(member.cluster)
        is_reachable = member.reachability is Reachability.REACHABLE
        if is_reachable:
            self._outages.pop(cluster, None)
        elif member.reachability is Reachability.UNREACHABLE and member.problem != CRD_MISSING:
            self._note(cluster, member.problem)
        outage = self._outages.get(cluster)
        return ObservedMember(
            cluster=cluster,
            is_reachable=is_reachable,
            outage=self._measured(outage) if outage is not None else None,
            terms=terms,
        )

    def _note(self, cluster: ClusterId, problem: str) -> None:
        """An outage begins or goes on. The first error may be that of a broken watch; what was told does not change."""
        noted = self._outages.get(cluster)
        if noted is None:
            noted = self._new_outage(cluster, problem)
        elif self.decisions.verdict(cluster) != "withdraw":
            noted = replace(noted, problem=problem)
        self._outages[cluster] = noted

    def _new_outage(self, cluster: ClusterId, problem: str) -> _Outage:
        now, began = self._clock(), asyncio.get_running_loop().time()
        recorded = parse_timestamp(self._recorded(cluster))
        if recorded is None or recorded > now:
            return _Outage(timestamp(now), began, problem)
        return _Outage(timestamp(recorded), began - (now - recorded).total_seconds(), problem)

    def _measured(self, outage: _Outage) -> Outage:
        length = timedelta(seconds=asyncio.get_running_loop().time() - outage.began)
        return Outage(outage.since, length, outage.problem)

    def _tell(self, cluster: ClusterId, before: Decisions, now: Decisions) -> None:
        was, decision = before.of.get(cluster), now.of[cluster]
        if decision.reason and decision != was:
            event = "cluster withdrawn" if decision.verdict == "withdraw" else "cluster away"
            log.warning(event, cluster=cluster, reason=decision.reason, outcome=decision.detail)
        elif was is not None and was.reason and not decision.reason:
            log.info("cluster served again", cluster=cluster)


def touched_by_decisions(
    caches: Mapping[ClusterId, ClusterCaches], before: Decisions, now: Decisions
) -> Iterator[tuple[ClusterId, set[ServiceKey]]]:
    """The services that a change of verdicts touches, by target. Who becomes undecided stays as it is.

    Before the first verdict all is as an earlier controller left it: of that only what is withdrawn is touched. What is
    to be written in a cluster that is away waits for its return, which is another change.
    """
    for cluster, decision in sorted(now.of.items()):
        if decision.verdict == "leave" or decision == before.of.get(cluster):
            continue
        exports = caches[cluster].exports if cluster in caches else ()
        is_all = "withdraw" in (decision.verdict, before.verdict(cluster))
        for target, each in sorted(caches.items()):
            if target != cluster or not decision.is_away:
                keys = {export.key for export in exports} | each.imported_from(cluster) if is_all else set()
                yield target, keys | each.withdrawn_from(cluster)
