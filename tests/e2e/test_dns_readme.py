"""The README of the zone is true: its objects give the answers that it shows."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import dns.asyncquery
import dns.message
import dns.rcode
import msgspec
import pytest
import yaml

from mcs.model.multicluster import ServiceImport
from mcs.model.slices import EndpointSlice
from mcs_dns.server import DnsServer
from mcs_dns.zone import Zone, imported_service

README = Path(__file__).parents[2] / "dns" / "README.md"


class Transcript(NamedTuple):
    """One `dig` and what it printed: the response code (NOERROR unless shown) and the records, sorted."""

    options: tuple[str, ...]
    name: str
    type: str
    rcode: str
    records: list[str]


def blocks(language: str) -> list[str]:
    """The fenced blocks of the README in that language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    return [text for marked, text in fenced if marked == language]


def zone() -> Zone:
    """The zone of the objects in the README's YAML block."""
    (block,) = blocks("yaml")
    objects = list(yaml.safe_load_all(block))
    imports = [msgspec.convert(o, ServiceImport) for o in objects if o["kind"] == "ServiceImport"]
    slices = [msgspec.convert(o, EndpointSlice) for o in objects if o["kind"] == "EndpointSlice"]
    services = {each.key: imported_service(each, slices) for each in imports}
    return Zone.empty().with_services(services).as_synced()


def transcripts() -> Iterator[Transcript]:
    for block in blocks(""):
        for command, *output in (
            part.splitlines() for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part
        ):
            words = command.removeprefix("dig @127.0.0.1 -p 5353 ").split()
            status = re.search(r"status: (\w+)", "\n".join(output))
            yield Transcript(
                options=tuple(word for word in words if word.startswith("+")),
                name=words[-2],
                type=words[-1],
                rcode=status[1] if status else "NOERROR",
                records=sorted(line for line in output if line and not line.startswith(";")),
            )


def records_shown(response: dns.message.Message, options: tuple[str, ...]) -> list[str]:
    """The records of the sections that `dig` shows with these options."""
    sections = {
        "+answer": response.answer,
        "+authority": response.authority,
        "+additional": response.additional,
    }
    shown = [rrset for option, section in sections.items() if option in options for rrset in section]
    return sorted(line for rrset in shown for line in rrset.to_text().splitlines())


@pytest.mark.parametrize("transcript", list(transcripts()), ids=lambda t: f"{t.name} {t.type}")
async def test_the_readme_shows_what_the_server_answers(transcript: Transcript) -> None:
    query = dns.message.make_query(transcript.name, transcript.type)
    async with DnsServer(zone(), "127.0.0.1", 0) as server:
        for ask in (dns.asyncquery.udp, dns.asyncquery.tcp):
            response = await ask(query, server.host, port=server.port, timeout=5)
            assert dns.rcode.to_text(response.rcode()) == transcript.rcode
            assert records_shown(response, transcript.options) == transcript.records


def test_the_readme_shows_every_kind_of_record_and_denial() -> None:
    shown = list(transcripts())
    assert {transcript.type for transcript in shown} == {"A", "AAAA", "SRV", "TXT", "SOA", "NS"}
    assert {transcript.rcode for transcript in shown} == {"NOERROR", "NXDOMAIN"}
