"""What a search begins with: the committed corpus, queries of all kinds made by a foreign library, and words to put in.

An input is one byte that says how it is asked (see checks), then the packet or the TCP stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import dns.edns
import dns.message
import dns.opcode
import dns.rdataclass
import dns.rdatatype

Target = Literal["packets", "streams"]
TARGETS: tuple[Target, ...] = ("packets", "streams")

_CORPUS = Path(__file__).with_name("corpus")
_NAMES = (
    ".",
    "clusterset.local.",
    "dns-version.clusterset.local.",
    "ns.dns.clusterset.local.",
    "svc.clusterset.local.",
    "demo.svc.clusterset.local.",
    "web.demo.svc.clusterset.local.",
    "WEB.Demo.SVC.clusterSET.local.",
    "_http._tcp.web.demo.svc.clusterset.local.",
    "_tcp.db.demo.svc.clusterset.local.",
    "db.demo.svc.clusterset.local.",
    "db-0.c4.eu.db.demo.svc.clusterset.local.",
    "c4.eu.db.demo.svc.clusterset.local.",
    "crowd.demo.svc.clusterset.local.",
    "member-7.c1.crowd.demo.svc.clusterset.local.",
    "nosuch.demo.svc.clusterset.local.",
    r"a\.b.\000.demo.svc.clusterset.local.",
    f"{'x' * 63}.{'y' * 63}.{'z' * 60}.demo.svc.clusterset.local.",
    "cluster.local.",
)
_TYPES = ("A", "AAAA", "SRV", "ANY", "TXT", "SOA", "NS", "AXFR", "TYPE65280")
_COOKIE = dns.edns.GenericOption(dns.edns.OptionType.COOKIE, bytes(8))
_SUBNET = dns.edns.ECSOption("192.0.2.0", 24)


def committed(target: Target) -> list[Path]:
    """The inputs that earlier searches found worth keeping, one a file."""
    return sorted((_CORPUS / target).glob("*.bin"))


def seeds(target: Target) -> Iterator[bytes]:
    """Inputs to begin with."""
    queries = list(_queries())
    if target == "packets":
        for number, query in enumerate(queries):
            yield bytes((number % 256,)) + query
        return
    framed = [len(query).to_bytes(2) + query for query in queries]
    for number in range(0, len(framed), 3):
        yield bytes((number % 4,)) + b"".join(framed[number : number + 3])
    yield bytes(3)
    yield b"\1" + framed[0][:-1]
    yield b"\2" + framed[1] + b"\0\x0c" + bytes((0, 1, 0x80, *bytes(9))) + framed[2]


def _queries() -> Iterator[bytes]:
    for number, name in enumerate(_NAMES):
        for type_ in _TYPES[number % 3 :: 3]:
            yield dns.message.make_query(name, type_, id=number, use_edns=False).to_wire()
            yield dns.message.make_query(name, type_, use_edns=0, payload=4096, want_dnssec=True).to_wire()
    web = "web.demo.svc.clusterset.local."
    for options in ((_COOKIE,), (_SUBNET, _COOKIE)):
        yield dns.message.make_query(web, "A", use_edns=0, options=list(options)).to_wire()
    yield dns.message.make_query(web, "A", use_edns=1).to_wire()
    yield dns.message.make_query(web, "A", dns.rdataclass.CH).to_wire()
    for opcode in (dns.opcode.NOTIFY, dns.opcode.UPDATE):
        message = dns.message.make_query(web, "SOA")
        message.set_opcode(opcode)
        yield message.to_wire()
    query = dns.message.make_query(web, "A", use_edns=False).to_wire()
    yield dns.message.make_response(dns.message.from_wire(query)).to_wire()
    yield query[:5] + b"\2" + query[6:] + query[12:]
    # A second question that points to the first, an OPT beside another record, a name that points to itself.
    yield query[:5] + b"\2" + query[6:] + b"\xc0\x0c\0\x1c\0\1"
    yield query[:11] + b"\2" + query[12:] + b"\xc0\x0c\0\1\0\1" + bytes(6) + b"\0\0\x29\x04\xd0" + bytes(6)
    yield query[:12] + b"\xc0\x0c\0\1\0\1"


def dictionary() -> str:
    """Words for a fuzzer to put in, in the form that libFuzzer reads."""
    labels = (
        "web",
        "db",
        "crowd",
        "demo",
        "svc",
        "clusterset",
        "local",
        "_http",
        "_tcp",
        "c4",
        "eu",
        "dns",
        "ns",
    )
    words = [bytes((len(label),)) + label.encode() for label in labels]
    words += [b"\xc0\x0c", b"\0\0\x29\x04\xd0\0\0\0\0\0\0", b"\0\x21\0\1", b"\0\xff\0\1", b"\0\1\0\0\0\0\0\1"]
    escaped = ("".join(rf"\x{byte:02x}" for byte in word) for word in words)
    return "".join(f'"{word}"\n' for word in escaped)
