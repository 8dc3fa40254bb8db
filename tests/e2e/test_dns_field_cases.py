"""Faults that users of other multi-cluster DNS servers met, each with neighbours of its kind, asked by dnspython.

Those that another test shows already are not shown again; the table in tests/conformance/README.md names it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import dns.asyncquery
import dns.flags
import dns.message
import dns.rcode
import pytest

from mcs.kube.transport import SILENCE_TIMEOUT
from mcs.model.names import SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL
from mcs.model.resources import ENDPOINT_SLICES, NAMESPACES, SERVICE_IMPORTS
from mcs.model.slices import IPV6
from mcs.testing.virtual_time import run_virtual
from mcs_dns.server import DnsServer
from mcs_dns.zone import Zone
from tests.e2e.test_stale_zone import age
from tests.lab.mcs import eventually
from tests.scenarios.objects import Json
from tests.scenarios.world import running_world
from tests.unit.dns.sample_zone import mirror, ready, sample_services, sample_zone, service_import, zone_of

ORIGIN = "clusterset.local."
DENIED = (
    ("nosuch.demo.svc", "A", "NXDOMAIN"),
    ("down.demo.svc", "SRV", "NXDOMAIN"),
    ("web.demo.svc", "AAAA", "NOERROR"),
    ("c2.db.demo.svc", "A", "NOERROR"),
    ("", "TXT", "NOERROR"),
)
UNKNOWN_TYPES = ("TXT", "MX", "HTTPS", "SVCB", "PTR", "CAA", "NAPTR", "DS", "TYPE65280")


async def asked(server: DnsServer, name: str, type_: str) -> dns.message.Message:
    """The response to a question about a name in the zone, over UDP; TCP must say the same."""
    full = name if name.endswith(".") else ".".join(filter(None, (name, ORIGIN)))
    query = dns.message.make_query(full, type_)
    over_udp = await dns.asyncquery.udp(query, server.host, port=server.port, timeout=5)
    assert over_udp == await dns.asyncquery.tcp(query, server.host, port=server.port, timeout=5)
    return over_udp


def code(response: dns.message.Message) -> str:
    """The response code, or NODATA."""
    found = dns.rcode.to_text(response.rcode())
    return "NODATA" if found == "NOERROR" and not response.answer else found


@pytest.mark.parametrize(("name", "type_", "rcode"), DENIED)
async def test_a_denial_comes_at_once_and_whole(name: str, type_: str, rcode: str) -> None:
    """Clients of a server that sent no packet with the code asked again for seconds."""
    loop = asyncio.get_running_loop()
    async with DnsServer(sample_zone(), "127.0.0.1", 0) as server:
        took = []
        for _ in range(5):
            asked_at = loop.time()
            response = await asked(server, name, type_)
            took.append(loop.time() - asked_at)
            assert dns.rcode.to_text(response.rcode()) == rcode
            assert (len(response.question), len(response.answer), len(response.authority)) == (1, 0, 1)
            assert response.flags & dns.flags.AA
    assert min(took) < 0.05


async def test_a_name_with_addresses_of_one_family_exists_in_the_other() -> None:
    """Resolvers of musl take NXDOMAIN for AAAA as the end of A, too."""
    zone = zone_of(
        (service_import("four", ips=("10.96.0.7",)), ()),
        (service_import("six", ips=("fd00:96::7",)), ()),
        (service_import("db", "Headless"), (mirror("db", "c1", ready("10.0.0.1", hostname="db-0")),)),
        (service_import("db6", "Headless"), (mirror("db6", "c1", ready("fd00::1"), family=IPV6),)),
    )
    async with DnsServer(zone, "127.0.0.1", 0) as server:
        for name in ("four", "db", "db-0.c1.db"):
            assert code(await asked(server, f"{name}.demo.svc", "A")) == "NOERROR"
            assert code(await asked(server, f"{name}.demo.svc", "AAAA")) == "NODATA"
        for name in ("six", "db6", "fd00--1.c1.db6"):
            assert code(await asked(server, f"{name}.demo.svc", "AAAA")) == "NOERROR"
            assert code(await asked(server, f"{name}.demo.svc", "A")) == "NODATA"


@pytest.mark.parametrize("type_", UNKNOWN_TYPES)
async def test_a_type_that_nothing_has_is_no_data_where_the_name_exists_and_never_not_implemented(
    type_: str,
) -> None:
    async with DnsServer(sample_zone(), "127.0.0.1", 0) as server:
        for name in (
            "web.demo.svc",
            "db.demo.svc",
            "db-0.c2.db.demo.svc",
            "_http._tcp.web.demo.svc",
            "demo.svc",
        ):
            assert code(await asked(server, name, type_)) == "NODATA", name
        for name in (
            "nosuch.demo.svc",
            "down.demo.svc",
            "db-9.c2.db.demo.svc",
            "_x._tcp.web.demo.svc",
            "no.svc",
        ):
            assert code(await asked(server, name, type_)) == "NXDOMAIN", name


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("WeB.dEmO.sVc", "A"),
        ("dB-0.C2.db.DEMO.svc", "AAAA"),
        ("_SqL._TcP.db.demo.svc", "SRV"),
        ("DNS-version", "TXT"),
        ("NOSUCH.demo.svc", "A"),
        ("web.DEMO.svc", "AAAA"),
    ],
)
async def test_the_case_of_a_question_comes_back_whoever_asked_before(name: str, type_: str) -> None:
    async with DnsServer(sample_zone(), "127.0.0.1", 0) as server:
        codes = set()
        for asking in (name, name.lower(), name.swapcase(), name.upper(), name) * 2:
            response = await asked(server, asking, type_)
            codes.add(code(response))
            assert response.question[0].name.to_text() == f"{asking}.{ORIGIN}"
            assert {rrset.name.to_text() for rrset in response.answer} <= {f"{asking}.{ORIGIN}"}
        assert len(codes) == 1


async def test_only_the_zones_that_were_given_are_ours() -> None:
    """Users point a resolver's whole cluster.local, or everything, at a server for the clusterset."""
    zone = Zone.empty("clusterset.local", "eu.example").with_services(sample_services()).as_synced()
    async with DnsServer(zone, "127.0.0.1", 0) as server:
        for name in ("web.demo.svc.clusterset.local.", "web.demo.svc.eu.example."):
            response = await asked(server, name, "A")
            assert (code(response), response.answer[0].name.to_text()) == ("NOERROR", name)
        denial = await asked(server, "nosuch.demo.svc.eu.example.", "A")
        assert (code(denial), denial.authority[0].name.to_text()) == ("NXDOMAIN", "eu.example.")
        for name in (
            *("web.demo.svc.cluster.local.", "kubernetes.default.svc.cluster.local.", "example.", "local."),
            *("xclusterset.local.", "clusterset.local.eu.", "7.0.96.10.in-addr.arpa.", "."),
        ):
            refused = await asked(server, name, "A")
            assert (code(refused), refused.authority, refused.flags & dns.flags.AA) == ("REFUSED", [], 0), (
                name
            )


