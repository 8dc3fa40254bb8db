"""Who may work in a member: ServiceAccounts with the least rights, and how each may renew its own token.

The rules are those of the chart (charts/mcs/templates/_rights.tpl), which a test compares. Applying them is left to
others.
"""

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from mcs.model.federated import TARGET_VERBS
from mcs.model.installed import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    Manifest,
    manifest,
)
from mcs.model.names import ANNOTATION_PREFIX, MANAGED_BY, MANAGED_BY_LABEL
from mcs.model.resources import NAMESPACES

Rule = dict[str, list[str]]
_RBAC = "rbac.authorization.k8s.io"

NAME_LABEL = "app.kubernetes.io/name"
COMPONENT_LABEL = "app.kubernetes.io/component"
FEDERATION_LABEL = f"{ANNOTATION_PREFIX}/aggregate-to-federation"
""" "true" on a ClusterRole whose rules the federation of workloads is to have in a member."""


def _rule(group: str, resources: list[str], *verbs: str) -> Rule:
    return {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}


READING: tuple[Rule, ...] = (
    _rule("", ["namespaces", "nodes", "services"], "list", "watch"),
    _rule("discovery.k8s.io", ["endpointslices"], "list", "watch"),
    _rule("multicluster.x-k8s.io", ["serviceexports", "serviceimports"], "list", "watch"),
    _rule("about.k8s.io", ["clusterproperties"], "get"),
)
"""What a controller asks of every member."""

WRITING: tuple[Rule, ...] = (
    _rule("", ["services"], "create", "patch", "delete"),
    _rule("discovery.k8s.io", ["endpointslices"], "create", "patch", "delete"),
    # OpenShift asks for it before a slice may hold addresses of pods.
    _rule("discovery.k8s.io", ["endpointslices/restricted"], "create"),
    _rule("multicluster.x-k8s.io", ["serviceimports"], "get", "create", "patch", "delete"),
    _rule("multicluster.x-k8s.io", ["serviceexports/status", "serviceimports/status"], "patch"),
    _rule("", ["events"], "create"),
)
"""What it asks besides of the members that it writes to."""

_DIVIDED = (("apps", "deployments"), ("apps", "replicasets"))
"""The kinds whose replicas a ReplicaSchedulingPreference divides."""

DNS: tuple[Rule, ...] = (
    _rule("discovery.k8s.io", ["endpointslices"], "list", "watch"),
    _rule("multicluster.x-k8s.io", ["serviceimports"], "list", "watch"),
)
"""What `mcs dns` asks of its own cluster."""


EVERYTHING: tuple[Rule, ...] = (
    _rule("*", ["*"], *TARGET_VERBS),
    # An API server lets nobody write a role that may do more than he may himself, but who has these verbs.
    _rule(_RBAC, ["clusterroles", "roles"], "bind", "escalate"),
)
"""What it takes to propagate any kind, roles included."""

Federation = Literal["none", "types", "all"]
"""What an account may do besides in a member: nothing; what ClusterRoles with FEDERATION_LABEL say, which each type has
one of (`type_role`); EVERYTHING."""


class Account(Struct, frozen=True):
    """A ServiceAccount of a member and what it may do there."""

    name: str
    rules: tuple[Rule, ...]


Shape = Literal["hub", "mesh"]
HUB = Account("mcs-hub", (*READING, *WRITING))
"""As whom one controller for all members works in each."""
READER = Account("mcs-reader", READING)
"""As whom the controllers of a mesh read the other members."""
HOME = Account("mcs-controller", (*READING, *WRITING))
"""As whom a controller of a mesh works in its own cluster."""


def accounts_of(shape: Shape) -> tuple[Account, ...]:
    """The accounts that a member has in this shape."""
    return (HUB,) if shape == "hub" else (HOME, READER)


def labels(component: str = "") -> dict[str, str]:
    """The labels of what a join installs."""
    of_component = {COMPONENT_LABEL: component} if component else {}
    return {NAME_LABEL: "mcs", MANAGED_BY_LABEL: MANAGED_BY, **of_component}


def system_namespace(name: str) -> Manifest:
    """The namespace that all of it lives in."""
    return manifest(NAMESPACES, name, metadata={"labels": labels()})


def access_objects(
    account: Account, namespace: str, *, federation: Federation = "none"
) -> Iterator[Manifest]:
    """The account, its rights, the right to ask for tokens of its own, and those that federation takes."""
    metadata = {"labels": labels("access")}
    yield manifest(
        SERVICE_ACCOUNTS, account.name, namespace, metadata=metadata, automountServiceAccountToken=False
    )
    yield manifest(CLUSTER_ROLES, account.name, metadata=metadata, rules=list(account.rules))
    yield cluster_binding(account.name, account.name, account.name, namespace, "access")
    own_token = {
        "apiGroups": [""],
        "resources": ["serviceaccounts/token"],
        "resourceNames": [account.name],
        "verbs": ["create"],
    }
    yield manifest(ROLES, account.name, namespace, metadata=metadata, rules=[own_token])
    yield manifest(
        ROLE_BINDINGS,
        account.name,
        namespace,
        metadata=metadata,
        roleRef={"apiGroup": _RBAC, "kind": "Role", "name": account.name},
        subjects=_subjects(account.name, namespace),
    )
    if federation != "none":
        name = f"{account.name}-federation"
        selector = {"matchLabels": {FEDERATION_LABEL: "true"}}
        gathered = {"aggregationRule": {"clusterRoleSelectors": [selector]}}
        rights: dict[str, Any] = gathered if federation == "types" else {"rules": list(EVERYTHING)}
        yield manifest(CLUSTER_ROLES, name, metadata=metadata, **rights)
        yield cluster_binding(name, name, account.name, namespace, "access")


def type_role(group: str, plural: str) -> Manifest:
    """What a member must have for a type to be propagated to it: the account's second role takes it in."""
    name = f"mcs-federation-{plural}.{group}" if group else f"mcs-federation-{plural}"
    metadata = {"labels": {**labels("access"), FEDERATION_LABEL: "true"}}
    rules = [_rule(group, [plural], *TARGET_VERBS)]
    if (group, plural) in _DIVIDED:
        # How many replicas have room follows from the pods that are there; nodes are read in any case.
        rules.append(_rule("", ["pods"], "list", "watch"))
    if (group, plural) == ("", "services"):
        # A Service that is federated is exported wherever replicas of it come.
        rules.append(_rule("multicluster.x-k8s.io", ["serviceexports"], "get", "create", "patch", "delete"))
    return manifest(CLUSTER_ROLES, name, metadata=metadata, rules=rules)


def cluster_binding(name: str, role: str, account: str, namespace: str, component: str) -> Manifest:
    """What gives a ClusterRole to a ServiceAccount."""
    return manifest(
        CLUSTER_ROLE_BINDINGS,
        name,
        metadata={"labels": labels(component)},
        roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        subjects=_subjects(account, namespace),
    )


def _subjects(account: str, namespace: str) -> list[dict[str, Any]]:
    return [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
