"""Connections made from registrations: certificates, proxies, credentials that rotate, and why one fails."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web

from mcs.kube.client import Client
from mcs.kube.errors import ConfigError, Failure, KubeError, Unauthorized, failure_of, why_not_reachable
from mcs.kube.registered import connect_registered
from mcs.membership.connecting import Credentials, Endpoint
from mcs.model.resources import SERVICES
from tests.e2e.credential_plugin import Plugin
from tests.e2e.proxies import proxied
from tests.e2e.scripted_api import served, service, status

TOKEN = Credentials(token="planted-token")


def tls_of(authority: trustme.CA, name: str = "127.0.0.1", **more: Any) -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **more).configure_cert(tls)
    return tls


def pem(authority: trustme.CA) -> bytes:
    return authority.cert_pem.bytes()


async def answers(request: web.Request) -> web.StreamResponse:
    is_known = request.headers.get("Authorization") == f"Bearer {TOKEN.token}"
    return web.json_response(service("web")) if is_known else status(401, "Unauthorized")


@asynccontextmanager
async def client_for(endpoint: Endpoint, credentials: Credentials = TOKEN) -> AsyncIterator[Client]:
    async with await connect_registered("east", endpoint, lambda: credentials) as connection:
        yield Client(connection)


async def asked(endpoint: Endpoint, credentials: Credentials = TOKEN) -> str:
    """The name of a Service as it is answered, or why there is no answer."""
    try:
        async with client_for(endpoint, credentials) as client:
            return (await client.get(SERVICES, "shop", "web")).metadata.name
    except KubeError as error:
        return f"{failure_of(error)}{' and a secret' if TOKEN.token in str(error) else ''}"


EXPIRED = {
    "not_after": datetime.now(UTC) - timedelta(days=1),
    "not_before": datetime.now(UTC) - timedelta(days=9),
}

TIME, NAME = frozenset({"ValidityPeriod"}), frozenset({"SubjectName"})


@pytest.mark.parametrize(
    ("case", "name", "more", "endpoint", "answer"),
    [
        ("all is right", "127.0.0.1", {}, {}, "web"),
        ("another name", "kubernetes", {}, {}, "TLS"),
        ("another name that was told", "kubernetes", {}, {"server_name": "kubernetes"}, "web"),
        ("a wrong name was told", "127.0.0.1", {}, {"server_name": "kubernetes"}, "TLS"),
        ("the name is not checked", "kubernetes", {}, {"disabled_validations": NAME}, "web"),
        ("it has expired", "127.0.0.1", EXPIRED, {}, "TLS"),
        ("time is not checked", "127.0.0.1", EXPIRED, {"disabled_validations": TIME}, "web"),
        ("only time is not checked", "kubernetes", EXPIRED, {"disabled_validations": TIME}, "TLS"),
        ("only the name is not checked", "kubernetes", EXPIRED, {"disabled_validations": NAME}, "TLS"),
        ("nothing is checked", "kubernetes", EXPIRED, {"disabled_validations": frozenset({"*"}), "ca": b""}, "web"),
        ("the CA is that of the system", "127.0.0.1", {}, {"ca": b""}, "TLS"),
    ],
)  # fmt: skip
async def test_what_is_checked_of_a_certificate(
    case: str, name: str, more: dict[str, Any], endpoint: dict[str, Any], answer: str
) -> None:
    authority = trustme.CA()
    async with served(answers, tls_of(authority, name, **more)) as url:
        assert await asked(Endpoint(**{"server": url, "ca": pem(authority)} | endpoint)) == answer, case


async def test_the_issuer_is_checked_also_where_name_and_time_are_not() -> None:
    disabled = frozenset({"SubjectName", "ValidityPeriod"})
    async with served(answers, tls_of(trustme.CA())) as url:
        assert await asked(Endpoint(url, pem(trustme.CA()), disabled_validations=disabled)) == "TLS"


@pytest.mark.parametrize(
    ("kind", "name", "server_name", "answer"),
    [
        (kind, *case)
        for kind in ("http", "https", "socks5")
        for case in (("127.0.0.1", "", "web"), ("kubernetes", "kubernetes", "web"), ("kubernetes", "", "TLS"))
        # asyncio of 3.11 fails at TLS within TLS that fails (_abort takes 1 argument).
        if (kind, case[-1]) != ("https", "TLS")
    ],
)
async def test_a_cluster_behind_a_proxy(kind: str, name: str, server_name: str, answer: str) -> None:
    authority = trustme.CA()
    tls = tls_of(authority) if kind == "https" else None
    async with (
        served(answers, tls_of(authority, name)) as url,
        proxied(kind, tls) as (proxy_url, proxy),
    ):
        endpoint = Endpoint(url, pem(authority), server_name=server_name, proxy=proxy_url)
        assert await asked(endpoint) == answer
        assert proxy.asked == [url.removeprefix("https://")]


async def test_a_socks_proxy_resolves_names_itself() -> None:
    authority = trustme.CA()
    async with (
        served(answers, tls_of(authority, "east.example.com")) as url,
        proxied("socks5") as (proxy_url, proxy),
    ):
        port = url.rpartition(":")[2]
        endpoint = Endpoint(f"https://east.example.com:{port}", pem(authority), proxy=proxy_url)
        assert await asked(endpoint) == "web"
        assert proxy.asked == [f"east.example.com:{port}"]


@pytest.fixture
def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_a_proxy_that_is_not_there(kind: str, free_port: int) -> None:
    endpoint = Endpoint("http://east.example.com", proxy=f"{kind}://user:planted-token@127.0.0.1:{free_port}")
    assert await asked(endpoint) == "proxy"


async def test_why_a_cluster_does_not_answer(free_port: int) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return status({"a": 401, "b": 403, "c": 503, "d": 429}[request.path.rpartition("/")[2]])

    assert await asked(Endpoint(f"http://127.0.0.1:{free_port}")) == Failure.REFUSED
    assert await asked(Endpoint("http://nowhere.invalid")) == Failure.DNS
    async with served(handler) as url, client_for(Endpoint(url)) as client:
        found = {}
        for name in "abcd":
            with pytest.raises(KubeError) as raised:
                await client.get(SERVICES, "shop", name)
            found[name] = why_not_reachable(raised.value).partition(":")[0]
    assert found == {"a": "401", "b": "403", "c": "5xx", "d": "other"}


async def test_a_token_that_rotates_is_used_after_the_first_refusal() -> None:
    accepted, used = ["first"], list[str]()

    async def handler(request: web.Request) -> web.StreamResponse:
        used.append(request.headers["Authorization"].removeprefix("Bearer "))
        return web.json_response(service("web")) if used[-1] in accepted else status(401, "Unauthorized")

    held = [Credentials(token="first")]
    async with served(handler) as url:
        connecting = connect_registered("east", Endpoint(url), lambda: held[0])
        async with await connecting as connection:
            client = Client(connection)
            await client.get(SERVICES, "shop", "web")
            accepted[:] = ["second"]
            with pytest.raises(Unauthorized):
                await client.get(SERVICES, "shop", "web")
            held[0] = Credentials(token="second")
            await client.get(SERVICES, "shop", "web")
    assert used == ["first", "first", "first", "second"]


async def test_client_certificates_rotate_too() -> None:
    authority = trustme.CA()
    tls = tls_of(authority)
    tls.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(tls)
    accepted = ["old.client"]

    async def handler(request: web.Request) -> web.StreamResponse:
        peer = request.get_extra_info("peercert")["subjectAltName"][0][1]
        return web.json_response(service(peer)) if peer in accepted else status(401, "Unauthorized")

    def certified(name: str) -> Credentials:
        issued = authority.issue_cert(name)
        return Credentials(certificate=issued.cert_chain_pems[0].bytes(), key=issued.private_key_pem.bytes())

    held = [certified("old.client")]
    async with served(handler, tls) as url:
        connecting = connect_registered("east", Endpoint(url, pem(authority)), lambda: held[0])
        async with await connecting as connection:
            client = Client(connection)
            assert (await client.get(SERVICES, "shop", "web")).metadata.name == "old.client"
            held[0], accepted[:] = certified("new.client"), ["new.client"]
            assert (await client.get(SERVICES, "shop", "web")).metadata.name == "new.client"


def kubeconfig(user: dict[str, Any], cluster: dict[str, Any] | None = None) -> Credentials:
    document = {
        "clusters": [{"name": "c", "cluster": {"server": "https://elsewhere", **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    return Credentials(kubeconfig=yaml.safe_dump(document).encode())


async def test_a_kubeconfig_is_used_for_its_user() -> None:
    async with served(answers) as url:
        assert await asked(Endpoint(url), kubeconfig({"token": TOKEN.token})) == "web"


LOADS = [{"name": "LD_PRELOAD", "value": "x"}]


@pytest.mark.parametrize(
    ("case", "user", "problem"),
    [
        ("a file with a token", {"tokenFile": "/etc/passwd"}, "tokenFile names a file"),
        ("a file with a certificate", {"client-certificate": "/etc/passwd"}, "client-certificate names a file"),
        ("a program", {"exec": {"command": "cat", "apiVersion": "v1"}}, "--allow-exec cat"),
        ("a path to an allowed program", {"exec": {"command": "/x/allowed"}}, "--allow-exec /x/allowed"),
        ("a library for an allowed program", {"exec": {"command": "allowed", "env": LOADS}}, "sets LD_PRELOAD"),
        ("a provider", {"auth-provider": {"name": "gcp"}}, "auth-provider is not allowed"),
        ("somebody else", {"as": "admin", "token": "planted-token"}, "impersonation"),
        ("a token that is none", {"token": ["planted-token"]}, "its user is not valid"),
    ],
)  # fmt: skip
async def test_a_kubeconfig_may_neither_read_files_nor_run_programs(
    case: str, user: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        await connect_registered(
            "east", Endpoint("http://east"), lambda: kubeconfig(user), frozenset({"allowed"})
        )
    assert problem in str(raised.value), case
    assert "planted-token" not in str(raised.value)


ALIASED = (
    kubeconfig({"token": "planted-token"})
    .kubeconfig.replace(b"name: c", b"name: &c c")
    .replace(b"cluster: c", b"cluster: *c")
)


@pytest.mark.parametrize("text", [b"", b"[", b"\xff\xfe", b"contexts: 1", ALIASED])
async def test_what_is_no_kubeconfig_is_refused(text: bytes) -> None:
    with pytest.raises(ConfigError) as raised:
        await connect_registered(
            "east", Endpoint("http://east"), lambda: Credentials(kubeconfig=text or b" ")
        )
    assert "planted-token" not in str(raised.value)


async def test_a_program_that_is_allowed_by_name_is_run(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path)
    plugin.answers(token=TOKEN.token)
    command = str(plugin.user["exec"]["command"])
    async with served(answers) as url:
        connecting = connect_registered(
            "east", Endpoint(url), lambda: kubeconfig(plugin.user), frozenset({command})
        )
        async with await connecting as connection:
            assert (await Client(connection).get(SERVICES, "shop", "web")).metadata.name == "web"
    assert plugin.runs == 1


async def test_a_ca_that_is_none_is_a_mistake_of_the_registration() -> None:
    ca = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    with pytest.raises(ConfigError, match="CA or client certificate cannot be loaded"):
        await connect_registered("east", Endpoint("https://east", ca), lambda: TOKEN)
