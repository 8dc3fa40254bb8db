"""The DNS measurements run, with numbers so small that their figures mean nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.bench import dns, dns_changes, dns_features, dns_load, dns_size, dns_workers
from tests.bench.figures import Figure
from tests.lab.binaries import COREDNS


def _missing() -> str:
    try:
        dns_load.check_programs()
    except dns_load.MissingProgramError as missing:
        return str(missing)
    return "" if COREDNS.program("coredns").is_file() else "CoreDNS is not built"


needs_other_servers = pytest.mark.skipif(bool(_missing()), reason=_missing())


def titles(figures: Sequence[Figure]) -> list[str]:
    for figure in figures:
        assert figure["value"] > 0, figure
        assert figure["baseline"] > 0, figure
    return [figure["name"] for figure in figures]


@needs_other_servers
async def test_three_servers_answer_the_same_and_are_measured() -> None:
    found = titles(await dns.measure(services=40, rounds=1, seconds=0.5))
    for part in ("mcs dns against CoreDNS", "mcs dns against NSD", "p50", "p99"):
        assert any(part in title for title in found)


@needs_other_servers
async def test_workers_are_held_to_a_part_of_a_core() -> None:
    titles(await dns_workers.measure(services=40, rounds=1, seconds=0.5))


@needs_other_servers
async def test_answering_is_measured_while_the_zone_changes() -> None:
    found = titles(await dns_changes.measure(services=40, rounds=1, seconds=0.5))
    assert len(found) == 5


async def test_endpoints_are_weighed_and_the_start_is_timed() -> None:
    # Two hundred endpoints weigh less than two starts differ.
    assert [figure["unit"] for figure in await dns_size.measure(services=4, endpoints=50)] == [
        "KB/endpoint",
        "s",
        "s",
    ]


async def test_each_feature_has_its_price() -> None:
    found = [figure["name"] for figure in await dns_features.measure(services=100, rounds=1)]
    for feature in ("EDNS", "0x20", "shuffle", "weights", "metrics", "datagrams"):
        assert any(feature in title for title in found)
