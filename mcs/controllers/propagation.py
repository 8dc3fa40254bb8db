"""How long changes of endpoints take to arrive, measured by the change time that slices carry."""

from collections.abc import Callable
from datetime import datetime

from prometheus_client import CollectorRegistry

from mcs.model.actions import Apply
from mcs.model.meta import KubernetesObject, parse_timestamp
from mcs.model.names import CHANGE_TIME_ANNOTATION, ClusterId
from mcs.model.slices import EndpointSlice
from mcs.web.metrics import propagation_histogram


class Propagation:
    """Observes changes that could have been carried on when they happened.

    A change from before the process started says how long it was away, not how fast changes travel. Mirrors tell of
    none from before their service was exported.
    """

    def __init__(self, registry: CollectorRegistry, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._started = clock()
        self._seconds = propagation_histogram(registry)

    def applied(self, action: Apply, before: KubernetesObject | None, after: KubernetesObject) -> None:
        """A mirror was applied in a cluster."""
        if isinstance(after, EndpointSlice):
            self._observe("mirrored", action.cluster, before, after)

    def answerable(
        self, cluster: ClusterId, before: EndpointSlice | None, after: EndpointSlice | None
    ) -> None:
        """The DNS server of a cluster now answers by a mirror."""
        if after is not None:
            self._observe("answerable", cluster, before, after)

    def _observe(
        self, stage: str, cluster: ClusterId, before: KubernetesObject | None, after: EndpointSlice
    ) -> None:
        text = after.metadata.annotations.get(CHANGE_TIME_ANNOTATION, "")
        if before is not None and before.metadata.annotations.get(CHANGE_TIME_ANNOTATION) == text:
            return
        changed = parse_timestamp(text)
        if changed is not None and changed >= self._started:
            self._seconds.observe(max((self._clock() - changed).total_seconds(), 0.0), stage, cluster)
