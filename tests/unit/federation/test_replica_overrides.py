"""How the numbers of a plan are written into a federated object, and that all else in it stays."""

from __future__ import annotations

from mcs.federation.replica_overrides import changes_of, replicas_asked
from mcs.testing.divisions import counts
from tests.unit.federation.preferences_as_text import (
    FOUNDING,
    asks,
    federated,
    plan,
)


def test_what_others_wrote_into_the_object_stays() -> None:
    """KubeFed's form: the clusters of the result, a replicas override each, everything else as it was."""
    image = {"path": "/spec/template/spec/containers/0/image", "value": "app:2"}
    selector = {"matchLabels": {"tier": "gold"}}
    written = federated(
        placement={"clusterSelector": selector, "clusters": [{"name": "gone"}]},
        overrides=[
            {
                "clusterName": "B",
                "clusterOverrides": [{"path": "/spec/replicas", "op": "add", "value": 1}, image],
            },
            {"clusterName": "gone", "clusterOverrides": [{"path": "/spec/replicas", "value": 5}]},
            {"clusterName": "other", "clusterOverrides": [{"path": "/spec/replicas", "value": 5}, image]},
        ],
        retainReplicas=False,
    )
    planned = plan("totalReplicas: 4", written, "A=- B=-")
    assert planned.spec is not None
    replicas = {"path": "/spec/replicas", "value": 2}
    assert changes_of(written, planned.spec) == {
        "metadata": {"resourceVersion": "7"},
        "spec": {
            "placement": {"clusters": [{"name": "A"}, {"name": "B"}]},
            "overrides": [
                {"clusterName": "B", "clusterOverrides": [replicas, image]},
                {"clusterName": "other", "clusterOverrides": [image]},
                {"clusterName": "A", "clusterOverrides": [replicas]},
            ],
        },
    }
    assert planned.spec.placement.cluster_selector == written.spec.placement.cluster_selector


def test_an_object_that_asks_for_it_in_other_words_is_not_written() -> None:
    written = federated(
        placement={"clusters": [{"name": "B"}, {"name": "A"}]},
        overrides=[
            {
                "clusterName": "B",
                "clusterOverrides": [{"path": "/spec/replicas", "op": "replace", "value": 2}],
            },
            {"clusterName": "empty", "clusterOverrides": []},
            {"clusterName": "A", "clusterOverrides": [{"path": "/spec/replicas", "value": 2}]},
        ],
    )
    assert plan("totalReplicas: 4", written, "A=- B=-").spec == written.spec


def test_what_is_no_number_or_of_a_cluster_that_is_not_listed_is_not_asked_for() -> None:
    written = federated(
        placement={"clusters": [{"name": "aws"}, {"name": "gcp"}]},
        overrides=[
            {"clusterName": "azure", "clusterOverrides": [{"path": "/spec/replicas", "value": 4}]},
            {"clusterName": "gcp", "clusterOverrides": [{"path": "/spec/replicas", "value": True}]},
        ],
    )
    assert replicas_asked(written) == {}
    assert asks(plan(FOUNDING, written, "aws=- azure=4:Lost")) == counts("aws=10")


def test_a_number_takes_the_place_of_any_other_operation_on_replicas() -> None:
    operations = [
        {"path": "/spec/replicas", "op": "remove", "value": 4},
        {"path": "/metadata/labels/a", "value": "b"},
        {"path": "/spec/replicas", "value": 4},
    ]
    written = federated(
        placement={"clusters": [{"name": "A"}]},
        overrides=[{"clusterName": "A", "clusterOverrides": operations}],
    )
    planned = plan("totalReplicas: 4", written, "A=-")
    assert planned.spec is not None
    (changed,) = changes_of(written, planned.spec)["spec"]["overrides"]
    assert changed["clusterOverrides"] == [operations[2], operations[1]]


def test_a_cluster_that_is_listed_twice_is_asked_once() -> None:
    override = {"path": "/spec/replicas", "value": 1}
    twice = federated(
        placement={"clusters": [{"name": "A"}, {"name": "A"}]},
        overrides=[{"clusterName": "A", "clusterOverrides": [override]}] * 2,
    )
    planned = plan("totalReplicas: 4", twice, "A=-")
    assert planned.spec is not None
    assert changes_of(twice, planned.spec)["spec"] == {
        "placement": {"clusters": [{"name": "A"}]},
        "overrides": [{"clusterName": "A", "clusterOverrides": [{"path": "/spec/replicas", "value": 4}]}],
    }
