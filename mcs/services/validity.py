"""Which exports count: whether the Service behind a ServiceExport can be exported, and if not, why.

Source: KEP-1645, "Exporting Services" and the conditions of ServiceExport. Merging what counts is left to `merge`.
"""

from typing import Literal, assert_never

from mcs.model.names import SERVICE_NAME_LABEL, ClusterId, ServiceKey, is_dns_label
from mcs.model.policy import DEFAULT_POLICY
from mcs.model.services import Service
from mcs.services.observed import Exporter

Validity = Literal[
    "Valid",
    "NoService",
    "InvalidServiceType",
    "ImportedService",
    "InvalidName",
    "NamespaceDenied",
    "TooManyExports",
    "TooManyEndpoints",
]
"""The reason of the condition Valid. All but the first three are ours; the API permits further reasons."""

_EXPORTABLE_TYPES = frozenset({"", "ClusterIP", "NodePort", "LoadBalancer"})


def validity(key: ServiceKey, exporter: Exporter) -> Validity:
    """Why the export counts ("Valid") or does not. A terminating Service is as good as none."""
    if not exporter.policy.may_export_from(key.namespace):
        return "NamespaceDenied"
    if not is_dns_label(key.name) or not is_dns_label(key.namespace):
        return "InvalidName"
    service = exporter.service
    if service is None or service.is_terminating or service.key != key:
        return "NoService"
    if is_derived(service):
        return "ImportedService"
    if service.spec.type not in _EXPORTABLE_TYPES:
        return "InvalidServiceType"
    match exporter.beyond:
        case "exports":
            return "TooManyExports"
        case "endpoints":
            return "TooManyEndpoints"
        case None:
            return "Valid"


def validity_message(key: ServiceKey, exporter: Exporter, verdict: Validity) -> str:
    """The verdict for a reader of `kubectl describe`, with what to do when it is negative."""
    match verdict:
        case "Valid":
            return "The Service can be exported."
        case "NoService":
            return f'There is no Service "{key}" in this cluster; it is exported as soon as it is created.'
        case "InvalidServiceType":
            kind = exporter.service.spec.type if exporter.service else ""
            return f'A Service of type "{kind}" cannot be exported; use ClusterIP, NodePort, LoadBalancer or headless.'
        case "ImportedService":
            return (
                "The Service holds the addresses of an imported service; export that service where it runs."
            )
        case "NamespaceDenied":
            return (
                f'Services of namespace "{key.namespace}" belong to each cluster alone and are never exported; '
                "move the Service to another namespace."
                if is_denied(key.namespace)
                else f'The policy of the clusterset lets this cluster export nothing from namespace "{key.namespace}"; '
                "move the Service to another namespace, or have the policy changed."
            )
        case "InvalidName":
            return (
                "The name of a Service to be exported, and of its namespace, must be a DNS label (RFC 1123)."
            )
        case "TooManyExports":
            return (
                f"This cluster may export {exporter.policy.caps.exports} services, and that many exports are older; "
                "delete some, or have the policy of the clusterset changed."
            )
        case "TooManyEndpoints":
            return (
                f"This cluster may export {exporter.policy.caps.endpoints} endpoints, and older exports leave no room "
                "for those of this one; delete some, or have the policy of the clusterset changed."
            )
        case _:
            assert_never(verdict)


def is_denied(namespace: str) -> bool:
    """True for namespaces that take no part in the clusterset whatever a policy allows."""
    return namespace in DEFAULT_POLICY.default.denied


def is_derived(service: Service) -> bool:
    """True for a Service that we made to hold clusterset IPs."""
    return service.is_ours and SERVICE_NAME_LABEL in service.metadata.labels


def valid_exporters(
    key: ServiceKey, seen: frozenset[ClusterId], exporters: tuple[Exporter, ...]
) -> tuple[Exporter, ...]:
    """The exporters in `seen` clusters whose export stands and whose Service can be exported, in the order given.

    What a cluster files under another name than its own object says does not count.
    """
    return tuple(
        exporter
        for exporter in exporters
        if exporter.cluster in seen
        and exporter.export.key == key
        and not exporter.export.is_terminating
        and validity(key, exporter) == "Valid"
    )
