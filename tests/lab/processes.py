"""Programs of the lab as child processes that cannot outlive the tests.

Each child leads its own process group, so Ctrl-C reaches the tests and not their servers, and the kernel
kills it when the thread that started it ends. What the programs are for is decided by control_planes.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
# Loaded here because nothing may be imported or loaded between fork and exec.
_libc = ctypes.CDLL(None, use_errno=True)


class LabError(Exception):
    """A part of the lab did not start, or ended by itself; the message carries the end of its log."""


class LabProcess:
    """One program with a fixed command line that can be started, stopped and started again."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.log = log
        self._command = tuple(command)
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """Process id while the program runs, else None."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> None:
        """Start the program; its output is appended to the log. Raises LabError when it runs already."""
        if self.pid is not None:
            raise LabError(f"{self.name} runs already as process {self.pid}")
        with self.log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_dies_with(os.getpid()),
            )

    async def stop(self, grace_seconds: float = 20) -> None:
        """Ask the program to end (SIGTERM), and kill it when it has not ended after the grace."""
        if self._process is None or self.pid is None:
            return
        self._process.terminate()
        try:
            async with asyncio.timeout(grace_seconds):
                await self._process.wait()
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        """End the program at once, as a crash would, and return when it has ended."""
        self.send_kill()
        if self._process is not None:
            await self._process.wait()

    def send_kill(self) -> None:
        """Send SIGKILL to the process group without waiting for its end."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def check_running(self) -> None:
        """Raises LabError, with the end of the log, when the program has ended."""
        if self.pid is None:
            raise LabError(f"{self.name} is not running; its log ends:\n{self.log_tail()}")

    def log_tail(self, lines: int = 15) -> str:
        """The last lines of the log, or an empty string before the first start."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def _dies_with(parent: int) -> Callable[[], None]:
    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # The parent may have died before the request was made; then nobody is left to send the signal.
        if os.getppid() != parent:
            os._exit(1)

    return prepare
