"""Several processes that answer one zone on one port, asked by dnspython."""

from __future__ import annotations

import os
import signal

import dns.asyncquery
import dns.message
import dns.rcode
import pytest

from mcs.model.names import ServiceKey
from mcs.model.slices import IPV4
from mcs_dns.server import DnsServer
from mcs_dns.workers import DnsWorkers
from mcs_dns.zone import ImportedService, Zone
from tests.lab.mcs import eventually

WEB = ServiceKey("demo", "web")
NAME = "web.demo.svc.clusterset.local."


def web(address: str) -> ImportedService:
    return ImportedService(type="ClusterSetIP", ips=((IPV4, address),))


def crowd(count: int) -> dict[ServiceKey, ImportedService | None]:
    return {
        ServiceKey("crowd", f"s{number}"): web(f"10.1.{number // 250}.{number % 250}")
        for number in range(count)
    }


async def asked(port: int, name: str = NAME, *, over_tcp: bool = False) -> str:
    """The first address, or the rcode."""
    ask = dns.asyncquery.tcp if over_tcp else dns.asyncquery.udp
    response = await ask(dns.message.make_query(name, "A"), "127.0.0.1", port=port, timeout=10)
    return str(response.answer[0][0]) if response.answer else dns.rcode.to_text(response.rcode())


async def all_say(workers: DnsWorkers, wanted: str, name: str = NAME) -> None:
    """Return when 32 clients in a row, more than enough to meet each worker, hear `wanted`."""

    async def do() -> bool:
        return all([await asked(workers.port, name) == wanted for _ in range(32)])

    await eventually("workers as expected", do)


async def synced(workers: DnsWorkers) -> None:
    async def are() -> bool:
        return workers.is_synced

    await eventually("workers as expected", are)


@pytest.mark.timeout(120)
async def test_every_worker_follows_the_zone_and_all_are_counted_as_one() -> None:
    async with DnsWorkers(Zone.empty(), "127.0.0.1", 0, 3) as workers:
        await all_say(workers, "SERVFAIL")
        assert not workers.is_synced
        zone = workers.zone = Zone.empty().with_services({WEB: web("10.0.0.1"), **crowd(1200)}).as_synced()
        await synced(workers)
        await all_say(workers, "10.0.0.1")
        assert await asked(workers.port, over_tcp=True) == "10.0.0.1"
        assert await asked(workers.port, "s1199.crowd.svc.clusterset.local.") == "10.1.4.199"
        workers.zone = zone.with_services({WEB: web("10.0.0.2")})
        await all_say(workers, "10.0.0.2")
        workers.zone = workers.zone.with_services({WEB: None})
        await all_say(workers, "NXDOMAIN")
        before = workers.counts.get(("A", "NXDOMAIN", "udp"), 0)
        for _ in range(30):
            await asked(workers.port)

        async def all_are_counted() -> bool:
            # Each worker reports once a second, not all at the same time.
            is_tcp_told = ("A", "NOERROR", "tcp") in workers.counts
            return is_tcp_told and workers.counts.get(("A", "NXDOMAIN", "udp"), 0) >= before + 30

        await eventually("workers as expected", all_are_counted)
        assert workers.counts["A", "NOERROR", "tcp"] == 1


@pytest.mark.timeout(120)
async def test_a_worker_that_ends_is_started_again_and_what_it_counted_stays_counted() -> None:
    zone = Zone.empty().with_services({WEB: web("10.0.0.1")}).as_synced()
    async with DnsWorkers(zone, "127.0.0.1", 0, 1) as workers:
        await synced(workers)
        for _ in range(5):
            await asked(workers.port)

        async def five() -> bool:
            return workers.counts.get(("A", "NOERROR", "udp")) == 5

        await eventually("workers as expected", five)
        (pid,) = workers.processes
        os.kill(pid, signal.SIGKILL)
        # Asked while nobody answers: the socket outlives the process, so the answer only comes later.
        assert await asked(workers.port) == "10.0.0.1"
        assert workers.processes != (pid,)

        async def six() -> bool:
            return workers.counts.get(("A", "NOERROR", "udp")) == 6

        await eventually("workers as expected", six)


@pytest.mark.timeout(120)
async def test_workers_end_with_the_process_and_leave_the_port() -> None:
    async with DnsWorkers(Zone.empty(synced=True), "127.0.0.1", 0, 2) as workers:
        await synced(workers)
        processes = workers.processes
        assert len(processes) == 2
    for pid in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    async with DnsServer(Zone.empty(synced=True), "127.0.0.1", workers.port):
        pass


async def test_a_port_that_is_taken_is_not_shared_with_a_stranger() -> None:
    async with DnsServer(Zone.empty(synced=True), "127.0.0.1", 0) as server:
        with pytest.raises(OSError, match="in use"):
            await DnsWorkers(Zone.empty(), "127.0.0.1", server.port, 2).start()
