"""Laws of writing like an API server: server-side apply, ownership, strategic merge, field sets."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcs.sandbox.apply.defaults import with_defaults
from mcs.sandbox.apply.fields import Comparison, compare, encode, fields_of, parse
from mcs.sandbox.apply.managed import ApplyConflict, apply_patch, record_update
from mcs.sandbox.apply.merge import merge_patch
from mcs.sandbox.apply.schemas import Object, Schema, schema_of, schema_of_crd
from mcs.sandbox.apply.strategic import strategic_merge

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=1)
KEYED: Object = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "integer"}}},
}
WIDGETS = schema_of_crd(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                    "keyed": KEYED,
                    "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    "plain": {"type": "array", "items": {"type": "integer"}},
                    "nested": {"type": "object", "properties": {"keyed": KEYED, "flag": {"type": "boolean"}}},
                },
            }
        },
    }
)

names = st.sampled_from("abcd")
numbers = st.integers(0, 3)


def by_name(item: st.SearchStrategy[Object]) -> st.SearchStrategy[list[Object]]:
    """Lists of items with different names, in any order."""
    chosen = st.dictionaries(names, item, min_size=1)
    return chosen.map(lambda items: [{"name": name, **rest} for name, rest in items.items()])


keyed = by_name(st.fixed_dictionaries({}, optional={"value": numbers}))
nested = st.fixed_dictionaries({"flag": st.booleans()}, optional={"keyed": keyed})
specs = st.fixed_dictionaries(
    {"size": numbers},
    optional={
        "map": st.dictionaries(names, numbers, min_size=1),
        "keyed": keyed,
        "set": st.lists(names, unique=True, min_size=1),
        "plain": st.lists(numbers, min_size=1),
        "nested": nested,
    },
)


def widget(spec: Object) -> Object:
    return {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


def applied(
    live: Object | None, spec: Object, by: str = "me", *, force: bool = False, now: datetime = NOON
) -> Object:
    return apply_patch(live, widget(spec), manager=by, force=force, schema=WIDGETS, now=now)


def owners(obj: Object) -> dict[tuple[str, str], Any]:
    entries = obj["metadata"].get("managedFields", [])
    return {(entry["manager"], entry["operation"]): parse(entry["fieldsV1"]) for entry in entries}


@given(specs)
def test_applying_the_same_configuration_twice_changes_nothing(spec: Object) -> None:
    first = applied(None, spec)
    assert applied(first, spec, now=LATER) == first


@given(specs, specs)
def test_what_its_only_owner_no_longer_applies_goes(before: Object, after: Object) -> None:
    assert applied(applied(None, before), after)["spec"] == applied(None, after)["spec"]


@given(specs, specs)
def test_a_forced_apply_gets_its_way(theirs: Object, ours: Object) -> None:
    result = applied(applied(None, theirs, "them"), ours, "us", force=True)
    assert compare(result, widget(ours), WIDGETS).modified == frozenset()
    assert compare(result, widget(ours), WIDGETS).added == frozenset()


@given(specs, specs)
def test_without_force_nothing_that_another_owns_changes(theirs: Object, ours: Object) -> None:
    live = applied(None, theirs, "them")
    clashes = compare(widget(theirs), widget(ours), WIDGETS).modified & fields_of(widget(theirs), WIDGETS)
    if clashes:
        with pytest.raises(ApplyConflict) as conflict:
            applied(live, ours, "us")
        assert {cause.message for cause in conflict.value.causes} == {'conflict with "them"'}
        assert len(conflict.value.causes) == len(clashes)
    else:
        result = applied(live, ours, "us")
        assert compare(live["spec"], result["spec"], SPEC).modified == frozenset()
        assert compare(live["spec"], result["spec"], SPEC).removed == frozenset()


@given(specs, specs)
def test_shared_fields_stay_until_their_last_owner_lets_go(first: Object, second: Object) -> None:
    both = applied(applied(None, first, "one"), second, "two", force=True)
    one_left = applied(both, {"size": second["size"]}, "one", force=True)
    assert compare(one_left["spec"], second, SPEC) == NOTHING
    assert fields_of(one_left["spec"], SPEC) == fields_of(second, SPEC)


@given(specs, specs)
def test_an_update_takes_what_it_changes_and_only_that(before: Object, after: Object) -> None:
    live = applied(None, before, "applier")
    new = {**live, "spec": after}
    result = record_update(live, new, manager="writer", schema=WIDGETS, now=LATER)
    difference = compare(widget(before), widget(after), WIDGETS)
    changed = difference.added | difference.modified
    held = owners(result)
    assert held.get(("writer", "Update"), frozenset()) == changed
    kept = held.get(("applier", "Apply"), frozenset())
    assert kept == owners(live)["applier", "Apply"] - changed - difference.removed


@given(specs, specs)
def test_differences_are_the_same_in_both_directions(one: Object, other: Object) -> None:
    there, back = compare(one, other, SPEC), compare(other, one, SPEC)
    assert (there.added, there.modified, there.removed) == (back.removed, back.modified, back.added)
    assert compare(one, one, SPEC) == NOTHING


def spec_schema() -> Schema:
    found = WIDGETS.child("spec")
    assert found is not None
    return found


SPEC = spec_schema()
NOTHING = Comparison(frozenset(), frozenset(), frozenset())


@given(specs)
def test_a_field_set_survives_its_text(spec: Object) -> None:
    found = fields_of(widget(spec), WIDGETS)
    assert parse(encode(found)) == found


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | numbers | names, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner)
)


@given(json_values, json_values)
def test_a_merge_patch_applied_again_changes_nothing(live: Any, patch: Any) -> None:
    once = merge_patch(live, patch)
    assert merge_patch(once, patch) == once


DEPLOYMENTS = schema_of("apps", "Deployment")
variables = by_name(st.fixed_dictionaries({"value": names}))
containers = by_name(
    st.fixed_dictionaries({"image": names}, optional={"env": variables, "workingDir": names})
)
pods = st.fixed_dictionaries(
    {"containers": containers},
    optional={
        "nodeSelector": st.dictionaries(names, names, min_size=1),
        "tolerations": st.lists(st.fixed_dictionaries({"key": names}), min_size=1),
    },
)
BY_NAME = ("containers", "env")


def kubectl_patch(live: Object, target: Object) -> Object:
    """What kubectl sends to turn one object into the other: changed fields, deletions, and the order of
    lists.
    """
    patch: Object = {name: None for name in live if name not in target}
    for name, wanted in target.items():
        if name in BY_NAME:
            patch |= kubectl_list_patch(name, live.get(name, []), wanted)
        elif isinstance(wanted, dict) and isinstance(live.get(name), dict):
            patch[name] = kubectl_patch(live[name], wanted)
        elif live.get(name) != wanted:
            patch[name] = wanted
    return patch


def kubectl_list_patch(name: str, live: list[Object], target: list[Object]) -> Object:
    held = {item["name"]: item for item in live}
    wanted = {item["name"]: item for item in target}
    changes = [
        {"name": key, **kubectl_patch(held.get(key, {}), item)}
        for key, item in wanted.items()
        if held.get(key) != item
    ]
    gone = [{"name": key, "$patch": "delete"} for key in held if key not in wanted]
    order = {f"$setElementOrder/{name}": [{"name": key} for key in wanted]}
    return {**order, **({name: [*changes, *gone]} if changes or gone else {})}


def deployment(pod: Object) -> Object:
    return {"spec": {"template": {"spec": pod}}}


@given(pods, pods)
def test_the_patch_that_kubectl_would_send_gives_the_target(live: Object, target: Object) -> None:
    assert DEPLOYMENTS is not None
    patch = deployment(kubectl_patch(live, target))
    assert strategic_merge(deployment(live), patch, DEPLOYMENTS) == deployment(target)


@given(pods)
def test_defaults_are_filled_in_once(pod: Object) -> None:
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, **deployment(pod)}
    once = with_defaults("apps", "Deployment", obj)
    assert with_defaults("apps", "Deployment", once) == once
    assert once["spec"]["template"]["spec"]["containers"][0]["image"] == pod["containers"][0]["image"]


def test_a_conflict_is_never_raised_by_the_owner_itself() -> None:
    live = applied(None, {"size": 1})
    assert applied(live, {"size": 2})["spec"] == {"size": 2}
    with pytest.raises(ApplyConflict, match="Apply failed with 1 conflict"):
        applied(live, {"size": 2}, "another")
