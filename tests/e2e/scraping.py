"""Metrics as Prometheus gets them: scraped over HTTP and read by prometheus_client's parser."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import aiohttp
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from mcs.controllers.processes import Process


class Answer(NamedTuple):
    """HTTP status and body."""

    status: int
    text: str


async def fetched(process: Process, path: str) -> Answer:
    """What a running process answers."""
    assert process.web is not None
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{process.web.url}{path}", timeout=aiohttp.ClientTimeout(total=30)) as response,
    ):
        return Answer(response.status, await response.text())


class Scrape:
    """All families of one scrape."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.families: dict[str, Metric] = {}
        for family in text_string_to_metric_families(text):
            assert family.name not in self.families, f"{family.name} is there twice"
            self.families[family.name] = family

    def value(self, name: str, **labels: str) -> float:
        """The sum of all samples of that name whose labels agree; 0 when there is none."""
        return sum(
            sample.value
            for family in self.families.values()
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def inventory(self) -> Iterable[str]:
        """`name type label,label` of every family, sorted; of a histogram without its `le`.

        Raises AssertionError for a family without a sample, whose labels nobody could know.
        """
        for family in sorted(self.families.values(), key=lambda each: each.name):
            assert family.samples, f"{family.name} has no sample"
            name = f"{family.name}_total" if family.type == "counter" else family.name
            labels = {label for sample in family.samples for label in sample.labels} - {"le"}
            yield " ".join((name, family.type, ",".join(sorted(labels)))).strip()


async def scraped(process: Process) -> Scrape:
    """The metrics of a running process."""
    answer = await fetched(process, "/metrics")
    assert answer.status == 200, answer.text
    return Scrape(answer.text)
