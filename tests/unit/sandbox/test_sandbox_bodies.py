"""Bodies that do not decode, in the words of the API server; and small sorts of the registry."""

import pytest

from mcs.sandbox.apply.schemas import schema_of
from mcs.sandbox.http import go_json
from mcs.sandbox.http.targets import target_of, verb_of
from mcs.sandbox.resources import DEPLOYMENTS, Registry, version_priority
from mcs.sandbox.rules.typed_decoding import decoding_error
from mcs.sandbox.store import Object


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a":', "unexpected end of JSON input"),
        (b"{nonsense", "invalid character 'n' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b'{"a":1}', ""),
    ],
)
def test_what_is_wrong_with_a_json_text(body: bytes, complaint: str) -> None:
    assert go_json.json_complaint(body) == complaint


def test_fields_that_stand_twice_are_named_by_path() -> None:
    body = b'{"a":1,"a":2,"spec":{"ports":[{"port":1,"port":2}]}}'
    assert go_json.duplicate_fields(body) == ["a", "spec.ports[0].port"]


@pytest.mark.parametrize(
    ("obj", "complaint"),
    [
        ({"spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}}}, ""),
        ({"spec": {"ports": None}}, ""),
        (
            {"spec": {"ports": [{"port": "80"}]}},
            "json: cannot unmarshal string into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            {"spec": {"ports": {}}},
            "json: cannot unmarshal object into Go struct field ServiceSpec.spec.ports of type []v1.ServicePort",
        ),
        (
            {"spec": {"selector": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field ServiceSpec.spec.selector of type string",
        ),
        (
            {"spec": {"publishNotReadyAddresses": "yes"}},
            "json: cannot unmarshal string into Go struct field "
            "ServiceSpec.spec.publishNotReadyAddresses of type bool",
        ),
    ],
)
def test_what_does_not_fit_the_types_of_a_service(obj: Object, complaint: str) -> None:
    schema = schema_of("", "Service")
    assert schema is not None
    assert decoding_error(obj, schema) == complaint


def test_versions_are_sorted_by_kubernetes_priority() -> None:
    versions = ["foo1", "v1alpha1", "v2", "v1beta2", "v10", "v1", "foo10", "v1beta10", "v1alpha2"]
    assert sorted(versions, key=version_priority) == [
        *("v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha2", "v1alpha1", "foo1", "foo10")
    ]


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [
        ("GET", "/apis/apps/v1/deployments", "list"),
        ("GET", "/apis/apps/v1/namespaces/x/deployments", "list"),
        ("GET", "/apis/apps/v1/namespaces/x/deployments/y", "get"),
        ("PUT", "/apis/apps/v1/namespaces/x/deployments/y/status", "update"),
        ("PATCH", "/apis/apps/v1/namespaces/x/deployments/y/scale", "patch"),
        ("POST", "/apis/apps/v1/namespaces/x/deployments", "create"),
        ("POST", "/apis/apps/v1/deployments", ""),
        ("DELETE", "/apis/apps/v1/namespaces/x/deployments", "deletecollection"),
        ("DELETE", "/apis/apps/v1/namespaces/x/deployments/y", "delete"),
        ("DELETE", "/apis/apps/v1/namespaces/x/deployments/y/scale", ""),
    ],
)
def test_verbs(method: str, path: str, verb: str) -> None:
    target = target_of(path, Registry())
    assert target is not None
    assert target.resource is DEPLOYMENTS
    assert verb_of(method, target, {}) == verb


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/apis/apps/v1",
            "/apis/apps/v2/deployments",
            "/apis/apps/v1/gadgets",
            "/api/v1/namespaces/x/nodes",
        ),
        *("/apis/apps/v1/deployments/y", "/apis/apps/v1/namespaces/x/deployments/y/log", "/healthz"),
        "/apis/apps/v1/namespaces/x/deployments/y/scale/z",
    ],
)
def test_paths_that_name_nothing(path: str) -> None:
    assert target_of(path, Registry()) is None


def test_a_namespace_is_both_an_object_and_a_place() -> None:
    registry = Registry()
    found = [target_of(path, registry) for path in ("/api/v1/namespaces/x", "/api/v1/namespaces/x/finalize")]
    assert [(t.resource.plural, t.namespace, t.name, t.subresource) for t in found if t] == [
        ("namespaces", None, "x", ""),
        ("namespaces", None, "x", "finalize"),
    ]