class Link:
    """Passes TCP on to another port of loopback. While it is cut nothing arrives, and nobody is told."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._is_cut = False
        self._cuts = 0

    def cut(self) -> None:
        """Lose all that is sent from now on, and on the present connections for ever."""
        self._is_cut = True
        self._cuts += 1

    def mend(self) -> None:
        """Let new connections through again."""
        self._is_cut = False

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """Pass on until the block ends, by when all clients must have gone; gives the port to connect to."""
        async with asyncio.TaskGroup() as connections:

            def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                connections.create_task(self._serve(reader, writer), name="link")

            server = await asyncio.start_server(accept, "127.0.0.1", 0)
            try:
                yield server.sockets[0].getsockname()[1]
            finally:
                server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        cuts = -1 if self._is_cut else self._cuts
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                while data := await source.read(65536):
                    if cuts == self._cuts:
                        target.write(data)
            if cuts == self._cuts:
                target.close()

        back = asyncio.create_task(copy(far_reader, writer), name="link back")
        try:
            await copy(reader, far_writer)
        finally:
            back.cancel()
            writer.close()
            far_writer.close()


IMPORT = {
    "apiVersion": "multicluster.x-k8s.io/v1beta1",
    "kind": "ServiceImport",
    "metadata": {"name": "db", "namespace": "shop"},
    "spec": {"type": "Headless", "ports": []},
}


def mirrored(*addresses: str) -> Json:
    """A slice of that import."""
    labels = {SERVICE_NAME_LABEL: "db", SOURCE_CLUSTER_LABEL: "c2"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "db-c2", "namespace": "shop", "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address]} for address in addresses],
    }


@pytest.mark.parametrize("silence", [5, 60, 600])
def test_what_changed_behind_a_silent_connection_is_answered_once_it_is_mended(
    silence: int, tmp_path: Path
) -> None:
    """A watch whose packets are lost looks like one without news; what it knows must not stay for ever."""

    async def run() -> None:
        async with running_world(("east",), tmp_path) as world:
            api = world.apis["east"]
            await api.apply(
                NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
            )
            await api.apply(SERVICE_IMPORTS, IMPORT)
            await api.apply(ENDPOINT_SLICES, mirrored("10.2.0.5"))
            await world.stop_dns("east")
            link = Link(world.servers["east"].port)
            async with link.listening() as port:
                config = tmp_path / "kubeconfig"
                config.write_text(config.read_text().replace(f":{world.servers['east'].port}", f":{port}"))
                await world.start_dns("east")
                await asyncio.sleep(10)
                assert await world.ask("east", "db.shop.svc", "A") == ["10.2.0.5"]
                assert await age(world) == 0
                link.cut()
                await api.apply(ENDPOINT_SLICES, mirrored("10.2.0.6", "10.2.0.7"))
                await asyncio.sleep(silence)
                assert await world.ask("east", "db.shop.svc", "A") == ["10.2.0.5"]
                assert (await age(world) > 60) == (silence == 600)
                link.mend()

                async def is_up_to_date() -> bool:
                    found = await world.ask("east", "db.shop.svc", "A")
                    return found == ["10.2.0.6", "10.2.0.7"] and await age(world) == 0

                # A silence that is shorter than what is taken for one ends with that.
                within = max(SILENCE_TIMEOUT - silence, 0) + 30
                await eventually("the change is answered", is_up_to_date, seconds=within, every=1)
                await world.stop_dns("east")

    run_virtual(run())
