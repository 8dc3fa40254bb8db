"""Tokens, keys and passwords reach neither logs, status, events, metrics nor the text of errors, whatever fails."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web
from structlog.testing import capture_logs

from mcs.cli.answers import state_and_problem
from mcs.controllers.processes import ControllerProcess, client_opener
from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.errors import KubeError
from mcs.kube.registered import connect_registered
from mcs.membership.connecting import Credentials, Endpoint
from mcs.model.names import ClusterId
from mcs.model.resources import ENDPOINT_SLICES, EVENTS, SERVICE_EXPORTS, SERVICE_IMPORTS, SERVICES
from mcs.testing.virtual_time import run_virtual
from mcs.web.requests import RequestCounts
from tests.e2e.credential_plugin import Plugin, ask
from tests.e2e.scraping import fetched
from tests.e2e.scripted_api import served
from tests.scenarios.objects import expanded
from tests.scenarios.world import LOOPBACK, World, running_world

TOKEN = "planted-token-7f3a9c2e5b81d046"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.cGxhbnRlZC1zaWduYXR1cmU"
PASSWORD = "planted-password"
KEY = base64.b64encode(b"-----BEGIN PRIVATE KEY-----\nplanted\n-----END PRIVATE KEY-----\n").decode()
SECRETS = (TOKEN, JWT, PASSWORD, KEY, KEY[:40], "planted")
CLOSED = "http://127.0.0.1:9"
OTHER_API = json.dumps({"apiVersion": "v9", "kind": "ExecCredential", "status": {"token": TOKEN}})


@dataclass
class Case:
    """A user and a cluster of a kubeconfig, or its whole text; `told` is in the message, so that it still helps."""

    user: dict[str, Any] = field(default_factory=dict)
    cluster: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    told: str = ""


def _certificate(folder: Path) -> str:
    file = folder / "other.crt"
    trustme.CA().cert_pem.write_to_path(file)
    return str(file)


def _plugin(code: str) -> Callable[[Path], dict[str, Any]]:
    def user(folder: Path) -> dict[str, Any]:
        plugin = Plugin(folder)
        plugin.does(code)
        plugin.user["exec"]["env"] = [{"name": "CLIENT_SECRET", "value": TOKEN}]
        return plugin.user

    return user


def _oidc() -> dict[str, Any]:
    config = {
        "idp-issuer-url": "https://127.0.0.1:9",
        "client-id": "x",
        "client-secret": PASSWORD,
        "refresh-token": TOKEN,
        "id-token": JWT,
    }
    return {"auth-provider": {"name": "oidc", "config": config}}


CASES: dict[str, Callable[[Path, str], Case]] = {
    "401, and the server repeats what it was sent": lambda _, url: Case({"token": TOKEN}, told="401"),
    "401 for a user with a password": lambda _, url: Case(
        {"username": "me", "password": PASSWORD}, told="401"
    ),
    "401 for a token from a file": lambda folder, url: Case(
        {"tokenFile": str(_file(folder, TOKEN))}, told="401"
    ),
    "a certificate that is not accepted": lambda folder, url: Case(
        {"token": TOKEN},
        {"server": url.replace("http", "https"), "certificate-authority": _certificate(folder)},
    ),
    "no such host": lambda _, url: Case(
        {"token": TOKEN}, {"server": "https://nowhere.invalid"}, told="nowhere"
    ),
    "a password in the URL of the server": lambda _, url: Case(
        {"token": TOKEN}, {"server": f"http://me:{PASSWORD}@127.0.0.1:9"}, told="under users"
    ),
    "a server that is no URL": lambda _, url: Case(
        {}, {"server": f"ftp://me:{PASSWORD}@x"}, told="http or https"
    ),
    "a proxy with a password, refused": lambda _, url: Case(
        {"token": TOKEN},
        {"server": "http://x.invalid", "proxy-url": f"http://me:{PASSWORD}@127.0.0.1:9"},
        told="127.0.0.1",
    ),
    "a proxy with a password that it does not accept": lambda _, url: Case(
        {"token": TOKEN}, {"server": "https://x.invalid", "proxy-url": url.replace("//", f"//me:{PASSWORD}@")}
    ),
    "a proxy that is not supported": lambda _, url: Case(
        {}, {"proxy-url": f"ftp://me:{PASSWORD}@x"}, told="proxy-url"
    ),
    "a line that is no YAML": lambda _, url: Case(text=f"users:\n- user: {{token: {TOKEN}]\n", told="line 2"),
    "a token that is no text": lambda _, url: Case({"token": {"value": TOKEN}}, told="token"),
    "a key that is no base64": lambda _, url: Case({"client-key-data": f"%{PASSWORD}"}, told="base64"),
    "a key that is none": lambda _, url: Case(
        {"client-certificate-data": KEY, "client-key-data": KEY}, told="certificate"
    ),
    "a plugin that fails with the token on standard error": lambda folder, _: Case(
        _plugin(f"print('refresh failed for {JWT} token={TOKEN}', file=sys.stderr); sys.exit(3)")(folder),
        told="code 3",
    ),
    "a plugin that answers with a token alone": lambda folder, _: Case(
        _plugin(f"print({TOKEN!r})")(folder), told="ExecCredential"
    ),
    "a plugin whose answer is for another API": lambda folder, _: Case(
        _plugin(f"print({OTHER_API!r})")(folder),
        told="v9",
    ),
    "an identity provider that does not answer": lambda _, url: Case(_oidc()),
}


def _file(folder: Path, text: str) -> Path:
    file = folder / "token"
    file.write_text(text)
    return file


def _kubeconfig(folder: Path, case: Case, url: str) -> Path:
    document = {
        "clusters": [{"name": "east", "cluster": {"server": url, **case.cluster}}],
        "users": [{"name": "east", "user": case.user}],
        "contexts": [{"name": "east", "context": {"cluster": "east", "user": "east"}}],
        "current-context": "east",
    }
    file = folder / "kubeconfig"
    file.write_text(case.text or yaml.safe_dump(document))
    return file


async def _echo(request: web.Request) -> web.Response:
    """401, or 407 as a proxy, and all that was sent."""
    shown = request.headers.get("Authorization", "").rpartition(" ")[2]
    said = f"who is {shown}, and what means {dict(request.headers)}?"
    if request.method == "CONNECT":
        return web.Response(status=407, text=said)
    status = {"kind": "Status", "code": 401, "reason": "Unauthorized", "message": said}
    return web.json_response(status, status=401)


def _leaks(texts: Iterator[str] | list[str]) -> list[str]:
    return [text for text in texts if any(secret in text for secret in SECRETS)]


@pytest.mark.parametrize("case", CASES)
async def test_an_error_tells_no_secret_and_still_helps(case: str, tmp_path: Path) -> None:
    async with served(_echo) as url:
        made = CASES[case](tmp_path, url)
        with pytest.raises(KubeError) as raised:
            async with await connect([_kubeconfig(tmp_path, made, url)], None, name="east") as connection:
                await ask(Client(connection))
    error = raised.value
    texts = [str(error), repr(error), *state_and_problem(error, "east"), getattr(error, "detail", "")]
    assert _leaks(texts) == []
    assert made.told in str(error)


@pytest.mark.parametrize(
    ("case", "endpoint", "credentials"),
    [
        (
            "a proxy that refuses",
            Endpoint("https://x.invalid", proxy=f"http://me:{PASSWORD}@127.0.0.1:9"),
            Credentials(token=TOKEN),
        ),
        (
            "a SOCKS proxy that does",
            Endpoint("https://x.invalid", proxy=f"socks5://me:{PASSWORD}@127.0.0.1:9"),
            Credentials(token=TOKEN),
        ),
        (
            "a kubeconfig that is none",
            Endpoint(CLOSED),
            Credentials(kubeconfig=f"a: {{token: {TOKEN}]".encode()),
        ),
        ("a key that is none", Endpoint(CLOSED), Credentials(certificate=KEY.encode(), key=KEY.encode())),
        ("a CA that is none", Endpoint("https://127.0.0.1:9", ca=KEY.encode()), Credentials(token=TOKEN)),
    ],
)
async def test_nor_does_a_registration(case: str, endpoint: Endpoint, credentials: Credentials) -> None:
    with pytest.raises(KubeError) as raised:
        async with await connect_registered("east", endpoint, lambda: credentials) as connection:
            await ask(Client(connection))
    error = raised.value
    assert (
        _leaks([str(error), repr(error), repr(endpoint), repr(credentials), getattr(error, "detail", "")])
        == []
    )


def test_a_planted_secret_would_be_found() -> None:
    assert _leaks([f"x {PASSWORD} y", "z"]) == [f"x {PASSWORD} y"]


async def _everything_told(world: World, folder: Path, refused: str) -> str:
    """Metrics, probes, status lines and objects of two clusters and of one that does not let us in."""
    opener = client_opener(
        "refused", [_kubeconfig(folder, Case({"token": TOKEN}), refused)], None, RequestCounts()
    )
    config = folder / "kubeconfig-of-world"
    clients: dict[ClusterId, Any] = {
        ClusterId(name): client_opener(name, [config], name, RequestCounts()) for name in ("east", "west")
    }
    process = ControllerProcess({**clients, ClusterId("refused"): opener})
    process.serve_metrics(LOOPBACK)
    task = asyncio.create_task(process.run())
    await process.started.wait()
    await asyncio.sleep(60)
    told = [(await fetched(process, path)).text for path in ("/metrics", "/readyz", "/healthz")]
    told += [f"{member.reachability} {member.reason}" for member in process.fleet.members.values()]
    for api in world.apis.values():
        for resource in (EVENTS, SERVICES, SERVICE_EXPORTS, SERVICE_IMPORTS, ENDPOINT_SLICES):
            told += [json.dumps(each) for each in await api.list(resource)]
    task.cancel()
    await asyncio.wait([task])
    return "\n".join(told)


@asynccontextmanager
async def _told(folder: Path) -> AsyncIterator[tuple[World, str]]:
    async with running_world(("east", "west"), folder) as world, served(_echo) as refused:
        _rename(folder)
        for name, api in world.apis.items():
            await api.apply(*expanded({"Namespace": "shop"}))
            await api.apply(*expanded({"Service": "shop/web", "ports": [f"{name} 80"]}))
            await api.apply(*expanded({"ServiceExport": "shop/web"}))
        yield world, await _everything_told(world, folder, refused)


def _rename(folder: Path) -> None:
    (folder / "kubeconfig").rename(folder / "kubeconfig-of-world")


def test_nor_does_all_that_a_controller_tells(tmp_path: Path) -> None:
    async def main() -> None:
        with capture_logs() as logs:
            async with _told(tmp_path) as (world, told):
                everything = told + "".join(map(repr, logs))
                secrets = [TOKEN, *(server.token for server in world.servers.values())]
                assert [secret for secret in secrets if secret in everything] == []
                assert "401" in told, "the cluster that refuses us says why"
                assert '"reason": "Conflict"' in told, "there are Events to look at"
                assert "refused" in {each.get("cluster") for each in logs}

    run_virtual(main())
