"""Certificates: whose are accepted, which are shown, and that no key outlives its connection."""

import asyncio
import base64
import ssl
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from mcs.kube import errors
from mcs.kube.client import Client
from mcs.kube.config import connect, connect_in_cluster
from mcs.kube.decode import Stored
from mcs.model.resources import SERVICES
from mcs.testing.virtual_time import run_virtual
from tests.e2e.credential_plugin import Plugin, accepting, ask
from tests.e2e.proxies import proxied
from tests.e2e.scripted_api import client_of, client_to, kubeconfig, line, served, service, status


def tls_of(authority: trustme.CA, *names: str, ask_for_client: bool = False) -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(tls)
    if ask_for_client:
        tls.verify_mode = ssl.CERT_REQUIRED
        authority.configure_trust(tls)
    return tls


async def test_a_new_client_certificate_is_used_while_old_watches_go_on(tmp_path: Path) -> None:
    authority, plugin, seen = trustme.CA(), Plugin(tmp_path), list[str]()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    go_on = asyncio.Event()

    def certify(name: str) -> None:
        issued = authority.issue_cert(name)
        plugin.answers(
            clientCertificateData=issued.cert_chain_pems[0].bytes().decode(),
            clientKeyData=issued.private_key_pem.bytes().decode(),
        )

    async def handler(request: web.Request) -> web.StreamResponse:
        peer = request.get_extra_info("peercert")["subjectAltName"][0][1]
        if request.query.get("watch"):
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(line("ADDED", service("web")))
            await go_on.wait()
            await response.write(line("ADDED", service(peer)))
            return response
        seen.append(peer)
        return web.json_response(service("web")) if peer == "new.client" else status(401)

    certify("old.client")
    async with served(handler, tls_of(authority, "127.0.0.1", ask_for_client=True)) as url:
        file = kubeconfig(tmp_path, url, plugin.user, {"certificate-authority": "ca.crt"})
        async with client_of(file) as client:
            async with aclosing(client.watch(SERVICES, "5")) as watch:
                await anext(watch)
                certify("new.client")
                await ask(client)
                go_on.set()
                assert [event.object.metadata.name async for event in watch if isinstance(event, Stored)] == [
                    "old.client"
                ]
            await ask(client)
    assert seen == ["old.client", "new.client", "new.client"]
    assert plugin.runs == 2


def test_whom_a_certificate_must_name(tmp_path: Path) -> None:
    authority, other = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    other.cert_pem.write_to_path(tmp_path / "other.crt")
    seen: list[str] = []

    async def main(tls_name: str, cluster: dict[str, Any]) -> None:
        async with client_to(
            tmp_path, accepting({"secret"}, seen), cluster=cluster, tls=tls_of(authority, tls_name)
        ) as client:
            await ask(client)

    ca = {"certificate-authority": "ca.crt"}
    run_virtual(main("127.0.0.1", ca))
    run_virtual(main("kubernetes.default", {**ca, "tls-server-name": "kubernetes.default"}))
    run_virtual(main("127.0.0.1", {"insecure-skip-tls-verify": True}))
    assert len(seen) == 3
    for name, cluster in (
        ("kubernetes.default", ca),
        ("127.0.0.1", {"certificate-authority": "other.crt"}),
        ("127.0.0.1", {}),
    ):
        with pytest.raises(errors.Unreachable, match="east: TLS: its certificate is not accepted"):
            run_virtual(main(name, cluster))
    assert len(seen) == 3


async def test_keys_lie_in_a_private_folder_until_the_connection_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    authority = trustme.CA()
    issued = authority.issue_cert("client")
    user = {
        "client-certificate-data": base64.b64encode(issued.cert_chain_pems[0].bytes()).decode(),
        "client-key-data": base64.b64encode(issued.private_key_pem.bytes()).decode(),
    }
    cluster = {"certificate-authority-data": base64.b64encode(authority.cert_pem.bytes()).decode()}

    async def handler(request: web.Request) -> web.Response:
        return web.json_response(service("web"))

    async with served(handler, tls_of(authority, "127.0.0.1", ask_for_client=True)) as url:
        first = kubeconfig(tmp_path, url, user, cluster)
        async with client_of(first) as client:
            async with client_of(first) as second:
                await ask(second)
                await ask(client)
                folders = list(private.iterdir())
                assert len(folders) == 2
                files = [file for folder in (private, *folders) for file in folder.iterdir()]
                assert [file for file in files if file.stat().st_mode & 0o077] == []
            # The same certificates in another connection's folder are none of ours.
            await ask(client)
            assert len(list(private.iterdir())) == 1
    assert list(private.iterdir()) == []


def test_a_pod_uses_its_rotating_service_account(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    seen: list[str] = []

    async def main() -> None:
        (tmp_path / "token").write_text("first")
        async with served(accepting({"first", "second"}, seen), tls_of(authority, "127.0.0.1")) as url:
            environ = {
                "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                "KUBERNETES_SERVICE_PORT": url.rpartition(":")[2],
            }
            async with connect_in_cluster(folder=tmp_path, environ=environ) as connection:
                client = Client(connection)
                await ask(client)
                (tmp_path / "token").write_text("second\n")
                await asyncio.sleep(61)
                await ask(client)

    run_virtual(main())
    assert seen == ["first", "second"]


async def test_a_pod_reaches_its_api_server_through_the_proxy_of_its_environment(tmp_path: Path) -> None:
    authority, seen = trustme.CA(), list[str]()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    (tmp_path / "token").write_text("first")
    async with (
        served(accepting({"first"}, seen), tls_of(authority, "10.96.0.1")) as url,
        proxied("http") as (proxy_url, proxy),
    ):
        place = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": url.rpartition(":")[2]}
        environ = {**place, "HTTPS_PROXY": proxy_url}
        async with connect_in_cluster(folder=tmp_path, environ=environ) as connection:
            await ask(Client(connection))
    assert seen == ["first"]
    assert proxy.asked == [f"10.96.0.1:{place['KUBERNETES_SERVICE_PORT']}"]


async def test_a_closed_connection_says_so(tmp_path: Path) -> None:
    async with await connect([kubeconfig(tmp_path, "http://127.0.0.1:1")]) as connection:
        client = Client(connection)
    with pytest.raises(errors.Unreachable, match="east: the connection is closed"):
        await ask(client)
