"""What the lab promises about the machine: nothing of it is seen there while it runs or found there after it.

However it ends: orderly, because a part of it failed, or because the tests were killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from tests.lab import node
from tests.lab.clusters import Clusters, remove_stale_cgroups
from tests.lab.mcs import eventually
from tests.lab.node_files import ProxyMode
from tests.lab.processes import LabError, LabProcess
from tests.real.workloads import CLIENT

pytestmark = pytest.mark.nodes

# Places that container runtimes and kubelets write to when nobody stops them.
PLACES = ("/opt", "/run", "/usr/libexec", "/var/lib", "/var/log", "/etc/cni", "/etc/kubernetes")
RUNS_UNTIL_KILLED = """
import asyncio, sys
from pathlib import Path
from tests.lab.clusters import Clusters

async def main():
    async with Clusters(("lone",), folder=Path(sys.argv[1])):
        print("up", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


def machine() -> dict[str, object]:
    """What the machine shows of any lab, and of settings that kubelet would like to change."""
    return {
        "links": sorted(name for _, name in socket.if_nameindex()),
        "mounts": sorted(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        "files": {place: sorted(Path(place).iterdir()) if Path(place).exists() else None for place in PLACES},
        "sysctls": {name: Path("/proc/sys", name).read_text() for name in node.KUBELET_SYSCTLS},
    }


def processes_with(word: str) -> list[int]:
    """Running processes that have the word in their command line or in the path of one of their cgroups."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # What has ended stays listed until its parent, by then the machine's first process, takes note.
            if "\nState:\tZ" in (process / "status").read_text():
                continue
            if word in (process / "cmdline").read_text() or word in (process / "cgroup").read_text():
                found.append(int(process.name))
    return found


async def nothing_runs_of(word: str) -> bool:
    return processes_with(word) == []


def cgroups_with(word: str) -> list[str]:
    return [str(path) for path in node.CGROUPS.glob(f"*/*{word}*")]


def network_of(process: LabProcess) -> Path:
    return Path(f"/proc/{process.pid}/ns/net").readlink()


def processes_in(networks: set[Path]) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "ns" / "net").readlink() in networks:
                found.append((process / "cmdline").read_text())
    return found


async def test_nothing_of_a_lab_is_seen_on_the_machine_and_nothing_is_left_of_it() -> None:
    before = machine()
    async with Clusters(("lone",)) as clusters:
        lone = clusters["lone"]
        await lone.kubectl("apply", "-f", "-", stdin=CLIENT)
        await lone.kubectl("wait", "--for=condition=Ready", "pod/client", "--timeout=60s", timeout=90)
        assert machine() == before
        networks = {network_of(lone.node), network_of(clusters.namespace.holder)}
        group = f"mcs-lab-{os.getpid()}-{clusters.namespace.pid}"
        assert processes_in(networks)
        assert processes_with(group)
        assert cgroups_with(group)
    assert (processes_in(networks), processes_with(group), cgroups_with(group)) == ([], [], [])
    assert not clusters.folder.exists()
    assert machine() == before


@pytest.mark.parametrize(
    ("capability", "complaint"),
    [
        (
            "sys_admin",
            "whole clusters are not permitted here: unshare: unshare failed: Operation not permitted",
        ),
        ("net_admin", "whole clusters are not permitted here: RTNETLINK answers: Operation not permitted"),
    ],
)
def test_what_a_machine_does_not_permit_is_said_in_one_line(capability: str, complaint: str) -> None:
    before = machine()
    lacking = ("setpriv", f"--bounding-set=-{capability}", f"--inh-caps=-{capability}")
    question = "from tests.lab.machine import unmet; print(unmet())"
    said = subprocess.run(
        (*lacking, sys.executable, "-c", question), capture_output=True, text=True, check=True
    )
    assert said.stdout == f"{complaint}\n"
    assert machine() == before


async def test_a_lab_of_which_a_part_fails_says_which_and_leaves_nothing(tmp_path: Path) -> None:
    before, groups = machine(), cgroups_with("mcs-lab-")
    with pytest.raises(ExceptionGroup) as failure:
        async with Clusters(("lone",), proxy_mode=cast("ProxyMode", "nonsense"), folder=tmp_path):
            pass
    assert failure.group_contains(
        LabError, match=r"(?s)node of lone is not running.*kube-proxy ended with 1.*nonsense"
    )
    assert processes_with(str(tmp_path)) == []
    assert not (tmp_path / "lone" / "node" / "state").exists()
    assert cgroups_with("mcs-lab-") == groups
    assert machine() == before


async def test_a_lab_whose_owner_is_killed_ends_with_it(tmp_path: Path) -> None:
    before = machine()
    command = (sys.executable, "-c", RUNS_UNTIL_KILLED, str(tmp_path))
    owner = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    try:
        assert owner.stdout is not None
        async with asyncio.timeout(120):
            assert await owner.stdout.readline() == b"up\n"
        assert processes_with(str(tmp_path))
    finally:
        owner.send_signal(signal.SIGKILL)
        await owner.communicate()

    await eventually("what the owner started ends", lambda: nothing_runs_of(str(tmp_path)))
    await eventually("what the nodes ran ends", lambda: nothing_runs_of(f"mcs-lab-{owner.pid}-"))
    assert machine() == before
    # The next lab to start does this first.
    remove_stale_cgroups()
    assert cgroups_with(f"mcs-lab-{owner.pid}-") == []
