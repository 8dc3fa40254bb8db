"""DNS queries per second on one core, next to a bare UDP echo on the same loop, asked by the same load.

The server runs in a process of its own on the first core, the load in another on the last. Rounds of both alternate, so
that both see the same machine; the median counts. The load keeps a window of queries in flight and sends and receives
them in batches of system calls, so that it is never what is measured.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import random
import socket
import statistics
import struct
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any, cast

import dns.message
import structlog
import uvloop

from mcs.model.names import ClusterId, ServiceKey
from mcs.model.slices import IPV4, IPV6
from mcs_dns.server import DnsServer
from mcs_dns.zone import ImportedService, Port, ReadyEndpoint, Zone, system_assigned_id
from tests.bench.figures import Figure, ratio_figure

SERVICES = 5000
ROUNDS = 5
SECONDS = 1.0
WARM_UP = 6.0
BATCH = 32
SLOT = 1232
MIXES = {
    "addresses": (("A", 100),),
    "mixed": (("A", 60), ("AAAA", 20), ("SRV", 10), ("absent", 10)),
}
"""What the load asks for, in percent; "absent" names do not exist."""


def zone() -> Zone:
    """SERVICES services, every second one headless with three endpoints in two clusters."""
    return Zone.empty().with_services(dict(map(_service, range(SERVICES)))).as_synced()


def _service(number: int) -> tuple[ServiceKey, ImportedService]:
    key = ServiceKey(f"ns{number % 10}", f"svc{number}")
    ports = (Port("http", "tcp", 80),)
    high, low = divmod(number, 250)
    if number % 2:
        ips = ((IPV4, f"10.200.{high}.{low + 1}"), (IPV6, f"fd00:200::{number + 1:x}"))
        return key, ImportedService(type="ClusterSetIP", ips=ips, ports=ports)
    addresses = [(ClusterId(cluster), f"10.{second}.{high}.{low + 1}") for cluster, second in _MEMBERS]
    endpoints = (
        ReadyEndpoint((system_assigned_id(address), cluster), IPV4, (address,), ports)
        for cluster, address in addresses
    )
    return key, ImportedService(type="Headless", endpoints=tuple(sorted(endpoints)))


_MEMBERS = (("east", 1), ("east", 2), ("west", 3))


def queries(mix: str, count: int = 4096) -> list[bytes]:
    """Packets of the mix in a random order that is the same in every run."""
    chance = random.Random(7)
    kinds = [kind for kind, percent in MIXES[mix] for _ in range(percent)]
    packets = []
    for number in range(count):
        kind, service = chance.choice(kinds), chance.randrange(SERVICES)
        name = f"svc{service}.ns{service % 10}.svc.clusterset.local."
        if kind == "absent":
            name, kind = f"absent{number}.{name.split('.', 1)[1]}", "A"
        packets.append(dns.message.make_query(name, kind, id=number & 0xFFFF).to_wire())
    return packets


async def measure() -> list[Figure]:
    """Queries per second for each mix next to echoed datagrams per second."""
    figures = []
    for mix in MIXES:
        rates: dict[str, list[float]] = {"dns": [], "echo": []}
        async with _process("dns") as dns_port, _process("echo") as echo_port:
            # The first question of a name is encoded; the rounds measure what follows.
            await _load(int(dns_port), mix, WARM_UP)
            for _ in range(ROUNDS):
                rates["dns"].append(await _load(int(dns_port), mix))
                rates["echo"].append(await _load(int(echo_port), mix))
        value, baseline = (statistics.median(rates[kind]) for kind in ("dns", "echo"))
        figures.append(
            ratio_figure(
                f"DNS over UDP on one core, {mix}, against a bare echo", value, "queries/s", baseline
            )
        )
    return figures


@asynccontextmanager
async def _process(*arguments: str) -> AsyncIterator[str]:
    """The first line that this module prints when run with `arguments`; the process ends with the context."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, *arguments, stdin=pipe, stdout=pipe
    )
    stdin, stdout = cast("tuple[asyncio.StreamWriter, asyncio.StreamReader]", (process.stdin, process.stdout))
    try:
        yield (await stdout.readline()).decode()
    finally:
        stdin.close()
        await process.wait()


