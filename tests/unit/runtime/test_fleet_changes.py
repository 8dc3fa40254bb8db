"""Members come, go and are reached in another way while the fleet runs, and nothing of that is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from mcs.kube.decode import Page
from mcs.kube.errors import ConfigError, Forbidden
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.resources import SERVICES
from mcs.model.services import Service
from mcs.runtime.demand import Reflected
from mcs.runtime.fleet import Client, Fleet, Member, Reachability
from mcs.testing.virtual_time import run_virtual

EAST, WEST = ClusterId("east"), ClusterId("west")
WEB = Service(metadata=ObjectMeta(namespace="shop", name="web", resource_version="1"))


class Server:
    """An API server that counts its connections; `error` is what it answers to everything."""

    def __init__(self, error: Exception | None = None) -> None:
        self.opened = 0
        self.open = 0
        self.error = error

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Any]:
        self.opened += 1
        self.open += 1
        try:
            yield self
        finally:
            await asyncio.sleep(0.01)
            self.open -= 1

    async def list_pages(
        self, resource: Any, *, label_selector: str = "", **_: str
    ) -> AsyncGenerator[Any, None]:
        if self.error is not None:
            raise self.error
        yield Page((WEB,), "1", ())

    async def watch(self, resource: Any, resource_version: str, **options: Any) -> AsyncGenerator[Any, None]:
        options["on_opened"]()
        await asyncio.Event().wait()
        yield


def member(cluster: ClusterId, server: Server) -> Member[str]:
    return Member(cluster, server.connect, [Reflected(SERVICES)])


async def nothing(cluster: ClusterId, key: str) -> None:
    pass


def running(story: Callable[[Fleet[str]], Awaitable[None]], *members: Member[str]) -> int:
    """Run `story` beside a fleet; how many tasks there still are when both have ended."""

    async def run() -> int:
        before = len(asyncio.all_tasks())
        fleet = Fleet(members)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(fleet.run(nothing), name="fleet")
            await asyncio.sleep(1)
            await story(fleet)
            task.cancel()
        return len(asyncio.all_tasks()) - before

    with capture_logs():
        return run_virtual(run())


def names() -> list[str]:
    return sorted(task.get_name() for task in asyncio.all_tasks())


def test_a_member_that_comes_is_worked_with_and_one_that_goes_ends_with_all_it_had() -> None:
    east, west = Server(), Server()

    async def story(fleet: Fleet[str]) -> None:
        before = names()
        newcomer = member(WEST, west)
        fleet.engage(newcomer)
        await asyncio.sleep(1)
        assert (sorted(fleet.seen), west.open) == ([EAST, WEST], 1)
        assert [each for each in names() if each.startswith("west/reflect")] == ["west/reflect/services"]
        newcomer.queue.add_after("late", 1000)
        fleet.disengage(WEST)
        await asyncio.sleep(1)
        assert (sorted(fleet.seen), west.open, east.opened) == ([EAST], 0, 1)
        assert names() == before
        assert newcomer.queue.is_idle

    assert running(story, member(EAST, east)) == 0
    assert east.open == 0


def test_who_follows_is_told_of_every_member_also_of_those_that_were_there_before() -> None:
    told: list[str] = []
    fleet = Fleet([member(EAST, Server())])
    fleet.follow(lambda each: told.append(f"+{each.cluster}"), lambda each: told.append(f"-{each.cluster}"))
    fleet.engage(member(WEST, Server()))
    fleet.disengage(EAST)
    fleet.disengage(EAST)
    assert told == ["+east", "+west", "-east"]
    with pytest.raises(ValueError, match="west is a member already"):
        fleet.engage(member(WEST, Server()))


def test_one_that_has_left_is_remembered_until_it_is_a_member_again() -> None:
    fleet = Fleet([member(EAST, Server()), member(WEST, Server())])
    fleet.disengage(WEST)
    assert fleet.left == set()
    fleet.disengage(EAST, has_left=True)
    fleet.disengage(WEST, has_left=True)
    assert fleet.left == {EAST, WEST}
    fleet.engage(member(EAST, Server()))
    assert fleet.left == {WEST}


def test_a_member_reached_in_another_way_keeps_what_was_seen_of_it() -> None:
    old, new = Server(), Server()
    east = member(EAST, old)

    async def story(fleet: Fleet[str]) -> None:
        web = east.caches["services"].get(WEB.key)
        seen: list[ClusterId] = []
        east.on_seen(seen.append)
        new.error = Forbidden(403, "Forbidden", "not yet")
        east.reconnect(new.connect)
        await asyncio.sleep(1)
        assert (old.open, new.open) == (0, 1)
        assert east.is_seen
        assert str(east.reachability) == Reachability.UNREACHABLE
        assert east.caches["services"].get(WEB.key) is web
        new.error = None
        await asyncio.sleep(60)
        assert str(east.reachability) == Reachability.REACHABLE
        assert seen == []

    assert running(story, east) == 0


def test_another_way_to_reach_a_member_is_tried_at_once_also_in_a_pause() -> None:
    opened: list[float] = []
    server = Server()

    @asynccontextmanager
    async def fails() -> AsyncIterator[Client]:
        opened.append(asyncio.get_running_loop().time())
        raise ConfigError("no such context")
        yield

    east: Member[str] = Member(EAST, fails, [Reflected(SERVICES)])

    async def story(fleet: Fleet[str]) -> None:
        await asyncio.sleep(200)
        assert opened[-1] - opened[-2] == pytest.approx(60)
        east.reconnect(server.connect)
        await asyncio.sleep(0.1)
        assert (server.open, east.reachability) == (1, Reachability.REACHABLE)

    assert running(story, east) == 0


@pytest.mark.parametrize("pause", [0.0, 0.005, 1.0], ids=["at once", "while it closes", "settled"])
def test_a_hundred_rotations_leave_neither_a_task_nor_a_connection(pause: float) -> None:
    servers = [Server() for _ in range(100)]
    west = Server()

    async def story(fleet: Fleet[str]) -> None:
        before = names()
        openers: list[Callable[[], AbstractAsyncContextManager[Client]]] = [each.connect for each in servers]
        for opener in openers:
            fleet.members[EAST].reconnect(opener)
            await asyncio.sleep(pause)
        await asyncio.sleep(1)
        assert names() == before
        assert sum(each.open for each in servers) == servers[-1].open == 1
        assert west.opened == 1

    assert running(story, member(EAST, Server()), member(WEST, west)) == 0


def test_a_hundred_comings_and_goings_leave_neither_a_task_nor_a_connection() -> None:
    server = Server()

    async def story(fleet: Fleet[str]) -> None:
        before = names()
        for _ in range(100):
            fleet.engage(member(WEST, server))
            await asyncio.sleep(0.001)
            fleet.members[WEST].reconnect(server.connect)
            await asyncio.sleep(0.001)
            fleet.disengage(WEST)
        await asyncio.sleep(1)
        assert (names(), server.open) == (before, 0)
        assert server.opened >= 99

    assert running(story, member(EAST, Server())) == 0
