"""The conditions of one ServiceExport: Valid, Ready and Conflict.

Source: the conditions of ServiceExport in KEP-1645 and its API comments. `plan` turns them into a write.
"""

from collections.abc import Iterable, Sequence

from mcs.model.meta import Condition
from mcs.model.multicluster import CONFLICT, READY, VALID, ImportType, ServiceExport, ServiceImport
from mcs.model.names import ClusterId
from mcs.services.conditions import condition, of_types
from mcs.services.conflicts import Conflict, conflicts
from mcs.services.endpoints import refusals
from mcs.services.exported_metadata import exported_metadata
from mcs.services.imports import ENDPOINTS_WITHDRAWN
from mcs.services.merge import offers
from mcs.services.observed import Exporter, ObservedExport
from mcs.services.precedence import order_for_export
from mcs.services.preference import preference_message
from mcs.services.selection import meetings, selection_message
from mcs.services.validity import valid_exporters, validity, validity_message

ENDPOINTS_PUBLISHED = "EndpointsPublished"
"""A condition of ours, present and False only where endpoints of the export are left out by cap or policy."""

POLICY_REASONS = frozenset(
    {"NamespaceDenied", "InvalidName", "TooManyExports", "TooManyEndpoints", "AddressNotAllowed"}
)

OURS = (VALID, READY, CONFLICT, ENDPOINTS_PUBLISHED)


def own_exporter(observed: ObservedExport) -> Exporter | None:
    """The export that the conditions are for; None when it is not there, going, or its cluster is not seen."""
    if observed.cluster not in observed.seen:
        return None
    return next(
        (
            exporter
            for exporter in observed.exporters
            if exporter.cluster == observed.cluster
            and exporter.export.key == observed.key
            and not exporter.export.is_terminating
        ),
        None,
    )


def desired_conditions(observed: ObservedExport, own: Exporter) -> tuple[Condition, ...]:
    """Our conditions of the export. Conflict is absent while the export is not valid: it takes part in nothing."""
    present, generation = own.export.status.conditions, own.export.metadata.generation
    verdict = validity(observed.key, own)
    message = validity_message(observed.key, own, verdict)
    if verdict != "Valid":
        return (
            condition(present, VALID, "False", verdict, message, observed.now, generation),
            condition(
                present, READY, "False", "Pending", "The export is not valid.", observed.now, generation
            ),
        )
    if refused := exported_metadata(own.export).refused:
        message += f" Left out of the import: {'; '.join(refused)}."
    message += selection_message(own, observed.members) + preference_message(own, _type(observed, own))
    return (
        condition(present, VALID, "True", "Valid", message, observed.now, generation),
        _ready(observed, present, generation),
        _conflict(observed, own, present, generation),
        *_left_out(observed, own, present, generation),
    )


def _left_out(
    observed: ObservedExport, own: Exporter, present: Sequence[Condition], generation: int
) -> tuple[Condition, ...]:
    found = refusals(own, observed.key, observed.policy, observed.members)
    if not found.reasons:
        return ()
    reason = ",".join(found.reasons)
    return (
        condition(present, ENDPOINTS_PUBLISHED, "False", reason, found.message, observed.now, generation),
    )


def policy_refusals(conditions: Iterable[Condition]) -> tuple[frozenset[str], str]:
    """The reasons for which policy or a cap leaves out all of an export or a part, and what is said of it."""
    found = {
        each.type: each
        for each in conditions
        if each.status == "False" and each.type in (VALID, ENDPOINTS_PUBLISHED)
    }
    reasons = frozenset(reason for each in found.values() for reason in each.reason.split(","))
    return reasons & POLICY_REASONS, " ".join(each.message for each in found.values())


def _type(observed: ObservedExport, own: Exporter) -> ImportType:
    """The type of the import, which is the oldest export's, or what this export alone would make of it."""
    own_import = observed.own_import
    if own_import is not None and own_import.is_ours:
        return own_import.spec.type
    return "Headless" if own.service is not None and own.service.is_headless else "ClusterSetIP"


