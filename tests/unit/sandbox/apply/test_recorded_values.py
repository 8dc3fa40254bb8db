"""Defaults and refusals as a real kube-apiserver 1.34.4 recorded them: `recorded/stored.jsonl`,
`recorded/refusals.jsonl`.

Left out of the record, because others decide them: identity, allocated addresses and ports, what
admission adds to a Pod, and names. Each refusal lists its causes sorted.
"""

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mcs.sandbox.apply.defaults import with_defaults
from mcs.sandbox.apply.managed import record_update
from mcs.sandbox.apply.schemas import Object, schema_of, unknown_fields
from mcs.sandbox.apply.validation import invalid_fields

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> list[Any]:
    return [json.loads(line) for line in (RECORDED / name).read_text().splitlines()]


def group_of(obj: Object) -> str:
    group: str = obj["apiVersion"].rpartition("/")[0]
    return group


def named(row: Any) -> str:
    obj = row.get("sent") or row["object"]
    return f"{obj['kind']} {json.dumps(row.get('causes', obj['metadata']['name']))[:90]}"


@pytest.mark.parametrize("row", recorded("stored.jsonl"), ids=named)
def test_an_object_is_stored_as_a_real_server_stores_it(row: Any) -> None:
    sent, kind = row["sent"], row["sent"]["kind"]
    before = copy.deepcopy(sent)
    result = with_defaults(group_of(sent), kind, sent)
    assert result == row["stored"]
    assert with_defaults(group_of(sent), kind, result) == result, "defaults are filled in once"
    assert sent == before, "arguments are never changed"


@pytest.mark.parametrize("row", recorded("stored.jsonl"), ids=named)
def test_who_creates_an_object_owns_its_defaults(row: Any) -> None:
    stored = row["stored"]
    schema = schema_of(group_of(stored), stored["kind"])
    assert schema is not None
    result = record_update(None, stored, manager="me", schema=schema, now=datetime(2026, 1, 1, tzinfo=UTC))
    owned = result["metadata"].get("managedFields", [])
    assert [entry["fieldsV1"] for entry in owned] == row["owned"]


@pytest.mark.parametrize("row", recorded("stored.jsonl"), ids=named)
def test_ordinary_objects_have_no_unknown_fields(row: Any) -> None:
    schema = schema_of(group_of(row["sent"]), row["sent"]["kind"])
    assert schema is not None
    assert unknown_fields(row["sent"], schema) == unknown_fields(row["stored"], schema) == []


@pytest.mark.parametrize("row", recorded("refusals.jsonl"), ids=named)
def test_causes_are_those_of_a_real_server(row: Any) -> None:
    obj, old = row["object"], row.get("old")
    complete = with_defaults(group_of(obj), obj["kind"], obj)
    complete["metadata"].setdefault("namespace", "default")
    causes = invalid_fields(group_of(obj), obj["kind"], complete, old)
    assert sorted([cause.reason, cause.field, cause.message] for cause in causes) == row["causes"]


def test_the_record_has_refusals_and_acceptances() -> None:
    rows = recorded("refusals.jsonl")
    refused = [row for row in rows if row["causes"]]
    assert len(refused) > 150
    assert len(rows) - len(refused) > 10


def endpoint_slice(endpoints: int, addresses: int) -> Object:
    each = {"addresses": [f"10.0.{n // 250}.{n % 250 + 1}" for n in range(addresses)]}
    spec = {"addressType": "IPv4", "endpoints": [each] * endpoints}
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "a"}, **spec}


@pytest.mark.parametrize(
    ("endpoints", "addresses", "causes"),
    [
        pytest.param(1000, 1, [], id="a slice may hold 1000 endpoints"),
        pytest.param(
            1001,
            1,
            [("FieldValueTooMany", "Too many: 1001: must have at most 1000 items", "endpoints")],
            id="but not 1001",
        ),
        pytest.param(
            1,
            101,
            [("FieldValueTooMany", "Too many: 101: must have at most 100 items", "endpoints[0].addresses")],
            id="an endpoint may not have 101 addresses",
        ),
    ],
)
def test_a_slice_has_limits(endpoints: int, addresses: int, causes: list[tuple[str, str, str]]) -> None:
    obj = with_defaults("discovery.k8s.io", "EndpointSlice", endpoint_slice(endpoints, addresses))
    found = invalid_fields("discovery.k8s.io", "EndpointSlice", obj, None)
    assert [(cause.reason, cause.message, cause.field) for cause in found] == causes


def test_annotations_may_not_exceed_256_kibibytes_together() -> None:
    metadata = {"name": "a", "annotations": {"a": "x" * 131_072, "b": "x" * 131_071}}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    (cause,) = invalid_fields("", "ConfigMap", obj, None)
    assert (cause.field, cause.message) == (
        "metadata.annotations",
        "Too long: may not be more than 262144 bytes",
    )


def test_a_namespace_gets_its_label_and_phase_but_no_finalizer_which_only_a_create_adds() -> None:
    sent = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {"a": "b"}}}
    stored = with_defaults("", "Namespace", sent)
    assert stored["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "n"}
    assert (stored["spec"], stored["status"]) == ({}, {"phase": "Active"})


def test_only_pods_not_templates_get_host_ports() -> None:
    spec = {
        "hostNetwork": True,
        "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}],
    }
    pod = with_defaults("", "Pod", {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": spec})
    template = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {},
        "spec": {"template": {"spec": spec}},
    }
    replica_set = with_defaults("apps", "ReplicaSet", template)
    held = [pod["spec"], replica_set["spec"]["template"]["spec"]]
    ports = [each["containers"][0]["ports"] for each in held]
    assert ports == [
        [{"containerPort": 80, "protocol": "TCP", "hostPort": 80}],
        [{"containerPort": 80, "protocol": "TCP"}],
    ]


def test_custom_objects_are_left_as_they_are() -> None:
    widget = {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": None}}
    assert with_defaults("ex.io", "Widget", widget) is widget
    assert invalid_fields("ex.io", "Widget", widget, None) == []
