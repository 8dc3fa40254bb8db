"""`mcs sandbox`: a clusterset on this machine, with a sample, and a picture of what its names answer.

Starts sandbox clusters, the controller and a DNS server per cluster, each connected as it would be to a real cluster.
With `check` every answer is compared with what the API objects say, over UDP and TCP.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from dns.exception import DNSException
from rich.console import Console

from mcs.controllers.processes import (
    ControllerProcess,
    DnsOptions,
    DnsProcess,
    Listen,
    Process,
    client_opener,
)
from mcs.kube.client import Client
from mcs.kube.errors import KubeError
from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId
from mcs.model.resources import ENDPOINT_SLICES, SERVICE_EXPORTS, SERVICE_IMPORTS, Resource
from mcs.sandbox.demo.asking import TRANSPORTS, Transport, ask
from mcs.sandbox.demo.changes import changed_lines, followed_questions
from mcs.sandbox.demo.clusterset import Clusterset
from mcs.sandbox.demo.expectations import (
    Answer,
    Expected,
    Kind,
    Question,
    Seen,
    everything_expected,
    is_as_expected,
    not_yet_imported,
)
from mcs.sandbox.demo.picture import Asked, Picture, Steps, drawn, first_commands, show
from mcs.sandbox.resources import DEPLOYMENTS, STATEFUL_SETS
from mcs.web.requests import RequestCounts

T = TypeVar("T", bound=KubernetesObject)
OpenClient = Callable[[], AbstractAsyncContextManager[Client]]

ORIGIN = "clusterset.local"
ASKED = ClusterId("west")
"""The cluster whose answers are shown: it imports what it runs itself and what only others run."""
PATIENCE = 60.0
"""Seconds until the sample must answer."""
ANY_PORT = Listen("127.0.0.1", 0)


class SandboxError(Exception):
    """The sandbox did not come to answer; the message says what was missing."""


class Demo:
    """A running clusterset and what is known of it; `clients` and `dns` hold one for each cluster."""

    def __init__(
        self,
        clusterset: Clusterset,
        clients: Mapping[ClusterId, Client],
        controller: ControllerProcess,
        dns: Mapping[ClusterId, DnsProcess],
    ) -> None:
        self.clusterset = clusterset
        self.controller = controller
        self.dns = dns
        self._clients = clients

    async def seen(self) -> Seen:
        """The objects of every cluster, read from its API server. Raises KubeError."""
        clients = self._clients.items()
        return Seen(
            exports={cluster: await _listed(client, SERVICE_EXPORTS) for cluster, client in clients},
            imports={cluster: await _listed(client, SERVICE_IMPORTS) for cluster, client in clients},
            slices={cluster: await _listed(client, ENDPOINT_SLICES) for cluster, client in clients},
        )

    async def expected(self) -> list[Expected]:
        """What should be answered, from the objects as they are now.

        Raises SandboxError while the sample is not ready, or an export is neither imported everywhere nor refused.
        """
        seen = await self.seen()
        if problem := _unready(self.clusterset) or not_yet_imported(seen):
            raise SandboxError(problem)
        return everything_expected(seen, ORIGIN)

    async def wrong_answers(
        self, expected: Iterable[Expected], transports: Sequence[Transport]
    ) -> AsyncIterator[str]:
        """One line for each answer that is not as expected."""
        for each in expected:
            for transport in transports:
                answer = await self._ask(each.question, transport)
                if not is_as_expected(each, answer):
                    question = each.question
                    got = answer if isinstance(answer, str) else sorted(answer)
                    wanted = sorted(each.data) or "NXDOMAIN"
                    yield f"{question.cluster} {question.name} {question.kind} over {transport}: {got}, not {wanted}"

    async def picture(self, questions: Iterable[Question]) -> Picture:
        """Objects as they are now, and the answers to the questions. Raises KubeError."""
        seen = await self.seen()
        return Picture(
            clusters={cluster: (self.clusterset[cluster].url, self._port(cluster)) for cluster in self.dns},
            seen=seen,
            asked=[
                Asked(question, self._port(question.cluster), await self._ask(question, "UDP"))
                for question in questions
            ],
        )

    @property
    def metrics_url(self) -> str:
        """Where the controller tells its metrics."""
        web = self.controller.web
        return f"{web.url}/metrics" if web else ""

    def _port(self, cluster: ClusterId) -> int:
        server = self.dns[cluster].dns
        return server.port if server else 0

    async def _ask(self, question: Question, transport: Transport) -> Answer:
        try:
            return await ask(self._port(question.cluster), question.name, question.kind, transport)
        except (DNSException, OSError) as error:
            return f"no answer ({type(error).__name__})"


async def _listed(client: Client, resource: Resource[T]) -> list[T]:
    return [each async for page in client.list_pages(resource) for each in page.items]


def pictured_questions(seen: Seen, expected: Sequence[Expected]) -> list[Question]:
    """One question for each kind of record and of name, and one that must not be answered, to one cluster."""
    headless = {
        f"{each.metadata.name}.{each.metadata.namespace}.svc.{ORIGIN}."
        for found in seen.imports.values()
        for each in found
        if each.spec.type == "Headless"
    }
    chosen: dict[tuple[str, int, bool, bool], Question] = {}
    for each in expected:
        question = each.question
        if question.cluster == ASKED:
            is_headless = question.name in headless
            chosen.setdefault(
                (question.kind, question.name.count("."), bool(each.data), is_headless), question
            )
    zone: tuple[Kind, ...] = ("SOA", "NS")
    return [*chosen.values(), *(Question(ASKED, f"{ORIGIN}.", kind) for kind in zone)]


def _unready(clusterset: Clusterset) -> str | None:
    """A workload of the sample that does not have all its replicas ready yet."""
    for cluster in clusterset.clusters:
        for resource in (DEPLOYMENTS, STATEFUL_SETS):
            for each in cluster.api.list(resource):
                if each.get("status", {}).get("readyReplicas", 0) != each["spec"]["replicas"]:
                    named = f"{each['metadata']['namespace']}/{each['metadata']['name']}"
                    return f"{cluster.name}: {resource.kind} {named} is not ready"
    return None


@asynccontextmanager
async def running_demo(folder: Path, steps: Steps) -> AsyncIterator[Demo]:
    """Clusters, controller and DNS servers, with the sample applied; everything ends with the block."""
    counts = RequestCounts()
    async with AsyncExitStack() as stack:
        with steps.timed("API servers started, sample applied"):
            clusterset = await stack.enter_async_context(Clusterset(folder / "kubeconfig"))
        openers: dict[ClusterId, OpenClient] = {
            ClusterId(cluster.name): client_opener(
                cluster.name, [clusterset.kubeconfig_path], cluster.context, counts
            )
            for cluster in clusterset.clusters
        }
        with steps.timed("controller and DNS servers started"):
            clients = {
                cluster: await stack.enter_async_context(opener()) for cluster, opener in openers.items()
            }
            controller = ControllerProcess(openers, requests=counts)
            controller.serve_metrics(ANY_PORT)
            dns = {
                cluster: DnsProcess(cluster, opener, DnsOptions(listen=ANY_PORT, origins=(ORIGIN,)))
                for cluster, opener in openers.items()
            }
            for process in (controller, *dns.values()):
                await stack.enter_async_context(_running(process))
        yield Demo(clusterset, clients, controller, dns)


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


async def run_demo(console: Console, *, check: bool, patience: float = PATIENCE) -> bool:
    """Run until cancelled, or with `check` until every answer has been compared; whether all were right.

    Raises SandboxError when not everything answers as it should within `patience` seconds.
    """
    steps = Steps(console)
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="mcs-sandbox-"))
        try:
            async with asyncio.timeout(patience):
                demo = await stack.enter_async_context(running_demo(Path(folder), steps))
                with steps.timed("every exported name answered"):
                    expected = await _settled(demo, steps)
        except TimeoutError as error:
            late = f"the sandbox did not come to answer in {patience:g} s"
            raise SandboxError(f"{late}; the last that was missing: {steps.waiting_for}") from error
        picture = await demo.picture(pictured_questions(await demo.seen(), expected))
        show(console, ["", *drawn(picture)])
        if check:
            return await _checked(demo, expected, steps)
        show(console, first_commands(demo.clusterset.kubeconfig_path, demo.metrics_url))
        await _follow(demo, picture, console)
    return True


async def _follow(demo: Demo, picture: Picture, console: Console) -> None:
    """Look again and again, and print what is not as it was."""
    picture = await demo.picture(followed_questions(picture, ASKED, ORIGIN))
    said = ""
    while True:
        await asyncio.sleep(1)
        try:
            now = await demo.picture(followed_questions(picture, ASKED, ORIGIN))
        except KubeError as error:
            if said != (said := f"changes are not shown for now, since objects cannot be read: {error}"):
                show(console, [said])
            continue
        show(console, changed_lines(picture, now))
        picture = now


async def _settled(demo: Demo, steps: Steps) -> list[Expected]:
    """What is answered once everything answers as it should."""
    while True:
        try:
            expected = await demo.expected()
        except SandboxError as error:
            steps.waiting_for = str(error)
        else:
            steps.waiting_for = "an answer from the DNS servers"
            async for problem in demo.wrong_answers(expected, ("UDP",)):
                steps.waiting_for = problem
                break
            else:
                return expected
        await asyncio.sleep(0.2)


async def _checked(demo: Demo, expected: Sequence[Expected], steps: Steps) -> bool:
    with steps.timed(f"{len(expected)} answers compared over UDP and TCP"):
        wrong = [line async for line in demo.wrong_answers(expected, TRANSPORTS)]
    show(steps.console, [*(f"wrong: {line}" for line in wrong), "check failed" if wrong else "check passed"])
    return not wrong
