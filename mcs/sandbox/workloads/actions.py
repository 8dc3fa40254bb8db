"""What the simulated controllers decide, as values, and the one place that carries them out.

The planning modules beside this one are pure: objects in, actions out. Carrying out is a synchronous call
of the `Api`; when to plan again is left to `simulator`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from mcs.sandbox.api import Api, WriteOptions
from mcs.sandbox.errors import StatusError
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.rules.deletion import DeleteOptions
from mcs.sandbox.rules.meta import Preconditions
from mcs.sandbox.store import Object, key_of

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Create:
    """Create the object."""

    resource: ResourceType
    obj: Object


@dataclass(frozen=True, slots=True)
class Update:
    """Replace the object, or only its `status` or `finalize` part."""

    resource: ResourceType
    obj: Object
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete this very object (by uid); `grace` in seconds, by default the object's own."""

    resource: ResourceType
    obj: Object
    propagation: str = ""
    grace: int | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """Plan the same key again after so many seconds of the loop's clock."""

    after: float


Action = Create | Update | Delete | Again
Actions = list[Action]


TOLERANCE = 1e-6
"""Seconds a timer may be early by rounding; without it a wait too short to move the clock would never end."""


def until_due(delay: float, age: float) -> Actions:
    """When to plan again, nothing once `age` has reached `delay` (both in seconds)."""
    return [Again(delay - age)] if delay - age > TOLERANCE else []


def carry_out(api: Api, actions: Iterable[Action], manager: str) -> float | None:
    """Write the actions as one field manager; the seconds after which to plan again, if any asked for it.

    A refusal ends the plan: the change that caused it, or the next one, brings the key back.
    """
    again: float | None = None
    options = WriteOptions(manager=manager)
    try:
        for action in actions:
            match action:
                case Again(after):
                    again = after if again is None else min(again, after)
                case Create(resource, obj):
                    api.create(resource, obj, options=options)
                case Update(resource, obj, subresource):
                    api.update(resource, obj, subresource=subresource, options=options)
                case Delete(resource, obj, propagation, grace):
                    uid = Preconditions(uid=obj["metadata"]["uid"])
                    asked = DeleteOptions(preconditions=uid, propagation=propagation, grace_period=grace)
                    api.delete(resource, *key_of(obj), asked)
    except StatusError as refused:
        log.debug("refused", manager=manager, reason=refused.reason, message=refused.message)
    return again
