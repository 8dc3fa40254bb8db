"""Helm as a user runs it, apart from the home folder and kubeconfig of whoever runs the tests."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[2] / "charts" / "mcs"


class HelmError(Exception):
    """helm ended with a code other than 0; the message is what it wrote to standard error."""


@dataclass(frozen=True)
class Helm:
    """Our chart and what helm makes of it; `home` receives its caches."""

    binary: Path
    home: Path

    async def template(self, release: str, namespace: str, values: dict[str, Any]) -> list[dict[str, Any]]:
        """The manifests of the chart without its CRDs, as helm would send them. Raises HelmError."""
        rendered = await self("template", release, str(CHART), "--namespace", namespace, values=values)
        return [document for document in yaml.safe_load_all(rendered) if document]

    async def install(
        self, release: str, namespace: str, values: dict[str, Any], *, kubeconfig: Path, context: str
    ) -> str:
        """Install the chart with its CRDs, or what is new of it; returns what the user is told. Raises HelmError."""
        where = ("--kubeconfig", str(kubeconfig), "--kube-context", context, "--namespace", namespace)
        return await self(
            "upgrade", "--install", release, str(CHART), *where, "--create-namespace", values=values
        )

    async def __call__(
        self, *arguments: str, values: dict[str, Any] | None = None, timeout: float = 60
    ) -> str:
        """Returns standard output. Raises HelmError, or TimeoutError after `timeout` seconds."""
        process = await asyncio.create_subprocess_exec(
            str(self.binary),
            *arguments,
            *(() if values is None else ("--values", "-")),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"]},
        )
        try:
            async with asyncio.timeout(timeout):
                output, errors = await process.communicate(yaml.safe_dump(values).encode() if values else b"")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise HelmError(f"helm {' '.join(arguments)}: {errors.decode().strip()}")
        return output.decode()
