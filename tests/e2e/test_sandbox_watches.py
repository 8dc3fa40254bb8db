"""Watches of the sandbox API server: where they start, what they show, how they end."""

import asyncio

import aiohttp
import pytest

from mcs.sandbox.errors import StatusError
from mcs.sandbox.http.server import ApiServer
from mcs.testing.virtual_time import VirtualTimeLoop
from tests.e2e.sandbox_client import TABLE, Client, config_map

BROKEN_OFF = (EOFError, aiohttp.ClientError, ConnectionError)
MAPS = "/api/v1/namespaces/default/configmaps"


async def _version(client: Client) -> str:
    version: str = (await client.get(MAPS))["metadata"]["resourceVersion"]
    return version


async def test_a_watch_from_a_version_shows_what_came_after_it(client: Client) -> None:
    await client.create(MAPS, config_map("before"))
    start = await _version(client)
    await client.create(MAPS, config_map("a"))
    async with client.watch(f"{MAPS}?watch=true&resourceVersion={start}") as events:
        assert await events.names(1) == [("ADDED", "a")]
        await client.patch(f"{MAPS}/a", {"data": {"x": "1"}})
        await client.ask("DELETE", f"{MAPS}/a")
        assert await events.names(2) == [("MODIFIED", "a"), ("DELETED", "a")]


@pytest.mark.parametrize("start", ["", "&resourceVersion=0"])
async def test_a_watch_without_a_version_begins_with_what_is_there(client: Client, start: str) -> None:
    await client.create(MAPS, config_map("a"))
    async with client.watch(f"{MAPS}?watch=true{start}") as events:
        assert await events.names(1) == [("ADDED", "a")]
        await client.create(MAPS, config_map("b"))
        assert await events.names(1) == [("ADDED", "b")]


async def test_a_streamed_list_ends_with_a_bookmark_that_has_no_name(client: Client) -> None:
    query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    path = "/apis/discovery.k8s.io/v1/endpointslices"
    async with client.watch(f"{path}?{query}") as events:
        mark = await events.next()
        assert mark["type"] == "BOOKMARK"
        metadata = mark["object"]["metadata"]
        assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert "name" not in metadata
        assert mark["object"]["endpoints"] is None
    refused = await client.ask("GET", f"{path}?watch=true&sendInitialEvents=true")
    assert refused.reason == (422, "Invalid")


async def test_entering_a_selection_is_added_and_leaving_it_is_deleted(client: Client) -> None:
    await client.create(MAPS, config_map("a", app="web"))
    start = await _version(client)
    query = f"watch=true&resourceVersion={start}&labelSelector=app%3Ddb"
    async with client.watch(f"{MAPS}?{query}") as events:
        await client.patch(f"{MAPS}/a", {"metadata": {"labels": {"app": "db"}}})
        await client.patch(f"{MAPS}/a", {"data": {"x": "1"}})
        await client.patch(f"{MAPS}/a", {"metadata": {"labels": {"app": "web"}}})
        await client.patch(f"{MAPS}/a", {"data": {"x": "2"}})
        await client.patch(f"{MAPS}/a", {"metadata": {"labels": {"app": "db"}}})
        seen = await events.names(4)
    assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "a")]


async def test_one_object_is_watched_by_its_name(client: Client) -> None:
    await client.create(MAPS, config_map("a"))
    query = "watch=true&resourceVersion=0&fieldSelector=metadata.name%3Da"
    async with client.watch(f"{MAPS}?{query}") as events:
        await client.create(MAPS, config_map("b"))
        await client.ask("DELETE", f"{MAPS}/a")
        assert await events.names(2) == [("ADDED", "a"), ("DELETED", "a")]


async def test_a_table_watch_names_its_columns_once(client: Client) -> None:
    async with client.watch(f"{MAPS}?watch=true", Accept=TABLE) as events:
        await client.create(MAPS, config_map("a"))
        await client.create(MAPS, config_map("b"))
        first, second = await events.next(), await events.next()
    assert first["object"]["kind"] == "Table"
    assert first["object"]["columnDefinitions"][0]["name"] == "Name"
    assert first["object"]["rows"][0]["cells"][0] == "a"
    assert second["object"]["columnDefinitions"] is None


async def test_a_forgotten_start_is_410_under_http_200(server: ApiServer, client: Client) -> None:
    await client.create(MAPS, config_map("a"))
    server.compact()
    async with client.watch(f"{MAPS}?watch=true&resourceVersion=2") as events:
        assert events.code == 200
        error = await events.next()
        assert (error["type"], error["object"]["code"], error["object"]["reason"]) == (
            "ERROR",
            410,
            "Expired",
        )
        with pytest.raises(EOFError):
            await events.next()


async def test_a_start_in_the_future_is_answered_with_silence(client: Client) -> None:
    async with client.watch(f"{MAPS}?watch=true&resourceVersion=99999") as events:
        await client.create(MAPS, config_map("a"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await events.next()


async def test_dropped_watches_break_off_and_can_be_refused(server: ApiServer, client: Client) -> None:
    async with client.watch(f"{MAPS}?watch=true") as events:
        assert server.open_watches == 1
        assert server.drop_watches() == 1
        with pytest.raises(BROKEN_OFF):
            await events.next()
    server.refuse_watches(StatusError(429, "TooManyRequests", "later"))
    async with client.watch(f"{MAPS}?watch=true") as events:
        assert events.code == 429
    server.refuse_watches(None)
    async with client.watch(f"{MAPS}?watch=true") as events:
        assert events.code == 200


async def test_a_client_that_leaves_is_forgotten(server: ApiServer, client: Client) -> None:
    async with client.watch(f"{MAPS}?watch=true"):
        assert server.open_watches == 1
    for _ in range(100):
        if server.open_watches == 0:
            break
        await asyncio.sleep(0.01)
    assert server.open_watches == 0


async def test_a_stopped_server_ends_its_watches(server: ApiServer, client: Client) -> None:
    async with client.watch(f"{MAPS}?watch=true") as events:
        await server.stop()
        with pytest.raises(BROKEN_OFF):
            await events.next()


def test_bookmarks_and_timeouts_follow_the_clock_of_the_loop() -> None:
    async def story() -> None:
        clock = asyncio.get_running_loop().time
        async with ApiServer("east") as server, Client(server) as client:
            began = clock()
            query = "watch=true&allowWatchBookmarks=true&timeoutSeconds=150"
            async with client.watch(f"{MAPS}?{query}") as events:
                marks = [await events.next(), await events.next()]
                assert [mark["type"] for mark in marks] == ["BOOKMARK", "BOOKMARK"]
                assert clock() - began == pytest.approx(120, abs=5)
                last = await events.next()
                assert last["type"] == "BOOKMARK"
                with pytest.raises(EOFError):
                    await events.next()
            assert clock() - began == pytest.approx(150, abs=5)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(story())
