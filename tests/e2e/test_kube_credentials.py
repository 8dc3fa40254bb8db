"""Credentials are renewed when they must be, once for all who wait, and the transport follows them."""

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from mcs.kube import errors
from mcs.kube.credentials import renew_in
from mcs.testing.virtual_time import run_virtual
from tests.e2e.credential_plugin import Plugin, accepting, ask
from tests.e2e.scripted_api import client_of, client_to, kubeconfig, served, service


def test_a_token_file_is_stripped_and_read_again_each_minute(tmp_path: Path) -> None:
    seen: list[str] = []

    async def main() -> None:
        (tmp_path / "token").write_text("first\n")
        async with client_to(
            tmp_path, accepting({"first", "second"}, seen), {"tokenFile": "token"}
        ) as client:
            await ask(client)
            (tmp_path / "token").write_text("second\n")
            await asyncio.sleep(59)
            await ask(client)
            await asyncio.sleep(2)
            await ask(client)

    run_virtual(main())
    assert seen == ["first", "first", "second"]


def test_a_refused_token_is_read_again_at_once_and_the_request_repeated(tmp_path: Path) -> None:
    seen: list[str] = []

    async def main() -> None:
        (tmp_path / "token").write_text("old")
        async with client_to(tmp_path, accepting({"new"}, seen), {"tokenFile": "token"}) as client:
            with pytest.raises(errors.Unauthorized):
                await ask(client)
            (tmp_path / "token").write_text("new")
            await ask(client)

    run_virtual(main())
    assert seen == ["old", "old", "new"]


def test_a_refused_token_that_cannot_change_is_not_sent_twice(tmp_path: Path) -> None:
    seen: list[str] = []

    async def main() -> None:
        async with served(accepting(set(), seen)) as url, client_of(kubeconfig(tmp_path, url)) as client:
            with pytest.raises(errors.Unauthorized):
                await ask(client)

    run_virtual(main())
    assert seen == ["secret"]


def test_old_credentials_stay_in_use_while_they_cannot_be_renewed(tmp_path: Path) -> None:
    seen: list[str] = []

    async def main() -> None:
        token = tmp_path / "token"
        token.write_text("first")
        async with client_to(
            tmp_path, accepting({"first", "second"}, seen), {"tokenFile": "token"}
        ) as client:
            await ask(client)
            token.unlink()
            await asyncio.sleep(61)
            await ask(client)
            token.write_text("second")
            await asyncio.sleep(11)
            await ask(client)

    run_virtual(main())
    assert seen == ["first", "first", "second"]


@pytest.mark.parametrize(
    ("user", "expected"),
    [({"username": "a", "password": "b"}, "Basic YTpi"), ({"token": 12345}, "Bearer 12345"), ({}, None)],
)
def test_what_a_user_sends(tmp_path: Path, user: dict[str, Any], expected: str | None) -> None:
    seen: list[str | None] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization"))
        return web.json_response(service("web"))

    async def main() -> None:
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url, user)) as client:
            await ask(client)

    run_virtual(main())
    assert seen == [expected]


def test_a_netrc_entry_for_the_host_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login other password other\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    seen: list[str] = []

    async def main() -> None:
        async with served(accepting({"secret"}, seen)) as url, client_of(kubeconfig(tmp_path, url)) as client:
            await ask(client)

    run_virtual(main())
    assert seen == ["secret"]


def test_credentials_are_not_carried_to_where_a_redirect_points(tmp_path: Path) -> None:
    seen: list[str] = []

    async def main() -> None:
        async with served(accepting({"secret"}, seen)) as elsewhere:

            async def handler(request: web.Request) -> web.Response:
                raise web.HTTPTemporaryRedirect(elsewhere)

            async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
                with pytest.raises(errors.ApiError) as raised:
                    await ask(client)
                assert raised.value.code == 307

    run_virtual(main())
    assert seen == []


