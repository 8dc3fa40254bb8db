"""The clusters to have by hand, as `make lab-mcs` and `make lab-down` have them."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.lab.kubectl import Kubectl, kubectl_binary

pytestmark = pytest.mark.nodes


async def by_hand(*arguments: str) -> tuple[int, str]:
    """Exit status, and what was said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.lab.by_hand",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


def is_running(pid: int) -> bool:
    # What has ended may stay listed for a while, but without a command line.
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text() != ""
    return False


async def test_the_clusters_stay_until_they_are_taken_down_and_answer_programs_of_the_machine(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "lab"
    try:
        status, said = await by_hand("up", str(folder), "--mcs")
        assert (status, said.splitlines()[0]) == (
            0,
            f"export KUBECONFIG={folder}/kubeconfig   # contexts cluster1 and cluster2",
        )
        kubectl = Kubectl(kubectl_binary(), folder / "kubeconfig", tmp_path)
        for cluster in ("cluster1", "cluster2"):
            assert f"{cluster}-node   Ready" in await kubectl("--context", cluster, "get", "nodes")
            assert await kubectl("--context", cluster, "get", "serviceimports", "--all-namespaces") == ""
        again, refusal = await by_hand("up", str(folder))
        assert (again, refusal) == (1, f"lab: it runs already: {folder}; `make lab-down` ends it\n")
    finally:
        pid = int((folder / "pid").read_text())
        taken_down = await by_hand("down", str(folder))
    assert taken_down == (0, "")
    assert not folder.exists()
    assert not is_running(pid)
    assert await by_hand("down", str(folder)) == (0, "")
