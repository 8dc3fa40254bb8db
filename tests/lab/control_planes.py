"""Several real Kubernetes control planes on 127.0.0.1: one etcd, and one kube-apiserver per cluster.

There is no kube-controller-manager: namespaces are never finalized, EndpointSlices and Pods are written by
the tests. Nothing here needs root or a network. Each start of ControlPlanes is a new, empty world.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import shutil
import socket
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.lab import binaries
from tests.lab.processes import LabError, LabProcess

ADMIN = "admin"
# Users beside the administrator have no right of their own: a test binds the roles it is about.
USERS: Mapping[str, tuple[str, ...]] = {ADMIN: ("system:masters",), "controller": (), "dns": (), "reader": ()}

_READY_SECONDS = 90
_POLL_SECONDS = 0.1


class ControlPlane:
    """One cluster: a kube-apiserver that keeps its port and its data over restarts."""

    def __init__(
        self,
        name: str,
        index: int,
        etcd_url: str,
        port: int,
        folder: Path,
        *,
        audit: bool = False,
        single_stack: bool = False,
    ) -> None:
        self.name = name
        self.port = port
        self.url = f"https://127.0.0.1:{port}"
        cidrs = (f"10.{100 + index}.0.0/16", f"fd00:10:{100 + index}::/112")
        self.service_cidrs = cidrs[:1] if single_stack else cidrs
        self.tokens: Mapping[str, str] = {user: secrets.token_hex(16) for user in USERS}
        self._folder = folder / name
        self._folder.mkdir()
        self._write_tokens()
        command = self._command(etcd_url, folder / "service-account.key")
        if audit:
            command += self._audit_flags()
        self.process = LabProcess(f"kube-apiserver {name}", command, folder / f"{name}.log")

    @property
    def ca_file(self) -> Path:
        """The certificate clients verify the server with; it exists once the server has started."""
        return self._folder / "apiserver.crt"

    @property
    def audit_log(self) -> Path:
        """One audit event a line (audit.k8s.io/v1), when the clusters were asked to keep it."""
        return self._folder / "audit.log"

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """A kubeconfig whose one context is named after the cluster and carries this user's token."""
        return _write_kubeconfig(self._folder / f"{user}.kubeconfig", (self,), user)

    async def start(self) -> None:
        """Start the server and return when it answers /readyz with 200. Raises LabError when it does not."""
        await self.process.start()
        await self.wait_until_ready()

    async def stop(self) -> None:
        """End the server as an orderly shutdown does: open watches are closed first."""
        await self.process.stop()

    async def kill(self) -> None:
        """End the server as a crash does."""
        await self.process.kill()

    async def restart(self) -> None:
        """Kill the server and start it on the same port with the same data."""
        await self.kill()
        await self.start()

    async def wait_until_ready(self) -> None:
        """Return when /readyz answers 200. Raises LabError when the server ends or the time is up."""
        await _wait_until(self._is_ready, self.process)

    async def _is_ready(self) -> bool:
        # An empty or half-written certificate file is the server still starting.
        try:
            tls = ssl.create_default_context(cafile=str(self.ca_file))
        except (FileNotFoundError, ssl.SSLError):
            return False
        return await _answers_ok(f"{self.url}/readyz", tls, self.tokens[ADMIN])

    def _write_tokens(self) -> None:
        lines = (
            f'{self.tokens[user]},{user},{user},"{",".join(groups)}"\n' for user, groups in USERS.items()
        )
        (self._folder / "tokens.csv").write_text("".join(lines))

    def _audit_flags(self) -> tuple[str, ...]:
        policy = self._folder / "audit-policy.yaml"
        # A watch is logged when it opens, so the stage before any answer adds nothing.
        policy.write_text(
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n"
            "- {level: Request, resources: [{group: multicluster.x-k8s.io}]}\n- {level: Metadata}\n"
        )
        return (f"--audit-policy-file={policy}", f"--audit-log-path={self.audit_log}")

    def _command(self, etcd_url: str, key: Path) -> tuple[str, ...]:
        return (
            str(binaries.built("kube-apiserver")),
            f"--etcd-servers={etcd_url}",
            f"--etcd-prefix=/{self.name}",
            "--bind-address=127.0.0.1",
            # Without it the server looks for a default route, and a machine without a network has none.
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={self._folder}",
            f"--token-auth-file={self._folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            f"--service-account-issuer=https://{self.name}.lab",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            f"--service-cluster-ip-range={','.join(self.service_cidrs)}",
            "--endpoint-reconciler-type=none",
            # Nobody creates the default ServiceAccount that this plugin would demand of every Pod.
            "--disable-admission-plugins=ServiceAccount",
        )


