"""The reflector: what it does about everything an API server may answer to a list or a watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any

import pytest
from structlog.testing import capture_logs

from mcs.kube.decode import Bookmark, Deleted, Malformed, Page, Stored
from mcs.kube.errors import (
    Expired,
    ResourceMissing,
    ResourceVersionTooLarge,
    ServerError,
    TooManyRequests,
    Unreachable,
    WatchSilent,
)
from mcs.model.meta import ObjectMeta
from mcs.model.names import ServiceKey
from mcs.model.resources import SERVICES
from mcs.model.services import Service
from mcs.runtime.cache import Cache
from mcs.runtime.reflector import Reflector, WatchState
from mcs.testing.virtual_time import run_virtual


def service(name: str, version: int) -> Service:
    return Service(metadata=ObjectMeta(name=name, namespace="demo", resource_version=str(version)))


def page(version: int, *items: Service, malformed: tuple[Malformed, ...] = ()) -> Page[Service]:
    return Page(items, str(version), malformed)


class Script:
    """Answers of an API server in their order: a list of pages, a list of events, or an error to raise.

    After the last answer the server is silent.
    """

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.requests: list[str] = []

    async def list_pages(self, resource: Any, *, label_selector: str = "") -> AsyncGenerator[Any, None]:
        self.requests.append("list")
        async for each in self._answer():
            yield each

    async def watch(
        self,
        resource: Any,
        resource_version: str,
        *,
        label_selector: str = "",
        timeout_seconds: int = 0,
        on_opened: Callable[[], None] | None = None,
    ) -> AsyncGenerator[Any, None]:
        self.requests.append(f"watch {resource_version}")
        is_refused = bool(self._answers) and isinstance(self._answers[0], Exception)
        if on_opened is not None and not is_refused:
            on_opened()
        async for each in self._answer():
            yield each

    async def _answer(self) -> AsyncGenerator[Any, None]:
        if not self._answers:
            await asyncio.Event().wait()
        answer = self._answers.pop(0)
        for each in answer if isinstance(answer, list) else [answer]:
            if isinstance(each, Exception):
                raise each
            yield each


def reflected(*answers: Any, seconds: float = 60) -> tuple[Script, Cache[Service], Reflector[Service]]:
    """What a reflector has made of the answers after some time."""
    script = Script(*answers)
    cache: Cache[Service] = Cache()

    async def run() -> Reflector[Service]:
        reflector = Reflector(script, SERVICES, cache, cluster="east")
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await reflector.run()
        return reflector

    return script, cache, run_virtual(run())


def names(cache: Cache[Service]) -> list[str]:
    return sorted(each.metadata.name for each in cache)


def test_a_list_of_several_pages_is_taken_in_whole_and_watched_from_its_version() -> None:
    script, cache, _ = reflected([page(7, service("a", 1)), page(7, service("b", 2))])
    assert names(cache) == ["a", "b"]
    assert script.requests == ["list", "watch 7"]


def test_events_change_the_cache_and_the_next_watch_goes_on_after_them() -> None:
    events = [Stored(service("b", 8)), Deleted("demo", "a", "9"), Bookmark("12")]
    script, cache, _ = reflected([page(7, service("a", 1))], events)
    assert names(cache) == ["b"]
    assert script.requests == ["list", "watch 7", "watch 12"]


@pytest.mark.parametrize(
    ("error", "requests"),
    [
        pytest.param(Expired(410), ["list", "watch 7", "list", "watch 9"], id="410: list again at once"),
        pytest.param(WatchSilent("silent"), ["list", "watch 7", "list", "watch 9"], id="silence: list again"),
        pytest.param(
            ServerError(500), ["list", "watch 7", "list", "watch 9"], id="5xx: list again after a pause"
        ),
        pytest.param(
            Unreachable("reset"),
            ["list", "watch 7", "watch 7"],
            id="connection lost: watch on from where it was",
        ),
    ],
)
def test_what_follows_an_error_of_a_watch(error: Exception, requests: list[str]) -> None:
    then: list[Any] = [page(9, service("b", 8))] if requests[2] == "list" else [Stored(service("b", 8))]
    script, cache, _ = reflected([page(7, service("a", 1))], error, then)
    assert script.requests[: len(requests)] == requests
    assert "b" in names(cache)


@pytest.mark.parametrize("error", [Unreachable("reset"), TooManyRequests(429)], ids=["lost", "429"])
def test_a_watch_that_breaks_off_after_events_goes_on_after_them(error: Exception) -> None:
    appeared_and_went = [Stored(service("b", 8)), Deleted("demo", "b", "9"), error]
    script, _, _ = reflected([page(7, service("a", 1))], appeared_and_went)
    assert script.requests == ["list", "watch 7", "watch 9"]


def test_410_costs_no_time() -> None:
    script, _, _ = reflected([page(7)], Expired(410), [page(9)], seconds=0.01)
    assert script.requests == ["list", "watch 7", "list", "watch 9"]


def test_a_server_that_went_back_in_time_is_listed_from_scratch_after_its_retry_after() -> None:
    error = ResourceVersionTooLarge(504, retry_after=1)
    assert reflected([page(7)], error, [page(3)], seconds=0.9)[0].requests == ["list", "watch 7"]
    script, _, _ = reflected([page(7)], error, [page(3)], seconds=1.1)
    assert script.requests == ["list", "watch 7", "list", "watch 3"]


def test_a_missing_resource_is_asked_for_again_and_nothing_counts_as_empty_meanwhile() -> None:
    missing = ResourceMissing(404)
    _, cache, reflector = reflected(missing, missing, seconds=0.3)
    assert not cache.is_synced
    assert isinstance(reflector.status.error, ResourceMissing)
    assert reflector.status.state is WatchState.WAITING
    _, cache, reflector = reflected(missing, missing, [page(7, service("a", 1))])
    assert names(cache) == ["a"]
    assert reflector.status.error is None


def test_a_lasting_trouble_is_logged_once_and_shows_while_it_is_tried_again() -> None:
    class Unanswering(Script):
        """Takes as long to refuse a watch as a network that drops packets."""

        async def watch(self, *arguments: Any, **options: Any) -> AsyncGenerator[Any, None]:
            await asyncio.sleep(5)
            async for each in super().watch(*arguments, **options):
                yield each

    async def run() -> list[tuple[bool, WatchState]]:
        script = Unanswering([page(7)], *[Unreachable("no connection")] * 8, [Stored(service("b", 8))])
        reflector = Reflector(script, SERVICES, Cache[Service](), cluster="east")
        task = asyncio.create_task(reflector.run(), name="reflector")
        await asyncio.sleep(7)
        found = [(reflector.status.error is None, reflector.status.state)]
        await asyncio.sleep(193)
        found.append((reflector.status.error is None, reflector.status.state))
        task.cancel()
        return found

    with capture_logs() as logs:
        assert run_virtual(run()) == [(False, WatchState.WATCHING), (True, WatchState.WATCHING)]
    assert [entry["event"] for entry in logs] == ["cannot list or watch"]


def test_a_server_that_takes_no_watch_and_does_not_say_so_stays_away() -> None:
    class Hanging(Script):
        """Refuses the first watch, and never answers another."""

        async def watch(self, *arguments: Any, **options: Any) -> AsyncGenerator[Any, None]:
            if not self._answers:
                await asyncio.Event().wait()
            async for each in super().watch(*arguments, **options):
                yield each

    async def run() -> bool:
        script = Hanging([page(7)], Unreachable("refused"))
        reflector = Reflector(script, SERVICES, Cache[Service](), cluster="east")
        with suppress(TimeoutError):
            async with asyncio.timeout(80):
                await reflector.run()
        return reflector.status.error is not None

    with capture_logs():
        assert run_virtual(run())


def test_no_error_empties_the_cache() -> None:
    errors = [Unreachable("refused")] + [ServerError(503)] * 3
    _, cache, _ = reflected([page(7, service("a", 1))], *errors)
    assert names(cache) == ["a"]


def test_a_list_that_breaks_off_changes_nothing() -> None:
    broken = [page(9, service("b", 8)), Unreachable("reset")]
    _, cache, _ = reflected([page(7, service("a", 1))], Expired(410), broken, seconds=0.1)
    assert names(cache) == ["a"]


def test_the_pauses_grow_and_a_server_that_asks_for_more_gets_it() -> None:
    refused = [Unreachable("refused")] * 4
    assert len(reflected(*refused, seconds=0.1)[0].requests) == 1
    assert len(reflected(*refused, seconds=0.7)[0].requests) == 3
    assert len(reflected(TooManyRequests(429, retry_after=20), seconds=19)[0].requests) == 1


def test_a_malformed_object_is_counted_and_spoils_nothing() -> None:
    bad = Malformed("demo", "bad", "no port", "8")
    _, cache, reflector = reflected(
        [page(7, service("a", 1), malformed=(bad,))], [bad, Stored(service("b", 9))]
    )
    assert names(cache) == ["a", "b"]
    assert set(cache.malformed) == {ServiceKey("demo", "bad")}
    assert reflector.status.malformed == 2


def test_410_again_and_again_is_answered_with_patience() -> None:
    script, _, _ = reflected(*[Expired(410)] * 1000, seconds=10)
    assert len(script.requests) < 20
    script, _, _ = reflected(*[[page(7)], Expired(410)] * 500, seconds=10)
    assert len(script.requests) < 20


def test_a_watch_that_ends_at_once_every_time_is_not_asked_for_in_a_hurry() -> None:
    script, _, _ = reflected([page(7)], *[[] for _ in range(1000)], seconds=10)
    assert len(script.requests) < 60
