"""Runs a coroutine until it ends or a signal asks to stop, on uvloop where there is one."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog

log = structlog.get_logger(__name__)


def set_up_logs(level: str, as_json: bool) -> None:
    """Log to standard error: for people by default, one JSON object a line for machines."""
    renderer: Any
    if as_json:
        renderer = structlog.processors.JSONRenderer()
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info if as_json else _unchanged,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _unchanged(_: Any, __: str, event: Any) -> Any:
    return event


async def until_signalled(work: Awaitable[None]) -> None:
    """Await `work`; SIGINT and SIGTERM cancel it, and its orderly end is awaited."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        if not task.cancelled():
            raise
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `main` to its end on a loop of its own."""
    if sys.platform == "linux":
        import uvloop

        uvloop.run(main())
    else:
        asyncio.run(main())
