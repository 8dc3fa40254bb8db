"""What a hostile API server sends is bounded at the door: bodies, lists, names, and its own words (F4, neighbours)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from mcs.kube import client as kube_client
from mcs.kube import connection
from mcs.kube.client import Client
from mcs.kube.decode import Malformed
from mcs.kube.errors import ApiError, TooLarge
from mcs.model.resources import SERVICES
from mcs.testing.virtual_time import run_virtual
from tests.e2e.scripted_api import client_to, line, service

KIB = 1024


@pytest.fixture(autouse=True)
def _small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_BODY", 64 * KIB)
    monkeypatch.setattr(kube_client, "MAX_LIST", 256 * KIB)
    monkeypatch.setattr(kube_client, "MAX_SINCE_LIST", 512 * KIB)
    monkeypatch.setattr(kube_client, "MAX_PAGES", 50)


def page(items: list[Any], more: str = "") -> web.Response:
    return web.json_response({"metadata": {"resourceVersion": "5", "continue": more}, "items": items})


async def listed(client: Client) -> list[Any]:
    return [item async for each in client.list_pages(SERVICES) for item in (*each.items, *each.malformed)]


def asked(folder: Path, handler: Any, ask: Callable[[Client], Any] = listed) -> Any:
    async def main() -> Any:
        async with client_to(folder, handler) as client:
            return await ask(client)

    return run_virtual(main())


def test_a_page_that_is_too_large_is_asked_for_in_smaller_ones(tmp_path: Path) -> None:
    objects = [service(f"web-{number}", "1", clusterIP="x" * KIB) for number in range(100)]
    limits: list[int] = []

    async def handler(request: web.Request) -> web.Response:
        limit, start = int(request.query["limit"]), int(request.query.get("continue", "0"))
        limits.append(limit)
        end = start + limit
        return page(objects[start:end], str(end) if end < len(objects) else "")

    assert len(asked(tmp_path, handler)) == 100
    assert limits[:3] == [500, 62, 7]
    assert set(limits[3:]) == {7}


def test_one_object_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.Response:
        return page([service("web", "1", clusterIP="x" * 65 * KIB)])

    with pytest.raises(TooLarge, match="an answer is larger"):
        asked(tmp_path, handler)


@pytest.mark.parametrize("items", [[service("web", "1", clusterIP="x" * 8 * KIB)], []], ids=["full", "empty"])
def test_a_list_without_an_end_is_not_read_for_ever(tmp_path: Path, items: list[Any]) -> None:
    pages = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal pages
        pages += 1
        return page(items, "more")

    with pytest.raises(TooLarge, match="the list of services"):
        asked(tmp_path, handler)
    assert pages <= 50


def test_a_body_that_is_sent_compressed_is_measured_as_it_is_held(tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.Response:
        response = page([service("web", "1", clusterIP="x" * 10_000 * KIB)])
        response.enable_compression(web.ContentCoding.gzip)
        return response

    with pytest.raises(TooLarge):
        asked(tmp_path, handler)


def test_what_a_watch_adds_ends_in_a_new_list(tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return page([])
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(1000):
            await response.write(line("ADDED", service(f"web-{number}", "6", clusterIP="x" * KIB)))
        return response

    async def watched(client: Client) -> int:
        await listed(client)
        seen = 0
        try:
            async for _ in client.watch(SERVICES, "5"):
                seen += 1
        except TooLarge:
            return seen
        raise AssertionError("the watch went on")

    assert asked(tmp_path, handler, watched) <= 512


def test_what_is_listed_of_one_namespace_counts_with_what_the_watch_adds(tmp_path: Path) -> None:
    objects = [service(f"web-{number}", "1", clusterIP="x" * KIB) for number in range(50)]
    paths: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        paths.append(request.path)
        return page(objects if "namespaces" in request.path else [])

    async def fetched(client: Client) -> int:
        await listed(client)
        for number in range(100):
            try:
                async for _ in client.list_pages(
                    SERVICES, namespace="shop", field_selector="metadata.name=web"
                ):
                    pass
            except TooLarge:
                return number
        raise AssertionError("nothing was counted")

    assert 5 <= asked(tmp_path, handler, fetched) <= 12
    assert paths[:2] == ["/api/v1/services", "/api/v1/namespaces/shop/services"]


@pytest.mark.parametrize(
    ("case", "namespace", "name"),
    [
        ("no name", "shop", ""),
        ("a path", "shop", "../../kube-system/services/web"),
        ("a path as namespace", "kube-system/services", "web"),
        ("a giant name", "shop", "x" * 10_000),
        ("a giant namespace", "x" * 10_000, "web"),
    ],
)
def test_an_object_that_no_path_can_name_is_malformed(
    tmp_path: Path, case: str, namespace: str, name: str
) -> None:
    odd = {"metadata": {"namespace": namespace, "name": name, "resourceVersion": "7" * 1000}}

    async def handler(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return page([odd, service("good")])
        return web.Response(body=line("ADDED", odd) + line("MODIFIED", service("good")))

    async def both(client: Client) -> list[list[Any]]:
        return [await listed(client), [each async for each in client.watch(SERVICES, "5")]]

    in_list, in_watch = asked(tmp_path, handler, both)
    assert [type(each) for each in in_list].count(Malformed) == 1, case
    assert isinstance(in_watch[0], Malformed)
    assert in_watch[1].object.metadata.name == "good"
    for each in (in_watch[0], next(each for each in in_list if isinstance(each, Malformed))):
        assert max(len(each.name), len(each.namespace), len(each.resource_version)) <= 253


def test_the_words_of_a_server_are_short_and_cannot_draw_on_a_terminal(tmp_path: Path) -> None:
    said = "\x1b[2J\nmcs: all is well\r" + "x" * 20_000

    async def handler(request: web.Request) -> web.Response:
        status = {"kind": "Status", "code": 10**12, "reason": said, "message": said}
        return web.Response(status=500, text=json.dumps(status), content_type="application/json")

    with pytest.raises(ApiError) as raised:
        asked(tmp_path, handler)
    assert len(str(raised.value)) < 2200
    assert str(raised.value).isprintable()
    assert raised.value.code == 500
