"""`mcs export` and `mcs unexport` as a user runs them, against sandbox API servers."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import yaml

from mcs.model.resources import SERVICE_EXPORTS
from mcs.sandbox.http.server import ApiServer, kubeconfig
from tests.scenarios.api import Api
from tests.scenarios.objects import Json, expanded
from tests.scenarios.world import CRDS, CUSTOM_RESOURCE_DEFINITIONS

GUARD = 30


class Commands:
    """Two clusters, `east` with our CRDs and the Service shop/web, `bare` with neither, and `mcs` beside them."""

    def __init__(self, folder: Path, east: ApiServer, bare: ApiServer) -> None:
        self.config = folder / "kubeconfig"
        self.config.write_text(kubeconfig([east, bare]))
        self.api = Api(east.url, east.token, east.client_tls())
        self._server = east

    async def prepare(self) -> None:
        for file in sorted(CRDS.glob("*.yaml")):
            await self.api.apply(CUSTOM_RESOURCE_DEFINITIONS, yaml.safe_load(file.read_text()))
        for short in ({"Namespace": "shop"}, {"Service": "shop/web", "ports": ["http 80"]}):
            await self.api.apply(*expanded(dict(short)))

    async def mcs(self, *arguments: str) -> tuple[int | None, str, str]:
        """Exit status, standard output and standard error."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "mcs",
            *arguments,
            "--kubeconfig",
            str(self.config),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await asyncio.wait_for(process.communicate(), GUARD)
        return process.returncode, out.decode(), errors.decode()

    async def export_of(self, name: str) -> Json | None:
        return await self.api.get(SERVICE_EXPORTS, "shop", name)

    @property
    def writes(self) -> int:
        return self._server.writes().total()


async def test_an_export_is_made_once_limited_later_and_taken_back_once(tmp_path: Path) -> None:
    async with ApiServer("east") as east, ApiServer("bare") as bare:
        commands = Commands(tmp_path, east, bare)
        await commands.prepare()
        web = ("shop/web", "--cluster", "east")

        assert await commands.mcs("export", *web) == (0, "east: shop/web is exported\n", "")
        written = commands.writes
        assert await commands.mcs("export", *web) == (0, "east: shop/web is exported already\n", "")
        assert commands.writes == written
        found = await commands.export_of("web")
        assert found is not None
        assert not found["metadata"].get("labels")

        limited = ("export", *web, "--to", "west", "--to", "south")
        assert (await commands.mcs(*limited))[
            1
        ] == "east: shop/web is exported to other clusters than before\n"
        found = await commands.export_of("web")
        assert found is not None
        assert found["metadata"]["annotations"] == {"mcs-controller/export-to": "south,west"}

        written = commands.writes
        status, out, _ = await commands.mcs("unexport", *web, "--dry-run")
        assert (status, yaml.safe_load(out)["metadata"]["name"]) == (0, "web")
        assert commands.writes == written

        assert await commands.mcs("unexport", *web) == (0, "east: shop/web is no longer exported\n", "")
        assert await commands.export_of("web") is None
        assert await commands.mcs("unexport", *web) == (0, "east: shop/web is not exported\n", "")


async def test_an_export_without_its_service_says_so(tmp_path: Path) -> None:
    async with ApiServer("east") as east, ApiServer("bare") as bare:
        commands = Commands(tmp_path, east, bare)
        await commands.prepare()
        done = await commands.mcs("export", "shop/late", "--cluster", "east")
        assert done == (0, "east: shop/late is exported, as soon as there is such a Service\n", "")


async def test_a_dry_run_prints_what_kubectl_can_apply_and_changes_nothing(tmp_path: Path) -> None:
    async with ApiServer("east") as east, ApiServer("bare") as bare:
        commands = Commands(tmp_path, east, bare)
        await commands.prepare()
        written = commands.writes
        status, out, _ = await commands.mcs(
            "export", "shop/web", "--cluster", "e=east", "--to", "w", "--dry-run"
        )
        document: dict[str, Any] = {
            "apiVersion": "multicluster.x-k8s.io/v1beta1",
            "kind": "ServiceExport",
            "metadata": {
                "namespace": "shop",
                "name": "web",
                "annotations": {"mcs-controller/export-to": "w"},
            },
        }
        assert (status, list(yaml.safe_load_all(out))) == (0, [document])
        assert commands.writes == written


async def test_a_cluster_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    async with ApiServer("east") as east, ApiServer("bare") as bare:
        commands = Commands(tmp_path, east, bare)
        await commands.prepare()
        status, out, errors = await commands.mcs(
            "export", "shop/web", "--cluster", "bare", "--cluster", "east"
        )
        assert (status, out) == (1, "east: shop/web is exported\n")
        assert errors == "mcs: bare: its CRDs are missing; run: kubectl --context bare apply -f crds/\n"
