"""Writes that may leave only while somebody permits it: asked at the very last moment, and no longer than permitted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
import uvloop
from aiohttp import web

from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.errors import NotLeading, Unreachable
from mcs.model.events import Event
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ServiceExport
from mcs.model.resources import EVENTS, SERVICE_EXPORTS, SERVICES
from mcs.model.services import Service
from mcs.testing.virtual_time import run_virtual
from tests.e2e.scripted_api import Handler, kubeconfig, served, service

SHOP = ObjectMeta(name="web", namespace="shop")
ASKED_TWICE = 2
"""Before a connection is made, and when the request is about to leave."""

Write = Callable[[Client], Awaitable[Any]]
WRITES: dict[str, Write] = {
    "apply": lambda client: client.apply(SERVICES, Service(metadata=SHOP)),
    "apply of a status": lambda client: client.apply(
        SERVICE_EXPORTS, ServiceExport(metadata=SHOP), subresource="status"
    ),
    "create": lambda client: client.create(EVENTS, Event(metadata=SHOP)),
    "patch": lambda client: client.patch(SERVICES, "shop", "web", {"metadata": {}}),
    "delete": lambda client: client.delete(SERVICES, "shop", "web", uid="u", resource_version="7"),
}


class Permits:
    """Permits so many questions, then none; each for so many seconds."""

    def __init__(self, count: int, seconds: float = 10.0) -> None:
        self.left = count
        self._seconds = seconds

    def __call__(self) -> float:
        if not self.left:
            raise NotLeading("somebody else leads")
        self.left -= 1
        return self._seconds


class Api:
    """Takes every write, and remembers which reached it whole."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    async def __call__(self, request: web.Request) -> web.Response:
        await request.read()
        self.taken.append(request.method)
        return web.json_response(service("web", "8"))


async def asked(
    folder: Path, handler: Handler, permit: Permits, *writes: Write
) -> list[tuple[str, str, int]]:
    """What was told of the requests, after these writes were tried over TLS, each as far as it came."""
    authority = trustme.CA()
    (folder / "ca.crt").write_bytes(authority.cert_pem.bytes())
    tls = _server_tls(authority)
    told: list[tuple[str, str, int]] = []
    async with served(handler, tls) as url:
        file = kubeconfig(folder, url, cluster={"certificate-authority": str(folder / "ca.crt")})
        async with await connect([file], None) as connection:
            client = Client(connection, lambda *request: told.append(request[:3]), permit)
            for write in writes:
                await write(client)
    return told


def _server_tls(authority: trustme.CA) -> Any:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("loop", ["virtual", "uvloop"])
def test_a_write_asks_before_a_connection_is_made_and_again_when_it_leaves(
    name: str, loop: str, tmp_path: Path
) -> None:
    api, permits = Api(), Permits(ASKED_TWICE)
    run = run_virtual if loop == "virtual" else uvloop.run
    run(asked(tmp_path, api, permits, WRITES[name]))
    assert (len(api.taken), permits.left) == (1, 0)


@pytest.mark.parametrize("permitted", range(ASKED_TWICE))
@pytest.mark.parametrize("name", WRITES)
def test_nothing_reaches_the_server_that_may_not_leave(name: str, permitted: int, tmp_path: Path) -> None:
    """Neither without a permit, nor with one that ended while the connection was made."""
    api = Api()
    with pytest.raises(NotLeading, match="somebody else leads"):
        run_virtual(asked(tmp_path, api, Permits(permitted), WRITES[name]))
    assert api.taken == []


def test_a_write_over_a_connection_that_is_there_asks_as_well(tmp_path: Path) -> None:
    api = Api()
    with pytest.raises(NotLeading):
        run_virtual(asked(tmp_path, api, Permits(ASKED_TWICE + 1), WRITES["apply"], WRITES["apply"]))
    assert api.taken == ["PATCH"]


def test_reads_ask_nobody(tmp_path: Path) -> None:
    told = run_virtual(asked(tmp_path, Api(), Permits(0), lambda client: client.get(SERVICES, "shop", "web")))
    assert told == [("get", "services", 200)]


def test_what_did_not_leave_is_not_counted_as_a_request(tmp_path: Path) -> None:
    async def tried(client: Client) -> None:
        with pytest.raises(NotLeading):
            await WRITES["apply"](client)

    for permitted in range(ASKED_TWICE):
        assert run_virtual(asked(tmp_path, Api(), Permits(permitted), tried)) == []


@pytest.mark.parametrize(("permitted", "waited"), [(4.0, 4.0), (13.5, 13.5), (3600.0, 30.0)])
def test_no_answer_is_waited_for_longer_than_permitted(
    permitted: float, waited: float, tmp_path: Path
) -> None:
    async def never(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def timed(client: Client) -> None:
        now = asyncio.get_running_loop().time
        began = now()
        with pytest.raises(Unreachable, match=f"no answer within {waited:g} s"):
            await WRITES["apply"](client)
        assert now() - began == pytest.approx(waited, abs=1)

    run_virtual(asked(tmp_path, never, Permits(ASKED_TWICE, permitted), timed))
