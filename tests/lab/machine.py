"""What a machine must be, have and permit to run whole clusters; `clusters` runs them, `binaries` builds programs.

The Debian packages stand in packages.txt, one a line, so that a machine can be prepared without Python.
`python -m tests.lab.machine` says in one line, and by its exit status, what is lacking.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.lab import images, node

_PACKAGES = Path(__file__).with_name("packages.txt")
_CNI_PLUGINS = ("bridge", "host-local", "loopback")
_PROGRAMS = (
    *("containerd", "containerd-shim-runc-v2", "ctr", "runc", "iptables", "ip6tables", "nft"),
    *("ip", "sysctl", "mount", "unshare", "nsenter", "ldd"),
)
_PROBE_SECONDS = 120
# What a node does first, with everything that only some kernels and sandboxes permit. The parent keeps nothing of it.
_PROBE = """
cd "$1"
mkdir lower upper work merged
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged
ip link set lo up
ip link add mcs-probe type bridge
iptables --table nat --list-rules
ip6tables --table nat --list-rules
nft add table inet mcs-probe
umount --recursive /sys/fs/cgroup
mount -t tmpfs tmpfs /sys/fs/cgroup
mkdir /sys/fs/cgroup/memory
mount -t cgroup -o memory cgroup /sys/fs/cgroup/memory
mkdir "/sys/fs/cgroup/memory/$2"
rmdir "/sys/fs/cgroup/memory/$2"
"""


def unmet() -> str:
    """Why this machine cannot run nodes, in one line; empty when it can. Programs to build are not judged."""
    if platform.system() != "Linux" or os.geteuid() != 0:
        return "whole clusters need root on Linux"
    if not (node.CGROUPS / "memory" / "tasks").exists():
        return "whole clusters need the cgroup v1 hierarchies"
    missing = [
        *images.missing_programs((*_PROGRAMS, *images.required_programs())),
        *(plugin for plugin in _CNI_PLUGINS if not (node.CNI_PLUGINS / plugin).exists()),
    ]
    if missing:
        packages = " ".join(_PACKAGES.read_text().split())
        return f"whole clusters lack {', '.join(missing)}: apt-get install {packages}"
    refusal = _refusal()
    return f"whole clusters are not permitted here: {refusal}" if refusal else ""


def _refusal() -> str:
    """The first complaint about what a node does as it starts, tried once in namespaces of its own; else empty."""
    namespaces = ("--net", "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child")
    with tempfile.TemporaryDirectory(prefix="mcs-probe-") as folder:
        script = ("sh", "-ec", _PROBE, "probe", folder, f"mcs-probe-{os.getpid()}")
        tried = subprocess.run(
            ("unshare", *namespaces, "--mount-proc", *script),
            capture_output=True,
            text=True,
            check=False,
            timeout=_PROBE_SECONDS,
        )
    if tried.returncode == 0:
        return ""
    return " ".join(tried.stderr.split()) or f"unshare ended with {tried.returncode}"


if __name__ == "__main__":
    sys.exit(unmet() or None)
