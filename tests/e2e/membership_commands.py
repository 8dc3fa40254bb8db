"""`mcs` as a user runs it beside sandbox API servers: the membership commands, and what they leave in each cluster."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcs.cli.main import main
from mcs.model.installed import CONFIG_MAPS
from mcs.sandbox.http.server import ApiServer, kubeconfig
from tests.scenarios.api import Api
from tests.scenarios.objects import Json

GUARD = 50
NAMESPACE = "kube-federation-system"
COREFILE = """.:53 {
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa
    forward . /etc/resolv.conf
    reload
}"""


# To start Python and to import everything takes a second each time; a process forked from one that has takes none.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "tests.e2e.membership_commands",
        "mcs.cli.joining",
        "mcs.cli.leaving",
        "mcs.cli.registered",
        "mcs.cli.disabling",
        "mcs.cli.federating",
        "mcs.cli.migrating",
        "mcs.kube.connection",
        "kubernetes_asyncio.client",
        "kubernetes_asyncio.config.kube_config",
        "uvloop",
    ]
)


def _main(arguments: tuple[str, ...], out: str, errors: str) -> None:
    """Run `mcs` with its output in files, in a process of its own."""
    for path, number in ((out, 1), (errors, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["mcs", *arguments]
    main()


class Commands:
    """`mcs` with a kubeconfig that has a context for each server; the first, the host, is the current one."""

    def __init__(self, folder: Path, servers: Sequence[ApiServer]) -> None:
        self.config = folder / "kubeconfig"
        self.config.write_text(kubeconfig(list(servers)))
        self.servers = {server.name: server for server in servers}
        self.api = {server.name: Api(server.url, server.token, server.client_tls()) for server in servers}

    async def __call__(self, *arguments: str) -> tuple[int | None, str, str]:
        """Exit status, standard output and standard error."""
        out, errors = (self.config.with_name(name) for name in ("out", "errors"))
        process = _FORKS.Process(
            target=_main, args=((*arguments, "--kubeconfig", str(self.config)), str(out), str(errors))
        )
        await asyncio.to_thread(process.start)
        try:
            await asyncio.to_thread(process.join, GUARD)
            return process.exitcode, out.read_text(), errors.read_text()
        finally:
            if process.is_alive():
                process.kill()
                process.join()

    async def with_core_dns(self, name: str, corefile: str = COREFILE) -> None:
        """Give a cluster the ConfigMap that its CoreDNS reads."""
        await self.api[name].apply(
            CONFIG_MAPS,
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"namespace": "kube-system", "name": "coredns"},
                "data": {"Corefile": corefile, "other": "kept"},
            },
        )

    async def corefile(self, name: str) -> str:
        found = await self.api[name].get(CONFIG_MAPS, "kube-system", "coredns")
        assert found is not None
        assert found["data"]["other"] == "kept"
        return str(found["data"]["Corefile"])

    def writes(self, name: str) -> int:
        return self.servers[name].writes().total()

    def objects(self, name: str) -> dict[str, Any]:
        """Everything that the cluster holds, but for what is new in each write, by kind, namespace and name."""
        api = self.servers[name].api
        return {
            f"{resource.kind} {each['metadata'].get('namespace', '')}/{each['metadata']['name']}": _timeless(
                each
            )
            for resource in api.registry
            for each in api.list(resource)
        }


def _timeless(obj: Json) -> Json:
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("managedFields", "resourceVersion", "generation")
    }
    return {**obj, "metadata": metadata}
