"""A cluster that is away, and a controller that is cut off, on real API servers: what is withdrawn, and comes back.

Nothing passes or fails by the time that it takes; the times are printed as multiples of the bound that was configured.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.control_planes import ControlPlanes, free_ports
from tests.lab.kubectl import Kubectl, kubectl_binary
from tests.lab.mcs import MCS, eventually
from tests.lab.processes import LabProcess
from tests.real.test_registry_lost import metric

CRDS = Path(__file__).parents[2] / "crds"
CLUSTERS = ("a", "b", "c")
GRACE = 20.0
SOURCE = "multicluster.kubernetes.io/source-cluster"
EXPORT = """
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [ADDRESS]}]
ports: [{name: http, port: 8080}]
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {name: web, namespace: shop}
"""


class Forwarder:
    """TCP from a port of its own to that of an API server, until it is cut."""

    def __init__(self, port: int, to: int) -> None:
        self.port = port
        self._to = to
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def open(self) -> None:
        """Let connections through."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def cut(self) -> None:
        """Break all connections, and take no new ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, far_writer}
        self._writers |= both
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        self._writers -= both


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()


class Set:
    """Clusters a, b and c, each of which exports web, and a controller that reaches them through forwarders."""

    def __init__(self, planes: ControlPlanes, folder: Path) -> None:
        self.planes = planes
        self._folder = folder
        home = folder / "home"
        home.mkdir()
        binary = kubectl_binary()
        self.kubectl = {name: Kubectl(binary, planes[name].kubeconfig(), home) for name in CLUSTERS}
        ports = free_ports(len(CLUSTERS))
        self.forwarders = {
            name: Forwarder(port, int(planes[name].url.rpartition(":")[2]))
            for name, port in zip(CLUSTERS, ports, strict=True)
        }

    async def prepare(self) -> None:
        """Our CRDs, a namespace and an exported service in each cluster."""
        for number, name in enumerate(CLUSTERS, start=1):
            kubectl = self.kubectl[name]
            await kubectl("apply", "--server-side", "-f", str(CRDS))
            await kubectl("wait", "--for=condition=Established", "-f", str(CRDS), "--timeout=30s")
            await kubectl("create", "namespace", "shop")
            await self.export(name, f"10.{number}.0.1")
            await self.forwarders[name].open()

    async def export(self, cluster: str, address: str) -> None:
        """Export web from a cluster, with this endpoint."""
        file = self._folder / f"{cluster}.yaml"
        file.write_text(EXPORT.replace("ADDRESS", address))
        await self.kubectl[cluster]("apply", "-f", str(file))

    @asynccontextmanager
    async def controller(self) -> AsyncIterator[str]:
        """`mcs controller` for all of them, by way of the forwarders; the URL of its metrics."""
        config = yaml.safe_load(self.planes.kubeconfig().read_text())
        for each in config["clusters"]:
            each["cluster"]["server"] = f"https://127.0.0.1:{self.forwarders[each['name']].port}"
        file = self._folder / "forwarded"
        file.write_text(yaml.safe_dump(config))
        members = [word for name in CLUSTERS for word in ("--cluster", name)]
        (port,) = free_ports(1)
        options = ("--unreachable-grace", f"{GRACE:g}s", "--metrics-listen", f"127.0.0.1:{port}")
        command = (*MCS, "controller", "--kubeconfig", str(file), *members, *options)
        process = LabProcess("controller", command, self._folder / "controller.log")
        await process.start()
        try:
            yield f"http://127.0.0.1:{port}/metrics"
        finally:
            await process.stop()
            for forwarder in self.forwarders.values():
                await forwarder.cut()

    async def mirrors(self, cluster: str) -> dict[str, tuple[str, bool, str]]:
        """Uid of the mirror, whether it has ready endpoints, and its version, by source cluster."""
        text = await self.kubectl[cluster]("get", "endpointslices", "-n", "shop", "-l", SOURCE, "-o", "json")
        return {
            each["metadata"]["labels"][SOURCE]: (
                each["metadata"]["uid"],
                any(one["conditions"].get("ready", True) for one in each["endpoints"]),
                each["metadata"]["resourceVersion"],
            )
            for each in json.loads(text)["items"]
        }

    async def mirrored(self, cluster: str, source: str) -> str:
        """The addresses in a cluster's mirrors of another one."""
        chosen = ("-l", f"{SOURCE}={source}", "-o", "jsonpath={.items[*].endpoints[*].addresses[*]}")
        return await self.kubectl[cluster]("get", "endpointslices", "-n", "shop", *chosen)

    async def serving(self, cluster: str) -> list[str]:
        """The clusters whose mirrors in a cluster have ready endpoints."""
        return sorted(source for source, (_, ready, _) in (await self.mirrors(cluster)).items() if ready)

    async def imported(self) -> dict[str, Any]:
        """The import in a."""
        text = await self.kubectl["a"]("get", "serviceimport", "web", "-n", "shop", "-o", "json")
        found: dict[str, Any] = json.loads(text)
        return found


