"""What Prometheus scrapes: read from the fleet and the DNS server at scrape time, so that work itself counts integers.

Names and label sets are an interface: a test holds them. No label holds an address or the name of a Service.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mcs import __version__
from mcs.membership.registry import Refusal
from mcs.membership.tokens import TokenLife
from mcs.membership.withdrawal import Decisions, Outage
from mcs.model.multicluster import CONFLICT, READY, VALID, ServiceExport
from mcs.model.names import ClusterId
from mcs.model.resources import SERVICE_EXPORTS
from mcs.runtime.cache import Cache
from mcs.runtime.fleet import Fleet, Reachability
from mcs.runtime.reflector import WatchState
from mcs.services.exports import POLICY_REASONS
from mcs.web.durations import Durations
from mcs_dns.zone import Zone

DnsQueries = Mapping[tuple[str, str, str], int]
"""How many queries were answered, by (query type, rcode, transport)."""

PROPAGATION_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


def new_registry() -> CollectorRegistry:
    """A registry that shares nothing with the process-wide one: build information, CPU, memory and descriptors."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_BuildCollector())
    ProcessCollector(registry=registry)
    return registry


def propagation_histogram(registry: CollectorRegistry) -> Durations:
    """Seconds from the change of a source EndpointSlice until a stage is reached in a cluster.

    Labels: stage, "mirrored" (the mirror is applied there) or "answerable" (the DNS server there answers by it), and
    that cluster. Kubernetes may give the moment of the change in whole seconds.
    """
    histogram = Durations(
        "mcs_propagation_seconds",
        "Time from a change of a source EndpointSlice until it is mirrored or answerable in a cluster.",
        ("stage", "cluster"),
        PROPAGATION_BUCKETS,
    )
    registry.register(histogram)
    return histogram


class _BuildCollector(Collector):
    def collect(self) -> Iterable[Metric]:
        build = GaugeMetricFamily("mcs_build_info", "Always 1; the version runs here.", labels=("version",))
        build.add_metric((__version__,), 1)
        yield build


class FleetCollector(Collector):
    """Reachability, caches and watches of every member."""

    def __init__(self, fleet: Fleet[Any]) -> None:
        self._fleet = fleet

    def collect(self) -> Iterable[Metric]:
        """Fresh values of all families."""
        yield from self._clusters()
        yield from self._watches()

    def _clusters(self) -> Iterable[Metric]:
        reachable = GaugeMetricFamily(
            "mcs_cluster_state",
            "1 for the state a member cluster is in, else 0.",
            labels=("cluster", "state"),
        )
        objects = GaugeMetricFamily(
            "mcs_cached_objects", "Objects kept of a member cluster.", labels=("cluster", "resource")
        )
        for cluster, member in self._fleet.members.items():
            for state in Reachability:
                reachable.add_metric((cluster, state), float(member.reachability is state))
            for resource, cache in member.caches.items():
                objects.add_metric((cluster, resource), len(cache))
        yield from (reachable, objects)

    def _watches(self) -> Iterable[Metric]:
        labels = ("cluster", "resource")
        state = GaugeMetricFamily(
            "mcs_watch_state", "1 for the state a watch is in, else 0.", labels=(*labels, "state")
        )
        silence = GaugeMetricFamily(
            "mcs_watch_silence_seconds", "Time since the API server last sent anything.", labels=labels
        )
        lists = CounterMetricFamily("mcs_watch_lists", "Complete lists taken in.", labels=labels)
        events = CounterMetricFamily("mcs_watch_events", "Watch events taken in.", labels=labels)
        malformed = CounterMetricFamily(
            "mcs_malformed_objects",
            "Objects received that could not be decoded and were skipped.",
            labels=labels,
        )
        now = asyncio.get_running_loop().time()
        for cluster, member in self._fleet.members.items():
            for reflector in member.reflectors:
                status, at = reflector.status, (cluster, reflector.resource.plural)
                for each in WatchState:
                    state.add_metric((*at, each), float(status.state is each))
                if status.heard is not None:
                    silence.add_metric(at, now - status.heard)
                lists.add_metric(at, status.lists)
                events.add_metric(at, status.events)
                malformed.add_metric(at, status.malformed)
        yield from (state, silence, lists, events, malformed)


