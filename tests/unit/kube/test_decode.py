"""From bytes to typed values, where one bad object spoils nothing else; and from values to bodies."""

import json
from typing import Any

import pytest

from mcs.kube.decode import (
    Bookmark,
    Deleted,
    Malformed,
    Stored,
    decode_line,
    decode_object,
    decode_page,
    encode_object,
)
from mcs.kube.errors import ApiError, Expired, ServerError
from mcs.model.meta import Condition, ObjectMeta
from mcs.model.multicluster import ServiceExport, ServiceExportStatus, ServiceImport, ServiceImportSpec
from mcs.model.services import Namespace, Service
from mcs.model.slices import IPV4, EndpointSlice
from mcs.model.targets import TargetObject


def meta(name: str, version: str = "7") -> dict[str, str]:
    return {"namespace": "shop", "name": name, "resourceVersion": version}


def page_of(*items: Any, **metadata: str) -> bytes:
    return json.dumps(
        {"kind": "List", "metadata": {"resourceVersion": "40", **metadata}, "items": items}
    ).encode()


def line_of(type_: str, object_: Any) -> bytes:
    return json.dumps({"type": type_, "object": object_}).encode()


GOOD = {"metadata": meta("web"), "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80, "unknown": [1]}]}}
BAD = {"metadata": meta("broken", "8"), "spec": {"ports": [{"port": "eighty"}]}}


def test_one_malformed_object_does_not_spoil_its_page() -> None:
    page = decode_page(Service, page_of(GOOD, BAD, {"metadata": meta("db")}))
    assert [item.metadata.name for item in page.items] == ["web", "db"]
    (bad,) = page.malformed
    assert (bad.namespace, bad.name, bad.resource_version) == ("shop", "broken", "8")
    assert "$.spec.ports[0].port" in bad.error


def test_what_has_no_readable_name_is_still_reported() -> None:
    page = decode_page(Service, page_of(7, {"metadata": {"name": 5}}, {"metadata": meta("db")}))
    assert [(bad.namespace, bad.name) for bad in page.malformed] == [("", ""), ("", "")]
    assert len(page.items) == 1


def test_a_page_carries_version_and_continuation() -> None:
    page = decode_page(Service, page_of(**{"continue": "abc"}))
    assert (page.items, page.resource_version, page.continue_token) == ((), "40", "abc")


def test_go_writes_null_for_an_empty_list() -> None:
    assert decode_page(Service, b'{"metadata":{"resourceVersion":"3"},"items":null}').items == ()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"items":[]}',
        b'{"metadata":{"resourceVersion":"3"},"items":{}}',
        b'{"kind":"Status","metadata":{},"status":"Failure","message":"a proxy says so with a 200"}',
        b'{"metadata":{"resourceVersion":""},"items":[]}',
    ],
)
def test_what_is_no_list_is_an_error_and_not_an_empty_list(body: bytes) -> None:
    with pytest.raises(ServerError, match="list of Service"):
        decode_page(Service, body)


def test_what_is_no_object_is_an_error() -> None:
    with pytest.raises(ServerError, match="Service"):
        decode_object(Service, json.dumps(BAD).encode())


@pytest.mark.parametrize("type_", ["ADDED", "MODIFIED"])
def test_an_object_that_is_there_is_stored(type_: str) -> None:
    event = decode_line(Service, line_of(type_, GOOD))
    assert isinstance(event, Stored)
    assert event.object.spec.ports[0].port == 80


def test_a_malformed_object_is_an_event_with_its_version() -> None:
    event = decode_line(Service, line_of("MODIFIED", BAD))
    assert isinstance(event, Malformed)
    assert (event.name, event.resource_version) == ("broken", "8")


def test_a_malformed_object_can_still_be_deleted() -> None:
    assert decode_line(Service, line_of("DELETED", BAD)) == Deleted("shop", "broken", "8")


def test_a_bookmark_has_no_name_and_nulls() -> None:
    body = {"metadata": {"resourceVersion": "99"}, "addressType": "", "endpoints": None, "ports": None}
    assert decode_line(EndpointSlice, line_of("BOOKMARK", body)) == Bookmark("99")


def test_a_malformed_bookmark_is_no_exception() -> None:
    assert isinstance(decode_line(Service, line_of("BOOKMARK", {"metadata": 1})), Malformed)


