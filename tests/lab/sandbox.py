"""`mcs sandbox` in a process of its own, as a newcomer starts it, with kubectl and dig against what it prints.

kubectl's standard error counts: a server that is not quite like Kubernetes shows there first, in warnings.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mcs.model.names import SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL
from tests.lab.kubectl import kubectl_binary
from tests.lab.mcs import dig, eventually, rcode, running
from tests.lab.processes import LabProcess

ORIGIN = "svc.clusterset.local"


@dataclass(frozen=True)
class Said:
    """What kubectl wrote and its exit status."""

    output: str
    errors: str
    status: int


@dataclass(frozen=True)
class Sandbox:
    """A running `mcs sandbox`, known by what it printed."""

    process: LabProcess
    kubeconfig: Path
    dns_ports: Mapping[str, int]
    metrics_url: str
    home: Path

    def printed(self) -> str:
        """Everything it has printed so far."""
        return self.process.log.read_text()

    async def kubectl(self, cluster: str, *arguments: str, stdin: str = "", editor: str = "") -> str:
        """Standard output of a command that must succeed and have nothing to say on standard error."""
        said = await self.kubectl_said(cluster, *arguments, stdin=stdin, editor=editor)
        assert (said.status, said.errors) == (0, ""), f"kubectl {' '.join(arguments)}: {said}"
        return said.output

    async def kubectl_said(self, cluster: str, *arguments: str, stdin: str = "", editor: str = "") -> Said:
        """What a command says, and how it ends."""
        process = await self.kubectl_process(cluster, *arguments, editor=editor)
        try:
            async with asyncio.timeout(60):
                output, errors = await process.communicate(stdin.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Said(output.decode(), errors.decode(), process.returncode or 0)

    async def kubectl_process(
        self, cluster: str, *arguments: str, editor: str = ""
    ) -> asyncio.subprocess.Process:
        """A command that goes on, as `get --watch`; the caller ends it."""
        return await asyncio.create_subprocess_exec(
            str(kubectl_binary()),
            "--context",
            cluster,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={
                "HOME": str(self.home),
                "KUBECONFIG": str(self.kubeconfig),
                "KUBE_EDITOR": editor,
                "PATH": os.environ["PATH"],
            },
        )

    async def addresses(self, cluster: str, name: str, kind: str = "A") -> list[str]:
        """What `dig +short` answers in a cluster; `name` is given without the zone's part."""
        return await dig(self.dns_ports[cluster], f"{name}.{ORIGIN}", kind)

    async def is_absent(self, cluster: str, name: str) -> bool:
        """True when the cluster's DNS server answers NXDOMAIN."""
        return await rcode(self.dns_ports[cluster], f"{name}.{ORIGIN}", "A") == "NXDOMAIN"

    async def answers(self, cluster: str, name: str, count: int) -> None:
        """Wait until the name has that many IPv4 addresses."""

        async def has_count() -> bool:
            return len(await self.addresses(cluster, name)) == count

        await eventually(f"{name} has {count} addresses in {cluster}", has_count)

    async def vanishes(self, cluster: str, name: str) -> None:
        """Wait until the name is answered with NXDOMAIN."""

        async def absent() -> bool:
            return await self.is_absent(cluster, name)

        await eventually(f"{name} is absent in {cluster}", absent)

    async def create_namespace(self, name: str) -> None:
        """Create it in every cluster, as kubectl users do when the command must be repeatable."""
        for cluster in self.dns_ports:
            manifest = await self.kubectl(
                cluster, "create", "namespace", name, "--dry-run=client", "-o", "yaml"
            )
            applied = await self.kubectl(cluster, "apply", "-f", "-", stdin=manifest)
            assert applied == f"namespace/{name} created\n"

    async def clusterset_ip(self, cluster: str, namespace: str, service: str) -> str:
        """The first clusterset IP of an import."""
        return await self.kubectl(
            cluster, "get", "svcim", service, "-n", namespace, "-o", "jsonpath={.spec.ips[0]}"
        )

    async def mirrors(self, cluster: str, namespace: str, service: str, source: str, count: int) -> list[str]:
        """As `mirrored`, once there are so many."""

        async def has_count() -> bool:
            return len(await self.mirrored(cluster, namespace, service, source)) == count

        await eventually(f"{cluster} mirrors {count} of {service}", has_count)
        return await self.mirrored(cluster, namespace, service, source)

    async def mirrored(self, cluster: str, namespace: str, service: str, source: str) -> list[str]:
        """The ready IPv4 addresses that a cluster mirrors of a service of another one, sorted."""
        labels = f"{SERVICE_NAME_LABEL}={service},{SOURCE_CLUSTER_LABEL}={source}"
        found = await self.kubectl(
            cluster, "get", "endpointslices", "-n", namespace, "-l", labels, "-o", "json"
        )
        return sorted(
            endpoint["addresses"][0]
            for each in json.loads(found)["items"]
            if each["addressType"] == "IPv4"
            for endpoint in each["endpoints"] or ()
            if endpoint["conditions"]["ready"]
        )


@asynccontextmanager
async def running_sandbox(folder: Path) -> AsyncIterator[Sandbox]:
    """`mcs sandbox` until the block ends; the block begins when everything answers."""
    async with running("sandbox", "sandbox", folder=folder) as process:

        async def has_come_up() -> bool:
            process.check_running()
            return "Ctrl-C" in process.log.read_text()

        await eventually("the sandbox says that it is up", has_come_up, seconds=70)
        printed = process.log.read_text()
        ports = re.findall(r"^(\w+) +https://127\.0\.0\.1:\d+ +127\.0\.0\.1:(\d+) ", printed, re.MULTILINE)
        (kubeconfig,) = re.findall(r"^export KUBECONFIG=(\S+)$", printed, re.MULTILINE)
        (metrics_url,) = re.findall(r"^curl (\S+)$", printed, re.MULTILINE)
        home = folder / "home"
        home.mkdir()
        yield Sandbox(
            process,
            Path(kubeconfig),
            {cluster: int(port) for cluster, port in ports},
            metrics_url,
            home,
        )
