"""Runs a command to its end and prints what it has to say, also of what it did before it failed."""

import sys
from collections.abc import Awaitable, Callable

from mcs.cli.logs import set_up_logs
from mcs.cli.running import run
from mcs.cli.status import INTERRUPTED

Main = Callable[[list[str]], Awaitable[None]]


def carried_out(main: Main) -> None:
    """Await `main`, which adds lines to a list, and print them. Lets UserMistakeError through, after the lines."""
    set_up_logs("error", as_json=False)
    said: list[str] = []

    async def told() -> None:
        await main(said)

    try:
        is_complete = run(told)
    finally:
        if said:
            print("\n".join(said), flush=True)
    if not is_complete:
        sys.exit(INTERRUPTED)
