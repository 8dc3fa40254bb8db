"""Event (core/v1): what is told to the users of an object when something about it changes."""

from typing import Literal

from mcs.model.meta import KubernetesObject, ObjectMeta, Wire
from mcs.model.names import FIELD_MANAGER, name_hash

_LONGEST_MESSAGE = 1024


class ObjectReference(Wire, frozen=True):
    """The object that an Event is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSource(Wire, frozen=True):
    """Who reports."""

    component: str = ""


class Event(KubernetesObject, frozen=True):
    """core/v1 Event; `type` is Normal or Warning, `reason` one CamelCase word, times are RFC 3339."""

    involved_object: ObjectReference = ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""
    first_timestamp: str = ""
    last_timestamp: str = ""
    count: int = 0
    source: EventSource = EventSource()
    reporting_component: str = ""


def new_event(
    about: ObjectReference,
    type_: Literal["Normal", "Warning"],
    reason: str,
    message: str,
    now: str,
    *,
    namespace: str,
) -> Event:
    """An Event that is told now, a time as RFC 3339 has it. What is said again at another time is another Event."""
    name = f"{about.name}.{name_hash(about.kind, about.namespace, about.name, reason, message, now)}"
    return Event(
        metadata=ObjectMeta(name=name, namespace=namespace),
        involved_object=about,
        type=type_,
        reason=reason,
        message=message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 1]}…",
        first_timestamp=now,
        last_timestamp=now,
        count=1,
        source=EventSource(component=FIELD_MANAGER),
        reporting_component=FIELD_MANAGER,
    )
