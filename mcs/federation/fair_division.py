"""Mode `fair`: never more than the total, no more moves than must be, and the weights as closely as that allows.

A division climbs levels, which are numbers for each cluster that never fall: first the minima, then what runs, then
what may be at most. The two levels between which the total lies bound each cluster, and between them replicas are
divided by weight. That makes the order of force: whatever a lower level promises is kept before a higher one is looked
at, and capacity and maximum cut all of them.

* Minima that the total does not cover are shared by weight.
* `never`: from what runs, clusters furthest below their share gain first, and when the total shrinks, those furthest
  above it lose first. A minimum is stronger than what runs elsewhere.
* `always`: what runs is no level.
* `gradual`: `never`, and then as many moves as are allowed towards `always`.
* What has no place becomes overflow, by weight, where only capacity stands in the way of more.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mcs.federation.filling import Bound, Filled, fill
from mcs.federation.replicas import Divided, Division, Reason, Round, Share, Step, tie_rank
from mcs.model.names import ClusterId

Level = tuple[Step, Sequence[int]]


class _Climbed(NamedTuple):
    """What each cluster has, and why, where the total came to lie."""

    amounts: Sequence[int]
    reasons: Sequence[Reason]
    rounds: Sequence[Round]


def divide_fairly(division: Division, *, with_rounds: bool) -> Divided:
    """The plan. Divided again with it for current, nothing changes, but that gradual rebalance goes on."""
    clusters = _Clusters(division)
    nothing = [0] * len(clusters.names)
    levels = clusters.levels_of_always() if division.rebalance == "always" else clusters.levels_of_never()
    climbed = clusters.climb(levels, nothing, with_rounds)
    if division.rebalance == "gradual":
        goal = clusters.climb(clusters.levels_of_always(), nothing, with_rounds=False)
        climbed = clusters.moved(climbed, goal, with_rounds)
    requested = clusters.climb(clusters.levels_of_overflow(climbed.amounts), climbed.amounts, with_rounds)
    plan = dict.fromkeys(division.candidates, 0)
    reasons: dict[ClusterId, Reason] = dict.fromkeys(plan, "NoPreference")
    plan.update(zip(clusters.names, climbed.amounts, strict=True))
    reasons.update(zip(clusters.names, climbed.reasons, strict=True))
    return Divided(
        plan=plan,
        overflow={
            cluster: more - each
            for cluster, each, more in zip(clusters.names, climbed.amounts, requested.amounts, strict=True)
            if more > each
        },
        reasons=reasons,
        unplaced=division.total - sum(climbed.amounts),
        rounds=(*climbed.rounds, *requested.rounds),
    )


class _Clusters:
    """The clusters that have a part, as lists with one place for each, and what follows for them."""

    def __init__(self, division: Division) -> None:
        preferences = [(cluster, division.preference_of(cluster)) for cluster in division.candidates]
        found = [(cluster, preference) for cluster, preference in preferences if preference is not None]
        self.division = division
        self.names = [cluster for cluster, _ in found]
        self.weights = [preference.weight for _, preference in found]
        self.minima = [preference.min_replicas for _, preference in found]
        self.maxima = [preference.max_replicas for _, preference in found]
        self.capacities = [division.capacity.get(cluster) for cluster in self.names]
        self.current = [division.current.get(cluster, 0) for cluster in self.names]
        unlimited = max((division.total, *self.minima, *self.current))
        self.allowed = [unlimited if most is None else most for most in self.maxima]
        """What each could have, were there room for it."""
        self.most = [
            most if capacity is None else min(most, capacity)
            for most, capacity in zip(self.allowed, self.capacities, strict=True)
        ]
        self.least = _each(min, self.minima, self.most)
        stays = division.rebalance != "always"
        self.kept = _each(min, self.current, self.most) if stays else [0] * len(self.names)

    def levels_of_never(self) -> tuple[Level, ...]:
        running = _each(max, self.least, self.kept)
        return (
            ("min", _each(min, self.least, self.kept)),
            ("min", self.least),
            ("current", running),
            ("weight", self._weighted(self.most, running)),
        )

    def levels_of_always(self) -> tuple[Level, ...]:
        return ("min", self.least), ("weight", self._weighted(self.most, self.least))

    def levels_of_overflow(self, plan: Sequence[int]) -> tuple[Level, ...]:
        minima = _each(max, plan, _each(min, self.minima, self.allowed))
        return ("overflow", minima), ("overflow", self._weighted(self.allowed, minima))

    def _weighted(self, level: Sequence[int], otherwise: Sequence[int]) -> list[int]:
        """`level`, but `otherwise` for clusters of weight 0."""
        return [
            each if weight > 0 else other
            for each, other, weight in zip(level, otherwise, self.weights, strict=True)
        ]

    def climb(self, levels: Sequence[Level], start: Sequence[int], with_rounds: bool) -> _Climbed:
        """The total between the two levels where it lies, from `start` up; at the last one if it is above all."""
        rounds: list[Round] = []
        total, reached = self.division.total, start
        for step, level in levels:
            if total == sum(reached):
                break
            if total < sum(level):
                filled = fill(total, reached, level, self.weights, self._tie_rank, with_rounds=with_rounds)
                rounds += self._rounds_of(step, reached, filled)
                return _Climbed(filled.amounts, self._reasons(filled.amounts, filled.held), rounds)
            if with_rounds and level != reached:
                rounds.append(self._lift(step, reached, level))
            reached = level
        bound: Bound = "low" if sum(reached) == total else "high"
        held = dict.fromkeys(range(len(reached)), bound)
        return _Climbed(reached, self._reasons(reached, held), rounds)

    def moved(self, climbed: _Climbed, goal: _Climbed, with_rounds: bool) -> _Climbed:
        """As many moves as one division may make, taken from and given to where most are to be moved."""
        here, there = climbed.amounts, goal.amounts
        surplus = [max(0, each - wanted) for each, wanted in zip(here, there, strict=True)]
        deficit = [max(0, wanted - each) for each, wanted in zip(here, there, strict=True)]
        nothing = [0] * len(here)
        moves = min(self.division.moves, sum(surplus))
        lost = fill(moves, nothing, surplus, surplus, self._tie_rank).amounts
        gained = fill(min(moves, sum(deficit)), nothing, deficit, deficit, self._tie_rank).amounts
        amounts = [each - less + more for each, less, more in zip(here, lost, gained, strict=True)]
        reasons: list[Reason] = [
            reason if each == wanted else "TotalReplicas" if each < least else "GradualRebalance"
            for each, wanted, reason, least in zip(amounts, there, goal.reasons, self.least, strict=True)
        ]
        move = [self._lift("gradual", here, amounts)] if with_rounds and moves > 0 else []
        return _Climbed(amounts, reasons, [*climbed.rounds, *move])

    def _tie_rank(self, place: int) -> tuple[int, str]:
        return tie_rank(self.names[place], self.division.key)

    def _reasons(self, amounts: Sequence[int], held: dict[int, Bound]) -> list[Reason]:
        return [self._reason(place, amount, held.get(place)) for place, amount in enumerate(amounts)]

    def _reason(self, place: int, amount: int, bound: Bound | None) -> Reason:
        """Why a cluster has `amount`, which is that of a level where it is held at a bound."""
        most, least, kept = self.most[place], self.least[place], self.kept[place]
        if amount < least:
            return "TotalReplicas"
        wants_more = bound == "high" or max(self.current[place], self.minima[place]) > most
        if amount == most and wants_more and self.capacities[place] == most:
            return "Capacity"
        if amount == most and wants_more and self.maxima[place] == most:
            return "MaxReplicas"
        if bound is None or amount > max(least, kept):
            return "Weight" if self.weights[place] > 0 else "ZeroWeight"
        if amount == kept > least:
            return "CurrentReplicas"
        if amount == least > 0:
            return "MinReplicas"
        return "TotalReplicas" if self.weights[place] > 0 else "ZeroWeight"

    def _rounds_of(self, step: Step, below: Sequence[int], filled: Filled) -> list[Round]:
        rounds = []
        for each in filled.rounds:
            sure = filled.amounts if each is filled.rounds[-1] else below
            shares = []
            for place, share in each.shares.items():
                bound = each.held.get(place)
                replicas = sure[place] if bound is None else filled.amounts[place]
                capped_by = None if bound is None else self._reason(place, replicas, bound)
                shares.append(
                    Share(cluster=self.names[place], share=share, capped_by=capped_by, replicas=replicas)
                )
            rounds.append(Round(step=step, amount=each.amount, shares=tuple(shares)))
        return rounds

    def _lift(self, step: Step, before: Sequence[int], after: Sequence[int]) -> Round:
        """A step that needs no weights, with the clusters for which it changes anything."""
        changed = [place for place, amount in enumerate(after) if amount != before[place]]
        return Round(
            step=step,
            amount=sum(abs(after[place] - before[place]) for place in changed),
            shares=tuple(
                Share(cluster=self.names[place], share=after[place], replicas=after[place])
                for place in changed
            ),
        )


def _each(choose: Callable[[int, int], int], left: Sequence[int], right: Sequence[int]) -> list[int]:
    return [choose(one, other) for one, other in zip(left, right, strict=True)]
