"""A DNS server whose API server is away goes on answering, and tells clients that understand it how old that may be."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import aiohttp
import dns.asyncquery
import dns.edns
import dns.message

from mcs.controllers.processes import STALE_AFTER
from mcs.testing.virtual_time import run_virtual
from tests.scenarios.objects import expanded
from tests.scenarios.world import World, running_world

NAME = "web.shop.svc.clusterset.local."


async def heard(world: World, edns: int = 0) -> tuple[list[str], list[int]]:
    """The addresses that DNS in east answers, and the info codes of its extended errors."""
    server = world.dns["east"].dns
    assert server is not None
    query = dns.message.make_query(NAME, "A", use_edns=edns)
    response = await dns.asyncquery.udp(query, "127.0.0.1", port=server.port, timeout=5)
    codes = [int(each.code) for each in response.options if isinstance(each, dns.edns.EDEOption)]
    return [str(record) for rrset in response.answer for record in rrset], codes


async def age(world: World) -> float:
    """What the metric of the zone's age says, in seconds."""
    web = world.dns["east"].web
    assert web is not None
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{web.url}/metrics") as response,
    ):
        found = re.search(r"^mcs_dns_zone_age_seconds (\S+)$", await response.text(), re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_answers_of_a_zone_whose_api_server_is_away_say_so_after_a_while(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_world(("east",), tmp_path) as world:
            shorts = (
                {"Namespace": "shop"},
                {"Service": "shop/web", "ports": ["http 80"]},
                {
                    "EndpointSlice": "shop/web-1",
                    "service": "web",
                    "ports": ["http 80"],
                    "ready": ["10.1.0.1"],
                },
                {"ServiceExport": "shop/web"},
            )
            for short in shorts:
                await world.apis["east"].apply(*expanded(short))
            await world.start_controller(("east",))
            await world.start_dns("east")
            await asyncio.sleep(10)
            addresses, codes = await heard(world)
            assert (len(addresses), codes, await age(world)) == (1, [], 0)

            await world.order("east", "stop")
            await asyncio.sleep(STALE_AFTER / 2)
            assert await heard(world) == (addresses, [])
            assert STALE_AFTER / 2 <= await age(world) < STALE_AFTER
            await asyncio.sleep(STALE_AFTER)
            assert await heard(world) == (addresses, [dns.edns.EDECode.STALE_ANSWER])
            assert await heard(world, edns=-1) == (addresses, [])

            await world.order("east", "start")
            await asyncio.sleep(STALE_AFTER)
            assert (await heard(world), await age(world)) == ((addresses, []), 0)

    run_virtual(run())
