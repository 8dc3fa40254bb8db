"""Overrides of one cluster: KubeFed's vectors by their number, and what is said of one that does not fit."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mcs.federation.overrides import NotMade, overridden, overrides_problem
from mcs.model.federated import ClusterOverrides, Override
from mcs.model.names import ClusterId

C1, C2 = ClusterId("c1"), ClusterId("c2")
Step = tuple[str, str] | tuple[str, str, Any]
BASE = {"spec": {"replicas": 3, "list": ["a", "b"], "m": {"x": 1}}}
ERROR = object()


def of(cluster: str, *steps: Step) -> ClusterOverrides:
    return ClusterOverrides(
        cluster_name=cluster,
        cluster_overrides=tuple(
            Override(op=step[0], path=step[1], value=step[2] if len(step) > 2 else None) for step in steps
        ),
    )


def outcome(*steps: Step, base: dict[str, Any] = BASE) -> dict[str, Any] | str:
    found = overridden(base, [of("c1", *steps)], C1)
    return found.message if isinstance(found, NotMade) else found


def spec(**changes: Any) -> dict[str, Any]:
    return {"spec": {**BASE["spec"], **changes}}


# One row of KubeFed's table of edge cases each, in its order; a row of two operations has an a and a b.
VECTORS: dict[str, tuple[Step, Any]] = {
    "1": (("replace", "/spec/replicas", 5), spec(replicas=5)),
    "2": (("replace", "/spec/new", 1), spec(new=1)),
    "3": (("replace", "/spec/none/x", 1), ERROR),
    "4": (("add", "/spec/new", 1), spec(new=1)),
    "5": (("add", "/spec/m", {"y": 2}), spec(m={"y": 2})),
    "6": (("add", "/spec/none/x", 1), ERROR),
    "7": (("add", "/spec/list/-", "c"), spec(list=["a", "b", "c"])),
    "8": (("add", "/spec/list/0", "c"), spec(list=["c", "a", "b"])),
    "9": (("add", "/spec/list/2", "c"), spec(list=["a", "b", "c"])),
    "10": (("add", "/spec/list/3", "c"), ERROR),
    "11": (("add", "/spec/list/-1", "c"), spec(list=["a", "b", "c"])),
    "12": (("add", "/spec/list", ["c"]), spec(list=["c"])),
    "13": (("replace", "/spec/list/1", "z"), spec(list=["a", "z"])),
    "14a": (("replace", "/spec/list/2", "z"), ERROR),
    "14b": (("replace", "/spec/list/-", "z"), ERROR),
    "15": (("replace", "/spec/list/-1", "z"), spec(list=["a", "z"])),
    "16": (("remove", "/spec/m/x"), spec(m={})),
    "17": (("remove", "/spec/nope"), ERROR),
    "18": (("remove", "/spec/list/5"), ERROR),
    "19a": (
        ("add", "/spec/m/example.com~1role", "a"),
        spec(m={"x": 1, "example.com/role": "a"}),
    ),
    "19b": (("add", "/spec/m/a~0b", "a"), spec(m={"x": 1, "a~b": "a"})),
    "20a": (("replace", "spec/replicas", 5), {**BASE, "replicas": 5}),
    "20b": (("replace", "replicas", 5), ERROR),
    "21a": (("add", "", {"kind": "X"}), ERROR),
    "21b": (("remove", ""), ERROR),
    "21c": (("replace", "", {"kind": "X"}), {"kind": "X"}),
    "21d": (("replace", "", ["X"]), ERROR),
    "22a": (("add", "/spec/new"), spec(new=None)),
    "22b": (("replace", "/spec/replicas"), spec(replicas=None)),
    "23a": (("test", "/spec/replicas", 3), ERROR),
    "23b": (("move", "/spec/replicas"), ERROR),
    "23c": (("copy", "/spec/replicas"), ERROR),
}


@pytest.mark.parametrize("number", VECTORS)
def test_vector(number: str) -> None:
    step, expected = VECTORS[number]
    if expected is ERROR:
        assert isinstance(overridden(BASE, [of("c1", step)], C1), NotMade)
    else:
        assert outcome(step) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("", "/spec/replicas", 5)], spec(replicas=5)),
        ([("add", "/spec/n", {}), ("add", "/spec/n/k", 1)], spec(n={"k": 1})),
        ([("add", "/spec/list/-", "c"), ("add", "/spec/list/-", "d")], spec(list=["a", "b", "c", "d"])),
        ([("add", "/spec/list/-3", "c")], spec(list=["c", "a", "b"])),
        ([("remove", "/spec/list/-2")], spec(list=["b"])),
        ([("replace", "/spec/list/-1", {}), ("add", "/spec/list/-1/k", 1)], spec(list=["a", {"k": 1}])),
    ],
)
def test_operations_are_carried_out_in_order_each_on_what_the_one_before_left(
    steps: list[Step], expected: dict[str, Any]
) -> None:
    assert outcome(*steps) == expected


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (("replace", "/spec/none/x", 1), "there is no map or list at /spec/none"),
        (("add", "/spec/replicas/x", 1), "there is no map or list at /spec/replicas"),
        (("remove", "/spec/a~1b"), "there is nothing at /spec/a~1b"),
        (("add", "/spec/list/3", "c"), "index 3 is beyond the list"),
        (("add", "/spec/list/-4", "c"), "index -4 is beyond the list"),
        (("replace", "/spec/list/x", "c"), '"x" is no index of a list'),
        (("add", "/spec/list/5/k", "c"), "index 5 is beyond the list"),
        (("replace", "replicas", 5), "the path must begin with a slash"),
        (("remove", ""), "the path must begin with a slash"),
        (("replace", "", "x"), "only a map can take the place of the whole object"),
        (("move", "/spec/m", 1), "the operation is not known; use add, remove or replace"),
    ],
)
def test_an_override_that_does_not_fit_is_told_with_cluster_operation_and_path(step: Step, why: str) -> None:
    found = overridden(BASE, [of("c1", ("add", "/spec/fits", 1), step)], C1)
    assert found == NotMade(
        f'cluster "c1": override[1] ({step[0]} "{step[1]}"): {why}', "ApplyOverridesFailed"
    )


def test_what_does_not_fit_in_one_cluster_is_no_matter_of_another() -> None:
    both = [of("c1", ("remove", "/spec/nope")), of("c2", ("replace", "/spec/replicas", 5))]
    assert isinstance(overridden(BASE, both, C1), NotMade)
    assert overridden(BASE, both, C2) == spec(replicas=5)
    assert overridden(BASE, both, ClusterId("c3")) == BASE


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        (
            [of("c1", ("", "/a", 1)), of("c1", ("", "/b", 1))],
            'overrides: cluster "c1" appears more than once; put its operations into one entry',
        ),
        (
            [of("c1", ("add", "/a", 1), ("remove", "/a"))],
            'path "/a" appears more than once for cluster "c1"',
        ),
        ([of("c1", ("replace", "/l/-", 1), ("add", "/l/-", 1), ("add", "/l/-", 1))], None),
        (
            [of("c1", ("add", "/l/-", 1), ("replace", "/l/-", 1))],
            'path "/l/-" appears more than once for cluster "c1"',
        ),
        *(
            ([of("c1", ("add", "/a", 1), ("", path, "x"))], f'override[1] for cluster "c1" has an invalid path: {path}')
            for path in ("/metadata/namespace", "/metadata/name", "/metadata/generateName", "/kind")
        ),
        ([of("c1", ("", "/a", 1)), of("c2", ("", "/a", 1))], None),
        ([of("c1", ("", "/apiVersion", "x/v1"), ("", "/metadata", {}))], None),
    ],
)  # fmt: skip
def test_a_list_that_is_wrong_is_so_for_every_cluster(
    overrides: list[ClusterOverrides], problem: str | None
) -> None:
    assert overrides_problem(overrides) == problem
    if problem:
        assert [overridden(BASE, overrides, each) for each in (C1, C2)] == [NotMade(problem)] * 2


def test_neither_the_template_nor_an_override_is_changed_by_what_follows() -> None:
    template, value = copy.deepcopy(BASE), {"k": 1}
    steps: list[Step] = [("add", "/spec/n", value), ("add", "/spec/n/l", 2), ("remove", "/spec/m/x")]
    assert outcome(*steps, base=template) == spec(n={"k": 1, "l": 2}, m={})
    assert (template, value) == (BASE, {"k": 1})


def test_what_takes_the_place_of_the_whole_object_is_not_shared_with_the_override() -> None:
    whole: dict[str, Any] = {"spec": {}}
    operation = Override(path="", value=whole)
    made = overridden(
        {}, [ClusterOverrides(cluster_name="c1", cluster_overrides=(operation,))], ClusterId("c1")
    )
    assert isinstance(made, dict)
    made["spec"]["replicas"] = 1
    assert whole == {"spec": {}}
