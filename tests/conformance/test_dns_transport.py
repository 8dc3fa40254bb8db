"""What the specification leaves to the rules of DNS: sizes, cut answers and TCP, asked by dnspython.

Which records a question gets is checked by `test_dns_specification`, connections and their limits in `tests/e2e`.
"""

import asyncio
import re

import dns.asyncquery
import dns.flags
import dns.message
import pytest

from mcs.model.slices import IPV6
from mcs_dns.server import DnsServer
from mcs_dns.zone import Zone
from tests.conformance.test_dns_specification import ORIGIN, data
from tests.unit.dns.sample_zone import SQL, mirror, ready, service_import, zone_of


def large_zone() -> Zone:
    """A headless service of 120 endpoints with both families, which no datagram holds."""
    members = [(f"10.0.0.{n}", f"fd00::{n}", f"m-{n}") for n in range(1, 121)]
    v4 = mirror("db", "c1", *(ready(four, hostname=name) for four, _, name in members), ports=SQL)
    v6 = mirror("db", "c1", *(ready(six, hostname=name) for _, six, name in members), family=IPV6, ports=SQL)
    return zone_of((service_import("db", "Headless"), (v4, v6)))


@pytest.mark.spec("MCS-DNS#2.4.1: a subset", "MUST")
async def test_a_cut_names_the_same_endpoints_for_every_type() -> None:
    async with DnsServer(large_zone(), "127.0.0.1", 0) as server:

        async def chosen(name: str, type_: str) -> set[str]:
            query = dns.message.make_query(f"{name}.{ORIGIN}", type_, payload=1232)
            response = await dns.asyncquery.udp(query, server.host, port=server.port, timeout=5)
            assert response.flags & dns.flags.TC
            last_words = [line.split()[-1].partition(".c1.")[0] for line in data(response)]
            return {re.split(r"[.:-]", word)[-1] for word in last_words}

        async with asyncio.timeout(30):
            while True:
                v4, v6, srv = [
                    await chosen(name, type_)
                    for name, type_ in (
                        ("db.demo.svc", "A"),
                        ("db.demo.svc", "AAAA"),
                        ("_sql._tcp.db.demo.svc", "SRV"),
                    )
                ]
                # Another epoch may have begun between the questions, but not at each attempt.
                if srv < v6 == v4:
                    break
    assert 10 < len(srv) < len(v4) < 120


@pytest.mark.spec("RFC6891#6.2.5", "MUST")
@pytest.mark.parametrize(("size", "limit"), [(None, 512), (100, 512), (900, 900), (1232, 1232), (4096, 1232)])
async def test_a_datagram_is_cut_to_the_clients_size_and_tcp_has_everything(
    size: int | None, limit: int
) -> None:
    query = dns.message.make_query(
        f"db.demo.svc.{ORIGIN}", "AAAA", use_edns=-1 if size is None else 0, payload=size
    )
    async with DnsServer(large_zone(), "127.0.0.1", 0) as server:
        over_udp = await dns.asyncquery.udp(query, server.host, port=server.port, timeout=5)
        over_tcp = await dns.asyncquery.tcp(query, server.host, port=server.port, timeout=5)
    assert over_udp.flags & dns.flags.TC
    assert limit - 60 <= len(over_udp.wire or b"") <= limit
    assert len(data(over_tcp)) == 120
    assert not over_tcp.flags & dns.flags.TC
    assert set(data(over_udp)) < set(data(over_tcp))
