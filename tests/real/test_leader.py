"""Two elected controllers on real API servers: one is killed, stopped, ended or refused its Lease, the other goes on.

Times are printed as multiples of what is configured: a Lease of 15 s, tried every 2 s.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import secrets
import signal
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import yaml

from mcs.membership.leadership import Timing
from tests.lab.control_planes import ADMIN, ControlPlanes, free_ports
from tests.lab.kubectl import Kubectl
from tests.lab.mcs import MCS, eventually
from tests.lab.processes import LabProcess
from tests.real.test_killed_controller import CLUSTERS, User, World, churn

TIMING = Timing()
LEASE = "mcs-controller"
AT_LEAST = TIMING.lease - TIMING.retry
"""A Lease that was not given back cannot be had sooner: its holder renews it every `retry`."""


class Replica:
    """`mcs controller` for both clusters, with its Lease in east."""

    def __init__(
        self, name: str, options: tuple[str, ...], folder: Path, http: aiohttp.ClientSession
    ) -> None:
        (port,) = free_ports(1)
        self.name = name
        self._url = f"http://127.0.0.1:{port}"
        self._http = http
        listen = f"--metrics-listen=127.0.0.1:{port}"
        command = (*MCS, "controller", "--leader-elect", "--log-json", listen, *options)
        self.process = LabProcess(name, command, folder / f"{name}.log")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The replica, once it is ready, to lead or to stand by; killed when the block ends."""
        await self.process.start()
        try:
            await eventually(f"{self.name} is ready", self.is_ready)
            yield
        finally:
            await self.process.kill()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    async def is_ready(self) -> bool:
        """Whether readiness says yes."""
        self.process.check_running()
        try:
            async with self._http.get(f"{self._url}/readyz") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    async def leads(self) -> bool:
        """Whether it says that it is the leader."""
        return await self._metric(r"^mcs_leader (\S+)$") == 1

    async def writes(self) -> int:
        """How many of its requests to members changed something, Events included and the Lease not."""
        return int(
            await self._metric(
                r'^mcs_api_requests_total\{cluster="(?:east|west)",.*verb="(?:apply|create|patch|delete)".*\} (\S+)'
            )
        )

    async def _metric(self, pattern: str) -> float:
        async with self._http.get(f"{self._url}/metrics") as response:
            return sum(map(float, re.findall(pattern, await response.text(), re.MULTILINE)))

    def problems(self) -> list[str]:
        """What it said of its Lease, in order."""
        lines = [json.loads(line) for line in self.process.log.read_text().splitlines() if line[:1] == "{"]
        return [line["problem"] for line in lines if line["event"] == "lease cannot be used"]


@pytest_asyncio.fixture(loop_scope="session")
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        yield session


@pytest.fixture
def replicas(
    planes: ControlPlanes, namespace: str, tmp_path: Path, http: aiohttp.ClientSession
) -> tuple[Replica, Replica]:
    """Two replicas that are not started, with a Lease of this test alone."""
    options = (
        f"--kubeconfig={planes.kubeconfig()}",
        *(f"--cluster={cluster}" for cluster in CLUSTERS),
        "--host-context=east",
        f"--lease-namespace={namespace}",
        f"--lease-name={LEASE}",
    )
    first, second = (Replica(name, options, tmp_path, http) for name in ("a", "b"))
    return first, second


async def seconds_until(what: str, holds: Callable[[], Awaitable[object]]) -> float:
    """How long it takes."""
    now = asyncio.get_running_loop().time
    began = now()
    await eventually(what, holds)
    return now() - began


def told(what: str, seconds: float) -> None:
    """Print a time as a multiple of the configured bound."""
    bound = TIMING.lease + TIMING.retry
    print(f"{what}: {seconds:.1f} s, {seconds / bound:.2f} of lease + retry ({bound:g} s)")


async def test_when_the_leader_is_killed_or_ends_the_other_one_leads(
    replicas: tuple[Replica, Replica],
) -> None:
    a, b = replicas
    async with b.running():
        await eventually("b leads", b.leads)
        async with a.running():
            assert not await a.leads()
            await b.process.kill()
            killed = await seconds_until("a leads after b was killed", a.leads)
            told("leader killed", killed)
            assert killed >= AT_LEAST - 1, "a Lease is not taken from somebody who may be alive"
            async with b.running():
                assert not await b.leads()
                a.signal(signal.SIGTERM)
                ended = await seconds_until("b leads after a ended", b.leads)
                told("leader ended by SIGTERM", ended)
                assert ended < AT_LEAST, "the Lease was given back"


