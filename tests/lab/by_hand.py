"""The whole clusters to have by hand: `make lab`, `make lab-mcs` and `make lab-down`.

`up FOLDER` leaves two clusters running behind a process of their own and returns when they are ready; FOLDER has
the logs and a kubeconfig for the machine's own programs. `down FOLDER` ends them and removes the folder.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tests.lab import binaries
from tests.lab.clusters import Clusters
from tests.lab.clusterset import Clusterset
from tests.lab.machine import unmet

_MODULE = "tests.lab.by_hand"
_START_SECONDS = 300
_STOP_SECONDS = 60


def main(arguments: Sequence[str]) -> int:
    """0 when what was asked for is so; 1 with one line on standard error when it is not."""
    match arguments:
        case ["up", folder, *options]:
            refusal = _up(Path(folder).absolute(), options)
        case ["down", folder]:
            refusal = _down(Path(folder).absolute())
        case ["serve", folder, *options]:
            asyncio.run(_serve(Path(folder), with_mcs="--mcs" in options))
            refusal = ""
        case _:
            refusal = f"usage: python -m {_MODULE} up FOLDER [--mcs] | down FOLDER"
    if refusal:
        print(f"lab: {refusal}", file=sys.stderr)
    return 1 if refusal else 0


def _up(folder: Path, options: Sequence[str]) -> str:
    if _owner(folder):
        return f"it runs already: {folder}; `make lab-down` ends it"
    if refusal := unmet():
        return refusal
    try:
        for name in binaries.NODE_TIER:
            binaries.build(name, lambda line: print("lab:", line, flush=True))
    except binaries.MissingBinaryError as missing:
        return str(missing)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    with (folder / "lab.log").open("wb") as log:
        owner = subprocess.Popen(
            (sys.executable, "-m", _MODULE, "serve", str(folder), *options),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (folder / "pid").write_text(str(owner.pid))
    end = time.monotonic() + _START_SECONDS
    while not (folder / "ready").exists():
        if owner.poll() is not None or time.monotonic() > end:
            owner.kill()
            return f"it did not start; {folder / 'lab.log'} says why"
        time.sleep(0.1)
    print((folder / "ready").read_text(), end="")
    return ""


def _down(folder: Path) -> str:
    if not folder.exists():
        return ""
    owner = _owner(folder)
    if owner:
        os.kill(owner, signal.SIGTERM)
    end = time.monotonic() + _STOP_SECONDS
    while _owner(folder):
        if time.monotonic() > end:
            return f"process {owner} does not end"
        time.sleep(0.1)
    shutil.rmtree(folder)
    return ""


def _owner(folder: Path) -> int:
    """The process that runs the lab of this folder; 0 when none does."""
    try:
        pid = int((folder / "pid").read_text())
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except (OSError, ValueError):
        return 0
    # The number may belong to another program by now.
    return pid if _MODULE in words and str(folder) in words else 0


async def _serve(folder: Path, *, with_mcs: bool) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(Clusters(folder=folder))
        if with_mcs:
            await stack.enter_async_context(Clusterset(clusters))
        written = clusters.kubeconfig().rename(folder / "kubeconfig")
        unfinished = folder / "ready.unfinished"
        unfinished.write_text(_welcome(written, clusters))
        unfinished.rename(folder / "ready")
        await ended.wait()


def _welcome(kubeconfig: Path, clusters: Clusters) -> str:
    contexts = " and ".join(cluster.name for cluster in clusters)
    return f"""export KUBECONFIG={kubeconfig}   # contexts {contexts}
kubectl get nodes   # without a kubectl of your own: {binaries.built("kubectl")}
nsenter --target {clusters.namespace.pid} --net   # a shell that reaches pods, cluster IPs excepted
"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
