"""Our own programs as users run them: `mcs controller` and `mcs dns` in processes of their own, and `dig` to ask."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from tests.lab.processes import LabProcess

MCS = (sys.executable, "-m", "mcs")


@asynccontextmanager
async def running(name: str, *arguments: str, folder: Path) -> AsyncIterator[LabProcess]:
    """`mcs ARGUMENTS` until the block ends; its output goes to a log file in `folder`."""
    process = LabProcess(name, (*MCS, *arguments), folder / f"{name}.log")
    await process.start()
    try:
        yield process
    finally:
        await process.stop()


async def dig(port: int, name: str, kind: str, *options: str) -> list[str]:
    """The answers of `dig +short`, sorted. Raises FileNotFoundError when there is no dig."""
    return sorted((await dig_whole(port, name, kind, "+short", *options)).split())


async def dig_whole(port: int, name: str, kind: str, *options: str) -> str:
    """What dig prints, asked over UDP on loopback."""
    if shutil.which("dig") is None:
        raise FileNotFoundError("dig is not installed (Debian package bind9-dnsutils)")
    process = await asyncio.create_subprocess_exec(
        "dig",
        "@127.0.0.1",
        "-p",
        str(port),
        "+tries=1",
        "+time=2",
        *options,
        name,
        kind,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return output.decode()


async def rcode(port: int, name: str, kind: str) -> str:
    """The rcode that dig reports, as NOERROR or NXDOMAIN; empty when no answer came."""
    found = re.search(r"status: (\w+)", await dig_whole(port, name, kind))
    return found.group(1) if found else ""


async def eventually(
    what: str, holds: Callable[[], Awaitable[object]], *, seconds: float = 60, every: float = 0.05
) -> None:
    """Return once `holds` gives something true. Raises AssertionError with the last value after `seconds`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        value = await holds()
        if value:
            return
        assert loop.time() < end, f"{what}: not within {seconds} s, last was {value!r}"
        await asyncio.sleep(every)
