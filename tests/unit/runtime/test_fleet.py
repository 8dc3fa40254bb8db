"""A member of the fleet: what it does about failures, and that nothing keeps it from ending."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import pairwise
from typing import Any

import pytest
from structlog.testing import capture_logs

from mcs.kube.decode import Page
from mcs.kube.errors import (
    ConfigError,
    Forbidden,
    KubeError,
    ResourceMissing,
    ServerError,
    Unreachable,
)
from mcs.model.names import ClusterId
from mcs.model.resources import NODES, SERVICES
from mcs.runtime.demand import Reflected
from mcs.runtime.fleet import Client, Fleet, Member, NotAdmittedError, Reachability
from mcs.testing.virtual_time import run_virtual

EAST = ClusterId("east")


class Quiet:
    """A client of an empty, silent API server."""

    async def list_pages(
        self, resource: Any, *, label_selector: str = "", **_: str
    ) -> AsyncGenerator[Any, None]:
        yield Page((), "1", ())

    async def watch(self, resource: Any, resource_version: str, **options: Any) -> AsyncGenerator[Any, None]:
        options["on_opened"]()
        await asyncio.Event().wait()
        yield

    async def get(self, *arguments: Any) -> Any:
        raise NotImplementedError

    async def create(self, *arguments: Any, **options: Any) -> Any:
        raise AssertionError("nothing is created here")

    async def apply(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError

    async def patch(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError

    async def delete(self, *arguments: Any, **options: Any) -> None:
        raise NotImplementedError


class FailsWhileItEnds(Quiet):
    """Closing its watch fails, as a connection may."""

    async def watch(self, resource: Any, resource_version: str, **options: Any) -> AsyncGenerator[Any, None]:
        try:
            await asyncio.Event().wait()
        finally:
            raise Unreachable("the connection broke while it was closed")
        yield


def opening(*answers: Client | Exception) -> Callable[[], AbstractAsyncContextManager[Client]]:
    """Clients, or errors of connecting, in turn; the last one again and again."""
    left = list(answers)

    @asynccontextmanager
    async def open_client() -> AsyncIterator[Client]:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        yield answer

    return open_client


def member(*answers: Client | Exception) -> Member[str]:
    return Member(EAST, opening(*answers), [Reflected(SERVICES)])


def test_an_error_of_connecting_shows_until_a_connection_is_there() -> None:
    async def run() -> list[tuple[Reachability, str]]:
        east = member(ConfigError("no such context"), ConfigError("no such context"), Quiet())
        found = []
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(Fleet([east]).run(None), name="fleet")
            for seconds in (0.5, 30):
                await asyncio.sleep(seconds)
                found.append((east.reachability, east.reason))
            task.cancel()
        return found

    with capture_logs():
        shown = run_virtual(run())
    assert shown == [(Reachability.UNREACHABLE, "no such context"), (Reachability.REACHABLE, "")]


async def _ends_when_cancelled(task: asyncio.Task[None]) -> bool:
    await asyncio.sleep(5)
    task.cancel()
    await asyncio.wait([task], timeout=100)
    return task.done()


def test_a_cancelled_member_ends_although_one_of_its_tasks_fails_meanwhile() -> None:
    async def run() -> bool:
        task = asyncio.create_task(Fleet([member(FailsWhileItEnds())]).run(None), name="fleet")
        return await _ends_when_cancelled(task)

    with capture_logs():
        assert run_virtual(run())


class FailsToBreakOff(Quiet):
    """A request of it that is cancelled ends with an error of its own."""

    async def get(self, *arguments: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            raise Unreachable("the connection broke while the request was broken off")


def test_a_cancelled_worker_ends_although_its_request_fails_meanwhile() -> None:
    async def run() -> bool:
        client = FailsToBreakOff()
        east = member(client)
        east.queue.add("web")
        task = asyncio.create_task(east.keep(lambda key: client.get()), name="east")
        return await _ends_when_cancelled(task)

    with capture_logs():
        assert run_virtual(run())


class BreaksAfter(Quiet):
    """Has a bug that shows after some time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def watch(self, resource: Any, resource_version: str, **options: Any) -> AsyncGenerator[Any, None]:
        await asyncio.sleep(self._seconds)
        raise RuntimeError("a bug")
        yield