def test_an_error_line_is_raised_as_its_error() -> None:
    with pytest.raises(Expired) as raised:
        decode_line(Service, line_of("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}))
    assert raised.value.code == 410


@pytest.mark.parametrize(
    "line", [b"x", b"{}", b'{"type":"ADDED"}', line_of("NEWER", GOOD), line_of("ERROR", {"no": "status"})]
)
def test_a_line_that_says_nothing_known_is_an_error(line: bytes) -> None:
    with pytest.raises(ApiError):
        decode_line(Service, line)


def test_a_body_names_its_kind_and_leaves_out_what_the_server_assigns() -> None:
    obj = ServiceImport(
        metadata=ObjectMeta(
            name="web",
            namespace="shop",
            uid="u",
            resource_version="5",
            generation=2,
            creation_timestamp="2026-01-01T00:00:00Z",
            deletion_timestamp="2026-01-01T00:00:00Z",
            labels={"a": "b"},
            annotations={"c": "d"},
            finalizers=("e/f",),
        ),
        spec=ServiceImportSpec(type="Headless", ports=()),
    )
    assert json.loads(encode_object("multicluster.x-k8s.io/v1beta1", "ServiceImport", obj)) == {
        "apiVersion": "multicluster.x-k8s.io/v1beta1",
        "kind": "ServiceImport",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "labels": {"a": "b"},
            "annotations": {"c": "d"},
            "finalizers": ["e/f"],
        },
        "spec": {"type": "Headless", "ports": []},
    }


def test_an_object_of_defaults_still_has_a_body() -> None:
    body = json.loads(encode_object("v1", "Namespace", Namespace()))
    assert body == {"apiVersion": "v1", "kind": "Namespace", "metadata": {}}


def test_an_ipv4_slice_says_so() -> None:
    body = json.loads(encode_object("v1", "EndpointSlice", EndpointSlice(address_type=IPV4)))
    assert body["addressType"] == "IPv4"


def test_the_status_is_written_alone() -> None:
    condition = Condition(type="Valid", status="True", reason="r", message="", last_transition_time="t")
    obj = ServiceExport(
        metadata=ObjectMeta(name="web", namespace="shop", labels={"a": "b"}, resource_version="5"),
        status=ServiceExportStatus(conditions=(condition,)),
    )
    body = json.loads(encode_object("g/v1", "ServiceExport", obj, "status"))
    assert body["metadata"] == {"name": "web", "namespace": "shop"}
    assert set(body) == {"apiVersion", "kind", "metadata", "status"}
    assert body["status"]["conditions"][0]["status"] == "True"


def test_a_status_that_takes_everything_back_is_not_null() -> None:
    obj = ServiceImport(metadata=ObjectMeta(name="web", namespace="shop"))
    body = json.loads(encode_object("g/v1", "ServiceImport", obj, "status"))
    assert body["status"] == {"clusters": [], "conditions": []}


WHOLE = {
    "metadata": meta("web") | {"labels": {"a": "b"}, "managedFields": [{"manager": "kubectl"}]},
    "data": {"x": [1]},
}
ODD = {"metadata": meta("odd", "9") | {"labels": ["a"]}, "data": {}}


def test_an_object_that_is_kept_whole_is_its_document_and_its_metadata() -> None:
    for decoded in (
        decode_object(TargetObject, json.dumps(WHOLE).encode()),
        decode_page(TargetObject, page_of(WHOLE)).items[0],
    ):
        assert decoded.document == WHOLE
        assert (decoded.metadata.name, decoded.metadata.labels) == ("web", {"a": "b"})
    stored = decode_line(TargetObject, line_of("MODIFIED", WHOLE))
    assert isinstance(stored, Stored)
    assert stored.object.document == WHOLE


def test_one_that_is_kept_whole_is_malformed_when_its_metadata_is() -> None:
    page = decode_page(TargetObject, page_of(WHOLE, ODD, {"data": {}}))
    assert [each.metadata.name for each in page.items] == ["web"]
    assert [each.name for each in page.malformed] == ["odd", ""]
    line = decode_line(TargetObject, line_of("ADDED", ODD))
    assert isinstance(line, Malformed)
    assert (line.name, line.resource_version) == ("odd", "9")
    gone = decode_line(TargetObject, line_of("DELETED", WHOLE))
    assert gone == Deleted("shop", "web", "7")
