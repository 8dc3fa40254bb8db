"""Merging an applied configuration into the live object, and taking fields out of it."""

from typing import Any

import pytest

from mcs.sandbox.apply.fields import InvalidFieldsError, parse
from mcs.sandbox.apply.schemas import Object, Schema
from mcs.sandbox.apply.typed_merge import merged, without_fields

ITEM = Schema("struct", fields={"n": Schema("scalar", scalar="string"), "v": Schema("scalar", scalar="int")})
SHAPE = Schema(
    "struct",
    fields={
        "keyed": Schema("list", element=ITEM, list_type="map", keys=("n",)),
        "set": Schema("list", element=Schema("scalar", scalar="string"), list_type="set"),
        "plain": Schema("list", element=Schema("scalar", scalar="string")),
        "map": Schema("map", element=Schema("scalar", scalar="int")),
        "whole": Schema("map", element=Schema("scalar", scalar="int"), atomic=True),
        "any": Schema("any"),
    },
)


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        pytest.param("abc", "b", "abc", id="an applied item stays where it is"),
        pytest.param("abc", "ba", "bca", id="applied items come in the order of the configuration"),
        pytest.param("abc", "cxa", "bcxa", id="live items keep their places between them"),
        pytest.param("ab", "xy", "abxy", id="new items follow the live ones"),
        pytest.param("", "xy", "xy", id="nothing was there"),
        pytest.param("ab", "", "ab", id="an empty list applies nothing"),
    ],
)
def test_sets_and_keyed_lists_merge_in_an_order_of_their_own(live: str, config: str, expected: str) -> None:
    sets = merged({"set": list(live)}, {"set": list(config)}, SHAPE)
    keyed = merged({"keyed": [{"n": n} for n in live]}, {"keyed": [{"n": n} for n in config]}, SHAPE)
    assert sets == {"set": list(expected)}
    assert keyed == {"keyed": [{"n": n} for n in expected]}


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        pytest.param({"map": {"a": 1}}, {"map": {"b": 2}}, {"map": {"a": 1, "b": 2}}, id="maps join"),
        pytest.param({"whole": {"a": 1}}, {"whole": {"b": 2}}, {"whole": {"b": 2}}, id="atomic maps do not"),
        pytest.param({"plain": ["a"]}, {"plain": ["b"]}, {"plain": ["b"]}, id="nor do atomic lists"),
        pytest.param(
            {"any": {"a": {"x": 1}}}, {"any": {"a": [1]}}, {"any": {"a": [1]}}, id="another kind wins"
        ),
        pytest.param(
            {"keyed": [{"n": "a", "v": 1}]},
            {"keyed": [{"n": "a"}]},
            {"keyed": [{"n": "a", "v": 1}]},
            id="items merge inside",
        ),
    ],
)
def test_values_merge_as_the_schema_says(live: Any, config: Any, expected: Any) -> None:
    assert merged(live, config, SHAPE) == expected


def test_an_item_may_not_be_applied_twice() -> None:
    with pytest.raises(InvalidFieldsError, match='duplicate entries for key \\[="a"\\]'):
        merged({}, {"set": ["a", "a"]}, SHAPE)


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        pytest.param({"f:map": {"f:a": {}}}, {"map": {"b": 2}, "set": ["x", "y"]}, id="an entry"),
        pytest.param({"f:map": {}}, {"set": ["x", "y"]}, id="a whole field"),
        pytest.param({"f:set": {'v:"x"': {}}}, {"map": {"a": 1, "b": 2}, "set": ["y"]}, id="an item"),
        pytest.param(
            {"f:map": {"f:a": {}, "f:b": {}}}, {"map": None, "set": ["x", "y"]}, id="an emptied map is null"
        ),
        pytest.param(
            {"f:other": {}}, {"map": {"a": 1, "b": 2}, "set": ["x", "y"]}, id="nothing that is there"
        ),
    ],
)
def test_fields_are_taken_out(gone: Any, expected: Object) -> None:
    value = {"map": {"a": 1, "b": 2}, "set": ["x", "y"]}
    assert without_fields(value, parse(gone), SHAPE) == expected
