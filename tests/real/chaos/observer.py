"""Asks DNS servers all the time and writes down every answer, with a DNS library that is not ours.

A program of its own. Its arguments are the file to write to, a JSON object with the port of each server by its name,
and a JSON list of names. Each server is asked about one name after the other, some over TCP; a line of JSON is an
`Answer` of the judge.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from itertools import count
from typing import TextIO

import dns.asyncquery
import dns.exception
import dns.message
import dns.rcode
import dns.rdatatype

HOST = "127.0.0.1"
PATIENCE = 1.0
"""Seconds until a question counts as not answered."""

PAUSE = 0.015
"""Seconds between an answer and the next question to the same server."""

OVER_TCP = 7
"""Every so manyth question goes over TCP."""


async def ask(port: int, name: str, *, over_tcp: bool = False) -> tuple[str, list[str]]:
    """The rcode, empty when no answer came in time, and the addresses of the A records of the answer."""
    query = dns.message.make_query(name, "A")
    asking = dns.asyncquery.tcp if over_tcp else dns.asyncquery.udp
    try:
        response = await asking(query, HOST, timeout=PATIENCE, port=port)
    except (dns.exception.DNSException, OSError, EOFError):
        return "", []
    addresses = [
        str(record.address)
        for rrset in response.answer
        if rrset.rdtype == dns.rdatatype.A
        for record in rrset
    ]
    return dns.rcode.to_text(response.rcode()), sorted(addresses)


async def observe(server: str, port: int, names: Sequence[str], record: TextIO) -> None:
    """Ask until cancelled."""
    for number in count():
        name = names[number % len(names)]
        asked = time.monotonic()
        rcode, addresses = await ask(port, name, over_tcp=number % OVER_TCP == 0)
        record.write(json.dumps([server, name, asked, time.monotonic(), rcode, addresses]) + "\n")
        # A server that is away answers at once, with a refusal of its machine.
        await asyncio.sleep(PAUSE if rcode else 10 * PAUSE)


async def main(file: str, servers: str, names: str) -> None:
    """Observe all servers until killed."""
    with open(file, "w", buffering=1) as record:  # noqa: ASYNC230, PTH123 (before anything else happens)
        async with asyncio.TaskGroup() as tasks:
            for server, port in json.loads(servers).items():
                tasks.create_task(observe(server, port, json.loads(names), record), name=f"observe {server}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