async def _load(port: int, mix: str, seconds: float = SECONDS) -> float:
    async with _process("load", str(port), mix, str(seconds)) as rate:
        return float(rate)


class _Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.send = cast("asyncio.DatagramTransport", transport).sendto

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.send(data, addr)


async def _serve(kind: str) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), stopped.set)
    if kind == "dns":
        async with DnsServer(zone(), "127.0.0.1", 0) as server:
            print(server.port, flush=True)
            await stopped.wait()
        return
    transport, _ = await loop.create_datagram_endpoint(_Echo, local_addr=("127.0.0.1", 0))
    print(transport.get_extra_info("sockname")[1], flush=True)
    await stopped.wait()
    transport.close()


class Load:
    """Sends and receives datagrams of one connected socket in batches (sendmmsg, recvmmsg)."""

    def __init__(self, port: int, packets: list[bytes]) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(("127.0.0.1", port))
        self._socket.settimeout(1)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._packets = ctypes.create_string_buffer(b"".join(packets))
        self._received = ctypes.create_string_buffer(BATCH * SLOT)
        ends = [0]
        for packet in packets:
            ends.append(ends[-1] + len(packet))
        outgoing = [(ctypes.addressof(self._packets) + at, end - at) for at, end in pairwise(ends)]
        incoming = [(ctypes.addressof(self._received) + n * SLOT, SLOT) for n in range(BATCH)]
        self._out_vectors, self._out = _headers(outgoing)
        self._in_vectors, self._in = _headers(incoming)
        self._batches = len(packets) // BATCH

    def rate(self, seconds: float) -> float:
        """Responses per second, with two batches in flight; a lost datagram only costs its wait."""
        descriptor = self._socket.fileno()
        answered = batch = in_flight = 0
        start = time.perf_counter()
        while (now := time.perf_counter()) - start < seconds:
            if in_flight < 2 * BATCH:
                at = ctypes.addressof(self._out) + batch * BATCH * 64
                in_flight += max(0, self._libc.sendmmsg(descriptor, ctypes.c_void_p(at), BATCH, 0))
                batch = (batch + 1) % self._batches
                continue
            got = self._libc.recvmmsg(descriptor, self._in, BATCH, 0x40, None)
            if got > 0:
                answered += got
                in_flight -= got
            elif got < 0 and not _readable(self._socket):
                in_flight = 0
        self._socket.close()
        return answered / (now - start)


def _readable(waiting: socket.socket) -> bool:
    """True as soon as a datagram is there, False when none comes for a while."""
    try:
        waiting.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return False
    return True


def _headers(buffers: list[tuple[int, int]]) -> tuple[Any, Any]:
    """iovec and mmsghdr arrays for (address, length) buffers; the first must live as long as the second."""
    vectors = ctypes.create_string_buffer(16 * len(buffers))
    headers = ctypes.create_string_buffer(64 * len(buffers))
    for n, (address, length) in enumerate(buffers):
        struct.pack_into("QQ", vectors, n * 16, address, length)
        struct.pack_into(
            "QI4xQQQQi4xI4x", headers, n * 64, 0, 0, ctypes.addressof(vectors) + n * 16, 1, 0, 0, 0, 0
        )
    return vectors, headers


def main(kind: str, *arguments: str) -> None:
    """Be the server, the echo or the load, on the core that is its own."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1] if kind == "load" else cores[0]})
    if kind == "load":
        port, mix, seconds = arguments
        print(Load(int(port), queries(mix)).rate(float(seconds)), flush=True)
    else:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(kind))


if __name__ == "__main__":
    main(*sys.argv[1:])
