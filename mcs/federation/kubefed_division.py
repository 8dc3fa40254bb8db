"""Mode `kubefed`: replicas as KubeFed v0.10 divides them for a ReplicaSchedulingPreference, to the last one.

Its ways are kept: shares are rounded up, so whoever comes first has more; minima come on top of the shares; with
rebalance, what full clusters are asked for comes on top of the total. Mode `fair` does without them.
"""

from msgspec import Struct

from mcs.federation.replicas import Divided, Division, Reason, Round, Share, Step, tie_rank
from mcs.model.names import ClusterId


class _Candidate(Struct):
    """A cluster with a preference, on its way through the division."""

    cluster: ClusterId
    weight: int
    least: int
    most: int | None
    capacity: int | None
    current: int
    planned: int = 0
    kept: int = 0
    """How much of `planned` it has only because it runs there, and no share has been counted against yet."""
    overflow: int = 0
    limit: Reason | None = None


def divide_as_kubefed(division: Division, *, with_rounds: bool) -> Divided:
    """The plan of KubeFed's planner: minima, then what runs, then rounds of shares by weight until nothing changes.

    A round costs as much as there are clusters that are not full. Without rebalance there may be as many rounds as the
    total has digits in binary, or more where weights differ greatly.
    """
    reasons: dict[ClusterId, Reason] = {}
    candidates = _candidates(division, reasons)
    rounds: list[Round] | None = [] if with_rounds else None
    remaining = _give_minima(candidates, division.total, rounds)
    if division.rebalance == "never":
        remaining = _keep_current(candidates, remaining, rounds)
    remaining = _give_shares(candidates, remaining, rounds)
    plan = dict.fromkeys(division.candidates, 0)
    overflow = {}
    for each in candidates:
        plan[each.cluster] = each.planned
        reasons[each.cluster] = _reason(each)
        more = each.overflow if division.rebalance == "always" else min(each.overflow, remaining)
        if more > 0:
            overflow[each.cluster] = more
    return Divided(
        plan=plan,
        overflow=dict(sorted(overflow.items())),
        reasons={cluster: reasons[cluster] for cluster in plan},
        unplaced=remaining,
        rounds=tuple(rounds or ()),
    )


def _candidates(division: Division, reasons: dict[ClusterId, Reason]) -> list[_Candidate]:
    """Those with a preference, in the order in which they are served; the reason of the others is noted."""
    found = []
    for cluster in division.candidates:
        preference = division.preference_of(cluster)
        if preference is None:
            reasons[cluster] = "NoPreference"
            continue
        candidate = _Candidate(
            cluster,
            preference.weight,
            preference.min_replicas,
            preference.max_replicas,
            division.capacity.get(cluster),
            division.current.get(cluster, 0),
        )
        found.append((-preference.weight, tie_rank(cluster, division.key), candidate))
    return [candidate for *_, candidate in sorted(found, key=lambda each: each[:2])]


def _give_minima(candidates: list[_Candidate], total: int, rounds: list[Round] | None) -> int:
    remaining = total
    for each in candidates:
        each.planned = min(each.least, remaining)
        if each.capacity is not None and each.capacity < each.planned:
            each.planned, each.limit = each.capacity, "Capacity"
        remaining -= each.planned
    minima = [_share_of(each, each.least, each.planned) for each in candidates if each.least > 0]
    _note(rounds, "min", total, minima)
    return remaining


def _keep_current(candidates: list[_Candidate], amount: int, rounds: list[Round] | None) -> int:
    remaining = amount
    shares = []
    for each in candidates:
        target = each.current
        if each.most is not None:
            target = min(target, each.most)
        if each.capacity is not None:
            target = min(target, each.capacity)
        if target < each.current:
            each.limit = "Capacity" if target == each.capacity else "MaxReplicas"
        each.kept = max(0, min(target - each.planned, remaining))
        each.planned += each.kept
        remaining -= each.kept
        if rounds is not None and each.current > 0:
            shares.append(_share_of(each, each.current, each.planned))
    _note(rounds, "current", amount, shares)
    return remaining


def _share_of(candidate: _Candidate, wanted: int, planned: int) -> Share:
    reason: Reason | None = None
    if planned < wanted:
        is_full = candidate.capacity is not None and planned == candidate.capacity
        is_at_most = candidate.most is not None and planned == candidate.most
        reason = "Capacity" if is_full else "MaxReplicas" if is_at_most else "TotalReplicas"
    return Share(cluster=candidate.cluster, share=wanted, capped_by=reason, replicas=planned)


def _give_shares(candidates: list[_Candidate], remaining: int, rounds: list[Round] | None) -> int:
    live, is_changed = candidates, True
    while is_changed and remaining > 0:
        weights = sum(each.weight for each in live)
        if weights == 0:
            break
        amount, is_changed, not_full, shares = remaining, False, [], []
        for each in live:
            share = min((amount * each.weight + weights - 1) // weights, remaining)
            counted = min(share, each.kept)
            each.kept -= counted
            wanted = each.planned + share - counted
            given, is_full = _limited(each, wanted)
            is_changed = is_changed or counted > 0 or given > each.planned
            if rounds is not None:
                capped_by = each.limit if is_full else "CurrentReplicas" if counted else None
                shares.append(Share(cluster=each.cluster, share=share, capped_by=capped_by, replicas=given))
            remaining -= given - each.planned
            each.planned = given
            if not is_full:
                not_full.append(each)
        live = not_full
        _note(rounds, "weight", amount, shares)
    return remaining


def _limited(candidate: _Candidate, wanted: int) -> tuple[int, bool]:
    """What the cluster may have of `wanted`, and whether it is full by that; its overflow and limit are noted."""
    given, is_full = wanted, False
    if candidate.most is not None and given > candidate.most:
        given, is_full, candidate.limit = candidate.most, True, "MaxReplicas"
    if candidate.capacity is not None and given > candidate.capacity:
        candidate.overflow = given - candidate.capacity
        given, is_full, candidate.limit = candidate.capacity, True, "Capacity"
    return given, is_full


def _reason(candidate: _Candidate) -> Reason:
    if candidate.limit is not None:
        return candidate.limit
    if candidate.kept > 0:
        return "CurrentReplicas"
    if candidate.planned < candidate.least:
        return "TotalReplicas"
    if candidate.planned > candidate.least:
        return "Weight"
    if candidate.planned > 0:
        return "MinReplicas"
    return "ZeroWeight" if candidate.weight == 0 else "TotalReplicas"


def _note(rounds: list[Round] | None, step: Step, amount: int, shares: list[Share]) -> None:
    if rounds is not None and shares:
        rounds.append(Round(step=step, amount=amount, shares=tuple(shares)))