class MembersCollector(Collector):
    """Which members are away, for how long and why, and whose endpoints are withdrawn."""

    def __init__(
        self, outages: Callable[[], Mapping[ClusterId, Outage]], decisions: Callable[[], Decisions]
    ) -> None:
        self._outages = outages
        self._decisions = decisions

    def collect(self) -> Iterable[Metric]:
        """Fresh values of all families."""
        unreachable = GaugeMetricFamily(
            "mcs_member_unreachable_seconds",
            "How long a member cluster has been unreachable, with the kind of problem; 0 while it is reachable.",
            labels=("cluster", "problem"),
        )
        withdrawn = GaugeMetricFamily(
            "mcs_member_withdrawn",
            "1 for a member cluster whose endpoints are withdrawn from the others, else 0.",
            labels=("cluster",),
        )
        outages, decisions = self._outages(), self._decisions()
        for cluster in decisions.of:
            outage = outages.get(cluster)
            length, problem = (outage.length.total_seconds(), outage.problem) if outage else (0.0, "")
            unreachable.add_metric((cluster, problem), length)
            withdrawn.add_metric((cluster,), float(cluster in decisions.withdrawn))
        yield from (unreachable, withdrawn)
        yield GaugeMetricFamily(
            "mcs_presumed_cut_off",
            "1 while more than half of the members are unreachable, so that none is withdrawn for that.",
            float(decisions.is_cut_off),
        )


class WorkCollector(Collector):
    """The work queue of every member, and how its work ended."""

    def __init__(self, fleet: Fleet[Any]) -> None:
        self._fleet = fleet

    def collect(self) -> Iterable[Metric]:
        """Fresh values of all families."""
        labels = ("cluster",)
        depth = GaugeMetricFamily(
            "mcs_work_queue_depth", "Pieces of work that wait, those backing off not counted.", labels=labels
        )
        oldest = GaugeMetricFamily(
            "mcs_work_queue_oldest_seconds",
            "How long the first piece of work in line has waited.",
            labels=labels,
        )
        retries = CounterMetricFamily("mcs_work_retries", "Pieces of work to be tried again.", labels=labels)
        ended = CounterMetricFamily(
            "mcs_work",
            "Pieces of work by how they ended: succeeded, failed (tried again), refused (not tried again until an "
            "object changes), bug (tried again).",
            labels=("cluster", "result"),
        )
        for cluster, member in self._fleet.members.items():
            depth.add_metric((cluster,), len(member.queue))
            oldest.add_metric((cluster,), member.queue.oldest_age())
            retries.add_metric((cluster,), member.queue.retried)
            counts = member.counts
            ended.add_metric((cluster, "succeeded"), counts.succeeded)
            ended.add_metric((cluster, "failed"), counts.failed)
            ended.add_metric((cluster, "refused"), counts.terminal)
            ended.add_metric((cluster, "bug"), counts.bugs)
        yield from (depth, oldest, retries, ended)


class ExportsCollector(Collector):
    """The exports of every member by what their conditions say."""

    def __init__(self, fleet: Fleet[Any]) -> None:
        self._fleet = fleet

    def collect(self) -> Iterable[Metric]:
        """Fresh values of the one family; an export without a condition counts as Unknown."""
        conditions = GaugeMetricFamily(
            "mcs_service_export_conditions",
            "ServiceExports by the status of a condition; over the statuses they sum up to all exports.",
            labels=("cluster", "condition", "status"),
        )
        for cluster, member in self._fleet.members.items():
            exports: Cache[ServiceExport] = member.caches[SERVICE_EXPORTS.plural]
            counts = Counter(
                (condition.type, condition.status) for each in exports for condition in each.status.conditions
            )
            for condition in (VALID, READY, CONFLICT):
                true, false = counts[condition, "True"], counts[condition, "False"]
                conditions.add_metric((cluster, condition, "True"), true)
                conditions.add_metric((cluster, condition, "False"), false)
                conditions.add_metric((cluster, condition, "Unknown"), len(exports) - true - false)
        yield conditions


