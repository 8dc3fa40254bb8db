"""What each feature of the answering path costs, in microseconds of CPU time a query, in this process.

Each figure is the same work with the feature next to the work without it, in alternating rounds of which the fastest
counts: what others take of the machine can only make a round slower.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import Callable, Iterable, Sequence

import dns.message
import msgspec
import uvloop

from mcs.model.multicluster import ServiceImport
from mcs.model.slices import EndpointSlice
from mcs_dns.choice import in_order
from mcs_dns.datagrams import BATCH, BatchedDatagrams, SingleDatagrams
from mcs_dns.responder import Responder
from mcs_dns.server import _shuffled, collect_rarely
from mcs_dns.wire import MAX_DATAGRAM, respond
from mcs_dns.zone import Zone, imported_service
from tests.bench.dns_objects import (
    ZONE,
    Object,
    addresses,
    key_of,
    mirror,
    mixed_services,
    questions,
    service_import,
    zone_of,
)
from tests.bench.figures import Figure, ratio_figure

SERVICES = 2000
QUESTIONS = 4096
ROUNDS = 15
FLIPPING = 50
"""Endpoints of a service that changes."""

MANY = 20
"""Endpoints of a service that is larger than those whose orders are kept."""

Way = type[BatchedDatagrams] | type[SingleDatagrams]
Work = Callable[[], float]
"""Does its work and returns the seconds of CPU time that one query took."""


async def measure(services: int = SERVICES, rounds: int = ROUNDS) -> Sequence[Figure]:
    """One figure for each feature."""
    zone = zone_of([*mixed_services(services), *_many(services)])
    # As `mcs dns` does: else the longest change is one in which Python looks at all objects of the zone.
    collect_rarely()
    lines = list(questions(QUESTIONS, services=services))
    plain, edns = _packets(lines), _packets(lines, edns=True)
    ips = [line for line in _of_services(lines) if _number(line) % 2]
    few = [line for line in _of_services(lines) if _number(line) % 4 == 2]
    weighted = [line for line in _of_services(lines) if _number(line) % 4 == 0]
    key = key_of(services)
    many = [f"{key.name}.{key.namespace}.svc.{ZONE} A"]
    pairs: dict[str, tuple[Work, Work]] = {
        "EDNS, against none": (_answering(zone, edns), _answering(zone, plain)),
        "case of the client (0x20), against lower case": (
            _answering(zone, _packets(ips, edns=True, is_spelt=True)),
            _answering(zone, _packets(ips, edns=True)),
        ),
        "several records in chance order, 3 endpoints, against one record": (
            _answering(zone, _packets(few, edns=True)),
            _answering(zone, _packets(ips, edns=True)),
        ),
        "weights, 3 endpoints, against equal ones": (
            _answering(zone, _packets(weighted, edns=True)),
            _answering(zone, _packets(few, edns=True)),
        ),
        f"shuffle, {MANY} endpoints, against their own order": (
            _answering(zone, _packets(many, edns=True)),
            _answering(zone, _packets(many, edns=True), is_shuffled=False),
        ),
        "absent names, against all": (
            _answering(zone, _packets([line for line in lines if line.startswith("absent")], edns=True)),
            _answering(zone, edns),
        ),
        "counters of metrics, against the whole answer": (_counting(), _answering(zone, edns)),
        "encoding anew, against memory": (
            _timed(lambda packet: respond(packet, zone), edns[:200]),
            _answering(zone, edns[:200]),
        ),
    }
    flip = [_flip(zone, FLIPPING, number) for number in range(20 * rounds)]
    figures = [
        ratio_figure(
            f"a change of {FLIPPING} endpoints and its first answers, at most, against 5 ms",
            max(flip) * 1e6,
            "us",
            5000,
        )
    ]
    figures += [_figure(title, with_it, without, rounds) for title, (with_it, without) in pairs.items()]
    return [*figures, *await asyncio.to_thread(_batching, zone, edns, rounds)]


def _flip(zone: Zone, endpoints: int, number: int) -> float:
    """Seconds of CPU time from the slice to the last first answer, all of which no other question is answered."""
    key = key_of(0)
    imported = msgspec.convert(service_import(key)[1], ServiceImport)
    ready = addresses(0, endpoints - number % 2)
    mirrored = msgspec.convert(mirror(key, "east", ready)[1], EndpointSlice)
    name = f"{key.name}.{key.namespace}.svc.{ZONE}"
    packets = _packets([f"{name} A", f"{name} AAAA", f"_http._tcp.{name} SRV"], edns=True)
    responder = Responder(zone, MAX_DATAGRAM, _shuffled, random.random)
    started = time.thread_time()
    responder.zone = zone.with_services({key: imported_service(imported, [mirrored])})
    for packet in packets:
        responder.respond(packet)
    return time.thread_time() - started


def _many(number: int) -> Iterable[Object]:
    return service_import(key_of(number)), mirror(key_of(number), "east", addresses(0, MANY))


def _number(line: str) -> int:
    return int(line.split(".", maxsplit=1)[0].removeprefix("svc"))


def _of_services(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line.startswith("svc") and line.endswith(" A")]


def _packets(lines: Sequence[str], *, edns: bool = False, is_spelt: bool = False) -> list[bytes]:
    chance = random.Random(7)
    packets = []
    for number, line in enumerate(lines):
        name, type_ = line.split()
        if is_spelt:
            name = "".join(chance.choice((each.lower(), each.upper())) for each in name)
        query = dns.message.make_query(name, type_, id=number, use_edns=0 if edns else -1, payload=1232)
        packets.append(query.to_wire())
    return packets


def _answering(zone: Zone, packets: Sequence[bytes], *, is_shuffled: bool = True) -> Work:
    if is_shuffled:
        responder = Responder(zone, MAX_DATAGRAM, _shuffled, random.random)
    else:
        responder = Responder(zone, MAX_DATAGRAM, in_order)
    for packet in packets:
        responder.respond(packet)
    return _timed(responder.respond, packets)


def _timed(answer: Callable[[bytes], object], packets: Sequence[bytes]) -> Work:
    repeated = list(packets) * max(1, 2000 // len(packets)) if len(packets) < 100 else packets

    def work() -> float:
        started = time.thread_time()
        for packet in repeated:
            answer(packet)
        return (time.thread_time() - started) / len(repeated)

    return work


def _counting() -> Work:
    counters = [[0] for _ in range(QUESTIONS)]

    def work() -> float:
        started = time.thread_time()
        for counter in counters:
            counter[0] += 1
        counted = time.thread_time()
        for _ in counters:
            pass
        return (counted - started - (time.thread_time() - counted)) / len(counters)

    return work


def _figure(title: str, with_it: Work, without: Work, rounds: int) -> Figure:
    times = [(with_it(), without()) for _ in range(rounds)]
    value, baseline = (min(each) * 1e6 for each in zip(*times, strict=True))
    return ratio_figure(title, value, "us/query", baseline)


def _batching(zone: Zone, packets: Sequence[bytes], rounds: int) -> list[Figure]:
    """The whole way of a datagram through the loop, BATCH of them waiting or one, and without batches."""
    ways: dict[str, tuple[Way, int]] = {
        "batch": (BatchedDatagrams, BATCH),
        "one": (BatchedDatagrams, 1),
        "single": (SingleDatagrams, BATCH),
    }
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        taken = {
            name: min(runner.run(_through(way, waiting, zone, packets)) for _ in range(rounds)) * 1e6
            for name, (way, waiting) in ways.items()
        }
    return [
        ratio_figure(
            f"datagrams {BATCH} a call, against one a call", taken["batch"], "us/query", taken["one"]
        ),
        ratio_figure(
            f"datagrams {BATCH} a call, against the loop's transport",
            taken["batch"],
            "us/query",
            taken["single"],
        ),
    ]


async def _through(way: Way, waiting: int, zone: Zone, packets: Sequence[bytes]) -> float:
    responder = Responder(zone, MAX_DATAGRAM, _shuffled, random.random)
    left, all_answered = 0, asyncio.Event()

    def answer(packet: bytes) -> bytes | None:
        nonlocal left
        left -= 1
        if not left:
            all_answered.set()
        return responder.respond(packet)

    for packet in packets:
        responder.respond(packet)
    best = float("inf")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listener.setblocking(False)
        listener.bind(("127.0.0.1", 0))
        client.connect(listener.getsockname())
        client.setblocking(False)
        server = way(listener, answer)
        await server.start()
        for start in range(0, len(packets) - waiting, max(waiting, 16)):
            left = waiting
            all_answered.clear()
            for packet in packets[start : start + waiting]:
                client.send(packet)
            started = time.thread_time()
            await all_answered.wait()
            best = min(best, (time.thread_time() - started) / waiting)
            # The last response is on its way when the loop comes round again.
            await asyncio.sleep(0)
            _drain(client)
        server.close()
        await asyncio.sleep(0)
    return best


def _drain(client: socket.socket) -> None:
    try:
        while client.recv(MAX_DATAGRAM):
            pass
    except BlockingIOError:
        return
