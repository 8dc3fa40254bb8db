"""systemd-resolved and systemd-networkd on a node of their own, with nothing of the machine's but their programs.

The node is a network and a mount namespace without D-Bus; networkd reads the file that the document shows, and
resolved what networkd makes of it, as on any node. Beyond the node's link to the pods, in a network of its own, is
the address that the document names. Needs root.

Debian's package of resolved takes over /etc/resolv.conf where it is installed, so it is only unpacked, into the cache.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from tests.lab.binaries import MissingBinaryError
from tests.lab.debian import unpacked
from tests.lab.mcs import eventually
from tests.lab.namespace import Namespace
from tests.lab.processes import LabProcess
from tests.lab.relay import Place, here, network_of, relayed

Address = tuple[str, int]

_STUB = ("127.0.0.53", 53)
_PROGRAMS = ("usr/lib/systemd", "lib/systemd")

# Resolved gives up being root for an account that its package makes. Networkd takes up a link that udev knows.
_NODE = """
set -e
mount -t tmpfs tmpfs /run
mount -t sysfs sysfs /sys
mkdir -p /run/systemd/netif /run/systemd/resolve /run/etc/systemd/network /run/udev/data
for link in 1 2; do echo I:1 > /run/udev/data/n$link; done
chown systemd-network /run/systemd/netif
chown 2990:2990 /run/systemd/resolve
(cat /etc/passwd; echo systemd-resolve:x:2990:2990::/:/usr/sbin/nologin) > /run/etc/passwd
(cat /etc/group; echo systemd-resolve:x:2990:) > /run/etc/group
: > /run/etc/resolv.conf
cat > /run/etc/systemd/network/cni0.network
for file in passwd group resolv.conf; do mount --bind /run/etc/$file "$(realpath /etc/$file)"; done
mount --bind /run/etc/systemd /etc/systemd
"""


def resolved_program() -> Path:
    """The program, from the machine or from the cache, which gets it first where it is not there.

    Raises MissingBinaryError where it cannot be had, or networkd is not here.
    """
    networkd_program()
    found = _installed("systemd-resolved")
    if found is None:
        # Both use a library that is private to their version.
        found = _installed("systemd-resolved", unpacked("systemd-resolved", version_of="systemd"))
    if found is None:
        raise MissingBinaryError("Debian's package systemd-resolved does not hold what it is named for")
    return found


def networkd_program() -> Path:
    """systemd-networkd of the machine. Raises MissingBinaryError where it is not installed."""
    found = _installed("systemd-networkd")
    if found is None:
        raise MissingBinaryError("systemd-networkd is not installed (Debian package systemd)")
    return found


def _installed(name: str, root: Path = Path("/")) -> Path | None:
    places = [root / folder / name for folder in _PROGRAMS]
    return next((path for path in places if path.is_file()), None)


@asynccontextmanager
async def node_with_resolved(
    network_file: str, server: Address, behind: Address, port: int, folder: Path
) -> AsyncIterator[LabProcess]:
    """Resolved on its node until the block ends, with that file for networkd; its stub answers at `port` of loopback.

    What is sent to `server` beyond the link to the pods is answered by `behind` on the machine. Raises LabError
    when a part does not start, MissingBinaryError when a program is not here.
    """
    async with AsyncExitStack() as stack:
        node, pods = [await stack.enter_async_context(_started(each)) for each in _two_namespaces(folder)]
        await node.run("sh", "-c", _NODE, stdin=network_file)
        # As a network plugin left it before networkd starts; the route is what kube-proxy is for.
        await node.ip(
            (
                f"link add cni0 type veth peer name eth0 netns {pods.pid}",
                "address add 10.244.1.1/24 dev cni0",
                "link set cni0 up",
            )
        )
        await pods.ip(
            ("address add 10.244.1.2/24 dev eth0", f"address add {server[0]} dev eth0", "link set eth0 up")
        )
        await node.ip((f"route add {server[0]} via 10.244.1.2 dev cni0",))
        await stack.enter_async_context(_running(node, networkd_program(), folder))
        await eventually("networkd tells what its file says", partial(_is_told, node), seconds=20)
        resolved = await stack.enter_async_context(_running(node, resolved_program(), folder))
        in_node, in_pods = [await stack.enter_async_context(network_of(each.pid)) for each in (node, pods)]
        await stack.enter_async_context(relayed(Place(in_pods, server), Place(here, behind)))
        await stack.enter_async_context(relayed(Place(here, ("127.0.0.1", port)), Place(in_node, _STUB)))
        yield resolved


def _two_namespaces(folder: Path) -> list[Namespace]:
    folders = [folder / name for name in ("node", "pods")]
    for each in folders:
        each.mkdir()
    return [Namespace(each) for each in folders]


@asynccontextmanager
async def _started(namespace: Namespace) -> AsyncIterator[Namespace]:
    await namespace.start()
    try:
        yield namespace
    finally:
        await namespace.stop()


@asynccontextmanager
async def _running(node: Namespace, program: Path, folder: Path) -> AsyncIterator[LabProcess]:
    # Each gives up being root, and with that the kernel forgets to end it with the tests. It ends with its shell.
    own = ("unshare", "--pid", "--fork", "--kill-child", "sh", "-c", '"$0" & wait', str(program))
    process = LabProcess(program.name, node.inside(*own), folder / f"{program.name}.log")
    await process.start()
    try:
        yield process
    finally:
        await process.kill()


async def _is_told(node: Namespace) -> str:
    return await node.run("sh", "-c", "cat /run/systemd/netif/links/* | grep DNS=. || true")
