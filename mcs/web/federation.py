"""What Prometheus finds of federation: types, their objects by what these say of themselves, and the work on them.

Members are not told apart: there may be a thousand of them for each type, and each object says how each of them does.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mcs.federation.enabled_types import Refusal
from mcs.model.federated import PROPAGATION, FederatedObject
from mcs.runtime.cache import Cache
from mcs.runtime.fleet import Fleet, Member


class Counted(Protocol):
    """A type that is propagated, as far as it is counted."""

    @property
    def host(self) -> Member[Any]:
        """The host, where objects are worked on."""

    @property
    def fleet(self) -> Fleet[Any]:
        """The members, where their targets are."""

    @property
    def federated(self) -> Cache[FederatedObject]:
        """The federated objects."""


class FederationCollector(Collector):
    """Everything of the types that run, and of those that are refused."""

    def __init__(
        self, running: Callable[[], Mapping[str, Counted]], refusals: Callable[[], Mapping[str, Refusal]]
    ) -> None:
        self._running = running
        self._refusals = refusals

    def collect(self) -> Iterable[Metric]:
        """Fresh values of all families."""
        running = GaugeMetricFamily(
            "mcs_federated_type_running",
            "1 for a type that is propagated, 0 for one that is enabled and refused.",
            labels=("type",),
        )
        objects = GaugeMetricFamily(
            "mcs_federated_objects",
            "Federated objects by what their condition says: OK, a reason why not, or Unknown while there is none.",
            labels=("type", "result"),
        )
        depth = GaugeMetricFamily(
            "mcs_federation_queue_depth",
            "Pieces of work on a type that wait, in the host and in all members.",
            labels=("type",),
        )
        ended = CounterMetricFamily(
            "mcs_federation_work",
            "Pieces of work on a type by how they ended: succeeded, failed (tried again), refused (not tried again "
            "until an object changes), bug (tried again).",
            labels=("type", "result"),
        )
        for name in self._refusals():
            running.add_metric((name,), 0.0)
        for name, type_ in self._running().items():
            running.add_metric((name,), float(type_.host.is_seen))
            for result, count in sorted(Counter(_result(each) for each in type_.federated).items()):
                objects.add_metric((name, result), count)
            members = (type_.host, *type_.fleet.members.values())
            depth.add_metric((name,), sum(len(each.queue) for each in members))
            counts = [each.counts for each in members]
            ended.add_metric((name, "succeeded"), sum(each.succeeded for each in counts))
            ended.add_metric((name, "failed"), sum(each.failed for each in counts))
            ended.add_metric((name, "refused"), sum(each.terminal for each in counts))
            ended.add_metric((name, "bug"), sum(each.bugs for each in counts))
        yield from (running, objects, depth, ended)


def _result(federated: FederatedObject) -> str:
    told = next((each for each in federated.status.conditions if each.type == PROPAGATION), None)
    if told is None:
        return "Unknown"
    return "OK" if told.status == "True" else told.reason or "Unknown"
