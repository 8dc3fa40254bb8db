"""Registrations are read as KubeFed wrote them, and what a Secret holds appears in no text."""

import json
from typing import Any

import pytest

from mcs.kube.decode import decode_object, decode_page, encode_object
from mcs.model.registration import KubeFedCluster, Node, Secret, SecretReference

TOKEN = "eyJhbGciOi.planted.token"


def registration(annotations: dict[str, str] | None = None, **spec: Any) -> KubeFedCluster:
    metadata = {"namespace": "kube-federation-system", "name": "east", "annotations": annotations or {}}
    return decode_object(KubeFedCluster, json.dumps({"metadata": metadata, "spec": spec}).encode())


def secret() -> Secret:
    body = {
        "metadata": {"namespace": "kube-federation-system", "name": "east-token"},
        "type": "Opaque",
        "data": {"token": "ZXlKaGJHY2lPaS5wbGFudGVkLnRva2Vu"},
    }
    return decode_object(Secret, json.dumps(body).encode())


def test_a_registration_is_read_as_it_was_written_for_kubefed() -> None:
    read = registration(
        apiEndpoint="https://10.0.0.1:6443",
        caBundle="LS0tLS1CRUdJTg==",
        secretRef={"name": "east-token"},
        disabledTLSValidations=["SubjectName"],
        proxyURL="socks5://10.0.0.9:1080",
    ).spec
    assert read.api_endpoint == "https://10.0.0.1:6443"
    assert read.ca_bundle == b"-----BEGIN"
    assert read.secret_ref == SecretReference(name="east-token")
    assert read.disabled_tls_validations == ("SubjectName",)
    assert read.proxy_url == "socks5://10.0.0.9:1080"


def test_a_registration_is_written_as_it_was_read() -> None:
    read = registration(
        {"mcs-controller/cordoned": "true"},
        apiEndpoint="east.example.com",
        caBundle="LS0tLS1CRUdJTg==",
        secretRef={"name": "east-token"},
        disabledTLSValidations=["*"],
        proxyURL="http://10.0.0.9:3128",
        tlsServerName="kubernetes",
        zones=["a", "b"],
        region="north",
    )
    written = encode_object("core.kubefed.io/v1beta1", "KubeFedCluster", read)
    assert decode_object(KubeFedCluster, written) == read
    assert json.loads(written)["spec"]["disabledTLSValidations"] == ["*"]


@pytest.mark.parametrize(
    ("case", "annotations", "cluster"),
    [
        ("the name is the id", {}, "east"),
        ("an annotation names another", {"mcs-controller/cluster-id": "east.example"}, "east.example"),
        ("an empty annotation names none", {"mcs-controller/cluster-id": ""}, "east"),
    ],
)
def test_the_id_of_a_member(case: str, annotations: dict[str, str], cluster: str) -> None:
    assert registration(annotations).cluster == cluster, case


def test_a_condition_as_kubefed_left_it_is_read() -> None:
    condition = {"type": "Offline", "status": "True", "lastProbeTime": "2026-01-01T00:00:00Z"}
    body = {"metadata": {"name": "east"}, "spec": {}, "status": {"conditions": [condition]}}
    read = decode_object(KubeFedCluster, json.dumps(body).encode())
    offline = read.condition("Offline")
    assert offline is not None
    assert (offline.status, offline.reason) == ("True", None)
    assert read.condition("Ready") is None


def test_a_secret_is_decoded_from_base64_and_written_back_so() -> None:
    assert secret().data == {"token": TOKEN.encode()}
    assert decode_object(Secret, encode_object("v1", "Secret", secret())) == secret()


def test_no_text_of_a_secret_shows_what_it_holds() -> None:
    page = decode_page(
        Secret, b'{"metadata":{"resourceVersion":"1"},"items":[{"data":{"token":"c2VjcmV0!"}}]}'
    )
    texts = (repr(secret()), str(secret()), f"{secret()}", f"{[secret()]!r}", repr(page.malformed))
    for text in (*texts, repr(secret().__rich_repr__())):
        assert TOKEN not in text
        assert "c2VjcmV0" not in text
    assert page.malformed
    assert "token" in repr(secret())


def test_a_node_tells_its_pod_ranges() -> None:
    node = decode_object(Node, b'{"metadata":{"name":"n"},"spec":{"podCIDRs":["10.1.0.0/24","fd00::/64"]}}')
    assert node.spec.pod_cidrs == ("10.1.0.0/24", "fd00::/64")
