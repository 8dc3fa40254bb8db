"""The order in which a cluster is drained, the same everywhere: nobody loses an endpoint before others stand in for it.

Nothing new is placed; replicas elsewhere are raised, ready, and visible in every importer; the endpoints here are
withdrawn; the longest TTL passes, since resolvers may still give answers from before; replicas here are removed. Which
stage a cluster is in follows from what is seen alone, so that a restart goes on where it was, and who becomes short of
endpoints before any replica was removed gets those of the cluster back.

Dividing replicas, withdrawing endpoints and looking at importers are left to others.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

from mcs.model.names import ClusterId, ServiceKey

_TOLD = 3
"""How many services, workloads or importers a message names."""


class Stage(StrEnum):
    """How far the drain of a cluster is; also the reason of the condition that tells of it."""

    RAISING = "RaisingElsewhere"
    WITHDRAWING = "WithdrawingEndpoints"
    EXPIRING = "WaitingForCachedAnswers"
    REMOVING = "RemovingReplicas"
    DRAINED = "Drained"


class DrainedService(Struct, frozen=True, kw_only=True):
    """A Service that the cluster exports, as all importers see it.

    `wanted` endpoints are to be ready in other clusters once this one is empty: the replicas that are planned there.
    With none the service is only here. `elsewhere` is how many ready ones of other clusters each importer shows; one
    that nothing is known of is left out. `shown` are the importers that show a ready one of this cluster.
    """

    key: ServiceKey
    wanted: int
    elsewhere: Mapping[ClusterId, int] = {}
    shown: frozenset[ClusterId] = frozenset()

    @property
    def is_only_here(self) -> bool:
        """True when no other cluster could answer for it: its endpoints stay."""
        return self.wanted == 0

    @property
    def short_in(self) -> list[ClusterId]:
        """The importers that do not show enough endpoints of other clusters yet."""
        return sorted(cluster for cluster, count in self.elsewhere.items() if count < self.wanted)


class DrainedWorkload(Struct, frozen=True, kw_only=True):
    """A federated workload with replicas in the cluster, or that was to have some there.

    `wanted` and `ready` are its replicas in all other clusters together, `here` those that this cluster still has.
    Until its replicas `are_planned` without this cluster, `wanted` does not tell how many are to be elsewhere. One
    that `is_kept` runs a service that is only here, and stays.
    """

    name: str
    wanted: int
    ready: int
    here: int
    are_planned: bool = True
    is_kept: bool = False


class ObservedDrain(Struct, frozen=True, kw_only=True):
    """What decides how far a drain is. Seconds throughout.

    `unseen_for` is for how long no importer has shown an endpoint that is to be withdrawn, None while one does.
    """

    services: tuple[DrainedService, ...] = ()
    workloads: tuple[DrainedWorkload, ...] = ()
    unseen_for: float | None = None
    longest_ttl: float


class Drain(Struct, frozen=True, kw_only=True):
    """Where a drain stands. `due` is after how many seconds time alone brings it further; None: never.

    `only_here` are the services that stay where they are, since no other cluster could answer for them.
    """

    stage: Stage
    message: str
    due: float | None = None
    only_here: tuple[ServiceKey, ...] = ()

    @property
    def is_withdrawn(self) -> bool:
        """Whether importers are to show the endpoints of the cluster no more."""
        return self.stage is not Stage.RAISING

    @property
    def is_removed(self) -> bool:
        """Whether the replicas in the cluster, but for those that are kept, are to go; until then they stay."""
        return self.stage in (Stage.REMOVING, Stage.DRAINED)


def decide_drain(observed: ObservedDrain) -> Drain:
    """The stage of a cluster that somebody wants to be drained."""
    only_here = tuple(sorted(each.key for each in observed.services if each.is_only_here))
    stage, message, due = _stage(observed)
    if only_here:
        message += f" Only this cluster has {_listed(map(str, only_here))}: what they run on stays."
    return Drain(stage=stage, message=message, due=due, only_here=only_here)


def _stage(observed: ObservedDrain) -> tuple[Stage, str, float | None]:
    moved = [each for each in observed.services if not each.is_only_here]
    workloads = [each for each in observed.workloads if not each.is_kept]
    remaining = [each for each in workloads if each.here and (each.wanted or not each.are_planned)]
    if not remaining and not any(each.shown for each in moved):
        return (
            Stage.DRAINED,
            "No endpoint and no replica is left that another cluster has in its place.",
            None,
        )
    if waits := _short(workloads, moved):
        return Stage.RAISING, f"Others are made ready to stand in: {waits}.", None
    if shown := sorted({cluster for each in moved for cluster in each.shown}):
        return Stage.WITHDRAWING, f"Endpoints are still shown in {_listed(shown)}.", None
    left = observed.longest_ttl - (observed.unseen_for or 0)
    if left > 0:
        return Stage.EXPIRING, f"Resolvers may give earlier answers for {observed.longest_ttl:g} s.", left
    names = _listed(sorted(each.name for each in remaining))
    return Stage.REMOVING, f"Nobody is told of these replicas any more: {names}.", None


def _short(workloads: Iterable[DrainedWorkload], moved: Iterable[DrainedService]) -> str:
    short = [
        f"{each.name} has {each.ready} of {each.wanted} replicas ready elsewhere"
        if each.are_planned
        else f"{each.name} is still to be planned without this cluster"
        for each in sorted(workloads, key=lambda each: each.name)
        if each.ready < each.wanted or not each.are_planned
    ]
    services = [
        f"{each.key} is short of endpoints in {_listed(each.short_in)}"
        for each in sorted(moved, key=lambda each: each.key)
        if each.short_in
    ]
    return _listed([*short, *services])


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
    return ", ".join(found[:_TOLD]) + more
