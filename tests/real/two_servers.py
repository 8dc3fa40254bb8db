"""The same DNS question to two servers, and every place in which their responses differ.

A response is taken apart into parts, each a set of words: its code, its header bits, its EDNS, its sections. What
differs is listed part by part; whether it may is left to the list beside the test.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import msgspec
import yaml

TYPES = ("A", "AAAA", "SRV", "TXT", "NS", "SOA", "ANY", "MX", "PTR", "CNAME", "HTTPS")
Transport = Literal["udp", "edns", "dnssec", "tcp"]
TRANSPORTS: tuple[Transport, ...] = ("udp", "edns", "dnssec", "tcp")
Side = Literal["coredns", "ours"]
SECTIONS = ("answer", "authority", "additional")
_PATIENCE = (1.0, 2.0, 4.0)
"""Seconds for each time that a question is asked; a busy machine may lose or delay a response or two."""
_AT_A_TIME = 4
_BATCH = 50
"""Questions of one socket."""


@dataclass(frozen=True)
class Question:
    """A question, over a transport: `udp` without EDNS, `edns` with 1232 bytes, `dnssec` with 4096 bytes and DO.

    `flags` are the header bits that it sets.
    """

    name: str
    type: str
    transport: Transport
    traits: frozenset[str]
    flags: str = "RD"

    def __str__(self) -> str:
        traits = ", ".join(sorted(self.traits))
        return f"{self.name} {self.type} over {self.transport}, {self.flags or 'no flags'} ({traits})"

    def query(self, id_: int) -> bytes:
        """The query on the wire."""
        edns = {"udp": None, "edns": 1232, "dnssec": 4096, "tcp": None}[self.transport]
        message = dns.message.make_query(
            f"{self.name}.",
            self.type,
            use_edns=False if edns is None else 0,
            payload=edns or 1232,
            want_dnssec=self.transport == "dnssec",
            id=id_,
            flags=dns.flags.from_text(self.flags),
        )
        return message.to_wire()


Parts = dict[str, frozenset[str]]


def parts_of(packet: bytes) -> Parts:
    """The response taken apart. Serials are left out, since each server counts its own.

    The sections of a truncated response are left out too: which records it holds is the server's choice.
    """
    if not packet:
        return {"rcode": frozenset({"no response"})}
    message = dns.message.from_wire(packet)
    flags = dns.flags.to_text(message.flags).split()
    parts = {
        "rcode": frozenset({dns.rcode.to_text(message.rcode())}),
        "flags": frozenset(flags),
        "question": frozenset(str(each) for each in message.question),
        "edns": frozenset() if message.edns < 0 else frozenset({f"version {message.edns}"}),
    }
    if message.edns >= 0:
        parts["edns"] |= {f"size {message.payload}"} | {"DO" for _ in [0] if message.ednsflags & dns.flags.DO}
    if "TC" not in flags:
        for section, rrsets in zip(SECTIONS, message.sections[1:], strict=True):
            parts[section] = frozenset(line for each in rrsets for line in _lines(each))
            parts["weights"] = parts.get("weights", frozenset()) | _weights(rrsets)
    return parts


def _lines(rrset: dns.rrset.RRset) -> Iterator[str]:
    for data in rrset:
        words = str(data).split(" ")
        match rrset.rdtype:
            case dns.rdatatype.SOA:
                words[2] = "SERIAL"
            case dns.rdatatype.SRV:
                words[1] = "WEIGHT"
        line = f"{rrset.name} {rrset.ttl} {dns.rdatatype.to_text(rrset.rdtype)} {' '.join(words)}"
        yield line.lower().replace(f" {rrset.rdtype.name.lower()} ", f" {rrset.rdtype.name} ", 1)


def _weights(rrsets: Iterable[dns.rrset.RRset]) -> frozenset[str]:
    return frozenset(
        str(data).split(" ")[1] for each in rrsets if each.rdtype == dns.rdatatype.SRV for data in each
    )


@dataclass(frozen=True)
class Difference:
    """One word that only one of the two servers says, in one part of its response to one question."""

    question: Question
    part: str
    side: Side
    word: str

    def __str__(self) -> str:
        return f"{self.question}: {self.part}: only {self.side}: {self.word}"


def differences(question: Question, coredns: Parts, ours: Parts) -> Iterator[Difference]:
    """Every difference; of the sections only where neither response is truncated."""
    for part in coredns.keys() & ours.keys():
        for word in sorted(coredns[part] - ours[part]):
            yield Difference(question, part, "coredns", word)
        for word in sorted(ours[part] - coredns[part]):
            yield Difference(question, part, "ours", word)


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What only one of the servers says; in the patterns `*` matches anything."""

    coredns: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A listed difference: where it may occur, what each server says there, and the rule that decides.

    `at` are traits of the name, all of which it has; one with a `|` stands for either. `parts` are those of a response.
    """

    what: str
    decides: str
    parts: dict[str, Words]
    at: tuple[str, ...] = ()
    types: tuple[str, ...] = TYPES
    transports: tuple[Transport, ...] = TRANSPORTS

    def covers(self, difference: Difference) -> bool:
        """Whether this is the difference, or one word of it."""
        question, words = difference.question, self.parts.get(difference.part)
        if words is None or question.type not in self.types or question.transport not in self.transports:
            return False
        patterns = words.coredns if difference.side == "coredns" else words.ours
        return all(not question.traits.isdisjoint(trait.split(" | ")) for trait in self.at) and any(
            fnmatchcase(difference.word, pattern) for pattern in patterns
        )


def known_differences(file: Path) -> tuple[Known, ...]:
    """The listed differences."""
    return msgspec.convert(yaml.safe_load(file.read_text()), tuple[Known, ...])


class Client:
    """Asks a server on 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def ask(self, questions: Sequence[Question]) -> list[bytes]:
        """The responses, in the order of the questions; empty for one that does not come however often it is asked."""
        responses: dict[int, bytes] = {}
        for patience in _PATIENCE:
            # Over TCP, one question that gets no response ends the connection and takes the others with it.
            size = _BATCH if patience == _PATIENCE[0] else 1
            over_tcp, over_udp = (
                [
                    index
                    for index, each in enumerate(questions)
                    if index not in responses and (each.transport == "tcp") is is_tcp
                ]
                for is_tcp in (True, False)
            )
            places = asyncio.Semaphore(_AT_A_TIME)

            async def in_turn(
                asking: Awaitable[dict[int, bytes]], places: asyncio.Semaphore = places
            ) -> None:
                async with places:
                    responses.update(await asking)

            async with asyncio.TaskGroup() as batches:
                for ask, indices, length in (
                    (self._over_tcp, over_tcp, size),
                    (self._over_udp, over_udp, _BATCH),
                ):
                    for start in range(0, len(indices), length):
                        some = {index: questions[index] for index in indices[start : start + length]}
                        batches.create_task(in_turn(ask(some, patience)), name=f"{ask.__name__} {start}")
        return [responses.get(index, b"") for index in range(len(questions))]

    async def _over_tcp(self, questions: Mapping[int, Question], patience: float) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        writer = None
        with contextlib.suppress(TimeoutError, ConnectionError, asyncio.IncompleteReadError):
            async with asyncio.timeout(patience):
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                for index, question in questions.items():
                    query = question.query(index)
                    writer.write(len(query).to_bytes(2) + query)
                while len(found) < len(questions):
                    packet = await reader.readexactly(int.from_bytes(await reader.readexactly(2)))
                    found[int.from_bytes(packet[:2])] = packet
        if writer is not None:
            writer.transport.abort()
        return found

    async def _over_udp(self, questions: Mapping[int, Question], patience: float) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        complete = asyncio.Event()

        class Receiver(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, addr: object) -> None:
                found[int.from_bytes(data[:2])] = data
                if len(found) == len(questions):
                    complete.set()

        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(Receiver, remote_addr=("127.0.0.1", self._port))
        try:
            for index, question in questions.items():
                transport.sendto(question.query(index))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await complete.wait()
        finally:
            transport.close()
        return found
