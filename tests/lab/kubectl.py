"""kubectl as a user runs it, apart from the home folder and kubeconfig of whoever runs the tests."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from tests.lab import binaries


class KubectlError(Exception):
    """kubectl ended with a code other than 0; the message is what it wrote to standard error."""


@dataclass(frozen=True)
class Kubectl:
    """One kubectl with its kubeconfig; `home` receives its caches."""

    binary: Path
    kubeconfig: Path
    home: Path

    async def __call__(self, *arguments: str, stdin: str = "", timeout: float = 60) -> str:
        """Returns standard output. Raises KubectlError, or TimeoutError after `timeout` seconds."""
        process = await asyncio.create_subprocess_exec(
            str(self.binary),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig), "PATH": os.environ["PATH"]},
        )
        try:
            async with asyncio.timeout(timeout):
                output, errors = await process.communicate(stdin.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise KubectlError(f"kubectl {' '.join(arguments)}: {errors.decode().strip()}")
        return output.decode()


def kubectl_binary() -> Path:
    """The kubectl that the variable KUBECTL names, else the lab's own.

    Raises binaries.MissingBinaryError when the lab's own is wanted and not built.
    """
    chosen = os.environ.get("KUBECTL")
    return Path(chosen) if chosen else binaries.built("kubectl")
