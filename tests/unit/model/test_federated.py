"""KubeFed's objects as they are read and written: defaults, absent and empty, kinds made at run time."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import pytest

from mcs.model.federated import (
    FederatedObject,
    FederatedTypeConfig,
    KubeFedConfig,
    LabelSelector,
    Placement,
    PropagatedVersion,
    WorkloadCounts,
    federated_resource,
    target_resource,
    type_config_name,
)
from mcs.model.targets import TargetObject

T = TypeVar("T")


def decoded(type_: type[T], document: Any) -> T:
    return msgspec.json.decode(msgspec.json.encode(document), type=type_)


def federated(**placement: Any) -> FederatedObject:
    return decoded(FederatedObject, {"spec": {"placement": placement}})


@pytest.mark.parametrize(
    ("written", "is_listed", "selector"),
    [
        ({}, False, None),
        ({"clusters": None, "clusterSelector": None}, False, None),
        ({"clusters": []}, True, None),
        ({"clusterSelector": {}}, False, LabelSelector()),
        ({"clusters": [], "clusterSelector": {"matchLabels": {}}}, True, LabelSelector()),
    ],
)
def test_an_absent_list_or_selector_is_not_an_empty_one_when_read_and_when_written_again(
    written: dict[str, Any], is_listed: bool, selector: LabelSelector | None
) -> None:
    read = federated(**written)
    assert read.spec.placement == Placement(clusters=() if is_listed else None, cluster_selector=selector)
    assert msgspec.json.decode(msgspec.json.encode(read), type=FederatedObject) == read


def test_a_federated_object_of_kubefed_is_read() -> None:
    read = decoded(
        FederatedObject,
        {
            "apiVersion": "types.kubefed.io/v1beta1",
            "kind": "FederatedDeployment",
            "metadata": {"name": "web", "namespace": "shop", "annotations": {"kubefed.io/orphan": "true"}},
            "spec": {
                "template": {"spec": {"replicas": 3}},
                "placement": {"clusters": [{"name": "c1"}]},
                "overrides": [
                    {
                        "clusterName": "c1",
                        "clusterOverrides": [
                            {"path": "/spec/replicas", "value": 5},
                            {"path": "/x", "op": "remove"},
                        ],
                    }
                ],
                "retainReplicas": True,
            },
            "status": {
                "observedGeneration": 2,
                "conditions": [
                    {
                        "type": "Propagation",
                        "status": "False",
                        "reason": "CheckClusters",
                        "lastUpdateTime": "t",
                    }
                ],
                "clusters": [{"name": "c1"}, {"name": "c2", "status": "ClusterNotReady"}],
            },
        },
    )
    first, second = read.spec.overrides[0].cluster_overrides
    assert (first.op, first.path, first.value) == ("", "/spec/replicas", 5)
    assert (second.op, second.value) == ("remove", None)
    assert (read.spec.retain_replicas, read.is_orphaning) == (True, True)
    assert [each.status for each in read.status.clusters] == ["", "ClusterNotReady"]
    assert not federated().is_orphaning


def test_the_configuration_has_the_defaults_of_kubefed() -> None:
    spec = decoded(KubeFedConfig, {"metadata": {"name": "kubefed"}, "spec": {"leaderElect": {}}}).spec
    assert spec.scope == "Cluster"
    durations = spec.controller_duration
    assert (durations.available_delay, durations.unavailable_delay) == ("20s", "60s")
    assert durations.cache_sync_timeout == "5m"
    elect = spec.leader_elect
    assert (elect.lease_duration, elect.renew_deadline, elect.retry_period) == ("15s", "10s", "5s")
    assert elect.resource_lock == "configmaps"
    assert spec.feature_gates == ()
    health = spec.cluster_health_check
    assert (health.period, health.timeout) == ("10s", "3s")
    assert (health.failure_threshold, health.success_threshold) == (3, 1)
    assert (spec.sync_controller.max_concurrent_reconciles, spec.sync_controller.adopt_resources) == (
        1,
        "Enabled",
    )
    assert spec.status_controller.max_concurrent_reconciles == 1


def configuration(**changes: Any) -> FederatedTypeConfig:
    target = {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "pluralName": "deployments",
        "scope": "Namespaced",
    }
    wrapper = {
        **target,
        "group": "types.kubefed.io",
        "version": "v1beta1",
        "kind": "FederatedDeployment",
        "pluralName": "federateddeployments",
    }
    spec = {"targetType": target, "federatedType": wrapper, "propagation": "Enabled", **changes}
    return decoded(FederatedTypeConfig, {"metadata": {"name": "deployments.apps"}, "spec": spec})


def test_the_kinds_of_a_type_are_those_that_its_configuration_names() -> None:
    config = configuration()
    wrapper, target = federated_resource(config), target_resource(config)
    assert wrapper.path("shop", "web") == (
        "/apis/types.kubefed.io/v1beta1/namespaces/shop/federateddeployments/web"
    )
    assert (wrapper.kind, wrapper.type) == ("FederatedDeployment", FederatedObject)
    assert target.path("shop", "web") == "/apis/apps/v1/namespaces/shop/deployments/web"
    assert (target.kind, target.type) == ("Deployment", TargetObject)


def test_a_type_of_cluster_scope_and_of_the_core_group() -> None:
    core = {"version": "v1", "kind": "Namespace", "pluralName": "namespaces", "scope": "Cluster"}
    assert target_resource(configuration(targetType=core)).path("shop", "web") == "/api/v1/namespaces/web"


@pytest.mark.parametrize(
    ("group", "plural", "name"), [("", "services", "services"), ("apps", "deployments", "deployments.apps")]
)
def test_a_type_configuration_is_named_after_its_target(group: str, plural: str, name: str) -> None:
    assert type_config_name(group, plural) == name


def test_a_type_is_enabled_until_it_is_disabled_or_deleted() -> None:
    assert configuration().is_enabled
    assert not configuration(propagation="Disabled").is_enabled
    deleted = msgspec.structs.replace(
        configuration(), metadata=msgspec.structs.replace(configuration().metadata, deletion_timestamp="t")
    )
    assert not deleted.is_enabled


def test_what_is_no_type_configuration_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        configuration(propagation="Sometimes")
    with pytest.raises(msgspec.ValidationError):
        configuration(targetType={"version": "v1"})


def test_a_ledger_of_kubefed_is_read() -> None:
    read = decoded(
        PropagatedVersion,
        {
            "status": {
                "templateVersion": "a",
                "overridesVersion": "b",
                "clusterVersions": [{"clusterName": "c1", "version": "gen:4"}],
            }
        },
    )
    assert [(each.cluster_name, each.version) for each in read.status.cluster_versions] == [("c1", "gen:4")]


def test_counts_that_are_zero_are_written() -> None:
    counts = WorkloadCounts(wanted=1, ready=0, updated=0, available=0)
    assert msgspec.to_builtins(counts) == {"wanted": 1, "ready": 0, "updated": 0, "available": 0}