class ControlPlanes:
    """The clusters of a test, by name: `async with ControlPlanes(names=("east", "west")) as planes:`.

    Logs, certificates and data live in `folder`; without one, in a temporary folder that goes with the
    clusters. With `audit` every request is written to each cluster's audit log, exports and imports with what
    was sent. Those of `single_stack` give Services addresses of IPv4 only, the others of both families. Raises
    binaries.MissingBinaryError when the programs are not built, LabError when one of them does not start.
    """

    def __init__(
        self,
        names: Sequence[str] = ("east", "west"),
        folder: Path | None = None,
        *,
        audit: bool = False,
        single_stack: Sequence[str] = (),
    ) -> None:
        self._kept_folder = folder
        self._audit = audit
        self._single_stack = frozenset(single_stack)
        self._names = tuple(names)
        self._planes: dict[str, ControlPlane] = {}

    def __getitem__(self, name: str) -> ControlPlane:
        return self._planes[name]

    def __iter__(self) -> Iterator[ControlPlane]:
        return iter(self._planes.values())

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of everything that runs now."""
        processes = (self.etcd, *(plane.process for plane in self))
        return tuple(process.pid for process in processes if process.pid is not None)

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """One kubeconfig with a context per cluster, named after it; the first is the current one."""
        return _write_kubeconfig(self.folder / f"{user}.kubeconfig", tuple(self), user)

    async def __aenter__(self) -> Self:
        self.folder = self._kept_folder or Path(tempfile.mkdtemp(prefix="mcs-lab-"))
        (self.folder / "service-account.key").write_bytes(private_key())
        etcd_port, peer_port, *ports = free_ports(2 + len(self._names))
        etcd_url = f"http://127.0.0.1:{etcd_port}"
        self.etcd = LabProcess("etcd", self._etcd_command(etcd_url, peer_port), self.folder / "etcd.log")
        self._planes = {
            name: ControlPlane(
                name,
                index,
                etcd_url,
                port,
                self.folder,
                audit=self._audit,
                single_stack=name in self._single_stack,
            )
            for index, (name, port) in enumerate(zip(self._names, ports, strict=True))
        }
        try:
            await self._start_etcd(etcd_url)
            async with asyncio.TaskGroup() as starts:
                for plane in self:
                    starts.create_task(plane.start(), name=f"start {plane.name}")
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._end()

    async def _end(self) -> None:
        # Nothing of the data is wanted any more, so nobody waits for an orderly end; all are told before any
        # is awaited, so that a cancellation in between leaves none running.
        processes = (*(plane.process for plane in self), self.etcd)
        for process in processes:
            process.send_kill()
        for process in processes:
            await process.kill()
        if self._kept_folder is None:
            shutil.rmtree(self.folder)

    async def _start_etcd(self, url: str) -> None:
        await self.etcd.start()
        await _wait_until(lambda: _answers_ok(f"{url}/health"), self.etcd)

    def _etcd_command(self, url: str, peer_port: int) -> tuple[str, ...]:
        peer = f"http://127.0.0.1:{peer_port}"
        return (
            str(binaries.built("etcd")),
            "--name=lab",
            f"--data-dir={self.folder / 'etcd'}",
            "--log-level=warn",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=lab={peer}",
            # The data need not survive the machine, and a sync per write would dominate every latency.
            "--unsafe-no-fsync",
        )


async def _wait_until(is_ready: Callable[[], Awaitable[bool]], process: LabProcess) -> None:
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while not await is_ready():
                process.check_running()
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise LabError(
            f"{process.name} is not ready after {_READY_SECONDS} s; its log ends:\n{process.log_tail()}"
        ) from None


async def _answers_ok(url: str, tls: ssl.SSLContext | bool = True, token: str = "") -> bool:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2), headers=headers) as session,
            session.get(url, ssl=tls) as response,
        ):
            return response.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on, below the range the kernel gives to outgoing connections.

    A port of that range could be taken by a client while its server is down for a restart.
    """
    found: list[int] = []
    for port in random.sample(range(20000, 32000), k=1000):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise LabError("no free ports on 127.0.0.1")


def private_key() -> bytes:
    """A new key that signs service account tokens, in PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write_kubeconfig(path: Path, planes: Sequence[ControlPlane], user: str) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": planes[0].name,
        "clusters": [
            {
                "name": plane.name,
                "cluster": {"server": plane.url, "certificate-authority": str(plane.ca_file)},
            }
            for plane in planes
        ],
        "users": [
            {"name": f"{user}@{plane.name}", "user": {"token": plane.tokens[user]}} for plane in planes
        ],
        "contexts": [
            {"name": plane.name, "context": {"cluster": plane.name, "user": f"{user}@{plane.name}"}}
            for plane in planes
        ],
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    path.chmod(0o600)
    return path
