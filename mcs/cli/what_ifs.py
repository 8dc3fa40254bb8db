"""`mcs plan --down …`: how the plan of a federated set would differ. Nothing is changed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.console import Console

from mcs.cli.drawing import draw
from mcs.cli.federated_sets import Source, check_output, end_with, find_object, from_files, read_set
from mcs.cli.options import parse_member
from mcs.cli.problems import UserMistakeError, WrongOptionError
from mcs.cli.tables import Table
from mcs.federation.explanation import KEPT
from mcs.federation.planned import InCluster
from mcs.federation.plans import plan_all
from mcs.federation.snapshot import ObjectKey
from mcs.federation.what_if import Difference, Question, QuestionError, changed, difference, settled
from mcs.model.names import ClusterId


class Asked(Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    object_: str | None = None
    namespace: str | None = None
    down: Sequence[str] = ()
    cordon: Sequence[str] = ()
    weight: Sequence[str] = ()
    replicas: int | None = None
    files: Sequence[Path] = ()


def print_difference(source: Source, asked: Asked, output: str) -> None:
    """Print what would change. Raises UserMistakeError."""
    is_json = check_output(output)
    weights = _weights(asked.weight)
    if not (asked.down or asked.cordon or weights or asked.files) and asked.replicas is None:
        raise WrongOptionError("nothing is asked; give --down, --cordon, --weight, --replicas or -f FILE")
    if asked.replicas is not None and (asked.object_ is None or asked.replicas < 0):
        raise WrongOptionError(
            "--replicas needs a number of 0 or more and the KIND/NAME whose replicas it is"
        )
    before = settled(read_set(source))
    more = from_files(asked.files, source.namespace) if asked.files else None
    try:
        with_files = changed(before.snapshot, Question(set_=more))
        key = asked.object_ and find_object(with_files, asked.object_, asked.namespace)
        question = Question(
            down=[parse_member(each) for each in asked.down],
            cordoned=[parse_member(each) for each in asked.cordon],
            weights=weights,
            total=asked.replicas,
            object_=key or None,
        )
        after = changed(with_files, question)
    except QuestionError as error:
        raise UserMistakeError(str(error)) from error
    found = difference(before, plan_all(after, before), key or None)
    if is_json:
        print(json.dumps(as_json(found), indent=2))
    else:
        draw(difference_tables(found), Console())
        print(f"\n{summary(found)}")
    end_with((*before.snapshot.problems, *(more.problems if more else ())))


def _weights(values: Sequence[str]) -> dict[ClusterId, int]:
    weights = {}
    for value in values:
        cluster, equals, weight = value.partition("=")
        if not equals or not weight.isascii() or not weight.isdecimal():
            raise WrongOptionError(f"--weight {value!r} is no weight; write CLUSTER=NUMBER, for example eu=3")
        weights[parse_member(cluster)] = int(weight)
    return weights


def difference_tables(found: Difference) -> tuple[Table, ...]:
    """What changes in each cluster; and, where there is any, what has no place, what fails, and what is away."""
    changes = Table(
        "Changes",
        ("OBJECT", "CLUSTER", "FROM", "TO"),
        tuple(
            (str(each.object_), one.cluster, _in_words(one.before), _in_words(one.after))
            for each in found.objects
            for one in each.clusters
        ),
    )
    unplaced = Table(
        "Unplaced replicas",
        ("OBJECT", "FROM", "TO"),
        tuple(
            (str(each.object_), str(each.unplaced_before), str(each.unplaced_after))
            for each in found.objects
            if each.unplaced_before != each.unplaced_after
        ),
    )
    notes = Table(
        "Notes",
        ("OBJECT", "WHAT"),
        tuple((str(each.object_), each.problem) for each in found.objects if each.problem),
    )
    away = Table(
        "Placed in a cluster that is lost, and not moved",
        ("OBJECT", "CLUSTER", "ELSEWHERE"),
        tuple(
            (str(key), each.cluster, "no" if key in each.nowhere_else else "yes")
            for each in found.away
            for key in each.objects
        ),
    )
    return (changes, *(table for table in (unplaced, notes, away) if table.rows))


def _in_words(planned: InCluster) -> str:
    if not planned.is_placed:
        return "-"
    if planned.replicas is None:
        return "placed"
    return f"{planned.replicas} + {planned.overflow}" if planned.overflow else str(planned.replicas)


def summary(found: Difference) -> str:
    """In one line, how much changes."""
    objects, moved = len(found.objects), found.moved
    said = f"{objects} object{'' if objects == 1 else 's'} change{'s' if objects == 1 else ''}, "
    said += f"{moved} replica{'' if moved == 1 else 's'} move{'s' if moved == 1 else ''}"
    if found.is_cut_off:
        said += f"; {KEPT['CutOff']}"
    if found.overflowing:
        said += f"; asked for more than they hold: {', '.join(found.overflowing)}"
    return said


def as_json(found: Difference) -> dict[str, Any]:
    """The difference in JSON's types."""
    return {
        "objects": [
            _identity(each.object_)
            | {
                "moved": each.moved,
                "unplaced": {"from": each.unplaced_before, "to": each.unplaced_after},
                "problem": each.problem,
                "clusters": [
                    {"cluster": one.cluster, "from": _planned(one.before), "to": _planned(one.after)}
                    for one in each.clusters
                ],
            }
            for each in found.objects
        ],
        "moved": found.moved,
        "cutOff": found.is_cut_off,
        "overflowing": list(found.overflowing),
        "away": [
            {
                "cluster": each.cluster,
                "objects": [_identity(key) for key in each.objects],
                "nowhereElse": [_identity(key) for key in each.nowhere_else],
            }
            for each in found.away
        ],
    }


def _identity(key: ObjectKey) -> dict[str, Any]:
    return {"kind": key.kind, "namespace": key.namespace, "name": key.name}


def _planned(planned: InCluster) -> dict[str, Any]:
    return {"placed": planned.is_placed, "replicas": planned.replicas, "overflow": planned.overflow}
