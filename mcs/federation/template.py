"""The object that a federated object makes in one cluster, as it is applied there.

Source: KubeFed's construction of objects. Unlike there, annotations of a template are propagated (kubefed issue 1391):
KubeFed dropped them since it writes whole objects and keeps the annotations that it finds, whereas by server-side apply
each annotation has an owner, and one that leaves the template leaves the members. Finalizers are still dropped: the
program in the member that removes its finalizer would be given it back by the next apply, and no deletion would end.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from mcs.federation.overrides import Document, NotMade, overridden
from mcs.federation.retention import retained
from mcs.model.federated import (
    COMPUTE_RESOURCE_FAILED,
    FIELD_RETENTION_FAILED,
    MANAGED,
    MANAGED_LABEL,
    FederatedObject,
)
from mcs.model.names import LAST_APPLIED_ANNOTATION, ClusterId
from mcs.model.resources import Resource

FINALIZERS_NOT_SUPPORTED = "FinalizersNotSupported"

OF_THE_CLUSTER = frozenset({LAST_APPLIED_ANNOTATION, "deployment.kubernetes.io/revision"})
"""Annotations that programs of each cluster keep for themselves; a template that was copied from an object has them."""


class Warned(Struct, frozen=True):
    """Something in a template that has no effect: reason and text of an Event."""

    reason: str
    message: str


def member_object(
    federated: FederatedObject,
    target: Resource[Any],
    cluster: ClusterId,
    present: Mapping[str, Any] | None = None,
) -> Document | NotMade:
    """What to apply in the cluster, where the object is `present` as it was read last, None when there is none.

    Template, then retention, then overrides, then who the object is and that it is ours. The apiVersion is that of
    `target` unless the template or an override says another.
    """
    made = _from_template(federated, target)
    if isinstance(made, NotMade):
        return made
    if present is not None:
        try:
            made = retained(made, present, retain_replicas=federated.spec.retain_replicas)
        except (AttributeError, TypeError, ValueError) as error:  # a member may send anything
            told = f'cluster "{cluster}": what it tells of its object cannot be read: {error}'
            return NotMade(told, FIELD_RETENTION_FAILED)
    changed = overridden(made, federated.spec.overrides, cluster)
    if isinstance(changed, NotMade):
        return changed
    return _identified(changed, federated, target, cluster)


def template_warnings(federated: FederatedObject) -> tuple[Warned, ...]:
    """What of the template is not propagated although its author may think so."""
    metadata = federated.spec.template.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("finalizers"):
        return ()
    message = (
        "metadata.finalizers of the template are not propagated; an override can set them in one cluster"
    )
    return (Warned(FINALIZERS_NOT_SUPPORTED, message),)


def _from_template(federated: FederatedObject, target: Resource[Any]) -> Document | NotMade:
    """A copy with the metadata that one may choose; whatever else is in there belongs to the server or to us."""
    template = federated.spec.template
    metadata = template.get("metadata") or {}
    if not isinstance(metadata, dict):
        return NotMade("template: metadata is not a map", COMPUTE_RESOURCE_FAILED)
    kept: Document = {}
    for name, ignored in (("labels", frozenset[str]()), ("annotations", OF_THE_CLUSTER)):
        values = metadata.get(name) or {}
        if not isinstance(values, dict):
            return NotMade(f"template: metadata.{name} is not a map", COMPUTE_RESOURCE_FAILED)
        if chosen := {key: value for key, value in values.items() if key not in ignored}:
            kept[name] = chosen
    made = {**template, "metadata": kept}
    made["apiVersion"] = template.get("apiVersion") or target.api_version
    _name(made, federated, target)
    return made


def _identified(
    changed: Document, federated: FederatedObject, target: Resource[Any], cluster: ClusterId
) -> Document | NotMade:
    metadata = changed.setdefault("metadata", {})
    labels = metadata.get("labels") or {} if isinstance(metadata, dict) else None
    if not isinstance(labels, dict):
        return NotMade(f'cluster "{cluster}": overrides leave no map of metadata and labels')
    changed["apiVersion"] = changed.get("apiVersion") or target.api_version
    _name(changed, federated, target)
    metadata["labels"] = {**labels, MANAGED_LABEL: MANAGED}
    return changed


def _name(document: Document, federated: FederatedObject, target: Resource[Any]) -> None:
    document["kind"] = target.kind
    metadata = document["metadata"]
    metadata["name"] = federated.metadata.name
    if target.namespaced:
        metadata["namespace"] = federated.metadata.namespace
    else:
        metadata.pop("namespace", None)
