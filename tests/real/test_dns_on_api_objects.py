"""`mcs dns` on a real API server: the conformance tests of DNS again, on the same objects as the API stores them.

The tests are those of `tests/conformance` that ask about the sample zone; here their `ask` asks a process.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import aiohttp
import dns.asyncquery
import dns.exception
import dns.message
import dns.rcode
import msgspec
import pytest
import pytest_asyncio

from tests.conformance import test_dns_specification as specification
from tests.conformance.test_dns_specification import ORIGIN, Ask, answer, data
from tests.lab.control_planes import ControlPlanes, free_ports
from tests.lab.kubectl import Kubectl
from tests.lab.mcs import eventually, running
from tests.unit.dns.sample_zone import SAMPLE

HOST = "127.0.0.1"
NAMESPACES = sorted({key.namespace for key in SAMPLE})
ENOUGH_QUESTIONS = 32
"""So many clients in a row meet each of two workers."""


class Served(NamedTuple):
    """Where `mcs dns` answers."""

    host: str
    port: int


def _asks_about_the_sample(test: object) -> bool:
    return inspect.iscoroutinefunction(test) and "ask" in inspect.signature(test).parameters


# Named here so that pytest collects them with the `ask` of this file; a list of names would fall behind.
globals().update(
    {
        name: test
        for name, test in vars(specification).items()
        if name.startswith("test_") and _asks_about_the_sample(test)
    }
)


def objects() -> str:
    """The sample as one list for kubectl."""
    items = []
    for imported, mirrors in SAMPLE.values():
        items.append(
            {
                "apiVersion": "multicluster.x-k8s.io/v1beta1",
                "kind": "ServiceImport",
                "metadata": msgspec.to_builtins(imported.metadata),
                "spec": {"ports": []} | msgspec.to_builtins(imported.spec),
            }
        )
        for each in mirrors:
            item = msgspec.to_builtins(each)
            # Slices of one service and cluster have one name in the sample, but not in an API server.
            item["metadata"]["name"] += f"-{each.address_type.lower()}"
            items.append({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"} | item)
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def applied(installed_crds: None, kubectl_for: Callable[[str], Kubectl]) -> AsyncIterator[Kubectl]:
    """kubectl of the cluster `west`, which has the sample's objects until the module ends."""
    kubectl = kubectl_for("west")
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES]
    await kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": spaces}))
    await kubectl("apply", "-f", "-", stdin=objects())
    yield kubectl
    for name in NAMESPACES:
        await kubectl("delete", "serviceimports,endpointslices", "--all", "--namespace", name, "--wait=false")


@pytest_asyncio.fixture(
    scope="module", loop_scope="session", params=[1, 2], ids=["one-process", "two-workers"]
)
async def served(
    request: pytest.FixtureRequest,
    planes: ControlPlanes,
    applied: Kubectl,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Served]:
    """`mcs dns` of the cluster `west`, once it has read everything."""
    port, metrics_port = free_ports(2)
    command = dns_command(planes["west"].kubeconfig(), port, metrics_port, request.param)
    async with running("dns", *command, folder=tmp_path_factory.mktemp("dns")):
        found = Served(HOST, port)
        await all_answer(found, "web.demo.svc")
        yield found


def dns_command(kubeconfig: Path, port: int, metrics_port: int, workers: int) -> tuple[str, ...]:
    """The arguments of `mcs` for a DNS server on these ports."""
    return (
        "dns",
        *("--kubeconfig", str(kubeconfig)),
        *("--listen", f"{HOST}:{port}"),
        *("--metrics-listen", f"{HOST}:{metrics_port}"),
        *("--workers", str(workers)),
    )


@pytest.fixture
def ask(served: Served) -> Ask:
    async def asking(name: str, type_: str) -> dns.message.Message:
        return await answer(served, name, type_)

    return asking


async def all_answer(served: Served, name: str, wanted: str | None = None) -> None:
    """Return once enough clients in a row, so each worker, get an address: the wanted one, or any."""

    query = dns.message.make_query(f"{name}.{ORIGIN}", "A")

    async def do() -> bool:
        try:
            for _ in range(ENOUGH_QUESTIONS):
                response = await dns.asyncquery.udp(query, served.host, port=served.port, timeout=5)
                found = [record.to_text() for rrset in response.answer for record in rrset]
                if not found or wanted not in (None, *found):
                    return False
        except (OSError, dns.exception.Timeout):
            return False
        return True

    await eventually(f"{name} answers {wanted or ''}", do)


async def test_a_change_of_the_objects_is_answered_by_every_process(
    served: Served, applied: Kubectl, ask: Ask
) -> None:
    assert data(await ask("db-0.c3.db.demo.svc", "A")) == ["10.3.0.5"]
    for address in ("10.3.0.77", "10.3.0.5"):
        patch = [{"op": "replace", "path": "/endpoints/0/addresses/0", "value": address}]
        await applied(
            *("patch", "endpointslice", "db-c3-ipv4", "--namespace", "demo"),
            *("--type=json", "-p", json.dumps(patch)),
        )
        await all_answer(served, "db-0.c3.db.demo.svc", address)


@pytest.mark.parametrize("workers", [1, 2])
async def test_until_the_api_server_has_been_read_nothing_is_denied_and_the_process_is_not_ready(
    planes: ControlPlanes, applied: Kubectl, tmp_path: Path, workers: int
) -> None:
    port, metrics_port = free_ports(2)

    async def is_ready() -> bool:
        url = f"http://{HOST}:{metrics_port}/readyz"
        async with aiohttp.ClientSession() as session, session.get(url) as said:
            return said.status == 200

    async def rcodes() -> set[dns.rcode.Rcode]:
        # One transport after the other, since the zone may become complete between two questions.
        answers = [
            await ask(dns.message.make_query(f"{name}.clusterset.local.", type_), HOST, port=port, timeout=5)
            for name, type_ in (("web.demo.svc", "A"), ("db.demo.svc", "SRV"), ("six.demo.svc", "AAAA"))
            for ask in (dns.asyncquery.udp, dns.asyncquery.tcp, dns.asyncquery.udp)
        ]
        return {each.rcode() for each in answers}

    async def starts() -> bool:
        try:
            return await rcodes() == {dns.rcode.SERVFAIL} and not await is_ready()
        except (OSError, dns.exception.Timeout):
            return False

    west = planes["west"]
    await west.kill()
    try:
        command = dns_command(west.kubeconfig(), port, metrics_port, workers)
        async with running("dns", *command, folder=tmp_path):
            await eventually("it answers SERVFAIL and is not ready", starts)
            seen: set[dns.rcode.Rcode] = set()

            async def is_ready_at_last() -> bool:
                seen.update(await rcodes())
                return await is_ready()

            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(west.start(), name="start west again")
                await eventually("it is ready", is_ready_at_last)
            assert seen <= {dns.rcode.SERVFAIL, dns.rcode.NOERROR}
            assert await rcodes() == {dns.rcode.NOERROR}
    finally:
        if west.process.pid is None:
            await west.start()
