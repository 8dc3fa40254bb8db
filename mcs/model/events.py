"""Event (core/v1): what is told to the users of an object when something about it changes."""

from mcs.model.meta import KubernetesObject, Wire


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
