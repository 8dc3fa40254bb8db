"""The server on real sockets: transports, families, connections and their limits."""

import asyncio
import socket
from contextlib import suppress

import dns.asyncquery
import dns.flags
import dns.message
import dns.rcode
import pytest
import uvloop

from mcs.model.names import ServiceKey
from mcs.testing.virtual_time import run_virtual
from mcs_dns.server import DnsServer, bound_pair
from mcs_dns.zone import imported_service
from tests.unit.dns.sample_zone import mirror, ready, sample_zone, service_import, zone_of

WEB = "web.demo.svc.clusterset.local."
ZONE = sample_zone()


def addresses(response: dns.message.Message) -> list[str]:
    return sorted(record.address for rrset in response.answer for record in rrset)


async def ask_both(server: DnsServer, name: str, type_: str = "A") -> list[dns.message.Message]:
    query = dns.message.make_query(name, type_)
    return [
        await ask(query, server.host, port=server.port, timeout=5)
        for ask in (dns.asyncquery.udp, dns.asyncquery.tcp)
    ]


def framed(name: str, number: int = 1) -> bytes:
    packet = dns.message.make_query(name, "A", id=number).to_wire()
    return len(packet).to_bytes(2) + packet


async def read_framed(reader: asyncio.StreamReader) -> dns.message.Message:
    return dns.message.from_wire(await reader.readexactly(int.from_bytes(await reader.readexactly(2))))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_both_transports_answer_alike_in_both_families(host: str) -> None:
    async with DnsServer(ZONE, host, 0) as server:
        over_udp, over_tcp = await ask_both(server, WEB)
    assert addresses(over_udp) == addresses(over_tcp) == ["10.96.0.7"]


def test_uvloop_serves_both_transports_too() -> None:
    async def scenario() -> list[list[str]]:
        async with DnsServer(ZONE, "127.0.0.1", 0) as server:
            return [addresses(response) for response in await ask_both(server, WEB)]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(scenario()) == [["10.96.0.7"], ["10.96.0.7"]]


async def test_assigning_a_zone_changes_the_next_answer_on_both_transports() -> None:
    async with DnsServer(ZONE, "127.0.0.1", 0) as server:
        await ask_both(server, WEB)
        moved = imported_service(service_import("web", ips=("10.96.1.1",)), [])
        server.zone = ZONE.with_services({ServiceKey("demo", "web"): moved})
        assert [addresses(response) for response in await ask_both(server, WEB)] == [["10.96.1.1"]] * 2


async def test_a_cut_datagram_sends_the_client_to_tcp_which_has_everything() -> None:
    members = (ready(f"10.1.0.{n}") for n in range(1, 201))
    zone = zone_of((service_import("db", "Headless"), (mirror("db", "c1", *members),)))
    async with DnsServer(zone, "127.0.0.1", 0) as server:
        query = dns.message.make_query("db.demo.svc.clusterset.local.", "A")
        response, used_tcp = await dns.asyncquery.udp_with_fallback(
            query, server.host, port=server.port, timeout=5
        )
    assert used_tcp
    assert len(addresses(response)) == 200


async def test_each_of_fifteen_endpoints_is_first_about_as_often_as_the_others() -> None:
    members = [ready(f"10.1.0.{n}") for n in range(1, 16)]
    zone = zone_of((service_import("db", "Headless"), (mirror("db", "c1", *members),)))
    packet = dns.message.make_query("db.demo.svc.clusterset.local.", "A").to_wire()
    first: dict[bytes, int] = {}
    loop = asyncio.get_running_loop()
    async with DnsServer(zone, "127.0.0.1", 0) as server:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.setblocking(False)
            client.connect((server.host, server.port))
            for _ in range(300):
                for _ in range(50):
                    await loop.sock_sendall(client, packet)
                for _ in range(50):
                    response = await loop.sock_recv(client, 512)
                    address = response[len(packet) + 12 : len(packet) + 16]
                    first[address] = first.get(address, 0) + 1
    assert len(first) == 15
    assert all(850 <= count <= 1150 for count in first.values())


