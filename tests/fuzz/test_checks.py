"""The judge of the searches sees a server that breaks a rule, and the shares of a search are all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dns.message
import pytest

from mcs_dns import wire
from mcs_dns.responder import Responder
from mcs_dns.server import DnsServer
from tests.fuzz import checks
from tests.fuzz.checks import BrokenRuleError, Packets, Streams
from tests.fuzz.run import shares

QUERY = dns.message.make_query("web.demo.svc.clusterset.local.", "A", id=0x1234).to_wire()

FAULTS: dict[str, Callable[[bytes], bytes | None]] = {
    "another id": lambda response: b"\0\1" + response[2:],
    "a query": lambda response: response[:2] + bytes((response[2] & 0x7F,)) + response[3:],
    "another opcode": lambda response: response[:2] + bytes((response[2] | 0x08,)) + response[3:],
    "another question": lambda response: response[:13] + b"x" + response[14:],
    "too long": lambda response: response + bytes(600),
    "not to be parsed": lambda response: response[:-1],
    "nothing": lambda response: None,
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_response_that_breaks_a_rule_is_seen(
    fault: Callable[[bytes], bytes | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    packets = Packets()
    packets(b"\0" + QUERY)
    right = packets.response_to(b"\0" + QUERY)
    assert right is not None
    monkeypatch.setattr(checks, "respond", lambda *_, **__: fault(right))
    monkeypatch.setattr(Responder, "respond", lambda *_: fault(right))
    with pytest.raises((BrokenRuleError, dns.exception.DNSException)):
        packets(b"\0" + QUERY)


def test_a_memory_that_answers_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    packets = Packets()
    monkeypatch.setattr(Responder, "respond", lambda *_: None)
    with pytest.raises(BrokenRuleError, match="from memory"):
        packets(b"\0" + QUERY)


async def test_a_server_that_answers_a_frame_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "respond", lambda *arguments: (wire.respond(*arguments) or b"")[:-1])
    async with Streams() as streams:
        with pytest.raises(BrokenRuleError):
            await streams.check(b"\0" + len(QUERY).to_bytes(2) + QUERY)


async def test_a_server_that_fails_within_a_stream_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    async def close(_: Any, reader: Any, writer: Any) -> None:
        await reader.readexactly(1)

    monkeypatch.setattr(DnsServer, "_answer_stream", close)
    async with Streams() as streams:
        with pytest.raises(BrokenRuleError):
            await streams.check(b"\0" + len(QUERY).to_bytes(2) + QUERY)


@pytest.mark.parametrize("inputs", [1, 19, 20, 21, 1000, 10_000_000])
def test_a_search_is_shared_out_without_a_rest(inputs: int) -> None:
    for processes in (1, 2, 3):
        found = shares(inputs, 7, processes)
        assert sum(share.inputs for share in found) == inputs
        assert len({(share.target, share.seed) for share in found}) == len(found) <= 2 * processes