class RangesCollector(Collector):
    """Members whose pod ranges overlap, given for each member whose ranges are known."""

    def __init__(self, overlapping: Callable[[], Mapping[ClusterId, int]]) -> None:
        self._overlapping = overlapping

    def collect(self) -> Iterable[Metric]:
        """Fresh values of the one family."""
        overlapping = GaugeMetricFamily(
            "mcs_cluster_pod_range_overlaps",
            "Other members whose pod ranges overlap with those of a member; nothing where nodes do not tell ranges.",
            labels=("cluster",),
        )
        for cluster, count in self._overlapping().items():
            overlapping.add_metric((cluster,), count)
        yield overlapping


class RefusalsCollector(Collector):
    """The exports of every member that policy or a cap refuses."""

    def __init__(self, fleet: Fleet[Any], counts: Callable[[ClusterId], Mapping[str, int]]) -> None:
        self._fleet = fleet
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        """Fresh values of the one family."""
        refused = GaugeMetricFamily(
            "mcs_service_exports_refused",
            "ServiceExports of which policy or a cap leaves out all or a part, by reason.",
            labels=("cluster", "reason"),
        )
        for cluster in self._fleet.members:
            counts = self._counts(cluster)
            for reason in sorted(POLICY_REASONS):
                refused.add_metric((cluster, reason), counts.get(reason, 0))
        yield refused


class LeaderCollector(Collector):
    """Whether this process is the one that writes."""

    def __init__(self, is_leading: Callable[[], bool]) -> None:
        self._is_leading = is_leading

    def collect(self) -> Iterable[Metric]:
        """A fresh value of the one family."""
        yield GaugeMetricFamily(
            "mcs_leader",
            "1 while this process writes, 0 while it stands by; 1 without leader election.",
            self._is_leading(),
        )


class RegistryCollector(Collector):
    """Clusters and registrations that somebody has to look at."""

    def __init__(
        self, orphans: Callable[[], Iterable[ClusterId]], refusals: Callable[[], Mapping[str, Refusal]]
    ) -> None:
        self._orphans = orphans
        self._refusals = refusals

    def collect(self) -> Iterable[Metric]:
        """Fresh values of both families."""
        orphans = GaugeMetricFamily(
            "mcs_orphaned_clusters",
            "1 for a cluster that something came from, but that has neither a registration nor a recorded leave.",
            labels=("cluster",),
        )
        for cluster in sorted(self._orphans()):
            orphans.add_metric((cluster,), 1)
        refused = GaugeMetricFamily(
            "mcs_refused_registrations",
            "1 for a registration that is not worked with as it stands, and why.",
            labels=("registration", "reason"),
        )
        for name, refusal in sorted(self._refusals().items()):
            refused.add_metric((name, refusal.reason), 1)
        yield from (orphans, refused)


class DnsCollector(Collector):
    """Queries that the DNS server answered, and what it answers from."""

    def __init__(
        self, queries: Callable[[], DnsQueries], zone: Callable[[], Zone], age: Callable[[], float]
    ) -> None:
        self._queries = queries
        self._zone = zone
        self._age = age

    def collect(self) -> Iterable[Metric]:
        """Fresh values of all families."""
        queries = CounterMetricFamily(
            "mcs_dns_queries", "Queries answered.", labels=("type", "rcode", "transport")
        )
        for (query_type, rcode, transport), count in sorted(self._queries().items()):
            queries.add_metric((query_type, rcode, transport), count)
        zone = self._zone()
        yield queries
        yield GaugeMetricFamily(
            "mcs_dns_zone_synced",
            "1 once the zone is complete; before, every answer is SERVFAIL.",
            zone.synced,
        )
        yield GaugeMetricFamily("mcs_dns_zone_services", "Services in the zone.", len(zone.services))
        yield GaugeMetricFamily(
            "mcs_dns_zone_age_seconds",
            "Time since the API server was last heard of, while it is away; the zone may be out of date by that.",
            self._age(),
        )


class TokensCollector(Collector):
    """Until when the tokens are valid that members are worked with, of those that are replaced in time."""

    def __init__(self, lives: Callable[[], Mapping[ClusterId, TokenLife]]) -> None:
        self._lives = lives

    def collect(self) -> Iterable[Metric]:
        """Fresh values."""
        expiry = GaugeMetricFamily(
            "mcs_member_token_expiry_timestamp_seconds",
            "When the token of a member expires, in Unix time.",
            labels=("cluster",),
        )
        for cluster, life in sorted(self._lives().items()):
            expiry.add_metric((cluster,), life.expires.timestamp())
        yield expiry
