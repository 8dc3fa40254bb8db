"""The set as it is read from manifests: what is taken, what is passed over, and what is told of the malformed."""

from __future__ import annotations

import pytest

from mcs.federation.manifests import read_manifests
from mcs.federation.snapshot import RegisteredCluster
from mcs.model.taints import Taint
from mcs.testing.federated_sets import (
    Document,
    asking,
    cluster,
    deployment,
    federated,
    key,
    namespace,
    preference,
    snapshot,
)


def test_lists_are_taken_apart_and_the_last_of_a_name_counts() -> None:
    set_ = read_manifests(
        [
            {"kind": "List", "apiVersion": "v1", "items": [cluster("eu"), deployment("shop/web", "eu")]},
            {
                "kind": "FederatedDeploymentList",
                "items": [deployment("shop/web", "us"), deployment("shop/api", "")],
            },
        ]
    )
    assert list(set_.objects) == [key("shop/api"), key("shop/web")]
    listed = set_.objects[key("shop/web")].spec.placement.clusters
    assert listed is not None
    assert [each.name for each in listed] == ["us"]


def test_what_federation_does_not_look_at_is_passed_over() -> None:
    others: list[object] = [
        None,
        "text",
        {},
        {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "web"}},
        {
            "kind": "FederatedHPA",
            "apiVersion": "autoscaling.example/v1",
            "metadata": {"name": "web"},
            "spec": {},
        },
        {"kind": "KubeFedCluster", "apiVersion": "example.com/v1", "metadata": {"name": "web"}},
    ]
    set_ = read_manifests(others)
    assert (set_.clusters, set_.objects, set_.problems) == ({}, {}, ())


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        pytest.param(
            federated("shop/web", "", placement={"clusters": "eu"}),
            "FederatedConfigMap shop/web cannot be read: "
            "Expected `array | null`, got `str` - at `spec.placement.clusters`",
            id="a field of another type",
        ),
        pytest.param(
            {
                "apiVersion": "core.kubefed.io/v1beta1",
                "kind": "KubeFedCluster",
                "metadata": {"namespace": "x"},
            },
            "KubeFedCluster x cannot be read: metadata.name is missing",
            id="no name",
        ),
        pytest.param(
            {"apiVersion": "core.kubefed.io/v1beta1", "kind": "KubeFedCluster", "metadata": 5},
            "KubeFedCluster cannot be read: Expected `object`, got `int` - at `metadata`",
            id="no metadata",
        ),
    ],
)
def test_what_is_malformed_is_told_and_stops_nothing_else(document: Document, problem: str) -> None:
    set_ = read_manifests([document, cluster("eu")])
    assert (set_.problems, list(set_.clusters)) == ((problem,), ["eu"])


def test_a_cluster_is_as_its_registration_tells() -> None:
    registered = snapshot("a, b ready env=prod, c down NoSchedule, d cordoned drained").clusters
    assert registered == {
        "a": RegisteredCluster(is_probed=False),
        "b": RegisteredCluster(labels={"env": "prod"}),
        "c": RegisteredCluster(is_ready=False, taints=(Taint(key="dedicated", effect="NoSchedule"),)),
        "d": RegisteredCluster(is_probed=False, is_cordoned=True, is_drained=True),
    }


def test_what_a_preference_was_divided_by_is_that_of_its_status_else_of_the_object_s() -> None:
    counts = {"wanted": 9, "ready": 7, "updated": 9, "available": 7}
    status = {"clusters": [{"name": "eu", "workload": counts}, {"name": "us", "workload": counts}]}
    set_ = snapshot(
        "eu, us",
        namespace("shop"),
        deployment("shop/web", "") | {"status": status},
        preference("shop/web", 9, "* w1", current="us=3", capacity="us=4"),
    )
    preferred = set_.preferences[key("shop/web")]
    assert (preferred.current, preferred.capacity) == ({"eu": 7, "us": 3}, {"us": 4})


@pytest.mark.parametrize(
    ("where", "asked_of"),
    [
        pytest.param("eu us", {"us": 4}, id="who is listed without a number is asked for none"),
        pytest.param("*", {"eu": 9, "us": 4}, id="before there is a list, what its object wants counts"),
    ],
)
def test_what_each_cluster_is_asked_for(where: str, asked_of: dict[str, int]) -> None:
    counts = {"wanted": 9, "ready": 7, "updated": 9, "available": 7}
    status = {"clusters": [{"name": "eu", "workload": counts}, {"name": "us", "workload": counts}]}
    object_ = deployment("shop/web", where, **asking("us=4")) | {"status": status}
    set_ = snapshot("eu, us", namespace("shop"), object_, preference("shop/web", 9, "* w1"))
    assert set_.preferences[key("shop/web")].asked_of == asked_of


def test_a_preference_that_is_wrong_keeps_its_place_and_its_problem() -> None:
    document = preference("shop/web", 9, "")
    del document["spec"]["totalReplicas"]
    preferred = snapshot("eu", document).preferences[key("shop/web")]
    assert preferred.asked is None
    assert preferred.problem.startswith("spec.totalReplicas is missing; write")