def _ready(observed: ObservedExport, present: Sequence[Condition], generation: int) -> Condition:
    if is_imported(observed):
        message = "The service is exported to the clusterset." + _withdrawal_message(observed)
        return condition(present, READY, "True", "Exported", message, observed.now, generation)
    own_import = observed.own_import
    if not observed.policy.of(observed.cluster).may_import_into(observed.key.namespace):
        message = (
            "The service is exported to the clusterset; the policy lets this cluster itself import none here."
        )
        return condition(present, READY, "True", "Exported", message, observed.now, generation)
    if own_import is not None and not own_import.is_ours:
        message = (
            f'ServiceImport "{observed.key}" in this cluster is not managed by mcs-controller and does not list this '
            "cluster; delete it to let the controller write it."
        )
    else:
        message = "The service is not imported in this cluster yet."
    return condition(present, READY, "False", "Pending", message, observed.now, generation)


def _withdrawal_message(observed: ObservedExport) -> str:
    """What the import here tells of clusters that are away or drained, for those who look at their export alone."""
    told = _withdrawal(observed)
    return f" {told.message}" if told is not None else ""


def _withdrawal(observed: ObservedExport) -> Condition | None:
    conditions = observed.own_import.status.conditions if observed.own_import else ()
    return of_types(conditions, (ENDPOINTS_WITHDRAWN,)).get(ENDPOINTS_WITHDRAWN)


def _conflict(
    observed: ObservedExport, own: Exporter, present: Sequence[Condition], generation: int
) -> Condition:
    """While an exporter cannot be seen, a conflict reported earlier stays: it may be with that one."""
    found = _conflicts(observed, own)
    before = of_types(present, (CONFLICT,)).get(CONFLICT)
    reasons = [conflict.reason for conflict in found]
    if (
        before is not None
        and before.status == "True"
        and _has_unseen_exporter(observed)
        and not set(before.reason.split(",")) <= set(reasons)
    ):
        return condition(present, CONFLICT, "True", before.reason, before.message, observed.now, generation)
    if not found:
        message = "All exports of the service agree."
        return condition(present, CONFLICT, "False", "NoConflicts", message, observed.now, generation)
    message = "\n".join(conflict.message for conflict in found)
    return condition(present, CONFLICT, "True", ",".join(reasons), message, observed.now, generation)


def _conflicts(observed: ObservedExport, own: Exporter) -> tuple[Conflict, ...]:
    """All conflicts in any cluster to which the export is exported; what is the same in several is told once."""
    found: dict[str, Conflict] = {}
    order, precedence = order_for_export(observed), observed.policy.precedence
    for group in meetings(valid_exporters(observed.key, observed.seen, observed.exporters), own):
        for conflict in conflicts(offers(group, order), precedence):
            found.setdefault(conflict.reason, conflict)
    return tuple(sorted(found.values()))


def _has_unseen_exporter(observed: ObservedExport) -> bool:
    withdrawn = observed.withdrawn if _withdrawal(observed) else ()
    return any(cluster not in observed.seen for cluster in (*_listed(observed.own_import), *withdrawn))


def _listed(service_import: ServiceImport | None) -> tuple[ClusterId, ...]:
    if service_import is None:
        return ()
    return tuple(ClusterId(each.cluster) for each in service_import.status.clusters)


def is_imported(observed: ObservedExport) -> bool:
    """True once the import in the exporting cluster lists that cluster, or would if it were not withdrawn."""
    own_import = observed.own_import
    return observed.cluster in _listed(own_import) or (
        own_import is not None and own_import.is_ours and observed.cluster in observed.withdrawn
    )


def is_as_desired(export: ServiceExport, desired: Sequence[Condition]) -> bool:
    """True when our conditions of the export are exactly `desired`."""
    return of_types(export.status.conditions, OURS) == of_types(desired, OURS)
