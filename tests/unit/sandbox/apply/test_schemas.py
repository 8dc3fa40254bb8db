"""Schemas: what the tables and a CustomResourceDefinition say about the shape of an object."""

from typing import Any

import pytest

from mcs.sandbox.apply.schemas import KINDS, Object, Schema, schema_of, schema_of_crd, unknown_fields


def at(group: str, kind: str, path: str) -> Schema:
    node = schema_of(group, kind)
    for step in path.split("."):
        assert node is not None
        node = node.element if step == "[]" else node.child(step)
    assert node is not None, path
    return node


@pytest.mark.parametrize(
    ("group", "kind", "path", "keys", "merge_key"),
    [
        ("", "Service", "spec.ports", ("port", "protocol"), "port"),
        ("", "Service", "status.conditions", ("type",), "type"),
        ("", "Pod", "spec.containers", ("name",), "name"),
        ("", "Pod", "spec.containers.[].ports", ("containerPort", "protocol"), "containerPort"),
        ("", "Pod", "spec.containers.[].env", ("name",), "name"),
        ("", "Pod", "spec.containers.[].volumeMounts", ("mountPath",), "mountPath"),
        ("", "Pod", "spec.volumes", ("name",), "name"),
        ("", "Node", "status.addresses", ("type",), "type"),
        ("apps", "Deployment", "spec.template.spec.containers", ("name",), "name"),
        (
            "apps",
            "Deployment",
            "spec.template.spec.topologySpreadConstraints",
            ("topologyKey", "whenUnsatisfiable"),
            "topologyKey",
        ),
        ("discovery.k8s.io", "EndpointSlice", "endpoints", (), ""),
        ("discovery.k8s.io", "EndpointSlice", "ports", (), ""),
        ("", "Pod", "metadata.ownerReferences", ("uid",), "uid"),
    ],
)
def test_lists_have_the_keys_of_the_api(
    group: str, kind: str, path: str, keys: tuple[str, ...], merge_key: str
) -> None:
    found = at(group, kind, path)
    assert (found.keys, found.merge_key) == (keys, merge_key)
    assert found.list_type == ("map" if keys else "atomic")


@pytest.mark.parametrize(
    ("path", "atomic"),
    [("spec.selector", True), ("spec.template", False), ("spec.template.spec.nodeSelector", True)],
)
def test_selectors_are_owned_as_a_whole(path: str, atomic: bool) -> None:
    assert at("apps", "Deployment", path).atomic is atomic


def test_a_schema_may_contain_itself() -> None:
    versions = at(
        "apiextensions.k8s.io", "CustomResourceDefinition", "spec.versions.[].schema.openAPIV3Schema"
    )
    properties = versions.child("properties")
    assert properties is not None
    assert properties.element is not None
    assert properties.element.fields is versions.fields


@pytest.mark.parametrize("kind", [(group, kind) for group, kinds in KINDS.items() for kind in kinds])
def test_every_kind_with_a_table_has_metadata(kind: tuple[str, str]) -> None:
    assert at(*kind, "metadata.ownerReferences.[].uid").scalar == "string"


def test_a_kind_without_a_table_has_no_schema() -> None:
    assert schema_of("apps", "Service") is None
    assert schema_of("", "Widget") is None


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param({"spec": {"foo": 1}}, ["spec.foo"], id="in a struct"),
        pytest.param({"spec": {"ports": [{}, {"x": 1}]}}, ["spec.ports[1].x"], id="in an item of a list"),
        pytest.param({"metadata": {"labels": {"any": "thing"}}}, [], id="a map has no unknown entries"),
        pytest.param(
            {"metadata": {"nope": 1}, "top": 2}, ["metadata.nope", "top"], id="metadata and top level"
        ),
        pytest.param({"spec": "text"}, [], id="a wrong type is not an unknown field"),
    ],
)
def test_unknown_fields_are_named_by_their_path(obj: Object, expected: list[str]) -> None:
    schema = schema_of("", "Service")
    assert schema is not None
    assert unknown_fields(obj, schema) == expected


CRD: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "keyed": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {
                        "type": "object",
                        "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                        },
                    },
                },
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "plain": {"type": "array", "items": {"type": "string"}},
                "whole": {"type": "object", "x-kubernetes-map-type": "atomic"},
                "open": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"known": {"type": "object", "properties": {}}},
                },
                "either": {"x-kubernetes-int-or-string": True},
                "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
            },
        }
    },
}


def of_crd(name: str) -> Schema:
    spec = schema_of_crd(CRD).child("spec")
    assert spec is not None
    found = spec.child(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("keyed", {"list_type": "map", "keys": ("port", "protocol"), "key_defaults": {"protocol": "TCP"}}),
        ("set", {"list_type": "set"}),
        ("plain", {"list_type": "atomic"}),
        ("whole", {"kind": "struct", "atomic": True}),
        ("either", {"kind": "scalar", "scalar": "intstr"}),
        ("map", {"kind": "map"}),
    ],
)
def test_extensions_of_a_crd_decide_its_shape(name: str, expected: dict[str, Any]) -> None:
    found = of_crd(name)
    assert {field: getattr(found, field) for field in expected} == expected


def test_a_crd_keeps_unknown_fields_only_where_it_says_so() -> None:
    obj = {
        "apiVersion": "e/v1",
        "kind": "W",
        "metadata": {"name": "w", "bad": 1},
        "spec": {"open": {"x": {"y": 1}, "known": {"z": 1}}, "gone": 1},
    }
    assert unknown_fields(obj, schema_of_crd(CRD)) == ["metadata.bad", "spec.open.known.z", "spec.gone"]


def test_a_status_subresource_splits_ownership() -> None:
    assert schema_of_crd(CRD).resets == {}
    assert schema_of_crd(CRD, status=True).resets[""] == {("f:status",)}
