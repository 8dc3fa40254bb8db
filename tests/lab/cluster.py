"""One whole cluster: kube-apiserver, kube-controller-manager, kube-scheduler, CoreDNS and a node.

It can be hurt as a cluster is hurt: its API server killed, stopped or started again, its node killed, its link
cut. What clusters share, and the order in which their parts start, is with clusters.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import secrets
import shutil
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import yaml

from tests.lab import binaries, node
from tests.lab.addresses import BRIDGE, ETCD_PORT, HOST, ClusterAddresses
from tests.lab.control_planes import ADMIN
from tests.lab.kubectl import Kubectl, KubectlError
from tests.lab.mcs import eventually
from tests.lab.namespace import CommandError, Namespace, wait_for_own_network
from tests.lab.node_files import NodeSetup
from tests.lab.processes import LabError, LabProcess

DnsMode = Literal["forward", "multicluster"]

_CRDS = Path(__file__).parents[2] / "crds"
_READY_SECONDS = 120
_MANIFESTS = Path(__file__).parent / "cluster.yaml"
# Newer nftables rules choose from a map of numbered destinations; the others name one each.
_TARGET = re.compile(r"(?:--to-destination|dnat to|\d :) (?:\[([^]]+)\]:|([\d.]+):|([\da-f.:]+) \. )\d")


class Cluster:
    """One cluster of a running lab; `clusters` starts it."""

    def __init__(
        self,
        name: str,
        *,
        addresses: ClusterAddresses,
        namespace: Namespace,
        folder: Path,
        forwarded_port: int,
    ) -> None:
        self.name = name
        self.addresses = addresses
        self.node_name = f"{name}-node"
        self.namespace = namespace
        self.folder = folder
        self.url = f"https://127.0.0.1:{forwarded_port}"
        self.inner_url = f"https://{HOST}:{addresses.api_port}"
        # Users beside the administrator have the rights that Kubernetes gives their names, or none at all.
        self.users: Mapping[str, tuple[str, tuple[str, ...]]] = {
            ADMIN: (ADMIN, ("system:masters",)),
            "kube-controller-manager": ("system:kube-controller-manager", ()),
            "kube-scheduler": ("system:kube-scheduler", ()),
            "kube-proxy": ("system:kube-proxy", ()),
            "kubelet": (f"system:node:{self.node_name}", ("system:nodes",)),
            "coredns": ("coredns", ()),
            "controller": ("controller", ()),
            "other-controller": ("other-controller", ()),
            "dns": ("dns", ()),
            "reader": ("reader", ()),
        }
        self.tokens = {user: secrets.token_hex(16) for user in self.users}
        self._node_log = folder / "node.log"

    def prepare(self, ca_file: Path, setup: NodeSetup) -> None:
        """Write what the cluster's programs read. Raises MissingBinaryError where one is not built."""
        self._ca_file = ca_file
        self._setup = setup
        tokens = (
            f'{self.tokens[user]},{name},{name},"{",".join(groups)}"\n'
            for user, (name, groups) in self.users.items()
        )
        (self.folder / "tokens.csv").write_text("".join(tokens))
        self.apiserver = self._process("kube-apiserver", *self._apiserver_arguments())
        self.controller_manager = self._process(
            "kube-controller-manager",
            f"--kubeconfig={self.inner_kubeconfig('kube-controller-manager')}",
            "--bind-address=127.0.0.1",
            f"--secure-port={10357 + self.addresses.index}",
            "--leader-elect=false",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={self.folder.parent / 'service-account.key'}",
            f"--root-ca-file={ca_file}",
            # It makes this folder, and would make it in /usr.
            f"--flex-volume-plugin-dir={self.folder / 'volume-plugins'}",
        )
        self.scheduler = self._process(
            "kube-scheduler",
            f"--kubeconfig={self.inner_kubeconfig('kube-scheduler')}",
            "--bind-address=127.0.0.1",
            f"--secure-port={10457 + self.addresses.index}",
            "--leader-elect=false",
        )
        self.coredns = self._process("coredns", "-conf", str(self.folder / "Corefile"))
        self.node = LabProcess(
            f"node of {self.name}",
            self.namespace.inside(sys.executable, "-I", node.__file__, "enter", str(setup.folder)),
            self._node_log,
        )
        self.kubectl = Kubectl(binaries.built("kubectl"), self.kubeconfig(), self.folder)

    @property
    def processes(self) -> tuple[LabProcess, ...]:
        """All of the cluster, in the order in which they can be ended."""
        return (self.node, self.coredns, self.scheduler, self.controller_manager, self.apiserver)

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """For programs outside, through a port on 127.0.0.1; the one context is named after the cluster."""
        return write_kubeconfig(self.folder / f"{user}.kubeconfig", {self.name: (self, user)}, inside=False)

    def inner_kubeconfig(self, user: str = ADMIN) -> Path:
        """For programs inside the lab, straight to the API server."""
        return write_kubeconfig(
            self.folder / f"{user}.inner.kubeconfig", {self.name: (self, user)}, inside=True
        )

    async def start_control_plane(self) -> None:
        """Start the API server, and when it is ready what works on it. Raises LabError when one does not start."""
        await self.start_apiserver()
        await self.controller_manager.start()
        await self.scheduler.start()
        manifest = _MANIFESTS.read_text().replace("CLUSTER_DNS", self.addresses.cluster_dns)
        manifest = manifest.replace("HOST", HOST).replace("COREDNS_PORT", str(self.addresses.coredns_port))
        await self.kubectl("apply", "--server-side", "-f", "-", "-f", str(_CRDS), stdin=manifest)

    async def answer_clusterset_with(self, dns: DnsMode) -> None:
        """Start CoreDNS, or start it again, so that clusterset.local is answered as DnsMode says."""
        await self.coredns.kill()
        (self.folder / "Corefile").write_text(self._corefile(dns))
        await self.coredns.start()
        await eventually(f"CoreDNS of {self.name} answers", self._coredns_answers)

    async def start_apiserver(self) -> None:
        """Start the API server and return when it is ready. Raises LabError when it is not in time."""
        await self.apiserver.start()
        end = asyncio.get_running_loop().time() + _READY_SECONDS
        while not await self._is_ready():
            self.apiserver.check_running()
            if asyncio.get_running_loop().time() > end:
                raise LabError(
                    f"{self.apiserver.name} is not ready; its log ends:\n{self.apiserver.log_tail()}"
                )
            await asyncio.sleep(0.2)

    async def _is_ready(self) -> bool:
        try:
            await self.kubectl("get", "--raw=/readyz", timeout=5)
        except (KubectlError, TimeoutError):
            return False
        return True

    async def kill_apiserver(self) -> None:
        """End the API server as a crash does; `start_apiserver` brings it back with its data."""
        await self.apiserver.kill()

    def pause_apiserver(self) -> None:
        """Stop the API server in its tracks: connections stay open and nothing answers."""
        assert self.apiserver.pid is not None
        os.kill(self.apiserver.pid, signal.SIGSTOP)

    def resume_apiserver(self) -> None:
        """Let a paused API server go on."""
        assert self.apiserver.pid is not None
        os.kill(self.apiserver.pid, signal.SIGCONT)

    async def start_node(self) -> None:
        """Start the node from nothing and connect it; it is not Ready yet. Raises LabError when it ends."""
        self._setup.write()
        await self.node.start()
        await wait_for_own_network(self.node, self.namespace.pid)
        link = self.addresses.link
        await self.namespace.ip(
            [
                f"link add {link} type veth peer name eth0 address {self.addresses.mac} netns {self.node.pid}",
                f"link set {link} master {BRIDGE} up",
            ]
        )

    async def kill_node(self) -> None:
        """End the node with all its pods as a power cut does, and forget what was on its disk."""
        await self.node.kill()
        # It goes with the node's network, but not at once, and the next one has the same name.
        with suppress(CommandError):
            await self.namespace.run("ip", "link", "delete", self.addresses.link)
        await self.remove_node_remains()

    async def remove_node_remains(self) -> None:
        """Remove the cgroups and the disk of a node that has ended. Raises LabError when it lives on."""
        if not await asyncio.to_thread(node.remove_cgroups, self._setup.cgroup):
            raise LabError(f"processes of the node of {self.name} are still in its cgroups")
        disk = self._setup.folder / "state"
        if disk.exists():
            await asyncio.to_thread(shutil.rmtree, disk)

    async def cut_link(self) -> None:
        """Cut the node off: from its API server, from DNS and from the other clusters."""
        await self.namespace.ip([f"link set {self.addresses.link} down"])

    async def mend_link(self) -> None:
        """Connect the node again."""
        await self.namespace.ip([f"link set {self.addresses.link} up"])

    async def wait_until_ready(self) -> None:
        """Return when the node is Ready and pods can be created. Raises KubectlError when it takes too long."""
        limit = f"--timeout={_READY_SECONDS}s"
        for resource in (f"node/{self.node_name}", "serviceaccount/default"):
            await self.kubectl("wait", "--for=create", resource, limit, timeout=2 * _READY_SECONDS)
        for condition, resources in (
            ("Ready", (f"node/{self.node_name}",)),
            ("Established", ("-f", str(_CRDS))),
        ):
            await self.kubectl(
                "wait", f"--for=condition={condition}", *resources, limit, timeout=2 * _READY_SECONDS
            )

    async def exec(self, namespace: str, pod: str, *command: str, timeout: float = 30) -> str:
        """Standard output of a command in a pod. Raises KubectlError when it fails, TimeoutError."""
        return await self.kubectl("exec", "--namespace", namespace, pod, "--", *command, timeout=timeout)

    async def proxy_mode(self) -> str:
        """The mode that kube-proxy says it works in. Raises CommandError when it does not answer."""
        return await self.namespace.run("curl", "-sf", f"http://{self.addresses.node}:10249/proxyMode")

    async def proxy_targets(self) -> frozenset[str]:
        """The addresses that kube-proxy's rules on the node send connections to, of both families.

        Raises CommandError when the node does not run.
        """
        match self._setup.proxy_mode:
            case "iptables":
                listed = "iptables-save -t nat; ip6tables-save -t nat"
            case "nftables":
                listed = "nft list table ip kube-proxy; nft list table ip6 kube-proxy"
        node = ("nsenter", f"--target={self.node.pid}", "--net", "--")
        rules = await self.namespace.run(*node, "sh", "-ec", listed)
        return frozenset("".join(groups) for groups in _TARGET.findall(rules))

    async def pod_ips(self, namespace: str, selector: str) -> dict[str, tuple[str, ...]]:
        """The addresses of the pods that the label selector finds, IPv4 first, by pod name."""
        listed = await self.kubectl(
            "get", "pods", "--namespace", namespace, "--selector", selector, "--output=json"
        )
        return {
            pod["metadata"]["name"]: tuple(each["ip"] for each in pod["status"].get("podIPs", ()))
            for pod in json.loads(listed)["items"]
        }

    def _process(self, program: str, *arguments: str) -> LabProcess:
        command = self.namespace.inside(str(binaries.built(program)), *arguments)
        return LabProcess(f"{program} of {self.name}", command, self.folder / f"{program}.log")

    def _apiserver_arguments(self) -> tuple[str, ...]:
        shared = self.folder.parent
        return (
            f"--etcd-servers=http://127.0.0.1:{ETCD_PORT}",
            f"--etcd-prefix=/{self.name}",
            f"--bind-address={HOST}",
            f"--advertise-address={HOST}",
            f"--secure-port={self.addresses.api_port}",
            f"--tls-cert-file={shared / 'apiserver.crt'}",
            f"--tls-private-key-file={shared / 'apiserver.key'}",
            f"--client-ca-file={self._ca_file}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            f"--service-account-issuer=https://{self.name}.lab",
            f"--service-account-key-file={shared / 'service-account.key'}",
            f"--service-account-signing-key-file={shared / 'service-account.key'}",
            f"--service-cluster-ip-range={self.addresses.services},{self.addresses.services6}",
            "--endpoint-reconciler-type=lease",
            "--allow-privileged",
            f"--kubelet-client-certificate={shared / 'kubelet-client.crt'}",
            f"--kubelet-client-key={shared / 'kubelet-client.key'}",
            "--kubelet-preferred-address-types=InternalIP",
        )

    async def _coredns_answers(self) -> bool:
        self.coredns.check_running()
        server = (f"@{HOST}", "-p", str(self.addresses.coredns_port))
        try:
            said = await self.namespace.run(
                "dig", *server, "+short", "+tries=1", "+time=1", "kubernetes.default.svc.cluster.local"
            )
        except CommandError:
            return False
        return said.split() == [self.addresses.first_services[0]]

    def _corefile(self, dns: DnsMode) -> str:
        match dns:
            case "forward":
                zones, multicluster = "cluster.local in-addr.arpa ip6.arpa", ""
                forward = f"forward clusterset.local {HOST}:{self.addresses.clusterset_dns_port}"
            case "multicluster":
                zones, multicluster = (
                    "cluster.local clusterset.local in-addr.arpa ip6.arpa",
                    "multicluster clusterset.local",
                )
                forward = ""
        return f"""
.:{self.addresses.coredns_port} {{
    bind {HOST}
    errors
    kubernetes {zones} {{
        kubeconfig {self.inner_kubeconfig("coredns")} {self.name}
        {multicluster}
        pods insecure
        ttl 5
    }}
    {forward}
}}
"""


def write_kubeconfig(path: Path, contexts: Mapping[str, tuple[Cluster, str]], *, inside: bool) -> Path:
    """A kubeconfig with a context, a cluster and a user in it, by name; the first is the current one."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(contexts)),
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": cluster.inner_url if inside else cluster.url,
                    "certificate-authority-data": base64.b64encode(
                        (cluster.folder.parent / "ca.crt").read_bytes()
                    ).decode(),
                },
            }
            for name, (cluster, _) in contexts.items()
        ],
        # Users of the same name would be merged into one when a reader joins kubeconfigs.
        "users": [
            {"name": f"{user}@{name}", "user": {"token": cluster.tokens[user]}}
            for name, (cluster, user) in contexts.items()
        ],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": f"{user}@{name}"}}
            for name, (_, user) in contexts.items()
        ],
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    path.chmod(0o600)
    return path
