"""Keeps count of what each member exports, so that its caps can be held without looking at all of it each time.

What counts is decided in `mcs.services.caps` and `mcs.model.policy`; here the caches are listened to. A member whose
exports are within its caps, as almost all are, costs a few integers.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable

from mcs.controllers.clusters import ClusterCaches
from mcs.model.multicluster import ServiceExport
from mcs.model.names import ServiceKey
from mcs.model.policy import MemberPolicy
from mcs.model.slices import EndpointSlice
from mcs.runtime.cache import Delta, Listener
from mcs.services.caps import Claim, admitted, lacking
from mcs.services.observed import Cap


class Admission:
    """The exports of one member in the order in which they are admitted, and the first of them that is not.

    Listens to `caches` before whoever listens after it, so that these find it up to date. `on_change` is told of each
    export that came within the caps, or fell beyond them, because of others, by a delta without objects.
    """

    def __init__(self, caches: ClusterCaches, policy: MemberPolicy, on_change: Listener) -> None:
        self._caches = caches
        self._policy = policy
        self._on_change = on_change
        self._claims: list[Claim] = []
        self._endpoints: dict[ServiceKey, int] = {}
        self._total = 0
        self._line: Claim | None = None
        self._line_before: Claim | None = None
        caches.exports.listen(self._export_changed)
        caches.slices.listen(self._slice_changed)

    def beyond(self, export: ServiceExport) -> Cap | None:
        """The cap that leaves no room for the export; None when it is within all."""
        claim = _claim(export)
        if self._line is None or claim < self._line:
            return None
        return lacking(bisect_left(self._claims, claim), self._policy.caps)

    def counts(self, export: ServiceExport) -> bool:
        """True when others may have to know of the export: its namespace may be exported, and there is room."""
        return self._policy.may_export_from(export.metadata.namespace) and self.beyond(export) is None

    def counts_in(self, delta: Delta[ServiceExport]) -> bool:
        """True when others may have to know of the last change, that of an export: it counts, or did before."""
        if delta.new is not None and self.counts(delta.new):
            return True
        line = self._line_before
        return (
            delta.old is not None
            and self._policy.may_export_from(delta.key.namespace)
            and (line is None or _claim(delta.old) < line)
        )

    def _export_changed(self, delta: Delta[ServiceExport]) -> None:
        old, new = delta.old, delta.new
        self._line_before = self._line
        if not self._policy.may_export_from(delta.key.namespace):
            return
        if old is not None and new is not None and _claim(old) == _claim(new):
            return
        if old is not None:
            del self._claims[bisect_left(self._claims, _claim(old))]
            self._total -= self._endpoints.pop(delta.key)
        if new is not None:
            insort(self._claims, _claim(new))
            self._endpoints[delta.key] = 0
            self._count(delta.key, _endpoints(self._caches.slices.by("service", delta.key)))
        self._draw_line()

    def _slice_changed(self, delta: Delta[EndpointSlice]) -> None:
        for sign, each in ((-1, delta.old), (1, delta.new)):
            if each is not None and not each.is_mirror and each.service in self._endpoints:
                self._count(each.service, sign * _endpoints((each,)))
        self._draw_line()

    def _count(self, key: ServiceKey, endpoints: int) -> None:
        self._endpoints[key] += endpoints
        self._total += endpoints

    def _draw_line(self) -> None:
        room = admitted(self._claims, self._endpoints, self._total, self._policy.caps)
        before = self._line
        self._line = self._claims[room] if room < len(self._claims) else None
        if before != self._line:
            first, last = sorted(self._place(line) for line in (before, self._line))
            for claim in self._claims[first:last]:
                self._on_change(Delta(claim.key, None, None))

    def _place(self, line: Claim | None) -> int:
        return len(self._claims) if line is None else bisect_left(self._claims, line)


def _claim(export: ServiceExport) -> Claim:
    """An export that does not tell its age comes last."""
    return Claim(export.metadata.creation_timestamp or "~", export.key)


def _endpoints(slices: Iterable[EndpointSlice]) -> int:
    return sum(len(each.endpoints or ()) for each in slices)
