"""A network and a mount namespace of the lab's own, so that none of its addresses exists on the machine.

One sleeping process holds the namespaces; every other process of the lab enters them as it starts, so it stays
a child of the tests, with the process id that they signal. Two labs can run side by side with the same
addresses. What is inside is reached from outside by command, or through `forwarder`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.lab.processes import LabError, LabProcess

_START_SECONDS = 30


class CommandError(LabError):
    """A command inside the lab ended with a code other than 0; the message is what it wrote to standard error."""


class Namespace:
    """The namespaces of one lab, between `start` and `stop`; needs root."""

    def __init__(self, folder: Path) -> None:
        self._holder = LabProcess(
            "namespace",
            ("unshare", "--net", "--mount", "--propagation", "private", "sleep", "infinity"),
            folder / "namespace.log",
        )

    @property
    def pid(self) -> int:
        """The process that holds the namespaces: `nsenter --target PID --net --mount` enters them by hand.

        Raises LabError before `start` and after `stop`.
        """
        if self._holder.pid is None:
            raise LabError("the namespaces of the lab are not there")
        return self._holder.pid

    @property
    def holder(self) -> LabProcess:
        """The process that ends last."""
        return self._holder

    def inside(self, *command: str) -> tuple[str, ...]:
        """The command line that runs the command inside; nsenter becomes the command, it does not fork."""
        return ("nsenter", f"--target={self.pid}", "--net", "--mount", "--", *command)

    async def start(self) -> None:
        """Make the namespaces, with a loopback interface. Raises LabError when that is not allowed."""
        await self._holder.start()
        await wait_for_own_network(self._holder)
        await self.run("ip", "link", "set", "lo", "up")

    async def stop(self) -> None:
        """Let go of the namespaces; the kernel removes them, links and routes with the last process inside."""
        await self._holder.kill()

    async def run(self, *command: str, stdin: str = "", timeout: float = 30) -> str:
        """Standard output of a command inside. Raises CommandError, or TimeoutError after `timeout` seconds."""
        process = await asyncio.create_subprocess_exec(
            *self.inside(*command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(timeout):
                output, errors = await process.communicate(stdin.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise CommandError(f"{' '.join(command)}: {errors.decode().strip()}")
        return output.decode()

    async def ip(self, commands: Sequence[str]) -> None:
        """Carry out lines of `ip -batch`, all or, at the first that fails, no further."""
        await self.run("ip", "-batch", "-", stdin="\n".join(commands) + "\n")


async def wait_for_own_network(process: LabProcess, *left: int) -> None:
    """Return when the process is in a network namespace that neither we nor the processes `left` are in.

    It passes through theirs on its way. Raises LabError when it ends or is not there within seconds.
    """
    passed = {_network("self"), *map(_network, left)}
    try:
        async with asyncio.timeout(_START_SECONDS):
            while True:
                process.check_running()
                # One that ends just now has no namespace any more; the next round says so.
                with suppress(OSError):
                    if process.pid is not None and _network(process.pid) not in passed:
                        return
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise LabError(
            f"{process.name} got no network namespace; its log ends:\n{process.log_tail()}"
        ) from None


def _network(process: int | str) -> Path:
    return Path(f"/proc/{process}/ns/net").readlink()
