"""What two servers cannot share becomes a placeholder; everything else stays."""

from typing import Any

import pytest

from tests.replay.normal_form import RawAnswer, normal_form, without_ages

A_UID = "0a50eb4e-774d-49f8-a904-7e9ce6281f80"
B_UID = "8fa15a05-2cbd-404e-872d-088954be6ff9"


def normal_bodies(*bodies: Any, literals: str = "") -> list[Any]:
    answers = [RawAnswer(str(index), 200, "application/json", (), body) for index, body in enumerate(bodies)]
    return [answer["body"] for answer in normal_form(answers, literals)]


def named(version: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "resourceVersion": version, **more}}


def test_versions_keep_their_order_and_nothing_else() -> None:
    found = normal_bodies(named("907"), named("12"), named("907"))
    assert [body["metadata"]["resourceVersion"] for body in found] == ["rv#2", "rv#1", "rv#2"]


@pytest.mark.parametrize(
    ("version", "placeholder"), [("11", ">=rv#0"), ("12", ">=rv#1"), ("500", ">=rv#1"), ("907", ">=rv#2")]
)
def test_the_version_of_a_list_says_what_it_covers(version: str, placeholder: str) -> None:
    listed = {"metadata": {"resourceVersion": version}, "items": [named("12"), named("907")]}
    assert normal_bodies(listed)[0]["metadata"]["resourceVersion"] == placeholder


def test_a_uid_is_the_same_everywhere() -> None:
    owned = {"uid": B_UID, "owner": A_UID, f'k:{{"uid":"{A_UID}"}}': {}, "message": f"not {A_UID}"}
    assert normal_bodies({"uid": A_UID}, owned) == [
        {"uid": "uid#1"},
        {"uid": "uid#2", "owner": "uid#1", 'k:{"uid":"uid#1"}': {}, "message": "not uid#1"},
    ]


def test_what_the_sequence_says_itself_stays() -> None:
    body = {"uid": A_UID, "time": "2020-01-01T00:00:00Z", "clusterIP": "10.100.0.77", "nodePort": 30080}
    assert normal_bodies(body, literals=f"{A_UID} 2020-01-01T00:00:00Z 10.100.0.77 30080") == [body]


def test_an_address_that_only_begins_like_one_of_the_sequence_is_no_literal() -> None:
    body = {"clusterIP": "10.100.0.7", "nodePort": 3008}
    assert normal_bodies(body, literals="10.100.0.77 30080") == [
        {"clusterIP": "ipv4#1", "nodePort": "port#1"}
    ]


def test_allocated_addresses_are_told_apart_by_family() -> None:
    spec = {"clusterIP": "10.1.2.3", "clusterIPs": ["10.1.2.3", "fd00::3"]}
    table = {"kind": "Table", "rows": [{"cells": ["a", "10.1.2.3,fd00::3", "10.1.2.30"]}]}
    assert normal_bodies(spec, table) == [
        {"clusterIP": "ipv4#1", "clusterIPs": ["ipv4#1", "ipv6#1"]},
        {"kind": "Table", "rows": [{"cells": ["a", "ipv4#1,ipv6#1", "10.1.2.30"]}]},
    ]


def test_ownership_is_compared_and_its_time_is_not() -> None:
    entry = {"manager": "b", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:a": {}}}
    other = {**entry, "manager": "a"}
    found = normal_bodies({"managedFields": [entry, other]})[0]["managedFields"]
    assert found == [
        {"manager": manager, "operation": "Update", "fieldsV1": {"f:a": {}}} for manager in ("a", "b")
    ]


def test_generated_names_keep_their_prefix() -> None:
    made = {"name": "made-x2z4k", "generateName": "made-"}
    assert normal_bodies(made, {"message": '"made-x2z4k" is there'}) == [
        {"name": "made-<generated#1>", "generateName": "made-"},
        {"message": '"made-<generated#1>" is there'},
    ]


def test_ages_are_hidden_also_in_tables_without_columns() -> None:
    first = {
        "kind": "Table",
        "columnDefinitions": [{"name": "Name"}, {"name": "Age"}],
        "rows": [{"cells": ["5s", "5s"]}],
    }
    later = {"kind": "Table", "columnDefinitions": None, "rows": [{"cells": ["5s", "<unknown>"]}]}
    events = without_ages([{"object": first}, {"object": later}, {"object": {**later, "kind": "Other"}}])
    assert [event["object"]["rows"][0]["cells"] for event in events] == [
        ["5s", "<age>"],
        ["5s", "<unknown>"],
        ["5s", "<unknown>"],
    ]
