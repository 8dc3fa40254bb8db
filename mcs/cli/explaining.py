"""`mcs explain`: for each cluster why a federated object is there or not, and how its replicas were divided."""

import json
from collections.abc import Iterable
from typing import Any

from rich.console import Console

from mcs.cli.drawing import draw
from mcs.cli.federated_sets import Source, check_output, end_with, find_object, read_set
from mcs.cli.tables import Table
from mcs.federation.explanation import ClusterExplanation, Explanation, explain
from mcs.federation.replicas import Round


def print_explanation(source: Source, text: str, namespace: str | None, output: str) -> None:
    """Print what there is to say of one object. Raises UserMistakeError."""
    is_json = check_output(output)
    snapshot = read_set(source)
    explanation = explain(snapshot, find_object(snapshot, text, namespace))
    if is_json:
        print(json.dumps(as_json(explanation), indent=2))
    else:
        print("\n".join(heading(explanation)), flush=True)
        print()
        draw(explanation_tables(explanation), Console())
    end_with(snapshot.problems)


def heading(explanation: Explanation) -> Iterable[str]:
    """What holds for the object as a whole."""
    yield str(explanation.object_)
    if (division := explanation.division) is not None:
        yield (
            f"{division.total} replicas, mode {division.mode}, rebalance {division.rebalance}, "
            f"{division.unplaced} unplaced"
        )
    yield from (f"Note: {note}" for note in explanation.notes)


def explanation_tables(explanation: Explanation) -> tuple[Table, ...]:
    """Clusters, and the rounds of the division where there is one."""
    headings = (
        "CLUSTER",
        "PLACED",
        "REPLICAS",
        "OVERFLOW",
        "WEIGHT",
        "MIN",
        "MAX",
        "CAPACITY",
        "CURRENT",
        "WHY",
    )
    clusters = Table("Clusters", headings, tuple(_row(each) for each in explanation.clusters))
    if explanation.division is None:
        return (clusters,)
    rows = (
        row
        for number, round_ in enumerate(explanation.division.rounds, start=1)
        for row in _shares(number, round_)
    )
    return clusters, Table(
        "Rounds", ("ROUND", "FOR", "AMOUNT", "CLUSTER", "SHARE", "BOUND BY", "REPLICAS"), tuple(rows)
    )


def _row(each: ClusterExplanation) -> tuple[str, ...]:
    preference = each.preference
    return (
        each.cluster,
        "no" if each.rule else "yes",
        _number(each.replicas),
        _number(each.overflow or None),
        "-" if preference is None else str(preference.weight),
        "-" if preference is None else _number(preference.min_replicas or None),
        "-" if preference is None else _number(preference.max_replicas),
        _number(each.capacity),
        _number(each.current),
        f"{each.rule}: {each.why}" if each.rule else each.why,
    )


def _number(number: int | None) -> str:
    return "-" if number is None else str(number)


def _shares(number: int, round_: Round) -> Iterable[tuple[str, ...]]:
    for each in round_.shares:
        share, bound = f"{each.share:.2f}".rstrip("0").rstrip("."), each.capped_by or "-"
        yield str(number), round_.step, str(round_.amount), each.cluster, share, bound, str(each.replicas)


def as_json(explanation: Explanation) -> dict[str, Any]:
    """The explanation in JSON's types."""
    key, division = explanation.object_, explanation.division
    return {
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "notes": list(explanation.notes),
        "clusters": [_cluster(each) for each in explanation.clusters],
        "division": None
        if division is None
        else {
            "total": division.total,
            "mode": division.mode,
            "rebalance": division.rebalance,
            "unplaced": division.unplaced,
            "rounds": [
                {
                    "for": each.step,
                    "amount": each.amount,
                    "shares": [
                        {
                            "cluster": share.cluster,
                            "share": share.share,
                            "boundBy": share.capped_by,
                            "replicas": share.replicas,
                        }
                        for share in each.shares
                    ],
                }
                for each in division.rounds
            ],
        },
    }


def _cluster(each: ClusterExplanation) -> dict[str, Any]:
    preference = each.preference
    return {
        "cluster": each.cluster,
        "placed": not each.rule,
        "rule": each.rule,
        "why": each.why,
        "ready": each.is_ready,
        "replicas": each.replicas,
        "overflow": each.overflow,
        "reason": each.reason,
        "standing": each.standing,
        "weight": None if preference is None else preference.weight,
        "minReplicas": None if preference is None else preference.min_replicas,
        "maxReplicas": None if preference is None else preference.max_replicas,
        "capacity": each.capacity,
        "current": each.current,
        "problem": each.problem,
    }
