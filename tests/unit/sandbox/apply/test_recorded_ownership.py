"""Ownership as a real kube-apiserver 1.34.4 recorded it: `recorded/ownership.jsonl`, one request a line.

Each line is a request and what the server stored or answered. The functions get the object the server had
before the request, so one difference does not hide the next. Identity, versions and allocated addresses
are left out.
"""

import copy
import json
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mcs.sandbox.apply.defaults import with_defaults
from mcs.sandbox.apply.managed import ApplyConflict, apply_patch, record_update, with_idle_times_kept
from mcs.sandbox.apply.merge import PatchError, json_patch, merge_patch
from mcs.sandbox.apply.schemas import Object, Schema, schema_of, schema_of_crd
from mcs.sandbox.apply.strategic import strategic_merge

RECORDED = Path(__file__).parent / "recorded"
WIDGET = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": "string", "default": "x"},
                "m": {"type": "object", "additionalProperties": {"type": "string"}},
                "l": {"type": "array", "items": {"type": "string"}},
                "st": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "lm": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {
                        "type": "object",
                        "required": ["port"],
                        "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                            "name": {"type": "string"},
                        },
                    },
                },
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "at": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "properties": {"x": {"type": "string"}},
                },
                "ios": {"x-kubernetes-int-or-string": True},
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def recorded(name: str) -> list[Any]:
    return [json.loads(line) for line in (RECORDED / name).read_text().splitlines()]


def group_of(obj: Object) -> str:
    group: str = obj["apiVersion"].rpartition("/")[0]
    return group


@cache
def schema_for(group: str, kind: str) -> Schema:
    builtin = schema_of(group, kind)
    return schema_of_crd(WIDGET, status=True) if builtin is None else builtin


def steps() -> Iterator[Any]:
    live: Object | None = None
    session = ""
    for number, step in enumerate(recorded("ownership.jsonl")):
        if step["session"] != session:
            live, session = None, step["session"]
        name = f"{number}: {session}: {step['do']} by {step['by']}"
        yield pytest.param(live, step, id=name)
        live = step.get("answer", live)


def result_of(step: Any, live: Object | None) -> Object:
    sent = step["send"]
    subject = live if live is not None else sent
    schema = schema_for(group_of(subject), subject["kind"])
    moment: dict[str, Any] = {"schema": schema, "now": datetime.fromisoformat(step["at"])}
    subresource = step.get("subresource", "")

    def stored(obj: Object) -> Object:
        return with_defaults(group_of(obj), obj["kind"], obj)

    if step["do"] == "apply":
        force = step.get("force", False)
        applied = apply_patch(live, sent, manager=step["by"], force=force, subresource=subresource, **moment)
        return with_idle_times_kept(live, stored(applied))
    match step["do"]:
        case "create" | "update":
            new = sent
        case "strategic":
            new = strategic_merge(subject, sent, schema)
        case "merge":
            new = merge_patch(live, sent)
        case _:
            new = json_patch(live, sent)
    return record_update(live, stored(new), manager=step["by"], subresource=subresource, **moment)


ALLOCATED = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def without_place(obj: Object, *, created: bool) -> Object:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "namespace"}
    given = ALLOCATED if created else ()
    spec = {name: value for name, value in obj.get("spec", {}).items() if name not in given}
    return {**obj, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(("live", "step"), list(steps()))
def test_the_result_is_what_a_real_server_recorded(live: Object | None, step: Any) -> None:
    untouched = copy.deepcopy((live, step["send"]))
    if step["code"] == 409:
        with pytest.raises(ApplyConflict) as refused:
            result_of(step, live)
        causes = sorted([cause.reason, cause.field, cause.message] for cause in refused.value.causes)
        assert causes == step["causes"]
        assert str(refused.value) == step["message"]
    elif step["code"] != 200:
        with pytest.raises(PatchError) as invalid:
            result_of(step, live)
        assert (invalid.value.code, str(invalid.value)) == (step["code"], step["message"])
    else:
        expected: Any = live if step.get("unchanged") else step["answer"]
        created = live is None
        result = without_place(result_of(step, live), created=created)
        assert result == without_place(expected, created=created)
    assert (live, step["send"]) == untouched, "arguments are never changed"


def test_the_record_covers_every_kind_of_request() -> None:
    done = {(step["do"], step["code"]) for step in recorded("ownership.jsonl")}
    kinds = ("apply", "create", "update", "strategic", "merge", "json")
    assert done >= {(kind, 200) for kind in kinds} | {("apply", 409), ("apply", 400), ("apply", 500)}
