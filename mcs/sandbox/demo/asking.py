"""Asks a DNS server as a stranger would: over the network, with a library that shares no code with our server."""

from typing import Literal

import dns.asyncquery
import dns.message
import dns.rcode

from mcs.sandbox.demo.expectations import Answer

Transport = Literal["UDP", "TCP"]
TRANSPORTS: tuple[Transport, ...] = ("UDP", "TCP")
PATIENCE = 3.0
"""Seconds to wait for one answer."""


async def ask(port: int, name: str, kind: str, transport: Transport) -> Answer:
    """The data of the answer's records, or the rcode when it is not NOERROR.

    Raises dns.exception.DNSException or OSError when no answer comes.
    """
    query = dns.message.make_query(name, kind)
    send = dns.asyncquery.udp if transport == "UDP" else dns.asyncquery.tcp
    response = await send(query, "127.0.0.1", port=port, timeout=PATIENCE)
    if response.rcode() != dns.rcode.NOERROR:
        return dns.rcode.to_text(response.rcode())
    return frozenset(record.to_text() for answer in response.answer for record in answer)