@pytest.mark.timeout(600)
async def test_a_leader_that_is_stopped_for_two_leases_does_no_harm_when_it_goes_on(
    replicas: tuple[Replica, Replica], planes: ControlPlanes
) -> None:
    seed = os.environ.get("MCS_SEED") or secrets.token_hex(4)
    print(f"MCS_SEED={seed}")
    steps = churn(random.Random(seed))
    a, b = replicas
    async with AsyncExitStack() as stack:
        users = {}
        for cluster in CLUSTERS:
            tls = ssl.create_default_context(cafile=str(planes[cluster].ca_file))
            session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls))
            users[cluster] = User(planes[cluster], await stack.enter_async_context(session))
        quiet, disturbed = (World(users, f"leader-{each}-{seed}") for each in ("quiet", "stopped"))
        for world in (quiet, disturbed):
            await world.prepare()
        await stack.enter_async_context(a.running())
        await eventually("a leads", a.leads)
        await stack.enter_async_context(b.running())
        await quiet.does(steps)
        expected = await quiet.settled()
        strangers = await disturbed.foreign()

        before = await a.writes()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(disturbed.does(steps), name="burst")
            await eventually("a is at work", lambda: _exceeds(a, before), every=0)
            a.signal(signal.SIGSTOP)
            stopped = asyncio.get_running_loop().time()
        told("leader stopped", await seconds_until("b leads", b.leads))
        ended = await disturbed.settled()
        versions = await disturbed.versions()
        await asyncio.sleep(max(stopped + 2 * TIMING.lease - asyncio.get_running_loop().time(), 0))
        a.signal(signal.SIGCONT)
        await eventually("a stands by", lambda: _stands_by(a))
        await asyncio.sleep(5)
        assert await disturbed.versions() == versions, "who was the leader writes no more"
        assert await b.leads()
        assert not await a.leads()
        assert sorted(set(ended) ^ set(expected)) == []
        assert ended == expected
        untouched = await disturbed.foreign()
        edited = {f"east {step.kind} {step.name}" for step in steps}
        assert {each for each in strangers if untouched.get(each) != strangers[each]} <= edited

        await b.process.stop()
        await eventually("a leads again", a.leads)
        await asyncio.sleep(5)
        assert await disturbed.versions() == versions, (
            "what was computed meanwhile is what a fresh one computes"
        )


async def _exceeds(replica: Replica, writes: int) -> bool:
    return await replica.writes() > writes + 20


async def _stands_by(replica: Replica) -> bool:
    return not await replica.leads()


RIGHTS = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: mcs-lease}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [mcs-controller], verbs: [get, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: mcs-lease}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: mcs-lease}
subjects: [{kind: User, name: controller}]
"""


async def test_without_the_right_to_its_lease_a_controller_says_so_and_waits(
    planes: ControlPlanes,
    namespace: str,
    kubectl_for: Callable[[str], Kubectl],
    tmp_path: Path,
    http: aiohttp.ClientSession,
) -> None:
    east, in_namespace = kubectl_for("east"), ("--namespace", namespace)
    options = (
        f"--kubeconfig={_with_host(planes, tmp_path)}",
        "--cluster=east",
        "--host-context=host",
        f"--lease-namespace={namespace}",
    )
    replica = Replica("a", options, tmp_path, http)
    await replica.process.start()
    try:
        await eventually("it says what is missing", lambda: _problem(replica))
        (problem,) = replica.problems()
        assert "cannot get resource" in problem
        assert f"allow get and patch of leases.coordination.k8s.io {namespace}/{LEASE}, and create" in problem
        assert not await replica.is_ready()
        await east("apply", *in_namespace, "-f", "-", stdin=RIGHTS)
        await eventually("it leads", replica.leads)
        assert await replica.is_ready()
        await east("delete", *in_namespace, "rolebinding", "mcs-lease")
        await eventually("it stands by", lambda: _stands_by(replica))
        told = replica.problems()[1:]
        assert any("cannot patch resource" in each for each in told)
        assert len(told) == len(set(told)), "each problem is told once, not at each attempt"
        await east("apply", *in_namespace, "-f", "-", stdin=RIGHTS)
        await eventually("it leads again", replica.leads)
    finally:
        await replica.process.kill()


async def _problem(replica: Replica) -> bool:
    replica.process.check_running()
    return bool(replica.problems())


def _with_host(planes: ControlPlanes, folder: Path) -> Path:
    """A kubeconfig whose context "host" is east too, as a user without any right."""
    config: dict[str, Any] = yaml.safe_load(planes.kubeconfig(ADMIN).read_text())
    config["users"].append({"name": "controller", "user": {"token": planes["east"].tokens["controller"]}})
    config["contexts"].append({"name": "host", "context": {"cluster": "east", "user": "controller"}})
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file
