"""Status conditions: found, and set so that only real changes change anything (API conventions, "Typical
status properties").
"""

from datetime import datetime

from mcs.sandbox.rules.meta import timestamp
from mcs.sandbox.store import Object, Objects


def condition(obj: Object, kind: str) -> Object | None:
    """The condition of that type, or None."""
    found = obj.get("status", {}).get("conditions") or ()
    return next((c for c in found if c["type"] == kind), None)


def is_true(obj: Object, kind: str) -> bool:
    """Whether the condition is there and True."""
    found = condition(obj, kind)
    return found is not None and found["status"] == "True"


def with_condition(present: Objects, wanted: Object, now: datetime, *, updated: bool = False) -> Objects:
    """The conditions with one of them set.

    `lastTransitionTime` moves with the status only; `updated` asks for the `lastUpdateTime` that
    Deployments have.
    """
    old = next((c for c in present if c["type"] == wanted["type"]), None)
    if old is not None and all(old.get(key) == value for key, value in wanted.items()):
        return present
    same = old is not None and old["status"] == wanted["status"]
    moved = old["lastTransitionTime"] if old is not None and same else timestamp(now)
    new = {**wanted, "lastTransitionTime": moved}
    if updated:
        new["lastUpdateTime"] = timestamp(now)
    others = [c for c in present if c["type"] != wanted["type"]]
    return [*others, new]
