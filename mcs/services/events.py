"""Events of exports and imports: told when a condition changes, never while it stays.

Planned from what the object says before and what it is about to say, so a restart and the steady state tell nothing.
Source: KEP-1645, which asks for events where the type of a service is in conflict; the others follow its conditions.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from mcs.model.actions import RecordEvent
from mcs.model.events import new_event
from mcs.model.meta import Condition, KubernetesObject, ObjectMeta
from mcs.model.multicluster import CONFLICT, READY, VALID, ServiceExport, ServiceImport
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.resources import SERVICE_EXPORTS, SERVICE_IMPORTS, Resource
from mcs.services.conditions import of_types
from mcs.services.exports import ENDPOINTS_PUBLISHED
from mcs.services.imports import ENDPOINTS_WITHDRAWN, TRAFFIC_DISTRIBUTION, TRAFFIC_PREFERENCE, told_type

_Told = tuple[Literal["Normal", "Warning"], str, str]
"""Type, reason and message of an Event."""


def export_events(
    cluster: ClusterId, export: ServiceExport, desired: Iterable[Condition], now: str
) -> tuple[RecordEvent, ...]:
    """What to tell of an export whose conditions become `desired`; a first Valid and a first agreement are no news."""
    before, after = _by_type(export.status.conditions), _by_type(desired)
    told = (
        *_validity(before.get(VALID), after.get(VALID)),
        *_conflict(before.get(CONFLICT), after.get(CONFLICT)),
        *_left_out(before.get(ENDPOINTS_PUBLISHED), after.get(ENDPOINTS_PUBLISHED)),
    )
    return _events(cluster, SERVICE_EXPORTS, export, told, now)


def import_events(
    cluster: ClusterId,
    key: ServiceKey,
    present: ServiceImport | None,
    desired: ServiceImport,
    why: str,
    now: str,
) -> tuple[RecordEvent, ...]:
    """What to tell of an import that becomes `desired`, its spec and its status; a first Ready is no news.

    `why` is the reason of the Event about an import that cannot be used.
    """
    before, after = (
        _by_type(present.status.conditions if present else ()),
        _by_type(desired.status.conditions),
    )
    told = (
        *_type_change(present, desired),
        *_readiness(before.get(READY), after.get(READY), why),
        *_shortcoming("TrafficDistributionNotSupported", TRAFFIC_DISTRIBUTION, before, after),
        *_shortcoming("TrafficPreferenceNotHeeded", TRAFFIC_PREFERENCE, before, after),
        *_withdrawal(before.get(ENDPOINTS_WITHDRAWN), after.get(ENDPOINTS_WITHDRAWN)),
    )
    metadata = present.metadata if present else ObjectMeta(name=key.name, namespace=key.namespace)
    return _events(cluster, SERVICE_IMPORTS, ServiceImport(metadata=metadata), told, now)


def _by_type(conditions: Iterable[Condition]) -> Mapping[str, Condition]:
    types = (
        VALID,
        READY,
        CONFLICT,
        ENDPOINTS_PUBLISHED,
        TRAFFIC_DISTRIBUTION,
        TRAFFIC_PREFERENCE,
        ENDPOINTS_WITHDRAWN,
    )
    return of_types(conditions, types)


def _validity(before: Condition | None, after: Condition | None) -> Iterable[_Told]:
    if after is None:
        return
    if after.status == "False" and (
        before is None or (before.status, before.reason) != ("False", after.reason)
    ):
        yield "Warning", after.reason, after.message
    if after.status == "True" and before is not None and before.status == "False":
        yield "Normal", "Valid", after.message


def _conflict(before: Condition | None, after: Condition | None) -> Iterable[_Told]:
    was, now = _in_conflict(before), _in_conflict(after)
    if now is not None and was is None:
        yield "Warning", "Conflict", now.message
    elif now is not None and was is not None and (was.reason, was.message) != (now.reason, now.message):
        yield "Warning", "ConflictChanged", now.message
    elif was is not None and now is None:
        yield (
            "Normal",
            "ConflictEnded",
            after.message if after else "The export takes part in nothing any more.",
        )


def _left_out(before: Condition | None, after: Condition | None) -> Iterable[_Told]:
    """Only a new reason is told: the message counts endpoints, which come and go."""
    if after is not None and (before is None or before.reason != after.reason):
        yield "Warning", "EndpointsNotPublished", after.message


def _in_conflict(condition: Condition | None) -> Condition | None:
    return condition if condition is not None and condition.status == "True" else None


def _type_change(present: ServiceImport | None, desired: ServiceImport) -> Iterable[_Told]:
    if present is not None and present.is_ours and (was := told_type(present)) != desired.spec.type:
        yield (
            "Warning",
            "TypeChanged",
            f"The service was {was} and is {desired.spec.type} now, the type of its oldest export; clients that hold "
            "its addresses must resolve its name again.",
        )


def _readiness(before: Condition | None, after: Condition | None, why: str) -> Iterable[_Told]:
    if after is None:
        return
    if after.status == "False" and (before is None or _said(before) != _said(after)):
        yield "Warning", why, after.message
    if after.status == "True" and before is not None and before.status == "False":
        yield "Normal", "Ready", after.message


def _shortcoming(
    told_as: str, type_: str, before: Mapping[str, Condition], after: Mapping[str, Condition]
) -> Iterable[_Told]:
    """A condition that is there only while something falls short."""
    was, now = before.get(type_), after.get(type_)
    if now is not None and (was is None or _said(was) != _said(now)):
        yield "Warning", told_as, now.message


def _withdrawal(before: Condition | None, after: Condition | None) -> Iterable[_Told]:
    if after is not None and (before is None or _said(before) != _said(after)):
        yield (
            "Warning",
            "EndpointsWithdrawn" if after.status == "True" else "LastReadyEndpoints",
            after.message,
        )
    if after is None and before is not None:
        yield (
            "Normal",
            "EndpointsServed",
            "No cluster is away or drained any more that has endpoints of the service.",
        )


def _said(condition: Condition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message


def _events(
    cluster: ClusterId,
    resource: Resource[Any],
    regarding: KubernetesObject,
    told: Iterable[_Told],
    now: str,
) -> tuple[RecordEvent, ...]:
    metadata = regarding.metadata
    reference = resource.reference(metadata)
    return tuple(
        RecordEvent(
            cluster=cluster,
            about=resource,
            object=new_event(reference, type_, reason, message, now, namespace=metadata.namespace),
        )
        for type_, reason, message in told
    )
