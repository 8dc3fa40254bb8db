"""The stored form: what a typed server drops, keeps and adds; every row was looked up on a real server."""

from typing import Any

import pytest

from mcs.sandbox.apply.schemas import ANY, Object, schema_of
from mcs.sandbox.apply.stored import stored_form, with_stored_metadata, zero_object


def stored(group: str, kind: str, **fields: Any) -> Object:
    schema = schema_of(group, kind)
    assert schema is not None
    return stored_form(fields, schema)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        pytest.param({"publishNotReadyAddresses": False}, {}, id="false that nobody can tell from unset"),
        pytest.param({"publishNotReadyAddresses": True}, {"publishNotReadyAddresses": True}, id="true"),
        pytest.param({"clusterIP": "", "healthCheckNodePort": 0}, {}, id="empty text and zero"),
        pytest.param(
            {"allocateLoadBalancerNodePorts": False},
            {"allocateLoadBalancerNodePorts": False},
            id="false that differs from unset",
        ),
        pytest.param(
            {"selector": {}, "ports": [], "externalIPs": None}, {}, id="empty maps, lists and nulls"
        ),
        pytest.param({"sessionAffinityConfig": {}}, {"sessionAffinityConfig": {}}, id="an empty struct"),
        pytest.param(
            {"ports": [{"port": 0, "nodePort": 0}]},
            {"ports": [{"port": 0, "targetPort": 0}]},
            id="a port always has a number and a target",
        ),
    ],
)
def test_values_of_a_service_are_dropped_kept_or_added(sent: Object, kept: Object) -> None:
    assert stored("", "Service", spec=sent)["spec"] == kept


def test_zero_replicas_and_zero_seconds_are_values() -> None:
    template = {"spec": {"terminationGracePeriodSeconds": 0, "hostNetwork": False}}
    spec = stored("apps", "Deployment", spec={"replicas": 0, "minReadySeconds": 0, "template": template})[
        "spec"
    ]
    assert (spec["replicas"], "minReadySeconds" in spec) == (0, False)
    assert spec["template"]["spec"] == {"terminationGracePeriodSeconds": 0, "containers": None}


def test_slices_show_nothing_as_null_and_conditions_as_empty() -> None:
    assert stored("discovery.k8s.io", "EndpointSlice", endpoints=[]) == {
        "metadata": {},
        "addressType": "",
        "endpoints": None,
        "ports": None,
    }
    (endpoint,) = stored("discovery.k8s.io", "EndpointSlice", endpoints=[{"addresses": ["a"]}])["endpoints"]
    assert endpoint == {"addresses": ["a"], "conditions": {}}


@pytest.mark.parametrize(
    ("group", "kind", "expected"),
    [
        ("", "Service", {"spec": {}, "status": {"loadBalancer": {}}}),
        ("", "ConfigMap", {}),
        ("", "Pod", {"spec": {"containers": None}, "status": {}}),
        ("discovery.k8s.io", "EndpointSlice", {"addressType": "", "endpoints": None, "ports": None}),
    ],
)
def test_an_object_begins_with_what_is_always_there(group: str, kind: str, expected: Object) -> None:
    schema = schema_of(group, kind)
    assert schema is not None
    identity = {"apiVersion": "v1", "kind": kind}
    assert zero_object(identity, schema) == {**identity, "metadata": {}, **expected}


def test_custom_objects_begin_empty_and_are_stored_as_sent() -> None:
    widget = {"apiVersion": "e/v1", "kind": "W", "metadata": {"labels": {}}, "spec": {"a": None}}
    assert zero_object(widget, ANY) == {"apiVersion": "e/v1", "kind": "W"}
    assert stored_form(widget, ANY) is widget
    assert with_stored_metadata(widget, ANY) is widget
