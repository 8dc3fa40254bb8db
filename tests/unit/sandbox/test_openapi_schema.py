"""Custom objects against a structural schema."""

from typing import Any

import pytest

from mcs.sandbox.rules.openapi_schema import Schema, invalid_values, pruned, with_schema_defaults

SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["type"],
            "properties": {
                "type": {"type": "string", "enum": ["ClusterSetIP", "Headless"]},
                "ips": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {
                        "type": "object",
                        "required": ["port"],
                        "properties": {
                            "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                            "protocol": {"type": "string", "default": "TCP"},
                            "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                        },
                    },
                },
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "target": {"x-kubernetes-int-or-string": True},
                "maybe": {"type": "string", "nullable": True},
            },
        },
    },
}


def test_unknown_fields_are_pruned_and_named() -> None:
    sent = {
        "apiVersion": "g/v1",
        "kind": "K",
        "metadata": {"name": "a"},
        "spec": {"type": "Headless", "bogus": 1, "ports": [{"port": 1, "x": 2}], "any": {"free": True}},
        "more": {},
    }
    kept, unknown = pruned(sent, SCHEMA)
    assert unknown == ["spec.bogus", "spec.ports[0].x", "more"]
    assert kept == {
        "apiVersion": "g/v1",
        "kind": "K",
        "metadata": {"name": "a"},
        "spec": {"type": "Headless", "ports": [{"port": 1}], "any": {"free": True}},
    }


def test_defaults_fill_what_is_missing_also_in_lists() -> None:
    filled = with_schema_defaults({"spec": {"ports": [{"port": 1}, {"port": 2, "protocol": "UDP"}]}}, SCHEMA)
    assert [port["protocol"] for port in filled["spec"]["ports"]] == ["TCP", "UDP"]


@pytest.mark.parametrize(
    ("spec", "reason", "field", "message"),
    [
        ({}, "FieldValueRequired", "spec.type", "Required value"),
        (
            {"type": "X"},
            "FieldValueNotSupported",
            "spec.type",
            'Unsupported value: "X": supported values: "ClusterSetIP", "Headless"',
        ),
        (
            {"type": 1},
            "FieldValueTypeInvalid",
            "spec.type",
            'Invalid value: "integer": spec.type in body must be of type string: "integer"',
        ),
        (
            {"type": "Headless", "ips": ["a", "b", "c"]},
            "FieldValueTooMany",
            "spec.ips",
            "Too many: 3: must have at most 2 items",
        ),
        (
            {"type": "Headless", "ports": [{"port": 0}]},
            "FieldValueInvalid",
            "spec.ports[0].port",
            "Invalid value: 0: spec.ports[0].port in body should be greater than or equal to 1",
        ),
        (
            {"type": "Headless", "ports": [{"port": 1, "name": "A"}]},
            "FieldValueInvalid",
            "spec.ports[0].name",
            "Invalid value: \"A\": spec.ports[0].name in body should match '^[a-z]+$'",
        ),
        (
            {"type": "Headless", "ports": [{"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "TCP"}]},
            "FieldValueDuplicate",
            "spec.ports[1]",
            'Duplicate value: {"port":1,"protocol":"TCP"}',
        ),
        (
            {"type": "Headless", "ports": [{"port": 1, "name": "toolong"}]},
            "FieldValueTooLong",
            "spec.ports[0].name",
            "Too long: may not be more than 5 bytes",
        ),
    ],
)
def test_what_the_schema_forbids(spec: dict[str, Any], reason: str, field: str, message: str) -> None:
    (cause,) = invalid_values({"spec": spec}, SCHEMA)
    assert (cause.reason, cause.field, cause.message) == (reason, field, message)


@pytest.mark.parametrize(
    "more", [{"target": 80}, {"target": "http"}, {"maybe": None}, {"labels": {"a": "b"}}, {"ips": []}]
)
def test_what_the_schema_allows(more: dict[str, Any]) -> None:
    assert invalid_values({"spec": {"type": "Headless", **more}}, SCHEMA) == []
