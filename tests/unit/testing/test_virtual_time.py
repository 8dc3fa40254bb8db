"""Virtual time keeps the order of timers, waits for sockets and threads, and takes no real time."""

import asyncio
import hashlib
import time

import aiohttp
from aiohttp import web

from mcs.testing.virtual_time import START, run_virtual


async def _seconds_since(started: float) -> float:
    return asyncio.get_running_loop().time() - started


def test_an_hour_passes_in_a_moment() -> None:
    async def main() -> float:
        await asyncio.sleep(3600)
        return await _seconds_since(START)

    real = time.perf_counter()
    assert abs(run_virtual(main()) - 3600) < 1e-6
    assert time.perf_counter() - real < 5


def test_timers_run_in_their_order() -> None:
    async def main() -> list[float]:
        ended: list[float] = []

        async def sleeper(seconds: float) -> None:
            await asyncio.sleep(seconds)
            ended.append(seconds)

        async with asyncio.TaskGroup() as group:
            for seconds in (30.0, 1.0, 7.5, 300.0):
                group.create_task(sleeper(seconds), name=f"sleep {seconds}")
        return ended

    assert run_virtual(main()) == [1.0, 7.5, 30.0, 300.0]


def test_the_clock_stands_still_while_anything_is_ready() -> None:
    async def main() -> float:
        timer = asyncio.create_task(asyncio.sleep(5), name="timer")
        for _ in range(1000):
            await asyncio.sleep(0)
        passed = await _seconds_since(START)
        await timer
        return passed

    assert run_virtual(main()) == 0


def test_the_clock_waits_for_threads() -> None:
    def work() -> bytes:
        return hashlib.pbkdf2_hmac("sha256", b"takes a while", b"", 100_000)

    async def main() -> tuple[bytes, float]:
        result = await asyncio.wait_for(asyncio.to_thread(work), timeout=1)
        return result, await _seconds_since(START)

    assert run_virtual(main()) == (work(), 0)


def test_a_server_and_its_client_share_virtual_time_over_tcp() -> None:
    """A response that takes 150 s arrives, and a client that waits at most 10 s gives up after 10."""

    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for line in range(5):
            await asyncio.sleep(30)
            await response.write(b"%d\n" % line)
        return response

    async def main() -> tuple[bytes, float, float]:
        app = web.Application()
        app.router.add_get("/", slow)
        runner = web.AppRunner(app, shutdown_timeout=0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        url = f"http://{host}:{port}/"
        loop = asyncio.get_running_loop()
        async with aiohttp.ClientSession() as session:
            async with session.get(url) as response:
                body = await response.read()
            took = loop.time() - START
            try:
                async with session.get(url, timeout=aiohttp.ClientTimeout(sock_read=10)) as response:
                    await response.read()
            except TimeoutError:
                gave_up = loop.time() - START - took
        await runner.cleanup()
        return body, took, gave_up

    real = time.perf_counter()
    body, took, gave_up = run_virtual(main())
    assert body == b"0\n1\n2\n3\n4\n"
    # aiohttp rounds timers of more than 5 s up to whole seconds.
    assert 150 <= took <= 151
    assert 10 <= gave_up <= 11
    assert time.perf_counter() - real < 5
