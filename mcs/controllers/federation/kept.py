"""Keeps something running: what fails is logged and begun again after a pause, so that it stops nothing beside it."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from mcs.runtime.cancellation import raise_if_cancelled

log = structlog.get_logger(__name__)

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Bounds of the pause before what has failed is begun again, in seconds."""


async def keep(name: str, run: Callable[[], Awaitable[None]]) -> None:
    """Run it until cancelled, and again whenever it has ended."""
    loop, pause = asyncio.get_running_loop(), FIRST_PAUSE
    while True:
        began = loop.time()
        try:
            await _in_a_task(name, run)
        except* Exception:
            log.exception("begun again after an unexpected failure", what=name)
        raise_if_cancelled()
        if loop.time() - began > LONGEST_PAUSE:
            pause = FIRST_PAUSE
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


async def _in_a_task(name: str, run: Callable[[], Awaitable[None]]) -> None:
    # A task group of Python before 3.13 may leave its task marked as cancelled.
    async def main() -> None:
        await run()

    task = asyncio.create_task(main(), name=f"{name} runs")
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()