def test_pauses_between_engagements_grow_and_are_short_again_after_a_long_good_time() -> None:
    async def run() -> list[float]:
        opened: list[float] = []

        @asynccontextmanager
        async def open_client() -> AsyncIterator[Client]:
            opened.append(asyncio.get_running_loop().time())
            yield BreaksAfter(1000 if len(opened) == 4 else 0)

        east: Member[str] = Member(EAST, open_client, [Reflected(SERVICES)])
        with suppress(TimeoutError):
            async with asyncio.timeout(1020):
                await east.keep(None)
        return [later - earlier for earlier, later in pairwise(opened)]

    with capture_logs():
        assert run_virtual(run())[:5] == pytest.approx([1, 2, 4, 1001, 2])


def test_work_that_was_broken_off_with_its_cluster_is_done_after_the_next_engagement() -> None:
    async def run() -> list[str]:
        done: list[str] = []
        east = member(BreaksAfter(3), Quiet())

        async def reconcile(key: str) -> None:
            await asyncio.sleep(5)
            done.append(key)

        east.queue.add("web")
        with suppress(TimeoutError):
            async with asyncio.timeout(60):
                await east.keep(reconcile)
        return done

    with capture_logs():
        assert run_virtual(run()) == ["web"]


def test_a_member_is_asked_again_who_it_is_while_it_is_worked_with() -> None:
    """No answer changes nothing; a wrong one ends the work, until it is right again."""

    async def run() -> list[Reachability]:
        answers: list[Exception | None] = [None]

        async def admit(cluster: ClusterId, client: Client) -> None:
            if error := answers[-1]:
                raise error

        east: Member[str] = Member(EAST, opening(Quiet()), [Reflected(SERVICES)], admit=admit)
        shown = []
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(east.keep(None), name="east")
            for answer in (None, Unreachable("no answer"), NotAdmittedError("it is west"), None):
                answers.append(answer)
                await asyncio.sleep(130)
                shown.append(east.reachability)
            task.cancel()
        return shown

    with capture_logs() as logs:
        reachable, unanswered, refused, again = run_virtual(run())
    assert reachable == unanswered == again == Reachability.REACHABLE
    assert refused == Reachability.REFUSED
    assert [each["event"] for each in logs] == ["cluster refused"]


class NodesLater(Quiet):
    """Answers a list of nodes with an error until some time."""

    def __init__(self, error: KubeError, seconds: float) -> None:
        self._error = error
        self._until = seconds

    async def list_pages(
        self, resource: Any, *, label_selector: str = "", **_: str
    ) -> AsyncGenerator[Any, None]:
        if resource is NODES and asyncio.get_running_loop().time() < self._until:
            raise self._error
        yield Page((), "1", ())


@pytest.mark.parametrize(
    ("case", "error", "shown", "told"),
    [
        (
            "what may be forbidden is done without, and heard of when it no longer is",
            Forbidden(403),
            [(True, Reachability.REACHABLE, False), (True, Reachability.REACHABLE, True)],
            2,
        ),
        (
            "so is what the API server does not have",
            ResourceMissing(404),
            [(True, Reachability.REACHABLE, False), (True, Reachability.REACHABLE, True)],
            2,
        ),
        (
            "any other error tells nothing of rights, so it is waited for",
            ServerError(500),
            [(False, Reachability.UNREACHABLE, False), (True, Reachability.REACHABLE, True)],
            1,
        ),
    ],
)
def test_what_may_be_forbidden(
    case: str, error: KubeError, shown: list[tuple[bool, Reachability, bool]], told: int
) -> None:
    seen: list[ClusterId] = []

    async def run() -> list[tuple[bool, Reachability, bool]]:
        reflected = [Reflected(SERVICES), Reflected(NODES, may_be_forbidden=True)]
        until = asyncio.get_running_loop().time() + 100
        east: Member[str] = Member(EAST, opening(NodesLater(error, until)), reflected)
        east.on_seen(seen.append)
        found = []
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(Fleet([east]).run(None), name="fleet")
            for seconds in (50, 100):
                await asyncio.sleep(seconds)
                found.append((east.is_seen, east.reachability, east.caches["nodes"].is_synced))
            task.cancel()
        return found

    with capture_logs():
        assert run_virtual(run()) == shown, case
    assert seen == [EAST] * told, case
