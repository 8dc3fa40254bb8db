"""Automatic export: a ServiceExport for every Service that a label selector selects, as long as it does.

KEP-1645 leaves this to tools. Only exports that carry our managed-by label are removed; those of users stay, and those
that follow replicas.
"""

from dataclasses import dataclass

from mcs.model.actions import Action, Apply, Delete
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ServiceExport
from mcs.model.names import API_SERVER, MANAGED_BY, MANAGED_BY_LABEL, ClusterId, ServiceKey
from mcs.model.resources import SERVICE_EXPORTS
from mcs.model.selectors import Selector
from mcs.model.services import Service
from mcs.services.followed_exports import follows
from mcs.services.observed import Exporter
from mcs.services.validity import validity


@dataclass(frozen=True, slots=True)
class ObservedService:
    """A Service, or its absence, with the export of its name in the same cluster."""

    cluster: ClusterId
    key: ServiceKey
    service: Service | None
    export: ServiceExport | None


def plan_auto_export(observed: ObservedService, selector: Selector) -> tuple[Action, ...]:
    """The export to make or to take back, or nothing."""
    export = observed.export
    if export is None:
        return (_creation(observed),) if _is_to_be_exported(observed, selector) else ()
    is_automatic = export.is_ours and not follows(export)
    if not is_automatic or export.is_terminating or _is_to_be_exported(observed, selector):
        return ()
    return (Delete.of(observed.cluster, SERVICE_EXPORTS, export),)


def _is_to_be_exported(observed: ObservedService, selector: Selector) -> bool:
    service, export = observed.service, _export(observed.key)
    return (
        service is not None
        and observed.key != API_SERVER
        and selector.selects(service.metadata.labels)
        and validity(observed.key, Exporter(observed.cluster, export, service, ())) == "Valid"
    )


def _creation(observed: ObservedService) -> Apply:
    return Apply(cluster=observed.cluster, resource=SERVICE_EXPORTS, object=_export(observed.key))


def _export(key: ServiceKey) -> ServiceExport:
    labels = {MANAGED_BY_LABEL: MANAGED_BY}
    return ServiceExport(metadata=ObjectMeta(name=key.name, namespace=key.namespace, labels=labels))
