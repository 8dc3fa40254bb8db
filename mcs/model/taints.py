"""Taints and what tolerates them, as Nodes and Pods have them; the registrations of clusters have them too.

Source: Kubernetes, "Taints and Tolerations".
"""

from collections.abc import Iterable

from mcs.model.meta import Wire

NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"


class Taint(Wire, frozen=True):
    """Keeps away what does not tolerate it: NoSchedule, PreferNoSchedule or NoExecute.

    `time_added` (RFC 3339) is from when on the seconds of a toleration count.
    """

    key: str
    effect: str = ""
    value: str = ""
    time_added: str | None = None


class Toleration(Wire, frozen=True):
    """Taints that are put up with, for so many seconds or for ever. An empty key is any, an empty effect each."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """True when this taint is meant."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        if self.operator == "Exists":
            return True
        return bool(self.key) and self.operator in ("", "Equal") and self.value == taint.value


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """True when one of them is for this taint."""
    return any(each.tolerates(taint) for each in tolerations)
