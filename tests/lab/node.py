"""One cluster node: containerd, kubelet and kube-proxy in network, mount, process and cgroup namespaces of their own.

A program of its own that uses the standard library only. `node.py enter FOLDER` puts itself into fresh cgroups
and becomes `unshare`, whose only child, `node.py init FOLDER`, is process 1 of the node. Killing either ends the
node with all its pods, mounts and links, as pulling its plug would. What the node is called, which addresses it
has and what it runs, FOLDER/node.json says; `clusters` writes that and gives the node its link.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

CGROUPS = Path("/sys/fs/cgroup")
CNI_PLUGINS = Path("/usr/lib/cni")
CONTAINERD = "/run/containerd/containerd.sock"
# kubelet sets these for the whole machine. Here it finds them as it wants them and so leaves the machine's alone.
KUBELET_SYSCTLS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}

_START_SECONDS = 90


def enter(folder: Path) -> None:
    """Become the process that holds the node; does not return."""
    for hierarchy in _hierarchies():
        group = hierarchy / _settings(folder)["cgroup"]
        group.mkdir(exist_ok=True)
        # A new cpuset is empty, and no process may enter it so.
        for name in ("cpuset.cpus", "cpuset.mems"):
            if (group / name).exists():
                (group / name).write_text((hierarchy / name).read_text())
        (group / "cgroup.procs").write_text(str(os.getpid()))
    namespaces = ("--net", "--mount", "--pid", "--uts", "--ipc", "--cgroup")
    command = (
        "unshare",
        *namespaces,
        "--fork",
        "--kill-child",
        "--mount-proc",
        sys.executable,
        "-I",
        __file__,
    )
    os.execvp("unshare", (*command, "init", str(folder)))


def init(folder: Path) -> int:
    """Start the node's programs and reap what dies, until one of them ends or SIGTERM comes."""
    settings = _settings(folder)
    signal.signal(signal.SIGTERM, _leave)
    socket.sethostname(settings["hostname"])
    _mount_cgroups()
    _mount_folders(folder)
    _hide_sysctls(folder)
    _configure_network(settings)
    programs = settings["programs"]
    started = {_start(folder, "containerd", programs["containerd"]): "containerd"}
    _until("containerd answers", lambda: _succeeds("ctr", "--address", CONTAINERD, "version"))
    _run("ctr", "--address", CONTAINERD, "--namespace", "k8s.io", "images", "import", settings["images"])
    for name in ("kubelet", "kube-proxy"):
        started[_start(folder, name, programs[name])] = name
    while True:
        pid, status = os.wait()
        if pid in started:
            name = started[pid]
            print(f"{name} ended with {os.waitstatus_to_exitcode(status)}; its log ends:", flush=True)
            print("\n".join((folder / f"{name}.log").read_text().splitlines()[-5:]), flush=True)
            return 1


def remove_cgroups(name: str, seconds: float = 10) -> bool:
    """Remove the node's cgroups in every hierarchy; False when processes are still in them after the time."""
    end = time.monotonic() + seconds
    while not _removed(name):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _removed(name: str) -> bool:
    try:
        for hierarchy in _hierarchies():
            for folder, _, _ in os.walk(hierarchy / name, topdown=False):
                Path(folder).rmdir()
    except OSError:
        return False
    return True


def _hierarchies() -> Iterator[Path]:
    return (path for path in sorted(CGROUPS.iterdir()) if path.is_dir() and not path.is_symlink())


def _settings(folder: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((folder / "node.json").read_text())
    return settings


def _mount_cgroups() -> None:
    # Mounted anew, each hierarchy shows the node's own group as its root: a kubelet that saw the other node's
    # containers would wait for each of them as it starts.
    names = [path.name for path in _hierarchies()]
    _run("umount", "--recursive", str(CGROUPS))
    _run("mount", "-t", "tmpfs", "tmpfs", str(CGROUPS))
    for name in names:
        target = CGROUPS / name
        target.mkdir()
        match name:
            case "unified":
                _run("mount", "-t", "cgroup2", "cgroup2", str(target))
            case "systemd":
                _run("mount", "-t", "cgroup", "-o", "none,name=systemd", "cgroup", str(target))
            case _:
                _run("mount", "-t", "cgroup", "-o", name, "cgroup", str(target))


def _mount_folders(folder: Path) -> None:
    for target in ("/run", "/var/lib", "/var/log"):
        own = folder / "state" / target[1:]
        own.mkdir(parents=True)
        _run("mount", "--bind", str(own), target)
    for needed in ("/run/lock", "/var/log/containers"):
        Path(needed).mkdir()
    # Volumes that kubelet mounts must reach the containers, which containerd's own children mount.
    _run("mount", "--make-rshared", "/")


def _hide_sysctls(folder: Path) -> None:
    for name, value in KUBELET_SYSCTLS.items():
        own = folder / "state" / name.replace("/", ".")
        own.write_text(f"{value}\n")
        _run("mount", "--bind", "-o", "ro", str(own), f"/proc/sys/{name}")


def _configure_network(settings: dict[str, Any]) -> None:
    _until("the node has a link", lambda: "eth0" in [name for _, name in socket.if_nameindex()])
    for name, value in settings["sysctls"].items():
        Path(f"/proc/sys/{name}").write_text(value)
    lines = ["link set lo up", "link set eth0 up", *settings["network"]]
    subprocess.run(("ip", "-batch", "-"), input="\n".join(lines) + "\n", text=True, check=True)


def _start(folder: Path, name: str, command: list[str]) -> int:
    with (folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log).pid


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _until(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _START_SECONDS
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {_START_SECONDS} s: {what}")
        time.sleep(0.02)


def _leave(signum: int, frame: FrameType | None) -> None:
    sys.exit(0)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["enter", folder]:
            enter(Path(folder))
        case ["init", folder]:
            sys.exit(init(Path(folder)))