async def _in_multiples(what: str, holds: Callable[[], Any]) -> None:
    began = asyncio.get_running_loop().time()
    await eventually(what, holds, seconds=GRACE * 6, every=0.2)
    took = asyncio.get_running_loop().time() - began
    print(f"{what}: {took:.1f} s, {took / GRACE:.2f} times the grace of {GRACE:g} s")


@pytest.mark.timeout(400)
async def test_an_unreachable_cluster_is_withdrawn_a_cut_off_controller_withdraws_nothing_and_all_comes_back(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "planes"
    folder.mkdir()
    async with ControlPlanes(CLUSTERS, folder=folder) as planes:
        clusters = Set(planes, tmp_path)
        await clusters.prepare()
        async with clusters.controller() as metrics:

            async def all_serve() -> bool:
                return all([await clusters.serving(each) == ["a", "b", "c"] for each in CLUSTERS])

            async def b_is_withdrawn() -> bool:
                return await clusters.serving("a") == await clusters.serving("c") == ["a", "c"]

            await eventually("all are imported everywhere", all_serve)
            before, uid = await clusters.mirrors("a"), (await clusters.imported())["metadata"]["uid"]

            await planes["b"].kill()
            await _in_multiples("the API server of b killed, its mirrors withdrawn", b_is_withdrawn)
            status = (await clusters.imported())["status"]
            assert [each["cluster"] for each in status["clusters"]] == ["a", "c"]
            told = next(each for each in status["conditions"] if each["type"] == "EndpointsWithdrawn")
            assert told["status"] == "True"
            assert 'Cluster "b" is unreachable since 2' in told["message"]

            await planes["b"].start()
            await _in_multiples("b back, its mirrors served", all_serve)
            again = await clusters.mirrors("a")
            assert {source: found[:2] for source, found in again.items()} == {
                source: found[:2] for source, found in before.items()
            }
            assert (await clusters.imported())["metadata"]["uid"] == uid

            for forwarder in clusters.forwarders.values():
                await forwarder.cut()
            await asyncio.sleep(GRACE * 1.5)
            assert await all_serve(), "cut off from all: nothing is withdrawn"
            assert await metric(metrics, "mcs_presumed_cut_off") == 1
            # Those that are reachable again first must not lose the other before it is.
            for name in "ab":
                await clusters.forwarders[name].open()

            async def are_most_reached() -> bool:
                return await metric(metrics, "mcs_presumed_cut_off") == 0

            await _in_multiples("a and b reached again", are_most_reached)
            await asyncio.sleep(GRACE / 4)
            assert await clusters.mirrors("a") == again, "nothing is written at all"
            await clusters.forwarders["c"].open()
            await clusters.export("c", "10.3.0.2")

            async def all_are_reached() -> bool:
                return await clusters.mirrored("a", "c") == "10.3.0.2" and await all_serve()

            await _in_multiples("c reached again", all_are_reached)
            assert {source: found[0] for source, found in (await clusters.mirrors("a")).items()} == {
                source: found[0] for source, found in before.items()
            }
