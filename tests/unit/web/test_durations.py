"""The histogram: what Prometheus computes quantiles from."""

from __future__ import annotations

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from mcs.web.durations import Durations


def _samples(histogram: Durations) -> dict[tuple[str, str, str], float]:
    registry = CollectorRegistry()
    registry.register(histogram)
    (family,) = text_string_to_metric_families(generate_latest(registry).decode())
    assert family.type == "histogram"
    return {
        (each.name, each.labels["stage"], each.labels.get("le", "")): each.value for each in family.samples
    }


def test_buckets_are_cumulative_with_inclusive_upper_bounds() -> None:
    histogram = Durations("d_seconds", "Durations.", ("stage",), (0.25, 1))
    for seconds in (0.0, 0.25, 0.5, 1.0, 1.5, 100.0):
        histogram.observe(seconds, "a")
    histogram.observe(0.5, "b")

    assert _samples(histogram) == {
        ("d_seconds_bucket", "a", "0.25"): 2,
        ("d_seconds_bucket", "a", "1.0"): 4,
        ("d_seconds_bucket", "a", "+Inf"): 6,
        ("d_seconds_count", "a", ""): 6,
        ("d_seconds_sum", "a", ""): 103.25,
        ("d_seconds_bucket", "b", "0.25"): 0,
        ("d_seconds_bucket", "b", "1.0"): 1,
        ("d_seconds_bucket", "b", "+Inf"): 1,
        ("d_seconds_count", "b", ""): 1,
        ("d_seconds_sum", "b", ""): 0.5,
    }


def test_what_was_never_observed_has_no_sample() -> None:
    assert _samples(Durations("d_seconds", "Durations.", ("stage",), (0.1, 1))) == {}