def test_a_proxy_of_the_kubeconfig_is_used(tmp_path: Path) -> None:
    seen: list[str] = []

    async def proxy(request: web.Request) -> web.Response:
        seen.append(request.raw_path)
        return web.json_response(service("web"))

    async def main() -> None:
        async with served(proxy) as url:
            file = kubeconfig(tmp_path, "http://api.example:8080", cluster={"proxy-url": url})
            async with client_of(file) as client:
                await ask(client)

    run_virtual(main())
    assert seen == ["http://api.example:8080/api/v1/namespaces/shop/services/web"]


async def test_concurrent_requests_share_one_run_of_the_plugin(tmp_path: Path) -> None:
    plugin, seen = Plugin(tmp_path), list[str]()
    async with client_to(tmp_path, accepting({"second"}, seen), plugin.user) as client:
        plugin.answers(token="first")
        results = await asyncio.gather(*(ask(client) for _ in range(20)), return_exceptions=True)
        assert {type(result) for result in results} == {errors.Unauthorized}
        assert plugin.runs == 2  # the first, and one more after twenty refusals
        plugin.answers(token="second\n")
        await asyncio.gather(*(ask(client) for _ in range(20)))
        await ask(client)
    assert plugin.runs == 3
    assert set(seen) == {"first", "second"}
    info = json.loads((tmp_path / "info").read_text())
    server = info["spec"]["cluster"].pop("server")
    assert server.startswith("http://127.0.0.1:")
    assert info["spec"] == {"interactive": False, "cluster": {}}


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        ("sys.exit('no session, log in')", r"ended with code 1: no session, log in"),
        ("print('hello')", "no ExecCredential"),
        ("print('{}')", "no ExecCredential"),
        ("""print('{"apiVersion":"v9","kind":"ExecCredential","status":{}}')""", "answered v9"),
        (
            """print('{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{}}')""",
            "neither a token nor a client certificate",
        ),
        (
            """print('{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","""
            """"status":{"clientCertificateData":"x"}}')""",
            "without its key",
        ),
    ],
)
async def test_a_plugin_that_fails_says_how(tmp_path: Path, behaviour: str, told: str) -> None:
    plugin, seen = Plugin(tmp_path), list[str]()
    plugin.does(behaviour)
    async with (
        served(accepting(set(), seen)) as url,
        client_of(kubeconfig(tmp_path, url, plugin.user)) as client,
    ):
        with pytest.raises(errors.Unauthorized, match=told):
            await ask(client)
    assert seen == []


@pytest.mark.parametrize("by", ["timeout", "cancellation"])
async def test_a_plugin_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    plugin = Plugin(tmp_path)
    plugin.does("sys.stderr.write('x' * 200_000); open(f'{folder}/hangs', 'w').close(); time.sleep(600)")
    if by == "timeout":
        monkeypatch.setattr("mcs.kube.credentials.PLUGIN_TIMEOUT", 2.0)
    async with (
        served(accepting(set(), [])) as url,
        client_of(kubeconfig(tmp_path, url, plugin.user)) as client,
    ):
        request = asyncio.create_task(ask(client), name="request")
        if by == "timeout":
            with pytest.raises(errors.Unauthorized, match="did not finish within 2 s"):
                await request
        else:
            while not (tmp_path / "hangs").exists():  # noqa: ASYNC110 (the plugin is another process)
                await asyncio.sleep(0.01)
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize(
    ("expires", "seconds"),
    [
        ("", float("inf")),
        ("nonsense", float("inf")),
        (timedelta(hours=1), 2880.0),
        (timedelta(seconds=-5), 1.0),
    ],
)
def test_when_a_plugin_is_asked_again(expires: str | timedelta, seconds: float) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    text = expires if isinstance(expires, str) else (now + expires).isoformat().replace("+00:00", "Z")
    assert renew_in(text, now) == seconds


async def test_a_credential_about_to_expire_is_renewed_before_it_is_refused(tmp_path: Path) -> None:
    plugin, seen = Plugin(tmp_path), list[str]()
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    plugin.answers(token="short", expirationTimestamp=soon)
    async with client_to(tmp_path, accepting({"short", "next"}, seen), plugin.user) as client:
        await ask(client)
        plugin.answers(token="next")
        async with asyncio.timeout(20):
            while "next" not in seen:
                await ask(client)
                await asyncio.sleep(0.05)
    assert (plugin.runs, set(seen)) == (2, {"short", "next"})
