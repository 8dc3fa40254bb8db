"""Field sets: the `fieldsV1` text, its order, paths in messages, and what differs between two objects."""

from typing import Any

import pytest

from mcs.sandbox.apply.fields import (
    InvalidFieldsError,
    compare,
    encode,
    fields_of,
    item_element,
    ordered,
    outside,
    parse,
    path_text,
    with_named_parents,
)
from mcs.sandbox.apply.schemas import ANY, Schema, schema_of


def service() -> Schema:
    found = schema_of("", "Service")
    assert found is not None
    return found


def spec(**fields: Any) -> Any:
    return {"spec": fields}


PORT = 'k:{"port":80,"protocol":"TCP"}'


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(spec(type="NodePort"), {"f:spec": {"f:type": {}}}, id="a scalar"),
        pytest.param(
            spec(selector={"a": "b"}), {"f:spec": {"f:selector": {}}}, id="an atomic map is one field"
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "b"}}},
            {"f:metadata": {"f:labels": {"f:a": {}}}},
            id="a map entry, not the map",
        ),
        pytest.param(
            {"metadata": {"labels": {}}}, {"f:metadata": {"f:labels": {}}}, id="an empty map is a field"
        ),
        pytest.param(
            spec(ports=[{"port": 80}]),
            {"f:spec": {"f:ports": {PORT: {".": {}, "f:port": {}}}}},
            id="an item by its keys, with their defaults",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["x/y"]}},
            {"f:metadata": {"f:finalizers": {'v:"x/y"': {}}}},
            id="an item of a set by its value",
        ),
        pytest.param(spec(clusterIPs=["a", "b"]), {"f:spec": {"f:clusterIPs": {}}}, id="an atomic list"),
        pytest.param(spec(ports=None), {"f:spec": {"f:ports": {}}}, id="a null"),
        pytest.param(
            spec(ports=[{"port": 80}, {"port": 80, "name": "x"}]),
            {"f:spec": {"f:ports": {PORT: {}}}},
            id="an item that stands twice is one field",
        ),
    ],
)
def test_an_object_owns_its_leaves(obj: Any, expected: Any) -> None:
    found = fields_of(obj, service())
    assert encode(found) == expected
    assert parse(expected) == found


def test_encoding_puts_the_member_first_and_the_rest_in_order() -> None:
    paths = parse({"f:b": {}, "f:a": {"f:z": {}, ".": {}, "f:y": {}}})
    assert str(encode(paths)) == "{'f:a': {'.': {}, 'f:y': {}, 'f:z': {}}, 'f:b': {}}"


def test_keys_are_sorted_whatever_order_they_were_written_in() -> None:
    assert parse({'k:{"protocol":"TCP","port":80}': {}}) == {(PORT,)}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("f:spec", "f:replicas"), ".spec.replicas"),
        (("f:spec", "f:ports", PORT, "f:name"), '.spec.ports[port=80,protocol="TCP"].name'),
        (("f:metadata", "f:finalizers", 'v:"x/y"'), '.metadata.finalizers[="x/y"]'),
        (("f:spec", "f:tolerations", "i:0"), ".spec.tolerations[0]"),
    ],
)
def test_paths_read_as_in_conflict_messages(path: tuple[str, ...], expected: str) -> None:
    assert path_text(path) == expected


def test_a_level_comes_before_what_is_below_it_and_numbers_count() -> None:
    paths = parse({"f:b": {}, "f:a": {'k:{"p":10}': {".": {}}, 'k:{"p":9}': {".": {}}}})
    assert [path_text(path) for path in ordered(paths)] == [".b", ".a[p=9]", ".a[p=10]"]


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        pytest.param(spec(type="A"), spec(type="B"), "", ".spec.type", "", id="changed"),
        pytest.param(spec(), spec(type="B"), ".spec.type", "", "", id="added"),
        pytest.param(spec(type="A"), spec(), "", "", ".spec.type", id="removed"),
        pytest.param(
            {}, spec(type="B"), ".spec .spec.type", "", "", id="a new struct is added with its fields"
        ),
        pytest.param(
            spec(selector={"a": "b"}), spec(selector={"a": "c"}), "", ".spec.selector", "", id="atomic map"
        ),
        pytest.param(
            spec(ports=[{"port": 80}, {"port": 81}]),
            spec(ports=[{"port": 81}, {"port": 80, "name": "x"}]),
            '.spec.ports[port=80,protocol="TCP"].name',
            "",
            "",
            id="order does not count in keyed lists",
        ),
        pytest.param(
            spec(ports=[{"port": 80}]),
            spec(),
            "",
            "",
            '.spec.ports .spec.ports[port=80,protocol="TCP"] .spec.ports[port=80,protocol="TCP"].port',
            id="a removed list is removed with its items",
        ),
    ],
)
def test_comparing_names_each_difference(old: Any, new: Any, added: str, modified: str, removed: str) -> None:
    found = compare(old, new, service())
    texts = [" ".join(map(path_text, ordered(part))) for part in (found.added, found.modified, found.removed)]
    assert texts == [added, modified, removed]


def test_a_value_of_another_kind_where_any_is_allowed_is_a_change() -> None:
    found = compare({"a": {"x": 1}}, {"a": "text"}, ANY)
    assert found.modified == {("f:a",)}
    assert found.removed == {("f:a", "f:x")}


def test_what_is_below_an_excluded_path_is_excluded() -> None:
    paths = parse({"f:spec": {"f:a": {}}, "f:status": {"f:b": {"f:c": {}}}})
    assert outside(paths, frozenset({("f:status",)})) == parse({"f:spec": {"f:a": {}}})


def test_declared_fields_on_the_way_count_as_owned_but_entries_and_items_do_not() -> None:
    paths = frozenset({("f:metadata", "f:labels", "f:a"), ("f:spec", "f:ports", PORT, "f:name")})
    assert with_named_parents(paths, service()) - paths == {
        ("f:metadata",),
        ("f:metadata", "f:labels"),
        ("f:spec",),
        ("f:spec", "f:ports"),
    }


def test_an_item_without_any_key_cannot_be_identified() -> None:
    keyed = Schema("list", element=Schema("struct"), list_type="map", keys=("a", "b"))
    with pytest.raises(InvalidFieldsError, match='omits all key fields \\["a" "b"\\]'):
        item_element({"c": 1}, keyed)
