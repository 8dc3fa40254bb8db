"""Whole clusters with real nodes, in a network of their own: `async with Clusters() as clusters:`.

Needs a machine of which machine.unmet() says nothing, and the programs of binaries.NODE_TIER. Each start is a
new, empty world, and its end leaves nothing: no process, namespace, link, mount, cgroup or file.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import trustme

from tests.lab import binaries, forwarder, images, node
from tests.lab.addresses import BRIDGE, ETCD_PORT, HOST, HOST6, ClusterAddresses
from tests.lab.cluster import Cluster, DnsMode, write_kubeconfig
from tests.lab.control_planes import ADMIN, free_ports, private_key
from tests.lab.mcs import eventually
from tests.lab.namespace import CommandError, Namespace
from tests.lab.node_files import NodeSetup, ProxyMode
from tests.lab.processes import LabProcess

_CGROUP_PREFIX = "mcs-lab"
_WATCH_SECONDS = 0.5


class Clusters:
    """The clusters of a test, by name.

    Logs, certificates and data live in `folder`; without one, in a temporary folder that goes with the
    clusters. `dns` says who answers clusterset.local behind each cluster's CoreDNS: "forward" asks `mcs dns` at
    Cluster.addresses.clusterset_dns_port, "multicluster" CoreDNS itself. Raises binaries.MissingBinaryError when
    the programs are not built, LabError when one of them does not start.
    """

    def __init__(
        self,
        names: Sequence[str] = ("cluster1", "cluster2"),
        *,
        proxy_mode: ProxyMode = "iptables",
        dns: DnsMode = "forward",
        folder: Path | None = None,
    ) -> None:
        self._names = tuple(names)
        self._proxy_mode: ProxyMode = proxy_mode
        self._dns: DnsMode = dns
        self._kept_folder = folder
        self._clusters: dict[str, Cluster] = {}

    def __getitem__(self, name: str) -> Cluster:
        return self._clusters[name]

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self._clusters.values())

    @property
    def processes(self) -> tuple[LabProcess, ...]:
        """Everything that the lab started, in the order in which it ends."""
        of_clusters = (process for cluster in self for process in cluster.processes)
        return (*of_clusters, self._forwarder, self._etcd, self.namespace.holder)

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """For programs outside: a context per cluster, named after it; the first is the current one."""
        return write_kubeconfig(self.folder / f"{user}.kubeconfig", self._contexts(user), inside=False)

    def inner_kubeconfig(self, user: str = ADMIN) -> Path:
        """The same for programs that run inside the lab."""
        return write_kubeconfig(self.folder / f"{user}.inner.kubeconfig", self._contexts(user), inside=True)

    def inner_kubeconfig_at_home(self, home: Cluster, user: str, elsewhere: str) -> Path:
        """For a program inside the lab that is one user in the cluster `home`, and another in all the others."""
        contexts = self._contexts(elsewhere) | {home.name: (home, user)}
        return write_kubeconfig(self.folder / f"{user}.of.{home.name}.kubeconfig", contexts, inside=True)

    def _contexts(self, user: str) -> dict[str, tuple[Cluster, str]]:
        return {name: (cluster, user) for name, cluster in self._clusters.items()}

    async def __aenter__(self) -> Self:
        for name in binaries.NODE_TIER:
            binaries.built(name)
        archive = await asyncio.to_thread(images.archive, binaries.cache_root())
        remove_stale_cgroups()
        self.folder = self._kept_folder or Path(tempfile.mkdtemp(prefix="mcs-lab-"))
        self.namespace = Namespace(self.folder)
        try:
            await self.namespace.start()
            self._prepare(archive)
            await self._start()
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._end()

    def _prepare(self, archive: Path) -> None:
        addresses = [ClusterAddresses(index) for index in range(len(self._names))]
        self._write_certificates(addresses)
        ports = free_ports(len(self._names))
        etcd = self.namespace.inside(str(binaries.built("etcd")), *_etcd_arguments(self.folder / "etcd"))
        self._etcd = LabProcess("etcd", etcd, self.folder / "etcd.log")
        # Outside on purpose: it listens on the machine's own 127.0.0.1.
        routes = (f"{port}={HOST}:{own.api_port}" for port, own in zip(ports, addresses, strict=True))
        command = (sys.executable, "-I", forwarder.__file__, str(self.namespace.pid), *routes)
        self._forwarder = LabProcess("forwarder", command, self.folder / "forwarder.log")
        for name, own, port in zip(self._names, addresses, ports, strict=True):
            folder = self.folder / name
            (folder / "node").mkdir(parents=True)
            cluster = Cluster(
                name,
                addresses=own,
                namespace=self.namespace,
                folder=folder,
                forwarded_port=port,
            )
            setup = NodeSetup(
                folder=folder / "node",
                name=cluster.node_name,
                cgroup=f"{_CGROUP_PREFIX}-{os.getpid()}-{self.namespace.pid}-{name}",
                addresses=own,
                peers=[peer for peer in addresses if peer != own],
                proxy_mode=self._proxy_mode,
                images=archive,
                ca_file=self.folder / "ca.crt",
                kubelet_kubeconfig=cluster.inner_kubeconfig("kubelet"),
                proxy_kubeconfig=cluster.inner_kubeconfig("kube-proxy"),
            )
            cluster.prepare(self.folder / "ca.crt", setup)
            self._clusters[name] = cluster

    def _write_certificates(self, addresses: Sequence[ClusterAddresses]) -> None:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.folder / "ca.crt")
        names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost", "127.0.0.1", HOST)
        services = (ip for own in addresses for ip in own.first_services)
        server = authority.issue_cert(*names, *services, common_name="kube-apiserver")
        # Without any identity the certificate would have an empty, critical extension that Go refuses.
        client = authority.issue_cert(
            "localhost", common_name="apiserver-kubelet-client", organization_name="system:masters"
        )
        for name, certificate in (("apiserver", server), ("kubelet-client", client)):
            certificate.private_key_pem.write_to_path(self.folder / f"{name}.key")
            certificate.cert_chain_pems[0].write_to_path(self.folder / f"{name}.crt")
        (self.folder / "service-account.key").write_bytes(private_key())

    async def _start(self) -> None:
        await self._make_bridge()
        await self._etcd.start()
        await self._forwarder.start()
        await eventually("etcd is healthy", self._etcd_is_healthy)
        async with asyncio.TaskGroup() as starts:
            for cluster in self:
                starts.create_task(
                    self._start_control_plane(cluster), name=f"control plane of {cluster.name}"
                )
                starts.create_task(cluster.start_node(), name=f"node of {cluster.name}")
        async with asyncio.TaskGroup() as watches:
            watch = watches.create_task(self._watch(), name="watch the lab")
            async with asyncio.TaskGroup() as waits:
                for cluster in self:
                    waits.create_task(cluster.wait_until_ready(), name=f"wait for {cluster.name}")
            watch.cancel()

    async def _watch(self) -> None:
        # Waiting for what has ended already would only end with the time, and without the reason.
        while True:
            for process in self.processes:
                process.check_running()
            await asyncio.sleep(_WATCH_SECONDS)

    async def _start_control_plane(self, cluster: Cluster) -> None:
        await cluster.start_control_plane()
        await cluster.answer_clusterset_with(self._dns)

    async def _make_bridge(self) -> None:
        await self.namespace.run(
            "sysctl", "-qw", *(f"net.bridge.bridge-nf-call-{table}=0" for table in ("iptables", "ip6tables"))
        )
        lines = [
            f"link add {BRIDGE} type bridge",
            f"link set {BRIDGE} up",
            f"address add {HOST}/24 dev {BRIDGE}",
            f"address add {HOST6}/64 dev {BRIDGE} nodad",
        ]
        for cluster in self:
            own = cluster.addresses
            lines += (f"route add {own.pods} via {own.node}", f"route add {own.pods6} via {own.node6}")
        await self.namespace.ip(lines)

    async def _etcd_is_healthy(self) -> bool:
        self._etcd.check_running()
        try:
            await self.namespace.run("curl", "-sf", f"http://127.0.0.1:{ETCD_PORT}/health")
        except CommandError:
            return False
        return True

    async def _end(self) -> None:
        # Nothing of the data is wanted any more, so nobody waits for an orderly end; all are told before any
        # is awaited, so that a cancellation in between leaves none running.
        processes = self.processes if self._clusters else (self.namespace.holder,)
        for process in processes:
            process.send_kill()
        for process in processes:
            await process.kill()
        for cluster in self:
            await cluster.remove_node_remains()
        if self._kept_folder is None:
            shutil.rmtree(self.folder)


def remove_stale_cgroups() -> None:
    """Remove the cgroups of labs whose tests were killed before they could."""
    for path in (node.CGROUPS / "memory").glob(f"{_CGROUP_PREFIX}-*"):
        owner = path.name.removeprefix(f"{_CGROUP_PREFIX}-").partition("-")[0]
        if not Path(f"/proc/{owner}").exists():
            node.remove_cgroups(path.name)


def _etcd_arguments(data: Path) -> tuple[str, ...]:
    client, peer = f"http://127.0.0.1:{ETCD_PORT}", f"http://127.0.0.1:{ETCD_PORT + 1}"
    return (
        "--name=lab",
        f"--data-dir={data}",
        "--log-level=warn",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=lab={peer}",
        "--unsafe-no-fsync",
    )
