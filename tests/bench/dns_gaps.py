"""How long questions wait while none is answered: `python -m tests.bench.dns_gaps PORT FILE RATE SECONDS`.

Questions go out at an even rate from one socket. When an answer came is told by the kernel, so that the measuring
process may be late itself; and only a time in which a question waited is a gap, so that it may also be late to ask.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypedDict

import dns.message

from tests.bench.dns_load import LOAD_CORE

_SO_TIMESTAMPNS = 35
_LATE = 1.0
"""Seconds that answers may take to come after the last question."""


class Gaps(TypedDict):
    """Seconds of the longest gap, and how many questions and answers there were."""

    longest: float
    questions: int
    answers: int


def longest_gap(asked: Sequence[float], answered: Sequence[float]) -> float:
    """The longest time without an answer while a question waited; both sequences are in order of time.

    Answers are taken to come in the order of the questions, which makes no gap longer than it was.
    """
    longest = 0.0
    for number, (before, now) in enumerate(pairwise([float("-inf"), *answered])):
        longest = max(longest, now - max(before, asked[number]))
    return longest


def measured(port: int, packets: Sequence[bytes], rate: int, seconds: float) -> Gaps:
    """Ask and listen. The clock is the kernel's for datagrams, that of the wall."""
    asked: list[float] = []
    answered: list[float] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 2**20)
        client.connect(("127.0.0.1", port))
        client.setblocking(False)
        began = time.time()
        while (now := time.time()) < began + seconds:
            while len(asked) < (now - began) * rate:
                packet = packets[len(asked) % len(packets)]
                asked.append(time.time())
                client.send(packet)
            select.select([client], [], [], 0.0005)
            _take(client, answered)
        end = time.time() + _LATE
        while len(answered) < len(asked) and time.time() < end:
            select.select([client], [], [], 0.01)
            _take(client, answered)
    answered.sort()
    return {
        "longest": longest_gap(asked, answered),
        "questions": len(asked),
        "answers": len(answered),
    }


def _take(client: socket.socket, answered: list[float]) -> None:
    """The kernel's times of all answers that are there."""
    while True:
        try:
            _, ((_, _, data), *_), _, _ = client.recvmsg(4096, 64)
        except BlockingIOError:
            return
        seconds, nanoseconds = struct.unpack("qq", data)
        answered.append(seconds + nanoseconds / 1e9)


def main(port: str, file: str, rate: str, seconds: str) -> None:
    """Print the gaps as JSON."""
    os.sched_setaffinity(0, {LOAD_CORE})
    packets = []
    for number, line in enumerate(Path(file).read_text().splitlines()):
        name, type_ = line.split()
        packets.append(
            dns.message.make_query(name, type_, id=number & 0xFFFF, use_edns=0, payload=1232).to_wire()
        )
    print(json.dumps(measured(int(port), packets, int(rate), float(seconds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
