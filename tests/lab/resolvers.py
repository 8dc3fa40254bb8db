"""Resolvers that users have in front of `mcs dns`, started from the recipes in docs/dns-in-front.md.

Only addresses and ports are replaced in what the document says. What the resolvers answer is judged by the tests.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import dns.asyncquery
import dns.exception
import dns.message
import yaml

from tests.lab.binaries import MissingBinaryError, built
from tests.lab.control_planes import free_ports
from tests.lab.mcs import eventually
from tests.lab.processes import LabProcess
from tests.lab.resolved import node_with_resolved, resolved_program

HOST = "127.0.0.1"
_DOCUMENT = Path(__file__).parents[2] / "docs" / "dns-in-front.md"
_SERVER = "10.96.0.53"
"""Where the recipes say that `mcs dns` is."""

# What unbound and dnsmasq are told by distributions and careful administrators, and what a recipe must get along with.
_UNBOUND = """
server:
    interface: {host}@{port}
    do-not-query-localhost: no
    do-daemonize: no
    username: ""
    chroot: ""
    directory: "{folder}"
    pidfile: ""
    use-syslog: no
    private-address: 10.0.0.0/8
    private-address: fd00::/8
    trust-anchor: ". DS 20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D"
forward-zone:
    name: "."
    forward-addr: {host}@{dead_port}
"""
_DNSMASQ = """
port={port}
listen-address={host}
bind-interfaces
no-resolv
no-hosts
stop-dns-rebind
pid-file
user=root
"""
# What the pod of kube-dns gives to its dnsmasq; the program there that adds the stub domains to it cannot be had here.
_KUBE_DNS = """
port={port}
listen-address={host}
bind-interfaces
no-resolv
no-hosts
pid-file
user=root
cache-size=1000
no-negcache
dns-loop-detect
server=/cluster.local/{host}#{dead_port}
server=/in-addr.arpa/{host}#{dead_port}
server=/ip6.arpa/{host}#{dead_port}
"""


@dataclass(frozen=True)
class Resolver:
    """A resolver of the document, with times in seconds.

    Nothing is forgotten before `minimum`, whatever its TTL; `servfail_kept` is how long it repeats a SERVFAIL, and
    `recovery` how long after an outage it may take until it asks again. `additional` says when SRV records come with
    the addresses of their targets.
    """

    heading: str
    minimum: int = 0
    servfail_kept: int = 0
    recovery: int = 1
    additional: Literal["always", "at first", "never"] = "always"

    def __str__(self) -> str:
        return self.heading


COREDNS = Resolver("CoreDNS", minimum=5)
NODE_LOCAL_DNS = Resolver("Node-local DNS", minimum=5)
UNBOUND = Resolver("unbound", servfail_kept=5, recovery=30, additional="never")
DNSMASQ = Resolver("dnsmasq", additional="at first")
KUBE_DNS = Resolver("kube-dns", additional="at first")
SYSTEMD_RESOLVED = Resolver("systemd-resolved", servfail_kept=10)
RESOLVERS = (COREDNS, NODE_LOCAL_DNS, UNBOUND, DNSMASQ, KUBE_DNS)
"""Those that run beside the tests; systemd-resolved needs a node, and that needs root."""


def missing(resolver: Resolver) -> str:
    """Why the resolver cannot be started on this machine, in one line; empty when it can."""
    try:
        _program(resolver)
    except MissingBinaryError as problem:
        return str(problem)
    return ""


def recipe(heading: str) -> str:
    """The one code block below that heading of the document."""
    _, _, after = _DOCUMENT.read_text().partition(f"\n## {heading}\n")
    (block,) = re.findall(r"^```\w+\n(.*?)^```$", after.partition("\n## ")[0], re.DOTALL | re.MULTILINE)
    return str(block)


@asynccontextmanager
async def forwarding(resolver: Resolver, server_port: int, folder: Path) -> AsyncIterator[int]:
    """The resolver of the recipe until the block ends, with `mcs dns` at that port of loopback; gives its own port.

    Raises MissingBinaryError when the program is not here, AssertionError when it does not answer in time.
    """
    port, other_port = free_ports(2)
    async with AsyncExitStack() as stack:
        if resolver is SYSTEMD_RESOLVED:
            process = await stack.enter_async_context(
                node_with_resolved(recipe(resolver.heading), (_SERVER, 53), (HOST, server_port), port, folder)
            )
        else:
            file = folder / f"{resolver.heading}.conf"
            file.write_text(_configuration(resolver, port, server_port, other_port, folder))
            process = LabProcess(
                resolver.heading, _command(resolver, file), folder / f"{resolver.heading}.log"
            )
            await process.start()
            stack.push_async_callback(process.stop)
        await eventually(f"{resolver} answers", _answers(process, port), seconds=20)
        yield port


def _configuration(resolver: Resolver, port: int, server_port: int, other_port: int, folder: Path) -> str:
    text = recipe(resolver.heading)
    match resolver.heading:
        case "unbound":
            text = text.replace(_SERVER, f"{HOST}@{server_port}")
            return _UNBOUND.format(host=HOST, port=port, folder=folder, dead_port=other_port) + text
        case "dnsmasq":
            return _DNSMASQ.format(host=HOST, port=port) + text.replace(_SERVER, f"{HOST}#{server_port}")
        case "kube-dns":
            domains = json.loads(yaml.safe_load(text)["data"]["stubDomains"])
            servers = [f"server=/{domain}/{server}" for domain in domains for server in domains[domain]]
            text = "\n".join(servers).replace(_SERVER, f"{HOST}#{server_port}")
            return _KUBE_DNS.format(host=HOST, port=port, dead_port=other_port) + text
        case _:
            text = text.replace(_SERVER, f"{HOST}:{server_port}").replace(
                "prometheus :9253", f"prometheus {HOST}:{other_port}"
            )
            bound = re.sub(r"bind .*", f"bind {HOST}", text)
            if bound == text:
                bound = text.replace("{\n", f"{{\n    bind {HOST}\n", 1)
            return bound.replace("clusterset.local:53", f"clusterset.local:{port}")


def _command(resolver: Resolver, file: Path) -> tuple[str, ...]:
    program = _program(resolver)
    match resolver.heading:
        case "unbound":
            return (program, "-d", "-c", str(file))
        case "dnsmasq" | "kube-dns":
            return (program, "--keep-in-foreground", f"--conf-file={file}", "--log-facility=-")
        case _:
            return (program, "-conf", str(file))


def _program(resolver: Resolver) -> str:
    if resolver in (COREDNS, NODE_LOCAL_DNS):
        return str(built("coredns"))
    if resolver is SYSTEMD_RESOLVED:
        return str(resolved_program())
    name = "dnsmasq" if resolver is KUBE_DNS else resolver.heading
    # Debian keeps both where only root's PATH leads.
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        package = {"unbound": "unbound", "dnsmasq": "dnsmasq-base"}[name]
        raise MissingBinaryError(f"{resolver} is not installed (Debian package {package})")
    return found


def _answers(process: LabProcess, port: int) -> Callable[[], Awaitable[bool]]:
    # Outside the zone, so that nothing is in the cache yet when the tests begin to ask.
    query = dns.message.make_query("ready.test.", "A")

    async def do() -> bool:
        process.check_running()
        try:
            await dns.asyncquery.udp(query, HOST, port=port, timeout=0.3)
        except (OSError, dns.exception.Timeout):
            return False
        return True

    return do
