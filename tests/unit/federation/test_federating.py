"""What of an object goes into the template of the federated object that takes its place."""

from __future__ import annotations

from typing import Any

import pytest

from mcs.federation.federating import (
    federated_by_kind,
    federated_document,
    is_content,
    is_of_people,
    template_of,
)
from mcs.model.discovery import ServedKind
from mcs.model.federated import TARGET_VERBS

API = "types.kubefed.io/v1beta1"


def an(kind: str, api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "1", "generation": 2}
    metadata |= {"creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{}], "finalizers": ["f"]}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata | fields.pop("metadata", {}),
        **fields,
    }


def test_an_object_goes_to_all_members_as_what_is_the_same_in_each() -> None:
    source = an(
        "ConfigMap",
        data={"a": "b"},
        status={"x": 1},
        metadata={
            "labels": {"app": "web", "kubefed.io/managed": "true"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "shop"},
            "ownerReferences": [{"name": "x"}],
        },
    )
    assert federated_document(source, API, "FederatedConfigMap") == {
        "apiVersion": API,
        "kind": "FederatedConfigMap",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "template": {
                "metadata": {"labels": {"app": "web"}, "annotations": {"team": "shop"}},
                "data": {"a": "b"},
            },
            "placement": {"clusterSelector": {}},
        },
    }


def test_a_namespace_is_federated_in_itself_and_has_an_empty_template() -> None:
    source = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop", "labels": {"kubernetes.io/metadata.name": "shop"}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    made = federated_document(source, API, "FederatedNamespace")
    assert made["metadata"] == {"name": "shop", "namespace": "shop"}
    assert made["spec"]["template"] == {}


def test_an_object_of_cluster_scope_has_no_namespace() -> None:
    source = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    assert federated_document(source, API, "FederatedPriorityClass")["metadata"] == {"name": "high"}


POD_LABELS = {
    "app": "web",
    "batch.kubernetes.io/controller-uid": "u",
    "controller-uid": "u",
    "job-name": "web",
}


@pytest.mark.parametrize(
    ("source", "template"),
    [
        (
            an("Service", spec={"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "healthCheckNodePort": 3,
                                "ports": [{"port": 80, "nodePort": 30000}, {"port": 81}]}),
            {"spec": {"ports": [{"port": 80}, {"port": 81}]}},
        ),
        (
            an("Service", spec={"clusterIP": "None", "clusterIPs": ["None"]}),
            {"spec": {"clusterIP": "None"}},
        ),
        (
            an("Service", "serving.knative.dev/v1", spec={"clusterIP": "x"}),
            {"spec": {"clusterIP": "x"}},
        ),
        (
            an("ServiceAccount", secrets=[{"name": "token"}], imagePullSecrets=[{"name": "pull"}]),
            {"imagePullSecrets": [{"name": "pull"}]},
        ),
        (
            an("ReplicaSet", "apps/v1", spec={"replicas": 1}, metadata={"labels": {"pod-template-hash": "h"}}),
            {"spec": {"replicas": 1}},
        ),
        (
            an("Job", "batch/v1", spec={"selector": {"matchLabels": {"controller-uid": "u"}},
                                        "template": {"metadata": {"labels": POD_LABELS}, "spec": {"x": 1}}}),
            {"spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"x": 1}}}},
        ),
        (
            an("Job", "batch/v1", spec={"manualSelector": True, "selector": {"matchLabels": {"app": "web"}}}),
            {"spec": {"manualSelector": True, "selector": {"matchLabels": {"app": "web"}}}},
        ),
        (
            an("PersistentVolumeClaim", spec={"volumeName": "pv", "accessModes": ["x"]},
               metadata={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}),
            {"spec": {"accessModes": ["x"]}},
        ),
        (an("Secret", type="Opaque", data={"a": "Yg=="}), {"type": "Opaque", "data": {"a": "Yg=="}}),
    ],
    ids=["addresses and node ports", "a headless Service stays one", "of another group",
         "an account's secrets",
         "the hash of a pod template", "the labels of a Job's pods", "a selector written by hand", "the bound volume",
         "nothing special"],
)  # fmt: skip
def test_what_each_cluster_decides_for_itself_is_left_out(
    source: dict[str, Any], template: dict[str, Any]
) -> None:
    before = repr(source)
    assert template_of(source) == template
    assert repr(source) == before


def test_without_a_configuration_the_kind_tells_and_what_is_federated_stays() -> None:
    made = federated_by_kind(an("Widget", "example.test/v1", spec={"a": 1}))
    assert (made["apiVersion"], made["kind"]) == (API, "FederatedWidget")
    assert federated_by_kind(made) == made


def kind(name: str, *, namespaced: bool = True, verbs: tuple[str, ...] = TARGET_VERBS) -> ServedKind:
    plural, _, group = name.partition(".")
    return ServedKind(
        group=group, version="v1", kind="X", plural=plural, namespaced=namespaced, verbs=frozenset(verbs)
    )


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (kind("configmaps"), True),
        (kind("widgets.example.test"), True),
        (kind("serviceexports.multicluster.x-k8s.io"), True),
        (kind("clusterroles.rbac.authorization.k8s.io", namespaced=False), False),
        (kind("pods.metrics.k8s.io", verbs=("get", "list")), False),
        (kind("pods"), False),
        (kind("events.events.k8s.io"), False),
        (kind("endpointslices.discovery.k8s.io"), False),
        (kind("serviceimports.multicluster.x-k8s.io"), False),
        (kind("propagatedversions.core.kubefed.io"), False),
        (kind("federatedconfigmaps.types.kubefed.io"), False),
        (kind("replicaschedulingpreferences.scheduling.kubefed.io"), False),
    ],
    ids=lambda each: each.name if isinstance(each, ServedKind) else "",
)
def test_the_contents_of_a_namespace_are_what_people_put_there(of: ServedKind, expected: bool) -> None:
    assert is_content(of) is expected


@pytest.mark.parametrize(
    ("of", "source", "expected"),
    [
        ("configmaps", {"metadata": {"name": "web"}}, True),
        ("configmaps", {"metadata": {"name": "kube-root-ca.crt"}}, False),
        ("secrets", {"metadata": {"name": "kube-root-ca.crt"}}, True),
        ("serviceaccounts", {"metadata": {"name": "default"}}, False),
        ("secrets", {"metadata": {"name": "t"}, "type": "kubernetes.io/service-account-token"}, False),
        ("replicasets.apps", {"metadata": {"name": "w", "ownerReferences": [{"controller": True}]}}, False),
        ("configmaps", {"metadata": {"name": "w", "ownerReferences": [{"name": "x"}]}}, True),
        (
            "services",
            {"metadata": {"name": "w", "labels": {"app.kubernetes.io/managed-by": "mcs-controller"}}},
            False,
        ),
        ("configmaps", {"metadata": {"name": "w", "deletionTimestamp": "2026-01-01T00:00:00Z"}}, False),
        ("roles", {"metadata": {"name": "system:x"}}, False),
    ],
    ids=["a plain one", "the authority of the cluster", "another kind by that name", "the default account", "a token",
         "controlled by another", "owned and not controlled", "ours", "on its way out", "no name for a kind"],
)  # fmt: skip
def test_what_a_controller_of_the_cluster_made_is_not_federated(
    of: str, source: dict[str, Any], expected: bool
) -> None:
    assert is_of_people(kind(of), source) is expected
