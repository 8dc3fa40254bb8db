"""What Prometheus scrapes: read from the fleet and the DNS server at scrape time, so that work itself counts integers.

Names and label sets are an interface: a test holds them. No label holds an address or the name of a Service.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mcs.runtime.fleet import Fleet, Reachability
from mcs.runtime.reflector import WatchState

Requests = Mapping[tuple[str, str, int], int]
"""How many requests were made, by (verb, resource, code); code 0 is "no answer"."""
DnsQueries = Mapping[tuple[str, str, str], int]
"""How many queries were answered, by (query type, rcode, transport)."""

PROPAGATION_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


def new_registry() -> CollectorRegistry:
    """An empty registry that refuses nothing and shares nothing with the process-wide one."""
    return CollectorRegistry(auto_describe=False)


def propagation_histogram(registry: CollectorRegistry) -> Histogram:
    """Seconds from the change of a source EndpointSlice until a stage is reached in a cluster.

    Stage "mirrored": the mirror is applied there; "answerable": the DNS server there answers by it.
    """
    return Histogram(
        "mcs_propagation_seconds",
        "Time from a change of a source EndpointSlice until it is mirrored or answerable in a cluster.",
        ("stage", "cluster"),
        buckets=PROPAGATION_BUCKETS,
        registry=registry,
    )


class FleetCollector(Collector):
    """Queues, watches, caches and requests of every member."""

    def __init__(self, fleet: Fleet[Any], requests: Callable[[], Mapping[str, Requests]]) -> None:
        self._fleet = fleet
        self._requests = requests

    def collect(self) -> Iterable[Metric]:
        """Fresh values of all families."""
        yield from self._clusters()
        yield from self._queues()
        yield from self._watches()
        yield from self._api_requests()

    def _clusters(self) -> Iterable[Metric]:
        reachable = GaugeMetricFamily(
            "mcs_cluster_state",
            "1 for the state a member cluster is in, else 0.",
            labels=("cluster", "state"),
        )
        objects = GaugeMetricFamily(
            "mcs_cached_objects", "Objects in the cache.", labels=("cluster", "resource")
        )
        for cluster, member in self._fleet.members.items():
            for state in Reachability:
                reachable.add_metric((cluster, state), float(member.reachability is state))
            for resource, cache in member.caches.items():
                objects.add_metric((cluster, resource), len(cache))
        yield reachable
        yield objects

    def _queues(self) -> Iterable[Metric]:
        depth = GaugeMetricFamily(
            "mcs_work_queue_depth", "Keys waiting to be worked on.", labels=("cluster",)
        )
        oldest = GaugeMetricFamily(
            "mcs_work_queue_oldest_seconds", "How long the first key in line has waited.", labels=("cluster",)
        )
        retries = CounterMetricFamily("mcs_work_retries", "Pieces of work tried again.", labels=("cluster",))
        done = CounterMetricFamily(
            "mcs_work", "Pieces of work by how they ended.", labels=("cluster", "result")
        )
        for cluster, member in self._fleet.members.items():
            depth.add_metric((cluster,), len(member.queue))
            oldest.add_metric((cluster,), member.queue.oldest_age())
            retries.add_metric((cluster,), member.queue.retried)
            for result, count in vars(member.counts).items():
                done.add_metric((cluster, result), count)
        yield from (depth, oldest, retries, done)

    def _watches(self) -> Iterable[Metric]:
        labels = ("cluster", "resource")
        state = GaugeMetricFamily(
            "mcs_watch_state", "1 for the state a watch is in, else 0.", labels=(*labels, "state")
        )
        age = GaugeMetricFamily(
            "mcs_watch_silence_seconds", "Time since the API server last sent anything.", labels=labels
        )
        lists = CounterMetricFamily("mcs_watch_lists", "Complete lists taken in.", labels=labels)
        events = CounterMetricFamily("mcs_watch_events", "Watch events taken in.", labels=labels)
        malformed = CounterMetricFamily("mcs_malformed_objects", "Objects that were skipped.", labels=labels)
        now = asyncio.get_running_loop().time()
        for cluster, member in self._fleet.members.items():
            for reflector in member.reflectors:
                status, at = reflector.status, (cluster, reflector.resource.plural)
                for each in WatchState:
                    state.add_metric((*at, each), float(status.state is each))
                if status.heard is not None:
                    age.add_metric(at, now - status.heard)
                lists.add_metric(at, status.lists)
                events.add_metric(at, status.events)
                malformed.add_metric(at, status.malformed)
        yield from (state, age, lists, events, malformed)

    def _api_requests(self) -> Iterable[Metric]:
        family = CounterMetricFamily(
            "mcs_api_requests",
            "Requests to API servers; code 0 means that no answer came.",
            labels=("cluster", "verb", "resource", "code"),
        )
        for cluster, requests in self._requests().items():
            for (verb, resource, code), count in sorted(requests.items()):
                family.add_metric((cluster, verb, resource, str(code)), count)
        yield family


class DnsCollector(Collector):
    """Queries that the DNS server answered, and what it answers from."""

    def __init__(self, queries: Callable[[], DnsQueries], is_synced: Callable[[], bool]) -> None:
        self._queries = queries
        self._is_synced = is_synced

    def collect(self) -> Iterable[Metric]:
        """Fresh values of all families."""
        queries = CounterMetricFamily(
            "mcs_dns_queries", "Queries answered.", labels=("type", "rcode", "transport")
        )
        for (query_type, rcode, transport), count in sorted(self._queries().items()):
            queries.add_metric((query_type, rcode, transport), count)
        yield queries
        yield GaugeMetricFamily(
            "mcs_dns_zone_synced",
            "1 once the zone is complete; before, every answer is SERVFAIL.",
            self._is_synced(),
        )