async def test_queries_sent_without_waiting_are_all_answered_in_one_connection() -> None:
    async with DnsServer(ZONE, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(b"".join(framed(WEB, number) for number in range(100)))
        writer.write_eof()
        ids = [(await read_framed(reader)).id for _ in range(100)]
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    assert ids == list(range(100))


async def test_an_answer_does_not_wait_until_the_client_has_acknowledged_the_one_before() -> None:
    accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        accepted.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    stream, datagram = bound_pair("127.0.0.1", 0)
    datagram.close()
    async with await asyncio.start_server(accept, sock=stream):
        _, writer = await asyncio.open_connection(*stream.getsockname())
        assert await accepted
        writer.close()
        await writer.wait_closed()


async def test_a_query_may_arrive_byte_by_byte() -> None:
    async with DnsServer(ZONE, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        for byte in framed(WEB):
            writer.write(bytes((byte,)))
            await writer.drain()
            await asyncio.sleep(0)
        assert addresses(await read_framed(reader)) == ["10.96.0.7"]
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("garbage", [b"\0\0", b"\0\x05hello", b"\xff\xff"])
async def test_a_client_that_speaks_no_dns_is_hung_up_on_and_others_are_served(garbage: bytes) -> None:
    async with DnsServer(ZONE, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(garbage)
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        assert addresses((await ask_both(server, WEB))[1]) == ["10.96.0.7"]


def test_an_idle_connection_is_closed_after_the_idle_timeout_and_a_busy_one_is_not() -> None:
    async def scenario() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        async with DnsServer(ZONE, "127.0.0.1", 0, tcp_idle_timeout=10) as server:
            reader, writer = await asyncio.open_connection(server.host, server.port)
            start = loop.time()
            for _ in range(3):
                await asyncio.sleep(9)
                writer.write(framed(WEB))
                await read_framed(reader)
            busy_until = loop.time() - start
            assert await reader.read() == b""
            writer.close()
            return busy_until, loop.time() - start

    busy_until, closed = run_virtual(scenario())
    assert busy_until >= 27
    assert closed - busy_until == pytest.approx(10, abs=1)


def test_a_query_that_comes_ever_so_slowly_holds_its_connection_no_longer_than_the_idle_timeout() -> None:
    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        async with DnsServer(ZONE, "127.0.0.1", 0, tcp_idle_timeout=10) as server:
            reader, writer = await asyncio.open_connection(server.host, server.port)
            start = loop.time()
            closed = asyncio.create_task(reader.read(), name="until closed")
            for byte in framed(WEB):
                if closed.done():
                    break
                writer.write(bytes((byte,)))
                await asyncio.sleep(3)
            with suppress(ConnectionError):
                assert await closed == b""
            writer.close()
            return loop.time() - start

    assert 10 <= run_virtual(scenario()) <= 16


def test_a_client_that_never_reads_is_cut_off() -> None:
    async def scenario() -> None:
        async with DnsServer(ZONE, "127.0.0.1", 0, tcp_idle_timeout=10) as server:
            loop = asyncio.get_running_loop()
            with socket.socket() as client:
                client.setblocking(False)
                await loop.sock_connect(client, (server.host, server.port))
                with pytest.raises(ConnectionError):
                    await loop.sock_sendall(client, framed(WEB) * 500_000)

    run_virtual(scenario())


async def test_connections_above_the_limit_are_closed_and_a_freed_place_is_given_again() -> None:
    async with DnsServer(ZONE, "127.0.0.1", 0, tcp_connections=2, tcp_idle_timeout=1000) as server:
        streams = []
        for _ in range(2):
            reader, writer = await asyncio.open_connection(server.host, server.port)
            writer.write(framed(WEB))
            await read_framed(reader)
            streams.append((reader, writer))
        refused, refused_writer = await asyncio.open_connection(server.host, server.port)
        async with asyncio.timeout(5):
            assert await refused.read() == b""
        streams.append((refused, refused_writer))
        streams[0][1].write_eof()
        assert await streams[0][0].read() == b""
        assert addresses((await ask_both(server, WEB))[1]) == ["10.96.0.7"]
        for _, writer in streams:
            writer.close()
            await writer.wait_closed()


async def test_one_client_cannot_take_the_connections_of_the_others() -> None:
    async with DnsServer(
        ZONE, "127.0.0.1", 0, tcp_connections=5, tcp_connections_per_client=2, tcp_idle_timeout=1000
    ) as server:
        streams = []

        async def is_served(client: str) -> bool:
            reader, writer = await asyncio.open_connection(server.host, server.port, local_addr=(client, 0))
            streams.append((reader, writer))
            try:
                writer.write(framed(WEB))
                async with asyncio.timeout(5):
                    return addresses(await read_framed(reader)) == ["10.96.0.7"]
            except (asyncio.IncompleteReadError, ConnectionError):
                return False

        greedy = [await is_served("127.0.0.2") for _ in range(8)]
        assert greedy == [True, True] + [False] * 6
        assert [await is_served("127.0.0.3") for _ in range(3)] == [True, True, False]
        assert [await is_served("127.0.0.4") for _ in range(2)] == [True, False], "five of all clients"
        streams[0][1].write_eof()
        assert await streams[0][0].read() == b""
        assert await is_served("127.0.0.2")
        for _, writer in streams:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def test_stopping_closes_open_connections_without_complaint_and_frees_the_port(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with DnsServer(ZONE, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(framed(WEB))
        await read_framed(reader)
    assert await reader.read() == b""
    writer.close()
    assert caplog.records == []
    async with DnsServer(ZONE, "127.0.0.1", server.port) as again:
        assert addresses((await ask_both(again, WEB))[0]) == ["10.96.0.7"]


async def test_a_port_that_is_taken_by_either_transport_is_an_error_that_leaves_nothing_open() -> None:
    async with DnsServer(ZONE, "127.0.0.1", 0) as server:
        with pytest.raises(OSError, match="in use"):
            await DnsServer(ZONE, "127.0.0.1", server.port).start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        with pytest.raises(OSError, match="in use"):
            await DnsServer(ZONE, "127.0.0.1", other.getsockname()[1]).start()


async def test_responses_are_counted_by_type_code_and_transport() -> None:
    async with DnsServer(ZONE, "127.0.0.1", 0) as server:
        await ask_both(server, WEB)
        await ask_both(server, WEB, "TYPE65280")
        await ask_both(server, WEB, "TYPE65281")
        await ask_both(server, "nosuch.demo.svc.clusterset.local.", "AAAA")
        assert server.counts == {
            (type_, rcode, transport): count
            for transport in ("udp", "tcp")
            for type_, rcode, count in (("A", "NOERROR", 1), ("other", "NOERROR", 2), ("AAAA", "NXDOMAIN", 1))
        }


async def test_an_unsynced_zone_answers_servfail_over_both_transports() -> None:
    unsynced = type(ZONE).empty()
    async with DnsServer(unsynced, "127.0.0.1", 0) as server:
        assert [r.rcode() for r in await ask_both(server, WEB)] == [dns.rcode.SERVFAIL] * 2
        server.zone = ZONE
        assert [r.rcode() for r in await ask_both(server, WEB)] == [dns.rcode.NOERROR] * 2
