"""What of the members' exports is refused by policy or cap: counted for metrics, and logged when it is new.

A member can make any number of exports that are refused, again and again, so not all of them are logged.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import structlog

from mcs.model.actions import Action, Apply
from mcs.model.multicluster import ServiceExport
from mcs.model.names import ClusterId, ServiceKey
from mcs.services.exports import policy_refusals

log = structlog.get_logger(__name__)

LOGGED_AT_MOST = 20
"""Refusals of one member that are logged in `PERIOD`."""
PERIOD = 3600.0
"""Seconds."""


class Refusals:
    """The exports that are refused now, whole or in part, each with the reasons."""

    def __init__(self) -> None:
        self._reasons: dict[ClusterId, dict[ServiceKey, frozenset[str]]] = defaultdict(dict)
        self._logged: dict[ClusterId, tuple[float, int]] = {}

    def note_told(
        self, cluster: ClusterId, key: ServiceKey, export: ServiceExport | None, told: Iterable[Action]
    ) -> None:
        """Take what the export now says of itself: what was just written, else what stands there."""
        conditions = export.status.conditions if export is not None else ()
        for action in told:
            if isinstance(action, Apply) and isinstance(action.object, ServiceExport):
                conditions = action.object.status.conditions
        self.note(cluster, key, *policy_refusals(conditions))

    def note(self, cluster: ClusterId, key: ServiceKey, reasons: frozenset[str], message: str) -> None:
        """Remember why the export is refused, nothing when it is not any more; log what is new."""
        held = self._reasons[cluster]
        new = reasons - held.get(key, frozenset())
        if reasons:
            held[key] = reasons
        else:
            held.pop(key, None)
        if new and (left := self._may_be_logged(cluster)) is not None:
            log.warning(
                "export refused", cluster=cluster, service=str(key), reasons=sorted(new), message=message
            )
            if not left:
                log.warning("further refusals of this member are not logged for a while", cluster=cluster)

    def forget(self, cluster: ClusterId) -> None:
        """The member is none any more."""
        self._reasons.pop(cluster, None)
        self._logged.pop(cluster, None)

    def counts(self, cluster: ClusterId) -> Mapping[str, int]:
        """How many exports of the member are refused, by reason; one with two reasons counts for both."""
        return Counter(reason for reasons in self._reasons[cluster].values() for reason in reasons)

    def _may_be_logged(self, cluster: ClusterId) -> int | None:
        """How many more may be logged after this one; None when this one may not."""
        now = asyncio.get_running_loop().time()
        since, so_many = self._logged.get(cluster, (now, 0))
        if now - since >= PERIOD:
            since, so_many = now, 0
        if so_many >= LOGGED_AT_MOST:
            return None
        self._logged[cluster] = since, so_many + 1
        return LOGGED_AT_MOST - so_many - 1
