"""Inputs that searches found, and those they begin with, are answered or dropped, and so is what is cut from them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.fuzz.checks import Packets, Streams
from tests.fuzz.inputs import committed, seeds


@pytest.fixture(scope="module")
def packets() -> Packets:
    return Packets()


@pytest.mark.parametrize("path", committed("packets"), ids=lambda path: path.name)
def test_a_packet_that_was_found_is_answered_or_dropped(path: Path, packets: Packets) -> None:
    packets(path.read_bytes())


def test_packets_that_searches_begin_with_are_answered_or_dropped(packets: Packets) -> None:
    for seed in seeds("packets"):
        for end in range(len(seed), 0, -7):
            packets(seed[:end])


async def test_streams_that_were_found_are_answered_or_dropped() -> None:
    async with Streams() as streams:
        for path in committed("streams"):
            await streams.check(path.read_bytes())


async def test_streams_that_searches_begin_with_are_answered_or_dropped() -> None:
    chance = Random(5)
    async with Streams() as streams:
        for seed in seeds("streams"):
            await streams.check(seed)
            await streams.check(seed[: chance.randrange(len(seed))])
