"""Requests to API servers, counted by whoever makes them and read when they are scraped."""

from collections import Counter
from collections.abc import Callable, Iterable

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from mcs.web.durations import Durations

REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class RequestCounts(Collector):
    """Requests to the API server of each cluster; writes are the verbs apply, create, patch and delete."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str, int]] = Counter()
        self._seconds = Durations(
            "mcs_api_request_duration_seconds",
            "Time until an API server had answered; of a watch, until it was open.",
            ("cluster", "verb"),
            REQUEST_BUCKETS,
        )

    def hook(self, cluster: str) -> Callable[[str, str, int, float], None]:
        """The function that a client of `cluster` tells of its requests (`mcs.kube.client.RequestHook`)."""

        def count(verb: str, resource: str, code: int, seconds: float) -> None:
            self._counts[cluster, verb, resource, code] += 1
            self._seconds.observe(seconds, cluster, verb)

        return count

    def collect(self) -> Iterable[Metric]:
        """Fresh values of all families."""
        requests = CounterMetricFamily(
            "mcs_api_requests",
            "Requests to API servers; code 0 means that no answer came.",
            labels=("cluster", "verb", "resource", "code"),
        )
        for (cluster, verb, resource, code), count in sorted(self._counts.items()):
            requests.add_metric((cluster, verb, resource, str(code)), count)
        yield requests
        yield from self._seconds.collect()
