"""The object that is applied in one cluster: what of the template goes there, and what is ours to say."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mcs.federation.overrides import NotMade
from mcs.federation.template import member_object, template_warnings
from mcs.model.federated import ClusterOverrides, FederatedObject, FederatedSpec, Override
from mcs.model.installed import DEPLOYMENTS
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.resources import NAMESPACES, SERVICES, Resource

C1 = ClusterId("c1")
MANAGED = {"kubefed.io/managed": "true"}


def federated(
    template: dict[str, Any] | None = None, *overrides: Override, retain_replicas: bool = False
) -> FederatedObject:
    return FederatedObject(
        metadata=ObjectMeta(namespace="shop", name="web", annotations={"of": "the wrapper"}),
        spec=FederatedSpec(
            template=template or {},
            overrides=(ClusterOverrides(cluster_name="c1", cluster_overrides=overrides),),
            retain_replicas=retain_replicas,
        ),
    )


def made(
    of: FederatedObject, target: Resource[Any] = DEPLOYMENTS, present: dict[str, Any] | None = None
) -> dict[str, Any]:
    found = member_object(of, target, C1, present)
    assert not isinstance(found, NotMade), found
    return found


def test_an_empty_template_makes_an_object_with_a_name_that_is_ours() -> None:
    assert made(federated()) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "shop", "name": "web", "labels": MANAGED},
    }


def test_a_namespace_has_the_name_of_its_wrapper_and_is_in_none() -> None:
    assert made(federated(), NAMESPACES) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "web", "labels": MANAGED},
    }


def test_who_an_object_is_follows_from_the_wrapper_whatever_the_template_says() -> None:
    lying = {"kind": "Secret", "metadata": {"name": "x", "namespace": "kube-system", "generateName": "y"}}
    assert made(federated(lying)) == made(federated())


def test_an_api_version_of_the_template_wins() -> None:
    assert made(federated({"apiVersion": "apps/v2"}))["apiVersion"] == "apps/v2"


def test_labels_and_annotations_are_propagated_and_nothing_else_of_the_metadata() -> None:
    metadata = {
        "labels": {"app": "web", "kubefed.io/managed": "false"},
        "annotations": {
            "team": "a",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "deployment.kubernetes.io/revision": "3",
        },
        "finalizers": ["example.com/hold"],
        "resourceVersion": "7",
        "uid": "u",
        "managedFields": [],
        "ownerReferences": [{"uid": "of the host"}],
    }
    assert made(federated({"metadata": metadata, "spec": {"paused": True}})) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "namespace": "shop",
            "name": "web",
            "labels": {"app": "web", **MANAGED},
            "annotations": {"team": "a"},
        },
        "spec": {"paused": True},
    }


@pytest.mark.parametrize("metadata", [{}, {"finalizers": []}, {"annotations": {"a": "b"}}, "none"])
def test_a_template_that_is_propagated_whole_warns_of_nothing(metadata: Any) -> None:
    assert template_warnings(federated({"metadata": metadata})) == ()


def test_finalizers_of_a_template_are_warned_of_and_an_override_sets_them() -> None:
    template = {"metadata": {"finalizers": ["example.com/hold"]}}
    (warned,) = template_warnings(federated(template))
    assert (warned.reason, "finalizers" in warned.message) == ("FinalizersNotSupported", True)
    override = Override(op="add", path="/metadata/finalizers", value=["example.com/hold"])
    assert made(federated(template, override))["metadata"]["finalizers"] == ["example.com/hold"]


@pytest.mark.parametrize(
    ("override", "metadata"),
    [
        (Override(op="remove", path="/metadata"), {}),
        (Override(op="replace", path="", value={"metadata": {"name": "other", "namespace": "x"}}), {}),
        (Override(op="add", path="/metadata/labels", value={"kubefed.io/managed": "false"}), {}),
        (Override(op="add", path="/metadata/labels", value=None), {}),
        (
            Override(path="/metadata", value={"name": "x", "annotations": {"a": "b"}}),
            {"annotations": {"a": "b"}},
        ),
    ],
)
def test_no_override_makes_an_object_another_one(override: Override, metadata: dict[str, Any]) -> None:
    found = made(federated({}, override))
    assert (found["apiVersion"], found["kind"]) == ("apps/v1", "Deployment")
    assert found["metadata"] == {"namespace": "shop", "name": "web", "labels": MANAGED, **metadata}


def test_an_override_may_choose_another_api_version() -> None:
    assert made(federated({}, Override(path="/apiVersion", value="extensions/v1beta1")))["apiVersion"] == (
        "extensions/v1beta1"
    )


@pytest.mark.parametrize(
    ("template", "overrides", "expected"),
    [
        ({"metadata": "x"}, (), NotMade("template: metadata is not a map", "ComputeResourceFailed")),
        (
            {"metadata": {"labels": ["x"]}},
            (),
            NotMade("template: metadata.labels is not a map", "ComputeResourceFailed"),
        ),
        (
            {"metadata": {"annotations": "x"}},
            (),
            NotMade("template: metadata.annotations is not a map", "ComputeResourceFailed"),
        ),
        (
            {},
            (Override(path="/metadata", value="x"),),
            NotMade('cluster "c1": overrides leave no map of metadata and labels', "ApplyOverridesFailed"),
        ),
        (
            {},
            (Override(path="/metadata/labels", value=["x"]),),
            NotMade('cluster "c1": overrides leave no map of metadata and labels', "ApplyOverridesFailed"),
        ),
        (
            {},
            (Override(op="remove", path="/spec"),),
            NotMade('cluster "c1": override[0] (remove "/spec"): there is nothing at /spec', "ApplyOverridesFailed"),
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_told(
    template: dict[str, Any], overrides: tuple[Override, ...], expected: NotMade
) -> None:
    assert member_object(federated(template, *overrides), DEPLOYMENTS, C1) == expected


@pytest.mark.parametrize(
    "managed",
    [["x"], [{"fieldsV1": "x"}], "x", [{"fieldsV1": {"f:spec": {"f:replicas": {}}}, "manager": []}]],
)
def test_what_a_member_sends_stops_it_alone(managed: Any) -> None:
    present = {"spec": {"replicas": 7}, "metadata": {"managedFields": managed}}
    of = federated({"spec": {"replicas": 3}}, retain_replicas=True)
    found = member_object(of, DEPLOYMENTS, C1, present)
    assert isinstance(found, dict) or found.status == "FieldRetentionFailed"


def test_a_key_of_managed_fields_that_is_no_json_is_told() -> None:
    odd: dict[str, Any] = {"fieldsV1": {"f:spec": {"f:ports": {"k:{": {}}}}}
    present = {"spec": {"ports": [{"port": 80, "nodePort": 1}]}, "metadata": {"managedFields": [odd]}}
    found = member_object(
        federated({"spec": {"ports": [{"port": 80, "nodePort": 2}]}}), SERVICES, C1, present
    )
    assert isinstance(found, NotMade)
    assert found.status == "FieldRetentionFailed"
    assert found.message.startswith('cluster "c1": what it tells of its object cannot be read: ')


def test_replicas_are_the_members_once_it_has_the_object_and_only_when_asked_for() -> None:
    present = {"spec": {"replicas": 7}, "metadata": {}}
    template = {"spec": {"replicas": 3}}
    assert made(federated(template, retain_replicas=True))["spec"] == {"replicas": 3}
    assert made(federated(template, retain_replicas=True), present=present)["spec"] == {"replicas": 7}
    assert made(federated(template), present=present)["spec"] == {"replicas": 3}


def test_an_override_wins_over_what_is_retained() -> None:
    override = Override(path="/spec/replicas", value=5)
    somebodys = {"manager": "hpa", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    present = {"spec": {"replicas": 7}, "metadata": {"managedFields": [somebodys]}}
    of = federated({"spec": {"replicas": 3}}, override, retain_replicas=True)
    assert made(of, present=present)["spec"] == {"replicas": 5}


def test_the_template_is_left_as_it_is() -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"template": {"metadata": {}}}}
    before = copy.deepcopy(template)
    of = federated(template, Override(op="add", path="/spec/template/metadata/labels", value={}))
    made(of, present={"spec": {"replicas": 1}})["metadata"]["labels"]["x"] = "y"
    assert template == before
