"""Which types are propagated, why others are not, and what their configurations say of that."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mcs.federation.configuration import Settings
from mcs.federation.enabled_types import ObservedType, Refusal, decide_types, namespaces_type, plan_type
from mcs.model.actions import Patch, RecordEvent
from mcs.model.federated import (
    TYPE_CONFIG_FINALIZER,
    APIResource,
    FederatedTypeConfig,
    FederatedTypeConfigSpec,
    FederatedTypeConfigStatus,
    Scope,
)
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId

HOST, NOW = ClusterId("host"), "2026-01-01T00:00:00Z"
CLUSTER = Settings()
NAMESPACED = Settings(scope="Namespaced")


def of(
    plural: str,
    kind: str,
    group: str = "",
    scope: Scope = "Namespaced",
    *,
    name: str = "",
    federated_scope: Scope | None = None,
    federated_group: str = "types.kubefed.io",
    federated_plural: str = "",
    created: str = "",
    **spec: Any,
) -> FederatedTypeConfig:
    target = APIResource(version="v1", kind=kind, plural_name=plural, scope=scope, group=group)
    federated = APIResource(
        version="v1beta1",
        kind=f"Federated{kind}",
        plural_name=federated_plural or f"federated{plural}",
        scope=federated_scope or scope,
        group=federated_group,
    )
    return FederatedTypeConfig(
        metadata=ObjectMeta(
            name=name or (f"{plural}.{group}" if group else plural),
            namespace="kube-federation-system",
            creation_timestamp=created,
            generation=1,
            uid="1",
            resource_version="7",
        ),
        spec=FederatedTypeConfigSpec(
            target_type=target, federated_type=federated, **{"propagation": "Enabled"} | spec
        ),
    )


NAMESPACES = of("namespaces", "Namespace", scope="Cluster", federated_scope="Namespaced")
DEPLOYMENTS = of("deployments", "Deployment", "apps")
CONFIG_MAPS = of("configmaps", "ConfigMap")
CLUSTER_ROLES = of("clusterroles", "ClusterRole", "rbac.authorization.k8s.io", "Cluster")


def deleted(config: FederatedTypeConfig) -> FederatedTypeConfig:
    return replace(config, metadata=replace(config.metadata, deletion_timestamp=NOW))


def disabled(config: FederatedTypeConfig) -> FederatedTypeConfig:
    return replace(config, spec=replace(config.spec, propagation="Disabled"))


@pytest.mark.parametrize(
    ("configs", "settings", "running", "reasons"),
    [
        pytest.param(
            [DEPLOYMENTS, NAMESPACES, CLUSTER_ROLES],
            CLUSTER,
            ["clusterroles.rbac.authorization.k8s.io", "deployments.apps", "namespaces"],
            {},
            id="all that are enabled",
        ),
        pytest.param(
            [disabled(DEPLOYMENTS), deleted(CONFIG_MAPS), NAMESPACES],
            CLUSTER,
            ["namespaces"],
            {},
            id="one that is disabled or deleted is no mistake",
        ),
        pytest.param(
            [DEPLOYMENTS],
            CLUSTER,
            [],
            {"deployments.apps": "NamespacesNotFederated"},
            id="a namespaced type alone would not know where its objects may go",
        ),
        pytest.param(
            [DEPLOYMENTS, deleted(NAMESPACES)],
            CLUSTER,
            [],
            {"deployments.apps": "NamespacesNotFederated"},
            id="nor beside namespaces that are going",
        ),
        pytest.param(
            [DEPLOYMENTS, disabled(NAMESPACES)],
            CLUSTER,
            ["deployments.apps"],
            {},
            id="FederatedNamespaces that are not propagated say where all the same",
        ),
        pytest.param(
            [CLUSTER_ROLES],
            CLUSTER,
            ["clusterroles.rbac.authorization.k8s.io"],
            {},
            id="a kind outside of namespaces does not need them",
        ),
        pytest.param(
            [DEPLOYMENTS, NAMESPACES, CLUSTER_ROLES],
            NAMESPACED,
            ["deployments.apps"],
            {
                "namespaces": "ClusterScopeRefused",
                "clusterroles.rbac.authorization.k8s.io": "ClusterScopeRefused",
            },
            id="a control plane of one namespace has no part in what is outside",
        ),
        pytest.param(
            [of("deployments", "Deployment", "apps", name="deployments"), NAMESPACES],
            CLUSTER,
            ["namespaces"],
            {"deployments": "InvalidName"},
            id="a name without the group",
        ),
        pytest.param(
            [of("configmaps", "ConfigMap", federated_group="kubefed"), NAMESPACES],
            CLUSTER,
            ["namespaces"],
            {"configmaps": "InvalidFederatedType"},
            id="a federated group without a dot",
        ),
        pytest.param(
            [of("configmaps", "ConfigMap", federated_scope="Cluster"), NAMESPACES],
            CLUSTER,
            ["namespaces"],
            {"configmaps": "ScopeMismatch"},
            id="a federated kind outside of the namespaces of its target",
        ),
        pytest.param(
            [of("namespaces", "Namespace", scope="Cluster", federated_scope="Cluster")],
            CLUSTER,
            [],
            {"namespaces": "ScopeMismatch"},
            id="a FederatedNamespace is in its namespace",
        ),
        pytest.param(
            [
                of("ingresses", "Ingress", "extensions", created="2026-01-02T00:00:00Z"),
                of("ingresses", "Ingress", "networking.k8s.io", created="2026-01-01T00:00:00Z"),
                NAMESPACES,
            ],
            CLUSTER,
            ["ingresses.networking.k8s.io", "namespaces"],
            {"ingresses.extensions": "KindFederatedTwice"},
            id="of two groups with one kind the older one",
        ),
        pytest.param(
            [
                of("configmaps", "ConfigMap", federated_plural="federatedthings"),
                of("secrets", "Secret", federated_plural="federatedthings"),
                NAMESPACES,
            ],
            CLUSTER,
            ["configmaps", "namespaces"],
            {"secrets": "KindFederatedTwice"},
            id="two targets of one federated kind",
        ),
        pytest.param(
            [CLUSTER_ROLES, disabled(NAMESPACES)],
            Settings(propagates=False),
            [],
            {"clusterroles.rbac.authorization.k8s.io": "PropagationSwitchedOff"},
            id="the gate PushReconciler is off",
        ),
    ],
)
def test_which_types_are_propagated(
    configs: list[FederatedTypeConfig], settings: Settings, running: list[str], reasons: dict[str, str]
) -> None:
    for order in (configs, configs[::-1]):
        wanted, refused = decide_types(order, settings)
        assert sorted(wanted) == running
        assert {name: each.reason for name, each in refused.items()} == reasons
        assert all(each.message for each in refused.values())


def test_what_says_where_objects_of_namespaces_go_is_found_also_when_it_is_disabled() -> None:
    assert namespaces_type([DEPLOYMENTS, disabled(NAMESPACES)]) == disabled(NAMESPACES)
    assert namespaces_type([DEPLOYMENTS, deleted(NAMESPACES)]) is None


REFUSAL = Refusal("InvalidName", "name it otherwise")


def held(config: FederatedTypeConfig, *others: str) -> FederatedTypeConfig:
    finalizers = (*others, TYPE_CONFIG_FINALIZER)
    return replace(config, metadata=replace(config.metadata, finalizers=finalizers))


def telling(config: FederatedTypeConfig, running: Any, generation: int = 1) -> FederatedTypeConfig:
    status = FederatedTypeConfigStatus(
        observed_generation=generation, propagation_controller=running, status_controller="NotRunning"
    )
    return replace(config, status=status)


KEPT = {"metadata": {"finalizers": [TYPE_CONFIG_FINALIZER], "resourceVersion": "7"}}
RUNS = {
    "status": {"observedGeneration": 1, "propagationController": "Running", "statusController": "NotRunning"}
}
RESTS = {"status": RUNS["status"] | {"propagationController": "NotRunning"}}


@pytest.mark.parametrize(
    ("config", "about", "written"),
    [
        pytest.param(DEPLOYMENTS, {"running": "Running"}, [KEPT, RUNS], id="one that has begun to run"),
        pytest.param(DEPLOYMENTS, {"running": None}, [KEPT], id="one of which it is not known yet"),
        pytest.param(telling(held(DEPLOYMENTS), "Running"), {"running": "Running"}, [], id="all is told"),
        pytest.param(
            telling(held(DEPLOYMENTS), "Running", generation=4),
            {"running": "Running"},
            [RUNS],
            id="what is told is of another generation",
        ),
        pytest.param(
            telling(held(disabled(DEPLOYMENTS)), "Running"),
            {"running": "NotRunning", "is_wanted": False, "is_stopped": True},
            [RESTS],
            id="one that is disabled",
        ),
        pytest.param(
            DEPLOYMENTS,
            {"running": "NotRunning", "is_wanted": False, "refusal": REFUSAL},
            [RESTS, "InvalidName"],
            id="one that is refused is not kept from going",
        ),
        pytest.param(
            telling(DEPLOYMENTS, "NotRunning"),
            {"running": "NotRunning", "is_wanted": False, "refusal": REFUSAL, "is_told": True},
            [],
            id="a refusal is told once",
        ),
        pytest.param(
            deleted(telling(held(DEPLOYMENTS, "somebody.else/s"), "Running")),
            {"running": "NotRunning", "is_wanted": False, "is_stopped": True},
            [{"metadata": {"finalizers": ["somebody.else/s"], "resourceVersion": "7"}}],
            id="one that is deleted goes once nothing of it runs",
        ),
        pytest.param(
            deleted(telling(held(DEPLOYMENTS), "Running")),
            {"running": "Running", "is_wanted": False},
            [],
            id="and not before",
        ),
        pytest.param(
            deleted(DEPLOYMENTS),
            {"running": "NotRunning", "is_wanted": False, "is_stopped": True},
            [],
            id="one that somebody else still keeps is left to him",
        ),
    ],
)
def test_what_is_written_about_a_type(
    config: FederatedTypeConfig, about: dict[str, Any], written: list[Any]
) -> None:
    observed = ObservedType(config=config, **{"is_wanted": True, "is_stopped": False} | about)
    actions = plan_type(observed, HOST, NOW)
    found = [
        each.changes if isinstance(each, Patch) else each.object.reason
        for each in actions
        if isinstance(each, Patch | RecordEvent)
    ]
    assert found == written
    assert len(actions) == len(found)
    statuses = [each for each in actions if isinstance(each, Patch) and "status" in each.changes]
    assert all(each.subresource == "status" for each in statuses)
