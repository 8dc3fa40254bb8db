"""Which clusters a federated object is placed in, and why not in the others.

Source: KubeFed's placement. Whether a cluster is ready plays no part in it. What is done in each cluster is decided in
`propagation`.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from mcs.model.federated import (
    COMPUTE_PLACEMENT_FAILED,
    NAMESPACE_NOT_FEDERATED,
    FederatedObject,
    LabelSelector,
    LabelSelectorRequirement,
    Placement,
)
from mcs.model.names import SYSTEM_NAMESPACES, ClusterId
from mcs.model.selectors import Operator, Requirement

Registered = Mapping[ClusterId, Mapping[str, str]]
"""All registered clusters with the labels of their registrations."""

Exclusion = Literal[
    "",
    "NoPlacement",
    "NotListed",
    "NotSelected",
    "NamespaceNotFederated",
    "NamespaceNotPlaced",
    "PlacementFailed",
]
"""The rule that keeps an object out of a cluster; empty where it is placed."""

_OPERATORS: dict[str, Operator] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "does not exist",
}


class Placed(Struct, frozen=True):
    """The clusters, in the order of their names. `reason` is that of the condition where none could be placed."""

    clusters: tuple[ClusterId, ...]
    reason: str = ""


class NotPlaced(Struct, frozen=True):
    """Where the object belongs is not known, so nothing of it may be created or deleted."""

    message: str
    reason: str = COMPUTE_PLACEMENT_FAILED


class Gate(Struct, frozen=True):
    """The placement of the FederatedNamespace around a namespaced object; None where there is none.

    With `is_required`, as in a control plane for all namespaces, nothing is placed without one.
    """

    placement: Placement | None = None
    is_required: bool = True


def place(placement: Placement, registered: Registered, gate: Gate | None = None) -> Placed | NotPlaced:
    """Where an object goes; `gate` is for namespaced targets, other than the namespace itself."""
    around = None if gate is None or gate.placement is None else chosen(gate.placement, registered)
    return within(chosen(placement, registered), gate, around)


def chosen(placement: Placement, registered: Registered) -> Placed | NotPlaced:
    """The clusters that a placement names or selects, whatever is around the object."""
    try:
        return Placed(tuple(sorted(_chosen(placement, registered))))
    except ValueError as error:
        return NotPlaced(str(error))


def within(
    own: Placed | NotPlaced, gate: Gate | None, around: Placed | NotPlaced | None
) -> Placed | NotPlaced:
    """What of `own` is left by the gate, whose placement has chosen `around`."""
    if isinstance(own, NotPlaced) or gate is None:
        return own
    if around is None:
        return Placed((), NAMESPACE_NOT_FEDERATED) if gate.is_required else own
    if isinstance(around, NotPlaced):
        return around
    return Placed(tuple(sorted(frozenset(own.clusters).intersection(around.clusters))))


def exclusion(
    placement: Placement, cluster: ClusterId, labels: Mapping[str, str], gate: Gate | None = None
) -> Exclusion:
    """The first rule that keeps the object out of this registered cluster; `place` selects it when there is none."""
    registered = {cluster: labels}
    placed = place(placement, registered, gate)
    if isinstance(placed, NotPlaced):
        return "PlacementFailed"
    if placed.clusters:
        return ""
    if placement.clusters is None and placement.cluster_selector is None:
        return "NoPlacement"
    if cluster not in _chosen(placement, registered):
        return "NotListed" if placement.clusters is not None else "NotSelected"
    return "NamespaceNotFederated" if placed.reason else "NamespaceNotPlaced"


def _chosen(placement: Placement, registered: Registered) -> frozenset[ClusterId]:
    """By the list, which wins, else by the selector; raises ValueError for a selector that is none."""
    if placement.clusters is not None:
        return frozenset(
            ClusterId(each.name) for each in placement.clusters if ClusterId(each.name) in registered
        )
    if placement.cluster_selector is None:
        return frozenset()
    requirements = _requirements(placement.cluster_selector)
    return frozenset(
        cluster for cluster, labels in registered.items() if all(each.is_met(labels) for each in requirements)
    )


def _requirements(selector: LabelSelector) -> tuple[Requirement, ...]:
    """As requirements, of which, unlike those of a Selector, none at all select everything."""
    equal = (Requirement(key, "in", frozenset({value})) for key, value in selector.match_labels.items())
    return (*equal, *(_requirement(each) for each in selector.match_expressions))


def _requirement(expression: LabelSelectorRequirement) -> Requirement:
    operator = _OPERATORS.get(expression.operator)
    if operator is None:
        raise ValueError(
            f'clusterSelector: operator "{expression.operator}" of "{expression.key}" is not known; '
            f"use {', '.join(_OPERATORS)}"
        )
    needs_values = operator in ("in", "notin")
    if needs_values != bool(expression.values):
        what = "needs values" if needs_values else "takes no values"
        raise ValueError(f'clusterSelector: {expression.operator} of "{expression.key}" {what}')
    return Requirement(expression.key, operator, frozenset(expression.values))


def is_protected_namespace(name: str, system_namespace: str) -> bool:
    """True for a namespace that is never created, changed or deleted in a member, though it may be a gate.

    kube-node-lease is ours: KubeFed would delete it.
    """
    return name in SYSTEM_NAMESPACES or name in ("default", system_namespace)


def namespace_problem(federated: FederatedObject) -> str | None:
    """What keeps a FederatedNamespace from having any effect (Event InvalidName), None when it is in order."""
    metadata = federated.metadata
    if metadata.name == metadata.namespace:
        return None
    return (
        f'A FederatedNamespace must have the name of the namespace that it is in: name it "{metadata.namespace}", '
        f'or move it to namespace "{metadata.name}".'
    )
