"""What of managedFields is moved when an object is taken over."""

from __future__ import annotations

from typing import Any

import pytest

from mcs.federation.ownership import taken_over

Fields = dict[str, Any]


def entry(manager: str, operation: str, fields: Fields, subresource: str = "") -> dict[str, Any]:
    """An entry of managedFields."""
    made = {"manager": manager, "operation": operation, "fieldsV1": fields}
    return made | ({"subresource": subresource} if subresource else {})


OURS = entry("mcs-controller", "Apply", {"f:data": {"f:a": {}, "f:b": {}}})


@pytest.mark.parametrize(
    ("sentence", "theirs", "left"),
    [
        ("a field that both have becomes ours", {"f:data": {"f:a": {}}}, None),
        ("one that we lack stays theirs", {"f:data": {"f:a": {}, "f:c": {}}}, {"f:data": {"f:c": {}}}),
        ("a map itself is theirs for what is in it", {"f:data": {".": {}, "f:a": {}}}, {"f:data": {".": {}}}),
        ("a field that is whole is not ours for a part of it", {"f:data": {}}, {"f:data": {}}),
    ],
)  # fmt: skip
def test_of_what_others_updated(sentence: str, theirs: Fields, left: Fields | None) -> None:
    others = [entry("kubectl", "Update", theirs), OURS]
    expected = [OURS] if left is None else [entry("kubectl", "Update", left), OURS]
    found = taken_over(others)
    assert (others if found is None else found) == expected, sentence


def test_an_item_of_a_list_is_known_by_its_key() -> None:
    ours = entry("mcs-controller", "Apply", {"f:ports": {'k:{"port":80}': {".": {}, "f:port": {}}}})
    theirs: Fields = {
        'k:{"port":80}': {".": {}, "f:port": {}, "f:nodePort": {}},
        'k:{"port":90}': {".": {}, "f:port": {}},
    }
    found = taken_over([entry("kubectl", "Update", {"f:ports": theirs}), ours])
    left: Fields = {'k:{"port":80}': {"f:nodePort": {}}, 'k:{"port":90}': {".": {}, "f:port": {}}}
    assert found == [entry("kubectl", "Update", {"f:ports": left}), ours]


def test_an_empty_map_that_is_ours_too_is_not_left_to_others() -> None:
    ours = entry("mcs-controller", "Apply", {"f:labels": {".": {}, "f:app": {}}})
    assert taken_over([entry("kubectl", "Update", {"f:labels": {}}), ours]) == [ours]


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("another applier still means to say it", entry("argocd", "Apply", {"f:data": {"f:a": {}}})),
        ("an autoscaler goes by a subresource", entry("hpa", "Update", {"f:data": {"f:a": {}}}, "scale")),
        ("somebody else has other fields", entry("kubectl", "Update", {"f:data": {"f:c": {}}})),
    ],
)
def test_nothing_is_moved_where(sentence: str, other: dict[str, Any]) -> None:
    assert taken_over([other, OURS]) is None, sentence


def test_what_we_do_not_apply_is_not_taken() -> None:
    assert taken_over([entry("kubectl", "Update", {"f:data": {"f:a": {}}})]) is None
