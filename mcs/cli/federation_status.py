"""`mcs federation status`: how types and federated objects are doing, as their own statuses tell it."""

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

import msgspec
from rich.console import Console

from mcs.cli.drawing import draw
from mcs.cli.federated_sets import Source, check_output, end_with, read_set
from mcs.cli.tables import Table
from mcs.federation.snapshot import ObjectKey, Snapshot
from mcs.model.federated import CHECK_CLUSTERS, OK, PROPAGATION, FederatedObject, PropagationCondition

DRIFTED = "Drifted"
"""Stands for the status of a cluster that is fine, but had been changed there, and was set back."""


def print_federation_status(source: Source, namespace: str | None, output: str) -> None:
    """Print the tables, of one namespace or of all. Raises UserMistakeError."""
    is_json = check_output(output)
    snapshot = read_set(source)
    objects = {
        key: each for key, each in snapshot.objects.items() if namespace is None or key.namespace == namespace
    }
    if is_json:
        print(json.dumps(as_json(snapshot, objects), indent=2))
    else:
        draw(federation_tables(snapshot, objects), Console())
    end_with(snapshot.problems)


def federation_tables(snapshot: Snapshot, objects: dict[ObjectKey, FederatedObject]) -> tuple[Table, ...]:
    """Types, objects, and, where there is any, what is wrong with an object as a whole or in a cluster."""
    types = Table(
        "Types",
        ("TYPE", "FEDERATED KIND", "PROPAGATION", "CONTROLLER"),
        tuple(
            (
                config.metadata.name,
                kind,
                config.spec.propagation,
                config.status.propagation_controller or "-",
            )
            for kind, config in sorted(snapshot.types.items())
        ),
    )
    headings = ("OBJECT", "CLUSTERS", "PROPAGATED", "READY", "UPDATED", "AVAILABLE", "CONVERGED")
    rows = tuple(_row(key, each) for key, each in objects.items())
    problems = Table("Problems", ("OBJECT", "CLUSTERS", "STATUS", "WHAT"), tuple(_problems(objects)))
    tables = (types, Table("Objects", headings, rows), problems)
    return tables if problems.rows else tables[:-1]


def _row(key: ObjectKey, object_: FederatedObject) -> tuple[str, ...]:
    status, condition = object_.status, _condition(object_)
    counts = status.workload
    of = ["-"] * 3
    if counts is not None:
        of = [f"{each}/{counts.wanted}" for each in (counts.ready, counts.updated, counts.available)]
    return (
        str(key),
        str(len(status.clusters)),
        "Unknown" if condition is None else condition.status,
        *of,
        "-" if status.percent_converged is None else f"{status.percent_converged}%",
    )


def _condition(object_: FederatedObject) -> PropagationCondition | None:
    return next((each for each in object_.status.conditions if each.type == PROPAGATION), None)


class _Problem(NamedTuple):
    of: str
    status: str
    what: str
    cluster: str


def _problems(objects: dict[ObjectKey, FederatedObject]) -> Iterable[tuple[str, ...]]:
    """One row for each thing that is wrong, with all the clusters that tell it in the same words."""
    for key, object_ in objects.items():
        condition = _condition(object_)
        if condition is not None and condition.reason not in ("", CHECK_CLUSTERS):
            yield str(key), "-", condition.reason, " ".join(condition.message.split()) or "-"
        found = sorted(
            _Problem(str(key), each.status or DRIFTED, " ".join(each.message.split()), each.name)
            for each in object_.status.clusters
            if each.status != OK or each.message
        )
        for (of, status, what), alike in groupby(found, key=lambda each: each[:3]):
            yield of, ", ".join(each.cluster for each in alike), status, what or "-"


def as_json(snapshot: Snapshot, objects: dict[ObjectKey, FederatedObject]) -> dict[str, Any]:
    """Types and objects with their statuses as they are on the wire."""
    return {
        "types": [
            {
                "name": config.metadata.name,
                "kind": kind,
                "propagation": config.spec.propagation,
                "controller": config.status.propagation_controller,
            }
            for kind, config in sorted(snapshot.types.items())
        ],
        "objects": [
            {
                "kind": key.kind,
                "namespace": key.namespace,
                "name": key.name,
                "status": msgspec.to_builtins(object_.status),
            }
            for key, object_ in objects.items()
        ],
    }
