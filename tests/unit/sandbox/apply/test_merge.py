"""JSON merge patches and JSON patches."""

from typing import Any

import pytest

from mcs.sandbox.apply.merge import PatchError, json_patch, merge_patch


@pytest.mark.parametrize(
    ("live", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_cases_of_rfc_7386_appendix_a(live: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(live, patch) == expected


def test_a_merge_patch_leaves_its_arguments_alone() -> None:
    live, patch = {"a": {"b": 1}}, {"a": {"c": {"d": 2}}}
    assert merge_patch(live, patch) == {"a": {"b": 1, "c": {"d": 2}}}
    assert (live, patch) == ({"a": {"b": 1}}, {"a": {"c": {"d": 2}}})


def test_a_json_patch_is_carried_out_on_a_copy() -> None:
    live = {"a": [1, 2]}
    operations: list[Any] = [
        {"op": "test", "path": "/a/0", "value": 1},
        {"op": "add", "path": "/a/-", "value": 3},
        {"op": "remove", "path": "/a/0"},
        {"op": "replace", "path": "/a/0", "value": 9},
    ]
    assert json_patch(live, operations) == {"a": [9, 3]}
    assert live == {"a": [1, 2]}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/zz"},
        {"op": "add", "path": "/x/zz", "value": 1},
        {"op": "replace", "path": "/zz", "value": 1},
        {"op": "test", "path": "/a", "value": "q"},
        {"op": "copy", "from": "/zz", "path": "/b"},
        {"op": "move", "from": "/zz", "path": "/b"},
        {"op": "bogus", "path": "/a"},
        {"op": "add", "path": "/l/9", "value": 1},
        {"op": "add"},
        {"op": "add", "path": "/b"},
        {"op": "move", "path": "/b"},
    ],
)
def test_an_operation_that_does_not_fit_is_unprocessable(operation: Any) -> None:
    with pytest.raises(PatchError) as refused:
        json_patch({"a": 1, "l": []}, [operation])
    assert refused.value.code == 422
