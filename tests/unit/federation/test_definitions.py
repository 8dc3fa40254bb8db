"""The definitions of KubeFed's kinds and the structs that are read from them speak of the same fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from mcs.model.federated import (
    CLUSTER_PROPAGATED_VERSIONS,
    FEDERATED_TYPE_CONFIGS,
    KUBEFED_CONFIGS,
    PROPAGATED_VERSIONS,
)
from mcs.model.resources import Resource
from mcs.model.scheduling import PreferenceStatus
from mcs.model.taints import Taint, Toleration

CRDS = Path(__file__).parents[3] / "crds"
OURS = (FEDERATED_TYPE_CONFIGS, KUBEFED_CONFIGS, PROPAGATED_VERSIONS, CLUSTER_PROPAGATED_VERSIONS)


def definition(plural: str, group: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CRDS / f"{plural}.{group}.yaml").read_text())
    return loaded


def schema_of(plural: str, group: str) -> dict[str, Any]:
    (version,) = definition(plural, group)["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return found


def of_struct(type_: msgspec.inspect.Type) -> Any:
    """The fields of a struct as a tree of names, with the choices of those that have some."""
    match type_:
        case msgspec.inspect.StructType():
            return {each.encode_name: of_struct(each.type) for each in type_.fields}
        case msgspec.inspect.VarTupleType():
            return [of_struct(type_.item_type)]
        case msgspec.inspect.UnionType():
            return next(
                of_struct(each) for each in type_.types if not isinstance(each, msgspec.inspect.NoneType)
            )
        case msgspec.inspect.LiteralType():
            return frozenset(type_.values)
        case msgspec.inspect.IntType():
            return "integer"
        case _:
            return "string"


def of_schema(schema: dict[str, Any]) -> Any:
    if "properties" in schema:
        return {name: of_schema(each) for name, each in schema["properties"].items()}
    if "items" in schema:
        return [of_schema(schema["items"])]
    return schema["type"]


def without_choices(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: without_choices(each) for name, each in tree.items()}
    if isinstance(tree, list):
        return [without_choices(each) for each in tree]
    return "string" if isinstance(tree, frozenset) else tree


def choices(tree: Any, schema: dict[str, Any]) -> list[tuple[Any, Any]]:
    if isinstance(tree, dict):
        return [
            pair for name, each in tree.items() for pair in choices(each, schema["properties"].get(name, {}))
        ]
    if isinstance(tree, list):
        return choices(tree[0], schema["items"])
    return [(tree, frozenset(schema["enum"]))] if isinstance(tree, frozenset) else []


@pytest.mark.parametrize("resource", OURS, ids=str)
def test_a_definition_has_the_fields_of_its_struct_and_no_others(resource: Resource[Any]) -> None:
    schema = schema_of(resource.plural, resource.group)
    tree = of_struct(msgspec.inspect.type_info(resource.type))
    for part in tree.keys() - {"metadata"}:
        if part not in schema["properties"]:
            assert tree[part] == {}, part
            continue
        assert of_schema(schema["properties"][part]) == without_choices(tree[part])
        for said, defined in choices(tree[part], schema["properties"][part]):
            assert said == defined


@pytest.mark.parametrize("resource", OURS, ids=str)
def test_a_definition_is_of_the_resource_that_is_asked_for(resource: Resource[Any]) -> None:
    spec = definition(resource.plural, resource.group)["spec"]
    assert (spec["names"]["kind"], spec["scope"] == "Namespaced") == (resource.kind, resource.namespaced)
    assert [each["name"] for each in spec["versions"]] == [resource.version]


@pytest.mark.parametrize(
    "spec",
    [
        {"targetKind": "FederatedDeployment", "totalReplicas": 9, "rebalance": True,
         "intersectWithClusterSelector": True,
         "clusters": {"*": {"minReplicas": 1, "maxReplicas": 5, "weight": 2}}},
        {"targetTemplate": {"spec": {"replicas": 10}}, "totalReplicas": 10,
         "overrides": [{"clusterName": "a", "spec": {"replicas": 6}}]},
    ],
    ids=["KubeFed's form", "the form with overrides"],
)  # fmt: skip
def test_both_forms_of_a_scheduling_preference_are_defined(spec: dict[str, Any]) -> None:
    schema = schema_of("replicaschedulingpreferences", "scheduling.kubefed.io")["properties"]["spec"]
    assert undefined(spec, schema) == []


def undefined(value: Any, schema: dict[str, Any], path: str = "") -> list[str]:
    """Where a value says what its schema does not define, which a server would drop."""
    if isinstance(value, dict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties")
        return [
            place
            for name, each in value.items()
            for place in (
                undefined(each, properties.get(name, more), f"{path}.{name}")
                if name in properties or more
                else [f"{path}.{name}"]
            )
        ]
    if isinstance(value, list):
        return [place for each in value for place in undefined(each, schema["items"], path)]
    expected = {"boolean": bool, "integer": int, "string": str}[schema["type"]]
    return [] if isinstance(value, expected) else [path]


def test_the_status_of_a_preference_has_the_fields_that_are_written() -> None:
    schema = schema_of("replicaschedulingpreferences", "scheduling.kubefed.io")
    written = of_struct(msgspec.inspect.type_info(PreferenceStatus))
    for condition in written["conditions"]:
        condition.update(status="string")
    assert of_schema(schema["properties"]["status"]) == written


def test_taints_and_tolerations_have_the_fields_that_are_read() -> None:
    preference = schema_of("replicaschedulingpreferences", "scheduling.kubefed.io")["properties"]["spec"]
    cluster = schema_of("kubefedclusters", "core.kubefed.io")["properties"]["spec"]
    for schema, type_ in (
        (preference["properties"]["tolerations"], Toleration),
        (cluster["properties"]["taints"], Taint),
    ):
        assert of_schema(schema) == [of_struct(msgspec.inspect.type_info(type_))]
