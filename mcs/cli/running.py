"""Runs a coroutine until it ends or a signal asks to stop, on uvloop where there is one.

Who is asked to stop ends within five seconds, whatever is under way: a thread that looks up a name, or a loop that is
busy, can be awaited no longer than who asked is ready to wait.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from mcs.cli.memory import give_back_large_buffers
from mcs.cli.problems import UserMistakeError

log = structlog.get_logger(__name__)
Main = Callable[[], Coroutine[Any, Any, None]]

LONGEST_END = 4.5
"""Seconds from the signal until the process ends although its orderly end is not complete."""


async def until_signalled(main: Main) -> bool:
    """Await `main`; SIGINT, SIGTERM and SIGHUP cancel it once, and its orderly end is awaited for LONGEST_END.

    True when it came to its own end.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(main(), name="main")
    limit = threading.Timer(LONGEST_END, _end_at_once)
    limit.daemon = True

    def stop() -> None:
        # A second signal would break off the orderly end that the first one began.
        if not limit.is_alive():
            limit.start()
            task.cancel()

    stopping = [signal.SIGINT, signal.SIGTERM]
    # Under nohup a closed terminal is not meant to end anything.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        stopping.append(signal.SIGHUP)
    for number in stopping:
        loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not task.cancelled():
            raise
        return False
    finally:
        for number in stopping:
            loop.remove_signal_handler(number)
    return True


def _end_at_once() -> None:
    log.critical("ended without waiting any longer for what was under way", seconds=LONGEST_END)
    os._exit(1)


def run(main: Main) -> bool:
    """Run `main` to its end, or until a signal, on a loop of its own. True when it came to its own end.

    Lets mistakes of the user through; any other exception is a bug of ours, logged before the exit with status 1.
    """
    give_back_large_buffers()
    try:
        if sys.platform == "linux":
            import uvloop

            return uvloop.run(until_signalled(main))
        return asyncio.run(until_signalled(main))
    except UserMistakeError:
        raise
    except Exception:
        log.critical("ended by an unexpected failure", exc_info=True)
        sys.exit(1)
