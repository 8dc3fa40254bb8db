"""Preferences, federated objects and what is seen of clusters from short text, and plans as text again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import yaml

from mcs.federation.fail_over import Standing, Stands
from mcs.federation.preference_plan import (
    ObservedPreference,
    PlannedPreference,
    SeenCluster,
    plan_preference,
)
from mcs.federation.replica_overrides import replicas_asked
from mcs.federation.scheduling_preference import read_scheduling_preference
from mcs.model.federated import FederatedObject
from mcs.model.names import ClusterId
from mcs.model.scheduling import ReplicaSchedulingPreference
from mcs.testing.divisions import counts

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)

FOUNDING = """
targetTemplate: {spec: {replicas: 10}}
overrides:
- {clusterName: aws, spec: {replicas: 6}}
- {clusterName: azure, spec: {replicas: 4}}
totalReplicas: 10
"""
NINE_TO_ALL = "totalReplicas: 9"


def rsp(spec: str, generation: int = 1) -> ReplicaSchedulingPreference:
    document = {
        "metadata": {"name": "app", "namespace": "shop", "generation": generation},
        "spec": yaml.safe_load(spec),
    }
    return msgspec.convert(document, ReplicaSchedulingPreference)


def federated(asked: str = "", **spec: Any) -> FederatedObject:
    """The object with the numbers that it asks for, as `aws=6 azure=4`; nothing is listed without any."""
    numbers = counts(asked)
    written = {
        "template": {"spec": {"replicas": 1}},
        "placement": {"clusters": [{"name": name} for name in numbers]} if numbers else {},
        "overrides": [
            {"clusterName": name, "clusterOverrides": [{"path": "/spec/replicas", "value": number}]}
            for name, number in numbers.items()
        ],
        **spec,
    }
    metadata = {"name": "app", "namespace": "shop", "resourceVersion": "7"}
    return msgspec.convert({"metadata": metadata, "spec": written}, FederatedObject)


def seen(text: str) -> dict[ClusterId, SeenCluster]:
    """`aws=6 azure=4:Lost gcp=-:Cordoned` with what is ready, - where nothing is seen, and how the cluster stands."""
    clusters = {}
    for each in text.split():
        name, _, told = each.partition("=")
        ready, _, standing = told.partition(":")
        stands = Stands(_standing(standing), "is as it is" if standing else "")
        number = None if ready in ("", "-") else int(ready)
        clusters[ClusterId(name)] = SeenCluster(stands=stands, ready=number, wanted=number or 0)
    return clusters


def _standing(text: str) -> Standing:
    standing: Standing = msgspec.convert(text or "Ready", Standing)
    return standing


def plan(
    spec: str,
    asked: str | FederatedObject,
    clusters: str | Mapping[ClusterId, SeenCluster],
    selected: str | None = None,
    present: ReplicaSchedulingPreference | None = None,
) -> PlannedPreference:
    object_ = present or rsp(spec)
    return plan_preference(
        ObservedPreference(
            object=object_,
            preference=read_scheduling_preference(object_.spec),
            federated=asked if isinstance(asked, FederatedObject) else federated(asked),
            clusters=seen(clusters) if isinstance(clusters, str) else clusters,
            selected=None if selected is None else [ClusterId(each) for each in selected.split()],
        ),
        NOW,
    )


def asks(planned: PlannedPreference) -> dict[ClusterId, int]:
    """What the federated object asks for, each cluster of its placement once."""
    assert planned.spec is not None
    numbers = replicas_asked(FederatedObject(spec=planned.spec))
    assert planned.spec.placement.clusters is not None
    assert [each.name for each in planned.spec.placement.clusters] == sorted(numbers)
    return numbers


def plans(planned: PlannedPreference) -> dict[ClusterId, int]:
    return {each.name: each.replicas for each in planned.status.clusters}


def reasons(planned: PlannedPreference) -> str:
    return " ".join(f"{each.name}={each.reason}" for each in planned.status.clusters)


def conditions(planned: PlannedPreference) -> str:
    return " ".join(f"{each.type}={each.status}:{each.reason}" for each in planned.status.conditions)
