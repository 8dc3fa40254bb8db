"""What is told of a KubeFed host before it is taken over, and what is to be done there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mcs.federation.migration import (
    answers_for_kubefed,
    controller_problem,
    definition_verdict,
    differences,
    ledgers_to_free,
    object_findings,
    settings_findings,
    type_findings,
)
from mcs.model.federated import FederatedObject, FederatedTypeConfig, KubeFedConfig
from mcs.model.installed import DEPLOYMENTS
from mcs.model.names import ClusterId

EU, US = ClusterId("eu"), ClusterId("us")


@pytest.mark.parametrize(
    ("deployment", "told"),
    [
        (None, ""),
        ({"spec": {"replicas": 0}, "status": {}}, ""),
        ({"spec": {"replicas": 2}}, "has 2 replicas; stop it first: kubectl -n ns scale deployment"),
        ({"spec": {}}, "has 1 replicas"),
        ({"spec": {"replicas": 0}, "status": {"replicas": 1}}, "just ending: 1 of its pods are left"),
    ],
    ids=["not there", "stopped", "running", "one replica, which is the default", "its pods are still there"],
)
def test_kubefed_must_have_stopped(deployment: dict[str, Any] | None, told: str) -> None:
    problem = controller_problem(deployment, "ns")
    assert (told in problem, bool(problem)) == (True, bool(told))


def definition(*versions: str, **properties: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "x.core.kubefed.io"},
        "spec": {"versions": [{"name": each, "schema": properties} for each in versions]},
    }


@pytest.mark.parametrize(
    ("present", "action"),
    [
        (None, "create"),
        (definition("v1", a=1, b=2), "keep"),
        (definition("v1", a=1), "replace"),
        (definition("v1", "v1alpha1", a=1, b=2), "refuse"),
    ],
    ids=["absent", "as ours", "without a field of ours", "with a version of its own"],
)
def test_a_definition_that_would_drop_fields_is_replaced(present: dict[str, Any] | None, action: str) -> None:
    assert definition_verdict(definition("v1", a=1, b=2), present).action == action


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, []),
        ({"syncController": {"adoptResources": "Disabled"}, "controllerDuration": {"availableDelay": "9s"}}, []),
        ({"syncController": {"maxConcurrentReconciles": 3}}, ["syncController.maxConcurrentReconciles"]),
        ({"controllerDuration": {"cacheSyncTimeout": "9m"}}, ["controllerDuration.cacheSyncTimeout"]),
        ({"leaderElect": {"resourceLock": "endpoints"}}, ["leaderElect"]),
        ({"clusterHealthCheck": {"failureThreshold": 9}}, ["clusterHealthCheck"]),
        ({"statusController": {"maxConcurrentReconciles": 9}}, ["statusController"]),
        (
            {"featureGates": [{"name": "RawResourceStatusCollection", "configuration": "Enabled"}]},
            ["the gate RawResourceStatusCollection"],
        ),
        ({"featureGates": [{"name": "RawResourceStatusCollection", "configuration": "Disabled"}]}, []),
        ({"controllerDuration": {"availableDelay": "soon"}}, ["is no duration"]),
    ],
    ids=["defaults", "settings that are heeded", "workers", "the time for caches", "the election", "the probes",
         "the status controller", "raw status", "raw status that is off", "a mistake"],
)  # fmt: skip
def test_settings_without_effect_are_told(spec: dict[str, Any], told: list[str]) -> None:
    config = msgspec.convert({"metadata": {"name": "kubefed"}, "spec": spec}, KubeFedConfig)
    found = list(settings_findings(config, "ns"))
    assert len(found) == len(told)
    assert all(each in finding.what for each, finding in zip(told, found, strict=True))
    assert list(settings_findings(None, "ns")) == []


def test_a_type_of_a_release_and_one_with_a_status_of_its_own_are_told_of() -> None:
    api = {"version": "v1", "kind": "X", "pluralName": "xs", "scope": "Namespaced"}
    spec = {"targetType": api, "federatedType": api, "propagation": "Enabled"}
    plain = {"metadata": {"name": "xs"}, "spec": spec}
    assert list(type_findings(msgspec.convert(plain, FederatedTypeConfig))) == []
    helms = {
        "metadata": {"name": "xs", "labels": {"app.kubernetes.io/managed-by": "Helm"}},
        "spec": spec | {"statusCollection": "Enabled"},
    }
    status, release = type_findings(msgspec.convert(helms, FederatedTypeConfig))
    assert "statusCollection has no effect" in status.what
    assert "helm uninstall would delete it" in release.what


def web(**template: Any) -> FederatedObject:
    document = {
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {
            "template": {"spec": {"replicas": 3, "paused": False}} | template,
            "overrides": [
                {"clusterName": "us", "clusterOverrides": [{"path": "/spec/replicas", "value": 5}]}
            ],
        },
    }
    return msgspec.convert(document, FederatedObject)


def made(replicas: int, **fields: Any) -> dict[str, Any]:
    labels = {"kubefed.io/managed": "true", "more": "x"}
    return {
        "metadata": {"name": "web", "namespace": "shop", "labels": labels, "uid": "u"},
        "spec": {"replicas": replicas, "paused": False, "strategy": {}} | fields,
        "status": {},
    }


@pytest.mark.parametrize(
    ("federated", "present", "told"),
    [
        (web(), {EU: made(3), US: made(5)}, []),
        (web(), {}, []),
        (web(), {EU: made(3), US: made(3)}, ["it is changed (/spec/replicas) in us"]),
        (web(), {EU: made(4), US: made(4)}, ["it is changed (/spec/replicas) in eu, us"]),
        (web(), {EU: None, US: None}, ["it is missing, and is made in eu, us"]),
        (web(spec={"replicas": 3}, kind="x"), {EU: made(3)}, []),
        (
            web(metadata={"annotations": {"b": "1", "a": "2", "deployment.kubernetes.io/revision": "3"}}),
            {EU: made(3)},
            ["annotations of its template, which KubeFed dropped, are propagated: a, b"],
        ),
        (web(metadata={"finalizers": ["f"]}), {EU: made(3)}, ["as with KubeFed, metadata.finalizers"]),
        (web(spec=[]), {US: made(3)}, ["it cannot be made ("]),
    ],
    ids=["as it is to be", "no cluster was seen", "changed by hand in one", "in two", "missing", "fields beside",
         "annotations", "finalizers", "an override that does not fit"],
)  # fmt: skip
def test_what_becomes_of_an_object_is_told(
    federated: FederatedObject, present: dict[ClusterId, Any], told: list[str]
) -> None:
    found = list(object_findings(federated, "FederatedDeployment", DEPLOYMENTS, present))
    assert {each.about for each in found} <= {"FederatedDeployment shop/web"}
    assert [each.what[: len(said)] for each, said in zip(found, told, strict=True)] == told


def test_differences_are_fields_and_a_list_is_one() -> None:
    present = {"a": {"b": 1}, "c": [1, 2], "d": "x"}
    desired = {"a": {"b": 2, "e": 3}, "c": [3], "d": "x", "f": None, "g": {}}
    assert list(differences(present, desired)) == ["/a/b", "/a/e", "/c"]


def test_ledgers_that_would_go_with_their_object_are_freed() -> None:
    owned = {
        "metadata": {"namespace": "shop", "name": "deployment-web", "ownerReferences": [{"name": "web"}]}
    }
    wide = {"metadata": {"name": "clusterrole-x", "ownerReferences": [{"name": "x"}]}}
    free = {"metadata": {"namespace": "shop", "name": "deployment-free"}}
    assert list(ledgers_to_free([owned, wide, free])) == [("shop", "deployment-web"), ("", "clusterrole-x")]


@pytest.mark.parametrize(
    ("webhooks", "expected"),
    [
        ([{"rules": [{"apiGroups": ["core.kubefed.io"]}]}], True),
        ([{"rules": [{"apiGroups": ["apps"]}]}, {"rules": [{"apiGroups": ["x", "core.kubefed.io"]}]}], True),
        ([{"rules": [{"apiGroups": ["apps"]}]}], False),
        ([{}], False),
    ],
    ids=["KubeFed's", "among others", "of others", "without rules"],
)
def test_webhooks_that_ask_kubefed_are_known_by_their_group(webhooks: list[Any], expected: bool) -> None:
    assert answers_for_kubefed({"webhooks": webhooks}) is expected
