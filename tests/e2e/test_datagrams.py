"""UDP in batches of system calls and one at a time: whoever asks cannot tell which of them answered."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import uvloop

from mcs_dns.datagrams import BATCH, CAN_BATCH, MAX_RESPONSE, datagrams

WAYS = [
    pytest.param(
        True, id="batched", marks=pytest.mark.skipif(not CAN_BATCH, reason="no recvmmsg on this platform")
    ),
    pytest.param(False, id="single"),
]
LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]

both_ways = pytest.mark.parametrize("batched", WAYS)
on_both_loops = pytest.mark.parametrize("new_loop", LOOPS, ids=["asyncio", "uvloop"])


def bound(host: str = "127.0.0.1") -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.bind((host, 0))
    return made


def reversed_unless_silent(packet: bytes) -> bytes | None:
    return None if packet.startswith(b"silent") else packet[::-1]


@asynccontextmanager
async def answering(batched: bool, host: str = "127.0.0.1") -> AsyncIterator[int]:
    """The port at which datagrams come back reversed, but those that begin with `silent`."""
    listener = bound(host)
    server = datagrams(listener, reversed_unless_silent, batched=batched)
    port: int = listener.getsockname()[1]
    await server.start()
    try:
        yield port
    finally:
        server.close()
        await asyncio.sleep(0)


async def asked(port: int, packets: list[bytes], count: int, host: str = "127.0.0.1") -> list[bytes]:
    """`count` datagrams that come back after `packets` were sent in a row."""
    loop = asyncio.get_running_loop()
    with bound(host) as client:
        client.connect((host, port))
        for packet in packets:
            client.send(packet)
        async with asyncio.timeout(10):
            return [await loop.sock_recv(client, 65536) for _ in range(count)]


def run(new_loop: Callable[[], asyncio.AbstractEventLoop], main: Callable[[], object]) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())  # type: ignore[arg-type]


def test_64_bit_linux_takes_the_fast_way() -> None:
    is_one = sys.platform == "linux" and sys.maxsize > 2**32
    assert is_one == CAN_BATCH


@both_ways
@on_both_loops
def test_each_datagram_of_a_burst_larger_than_a_batch_is_answered(
    batched: bool, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    packets = [b"%d " % number + b"x" * (number % 50) for number in range(2 * BATCH + 7)]

    async def main() -> None:
        async with answering(batched) as port:
            found = await asked(port, packets, len(packets))
            assert sorted(found) == sorted(packet[::-1] for packet in packets)

    run(new_loop, main)


@both_ways
@on_both_loops
def test_what_deserves_no_answer_moves_no_answer_to_another_client(
    batched: bool, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def main() -> None:
        async with answering(batched) as port:
            clients = [bound() for _ in range(9)]
            for number, client in enumerate(clients):
                client.connect(("127.0.0.1", port))
                client.send(b"silent" if number % 3 == 0 else b"client %d" % number)
            await asyncio.sleep(0.1)
            for number, client in enumerate(clients):
                with client:
                    if number % 3 == 0:
                        with pytest.raises(BlockingIOError):
                            client.recv(100)
                    else:
                        assert client.recv(100) == b"client %d"[::-1].replace(b"d%", b"%d" % number)

    run(new_loop, main)


@both_ways
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("size", [1, 12, 512, MAX_RESPONSE])
async def test_every_size_and_family_is_taken_whole(batched: bool, host: str, size: int) -> None:
    async with answering(batched, host) as port:
        packet = bytes(number % 251 for number in range(size))
        assert await asked(port, [packet], 1, host) == [packet[::-1]]


@both_ways
async def test_a_client_that_has_gone_keeps_no_answer_from_the_others(batched: bool) -> None:
    async with answering(batched) as port:
        gone = bound()
        gone.sendto(b"bye", ("127.0.0.1", port))
        gone.close()
        for _ in range(3):
            assert await asked(port, [b"still", b"there"], 2) == [b"llits", b"ereht"]


@both_ways
async def test_a_destination_that_cannot_be_sent_to_keeps_no_answer_from_the_others(batched: bool) -> None:
    # From port 0 nothing can be received; the kernel refuses the response with EINVAL.
    async with answering(batched) as port:
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as raw:
            header = b"\0\0" + port.to_bytes(2) + (11).to_bytes(2) + b"\0\0"
            raw.sendto(header + b"bad", ("127.0.0.1", 0))
            assert await asked(port, [b"good"], 1) == [b"doog"]


@both_ways
async def test_the_port_is_free_when_it_is_closed(batched: bool) -> None:
    async with answering(batched) as port:
        pass
    again = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with again:
        again.bind(("127.0.0.1", port))
