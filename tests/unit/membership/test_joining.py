"""Who may join under which name, and what is then written."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from msgspec.structs import replace

from mcs.membership.connecting import Endpoint
from mcs.membership.identity import Identity
from mcs.membership.joining import (
    Newcomer,
    clusterset_of,
    joining_problem,
    properties,
    registration_objects,
)
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.registration import KubeFedCluster

EU = Newcomer(
    cluster=ClusterId("eu"), uid="uid-eu", said=Identity(), endpoint=Endpoint("https://eu.test:6443", b"PEM")
)
OURS = {"app.kubernetes.io/managed-by": "mcs-controller"}


def registered(name: str, uid: str = "", **metadata: Any) -> KubeFedCluster:
    annotations = {"mcs-controller/cluster-uid": uid} if uid else {}
    annotations |= metadata.pop("annotations", {})
    return KubeFedCluster(
        metadata=ObjectMeta(name=name, **{"labels": OURS, "annotations": annotations, **metadata})
    )


@pytest.mark.parametrize(
    ("newcomer", "there", "told"),
    [
        pytest.param(EU, [], "", id="the first"),
        pytest.param(EU, [registered("us", "uid-us")], "", id="beside another"),
        pytest.param(EU, [registered("eu", "uid-eu")], "", id="again"),
        pytest.param(EU, [registered("eu")], "", id="again, after a registration without a uid"),
        pytest.param(
            EU, [registered("eu", "uid-old")], "run mcs leave eu --force", id="rebuilt under the same name"
        ),
        pytest.param(EU, [registered("us", "uid-eu")], 'already, as "us"', id="under a second name"),
        pytest.param(
            EU,
            [registered("us", "uid-us", annotations={"mcs-controller/cluster-id": "eu"})],
            'taken by the KubeFedCluster "us"',
            id="its id is another's by annotation",
        ),
        pytest.param(EU, [registered("eu", "uid-eu", labels={})], "did not make", id="registered by hand"),
        pytest.param(
            EU,
            [registered("eu", "uid-eu", deletion_timestamp="2026-01-01T00:00:00Z")],
            "leaving",
            id="leaving",
        ),
        pytest.param(replace(EU, said=Identity("eu", "prod")), [], "", id="says who it is"),
        pytest.param(replace(EU, said=Identity("us")), [], 'says that it is "us"', id="says it is another"),
        pytest.param(
            replace(EU, said=Identity(None, "dev")), [], "give --clusterset dev", id="in another clusterset"
        ),
        pytest.param(
            EU,
            [registered("us", "uid-us", annotations={"mcs-controller/clusterset": "dev"})],
            'are in the clusterset "dev"',
            id="the others are in another clusterset",
        ),
    ],
)
def test_who_may_join(newcomer: Newcomer, there: list[KubeFedCluster], told: str) -> None:
    found = joining_problem(newcomer, "prod", there)
    assert told in found
    assert bool(told) == bool(found)


def test_the_secret_comes_before_the_registration_that_refers_to_it() -> None:
    secret, registration = (
        each.document for each in registration_objects(EU, "prod", "kube-federation-system", "s3cret")
    )
    assert (secret["kind"], base64.b64decode(secret["data"]["token"])) == ("Secret", b"s3cret")
    assert registration["spec"] == {
        "apiEndpoint": "https://eu.test:6443",
        "secretRef": {"name": secret["metadata"]["name"]},
        "caBundle": base64.b64encode(b"PEM").decode(),
    }
    assert registration["metadata"]["finalizers"] == ["mcs-controller/leave"]
    assert registration["metadata"]["annotations"] == {
        "mcs-controller/cluster-uid": "uid-eu",
        "mcs-controller/clusterset": "prod",
    }


def test_the_clusterset_is_the_one_that_members_were_joined_to() -> None:
    recorded = registered("eu", annotations={"mcs-controller/clusterset": "prod"})
    assert clusterset_of([registered("us"), recorded]) == "prod"
    assert clusterset_of([registered("us")]) == ""


def test_how_its_api_server_is_reached_is_carried_over() -> None:
    endpoint = Endpoint(
        "https://eu.test",
        disabled_validations=frozenset({"*"}),
        proxy="http://proxy.test",
        server_name="kubernetes",
    )
    *_, registration = registration_objects(replace(EU, endpoint=endpoint), "prod", "ns", "t")
    assert registration.document["spec"] == {
        "apiEndpoint": "https://eu.test",
        "secretRef": {"name": "eu-token"},
        "disabledTLSValidations": ["*"],
        "proxyURL": "http://proxy.test",
        "tlsServerName": "kubernetes",
    }


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Identity(), {"cluster.clusterset.k8s.io": "eu", "clusterset.k8s.io": "prod"}),
        (Identity("eu"), {"clusterset.k8s.io": "prod"}),
        (Identity("eu", "prod"), {}),
    ],
)
def test_properties_that_are_there_are_not_written(said: Identity, expected: dict[str, str]) -> None:
    found = {each.name: each.document["spec"]["value"] for each in properties(EU.cluster, "prod", said)}
    assert found == expected
