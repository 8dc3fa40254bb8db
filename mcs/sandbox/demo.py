"""`mcs sandbox`: a clusterset on this machine, with a sample, and a picture of what its names answer.

Starts sandbox clusters, the controller and a DNS server per cluster, each connected as it would be to a real cluster.
With `check` every answer is compared with what the API objects say, over UDP and TCP.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from dns.exception import DNSException
from rich.console import Console

from mcs.cli.processes import client_opener
from mcs.controllers.processes import ControllerProcess, DnsOptions, DnsProcess, Listen, Process
from mcs.kube.client import Client
from mcs.model.meta import KubernetesObject
from mcs.model.multicluster import VALID, ServiceExport, ServiceImport
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.resources import ENDPOINT_SLICES, SERVICE_EXPORTS, SERVICE_IMPORTS, Resource
from mcs.model.slices import EndpointSlice
from mcs.sandbox.asking import TRANSPORTS, Transport, ask
from mcs.sandbox.clusterset import Clusterset
from mcs.sandbox.expectations import Expected, Kind, Question, expected_answers
from mcs.sandbox.picture import Asked, Picture, Steps, changed_lines, drawn
from mcs.sandbox.resources import DEPLOYMENTS, STATEFUL_SETS
from mcs.web.requests import RequestCounts

T = TypeVar("T", bound=KubernetesObject)

ORIGIN = "clusterset.local"
PATIENCE = 60.0
"""Seconds until the sample must answer."""
ANY_PORT = Listen("127.0.0.1", 0)


class SandboxError(Exception):
    """The sandbox did not come to answer; the message says what was missing."""


class Demo:
    """A running clusterset and what is known of it."""

    def __init__(
        self, clusterset: Clusterset, controller: ControllerProcess, dns: dict[ClusterId, DnsProcess]
    ) -> None:
        self._clusterset = clusterset
        self._controller = controller
        self._dns = dns
        self._counts = RequestCounts()

    async def expected(self) -> list[Expected]:
        """What should be answered, from the objects as they are now.

        Raises SandboxError while the sample is not ready, or an export is neither imported everywhere nor refused.
        """
        if unready := _unready(self._clusterset):
            raise SandboxError(unready[0])
        exports: dict[ClusterId, Sequence[ServiceExport]] = {}
        imports: dict[ClusterId, Sequence[ServiceImport]] = {}
        slices: dict[ClusterId, Sequence[EndpointSlice]] = {}
        for cluster in self._dns:
            async with self._client(cluster) as client:
                exports[cluster] = await _listed(client, SERVICE_EXPORTS)
                imports[cluster] = await _listed(client, SERVICE_IMPORTS)
                slices[cluster] = [
                    each for each in await _listed(client, ENDPOINT_SLICES) if not each.is_mirror
                ]
        refused = _refused(exports)
        wanted = {export.key for found in exports.values() for export in found} - refused
        if not wanted:
            raise SandboxError("nothing is exported yet")
        expected: list[Expected] = []
        for cluster, found in imports.items():
            missing = wanted - {each.key for each in found}
            if missing:
                raise SandboxError(f"{cluster} has not imported {', '.join(sorted(map(str, missing)))}")
            expected += expected_answers(cluster, found, slices, refused, ORIGIN)
        return expected

    async def wrong_answers(self, expected: Sequence[Expected], transports: Sequence[Transport]) -> list[str]:
        """One line for each answer that is not as expected."""
        wrong = []
        for each in expected:
            for transport in transports:
                answer = await self._ask(each.question, transport)
                if answer != (each.data or "NXDOMAIN"):
                    question = each.question
                    wanted = sorted(each.data) or "NXDOMAIN"
                    wrong.append(
                        f"{question.cluster} {question.name} {question.kind} over {transport}: {answer}, not {wanted}"
                    )
        return wrong

    async def picture(self, expected: Sequence[Expected]) -> Picture:
        """Clusters, exports and imports as they are now, and one answer for each kind of record."""
        exports: dict[ClusterId, Sequence[ServiceExport]] = {}
        imports: dict[ClusterId, Sequence[ServiceImport]] = {}
        for cluster in self._dns:
            async with self._client(cluster) as client:
                exports[cluster] = await _listed(client, SERVICE_EXPORTS)
                imports[cluster] = await _listed(client, SERVICE_IMPORTS)
        headless = {
            f"{each.metadata.name}.{each.metadata.namespace}.svc.{ORIGIN}."
            for found in imports.values()
            for each in found
            if each.spec.type == "Headless"
        }
        asked = [
            Asked(question, self._port(question.cluster), await self._ask(question, "UDP"))
            for question in _one_of_each(expected, headless)
        ]
        web = self._controller.web
        return Picture(
            clusters={cluster: (self._clusterset[cluster].url, self._port(cluster)) for cluster in self._dns},
            exports=exports,
            imports=imports,
            asked=asked,
            kubeconfig=self._clusterset.kubeconfig_path,
            metrics_url=f"{web.url}/metrics" if web else "",
        )

    def _client(self, cluster: ClusterId) -> AbstractAsyncContextManager[Client]:
        return client_opener(cluster, [self._clusterset.kubeconfig_path], cluster, self._counts)()

    def _port(self, cluster: ClusterId) -> int:
        server = self._dns[cluster].dns
        return server.port if server else 0

    async def _ask(self, question: Question, transport: Transport) -> frozenset[str] | str:
        try:
            return await ask(self._port(question.cluster), question.name, question.kind, transport)
        except (DNSException, OSError) as error:
            return f"no answer ({type(error).__name__})"


async def _listed(client: Client, resource: Resource[T]) -> list[T]:
    return [each async for page in client.list_pages(resource) for each in page.items]


def _refused(exports: Mapping[ClusterId, Sequence[ServiceExport]]) -> set[ServiceKey]:
    """The exports that were judged and found impossible."""
    return {
        export.key
        for found in exports.values()
        for export in found
        for condition in export.status.conditions
        if condition.type == VALID and condition.status == "False"
    }


def _one_of_each(expected: Sequence[Expected], headless: AbstractSet[str]) -> list[Question]:
    """One question for each kind of record and of name, and one that must not be answered."""
    chosen: dict[tuple[str, int, bool, bool], Question] = {}
    for each in expected:
        question = each.question
        is_headless = question.name in headless
        chosen.setdefault((question.kind, question.name.count("."), bool(each.data), is_headless), question)
    cluster = expected[0].question.cluster
    zone: tuple[Kind, ...] = ("SOA", "NS")
    return [*chosen.values(), *(Question(cluster, f"{ORIGIN}.", kind) for kind in zone)]


def _unready(clusterset: Clusterset) -> list[str]:
    """The workloads of the sample that do not have all their replicas ready yet."""
    return [
        f"{cluster.name}: {resource.kind} {each['metadata']['namespace']}/{each['metadata']['name']} is not ready"
        for cluster in clusterset.clusters
        for resource in (DEPLOYMENTS, STATEFUL_SETS)
        for each in cluster.api.list(resource)
        if each.get("status", {}).get("readyReplicas", 0) != each["spec"]["replicas"]
    ]


@asynccontextmanager
async def running_demo(folder: Path, steps: Steps) -> AsyncIterator[Demo]:
    """Clusters, controller and DNS servers, with the sample applied; everything ends with the block."""
    counts = RequestCounts()
    async with AsyncExitStack() as stack:
        with steps.timed("API servers started, sample applied"):
            clusterset = await stack.enter_async_context(Clusterset(folder / "kubeconfig"))
        openers = {
            ClusterId(cluster.name): client_opener(
                cluster.name, [clusterset.kubeconfig_path], cluster.context, counts
            )
            for cluster in clusterset.clusters
        }
        with steps.timed("controller and DNS servers started"):
            controller = ControllerProcess(openers, requests=counts)
            controller.serve_metrics(ANY_PORT)
            dns = {
                cluster: DnsProcess(cluster, opener, DnsOptions(listen=ANY_PORT, origin=ORIGIN))
                for cluster, opener in openers.items()
            }
            for process in (controller, *dns.values()):
                await stack.enter_async_context(_running(process))
        yield Demo(clusterset, controller, dns)


@asynccontextmanager
async def _running(process: Process) -> AsyncIterator[None]:
    task = asyncio.create_task(process.run(), name=type(process).__name__)
    started = asyncio.create_task(process.started.wait(), name="started")
    await asyncio.wait((task, started), return_when=asyncio.FIRST_COMPLETED)
    started.cancel()
    try:
        if task.done():
            await task
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def run_demo(console: Console, *, check: bool) -> bool:
    """Run until cancelled, or with `check` until every answer has been compared; whether all were right."""
    steps = Steps(console)
    with TemporaryDirectory(prefix="mcs-sandbox-") as folder:
        async with running_demo(Path(folder), steps) as demo:
            with steps.timed("every exported name answered"):
                expected = await _settled(demo)
            console.print()
            for part in drawn(await demo.picture(expected)):
                console.print(part, soft_wrap=isinstance(part, str), highlight=False)
            if check:
                return await _checked(demo, expected, steps)
            console.print("\nChanges of these answers are shown as they come. Ctrl-C stops everything.")
            await _follow(demo, expected, console)
    return True


async def _follow(demo: Demo, expected: Sequence[Expected], console: Console) -> None:
    """Ask the pictured questions again and again, and print each answer that is not what it was."""
    shown = (await demo.picture(expected)).asked
    while True:
        await asyncio.sleep(1)
        now = (await demo.picture(expected)).asked
        for line in changed_lines(shown, now):
            console.print(line, soft_wrap=True, highlight=False)
        shown = now


async def _settled(demo: Demo) -> list[Expected]:
    """What is answered once everything answers as it should. Raises SandboxError when that takes too long."""
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE
    while True:
        try:
            expected = await demo.expected()
            wrong = await demo.wrong_answers(expected, ("UDP",))
        except SandboxError as error:
            wrong = [str(error)]
        else:
            if not wrong:
                return expected
        if loop.time() > end:
            raise SandboxError(f"the sample did not come to answer: {wrong[0]}")
        await asyncio.sleep(0.2)


async def _checked(demo: Demo, expected: Sequence[Expected], steps: Steps) -> bool:
    with steps.timed(f"{len(expected)} answers compared over UDP and TCP"):
        wrong = await demo.wrong_answers(expected, TRANSPORTS)
    for line in wrong:
        steps.console.print(f"wrong: {line}")
    steps.console.print("check failed" if wrong else "check passed")
    return not wrong
