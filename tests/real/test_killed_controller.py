"""A controller that is killed again and again ends where an undisturbed one ends, on real API servers.

The same churn of MCS_CHURN services (40 unless told) runs twice, each time in a namespace of its own. MCS_KILLS says
how often the controller is killed in the second (2 unless told), MCS_SEED repeats a run that failed.
"""

from __future__ import annotations

import json
import os
import random
import re
import secrets
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from mcs.model.names import (
    MANAGED_BY_LABEL,
    SERVICE_NAME_LABEL,
    SOURCE_CLUSTER_LABEL,
    ServiceKey,
    derived_service_name,
)
from mcs.model.resources import (
    ENDPOINT_SLICES,
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
    Resource,
)
from tests.lab.control_planes import ADMIN, ControlPlane, ControlPlanes, free_ports
from tests.lab.mcs import MCS, eventually
from tests.lab.processes import LabProcess
from tests.scenarios.objects import expanded

COUNT = int(os.environ.get("MCS_CHURN", "40"))
CLUSTERS = ("east", "west")
KINDS: tuple[Resource[Any], ...] = (SERVICES, ENDPOINT_SLICES, SERVICE_IMPORTS, SERVICE_EXPORTS)
OF_THE_SERVER = {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "annotations"}
Json = dict[str, Any]


class Step(NamedTuple):
    """One thing that a user does in east; `short` None deletes the object."""

    kind: str
    name: str
    short: Json | None = None


def _service(name: str, port: int) -> Step:
    return Step("Service", name, {"ports": [f"http {port}"]})


def _slice(name: str, address: str) -> Step:
    return Step("EndpointSlice", f"{name}-1", {"service": name, "ports": ["http 80"], "ready": [address]})


def churn(source: random.Random) -> list[Step]:
    """Exports, edits and deletes of 200 services: those of one service in order, mixed with the others'."""
    queues: list[list[Step]] = []
    for number in range(COUNT):
        name = f"api-{number}"
        steps = [Step("ServiceExport", name, {})]
        if number % 3 == 0:
            steps.append(_service(name, 8000 + number))
        if number % 4 == 0:
            steps.append(_slice(name, f"10.8.0.{number + 1}"))
        if number % 7 == 0:
            steps.append(Step("ServiceExport", name))
        if number % 14 == 0:
            steps.append(Step("ServiceExport", name, {}))
        if number % 11 == 0:
            steps.append(Step("Service", name))
        queues.append(steps)
    mixed = []
    while queues:
        steps = source.choice(queues)
        mixed.append(steps.pop(0))
        queues = [each for each in queues if each]
    return mixed


class User:
    """A user of one cluster."""

    def __init__(self, plane: ControlPlane, session: aiohttp.ClientSession) -> None:
        self._url = plane.url
        self._session = session
        self._headers = {"Authorization": f"Bearer {plane.tokens[ADMIN]}"}

    async def does(self, namespace: str, step: Step) -> None:
        """Carry out one step."""
        where = f"{namespace}/{step.name}" if namespace else step.name
        resource, obj = expanded(
            {step.kind: where, **({"service": ""} if step.short is None else step.short)}
        )
        url = self._url + resource.path(namespace, step.name)
        if step.short is None:
            async with self._session.delete(url, headers=self._headers) as response:
                assert response.status == 200, await response.text()
            return
        headers = self._headers | {"Content-Type": "application/apply-patch+yaml"}
        query = {"fieldManager": "user", "force": "true"}
        async with self._session.patch(url, params=query, data=json.dumps(obj), headers=headers) as response:
            assert response.status in (200, 201), await response.text()

    async def objects(self, namespace: str) -> list[Json]:
        """Everything that the controller reads or writes in a namespace."""
        found = []
        for resource in KINDS:
            url = self._url + resource.path(namespace)
            async with self._session.get(url, headers=self._headers) as response:
                items = (await response.json())["items"]
            found += [{**each, "kind": resource.kind} for each in items]
        return found


class World:
    """Both clusters as the users of one namespace see them."""

    def __init__(self, users: dict[str, User], namespace: str) -> None:
        self._users = users
        self._namespace = namespace
        names = [f"api-{number}" for number in range(COUNT)]
        self._derived = {
            derived_service_name(ServiceKey(namespace, name)): f"derived of {name}" for name in names
        }

    async def prepare(self) -> None:
        """Services with endpoints in east; some are exported in west already; strangers hold names of ours."""
        for user in self._users.values():
            await user.does("", Step("Namespace", self._namespace, {}))
        for number in range(0, COUNT, 5):
            name = f"api-{number}"
            for step in (_service(name, 81), _slice(name, "10.9.0.1"), Step("ServiceExport", name, {})):
                await self._users["west"].does(self._namespace, step)
        for number in range(COUNT):
            for step in (_service(f"api-{number}", 80), _slice(f"api-{number}", f"10.7.0.{number + 1}")):
                await self._users["east"].does(self._namespace, step)
        taken = derived_service_name(ServiceKey(self._namespace, "api-1"))
        for name in (taken, "bystander"):
            await self._users["west"].does(self._namespace, _service(name, 9))

    async def does(self, steps: Sequence[Step]) -> None:
        """Carry out steps in east, one after the other."""
        for step in steps:
            await self._users["east"].does(self._namespace, step)

    async def versions(self) -> dict[str, str]:
        """The version of everything, by cluster, kind and name."""
        return {
            f"{cluster} {each['kind']} {each['metadata']['name']}": each["metadata"]["resourceVersion"]
            for cluster, user in self._users.items()
            for each in await user.objects(self._namespace)
        }

    async def foreign(self) -> dict[str, str]:
        """The versions of the objects in which nothing is ours, not even a status."""
        return {
            f"{cluster} {each['kind']} {each['metadata']['name']}": each["metadata"]["resourceVersion"]
            for cluster, user in self._users.items()
            for each in await user.objects(self._namespace)
            if each["kind"] in ("Service", "EndpointSlice") and not _is_ours(each)
        }

    async def meaning(self) -> list[str]:
        """All objects without what differs between two namespaces in which the same happened."""
        lines = []
        for cluster, user in self._users.items():
            objects = await user.objects(self._namespace)
            addresses = {
                each["spec"]["clusterIP"]: each["metadata"]["labels"][SERVICE_NAME_LABEL]
                for each in objects
                if each["kind"] == "Service" and _is_ours(each)
            }
            lines += [f"{cluster} {self._normal(each, addresses)}" for each in objects]
        return sorted(lines)

    def _normal(self, obj: Json, addresses: dict[str, str]) -> str:
        metadata = {name: value for name, value in obj["metadata"].items() if name not in OF_THE_SERVER}
        if _is_ours(obj):
            labels = metadata["labels"]
            if obj["kind"] != "ServiceImport":
                metadata["name"] = f"{labels[SERVICE_NAME_LABEL]} of {labels.get(SOURCE_CLUSTER_LABEL)}"
        obj = obj | {"metadata": metadata}
        if obj["kind"] == "Service":
            obj["spec"] = {k: v for k, v in obj["spec"].items() if k not in ("clusterIP", "clusterIPs")}
        if obj["kind"] == "ServiceImport":
            ips = [f"of derived {addresses.get(ip, ip)}" for ip in obj["spec"].get("ips", ())]
            obj["spec"] = obj["spec"] | {"ips": ips}
        text = json.dumps(obj, sort_keys=True)
        text = re.sub(r'"lastTransitionTime": "[^"]*"|"observedGeneration": \d+', '"": ""', text)
        text = re.sub(r"derived-[a-z0-9]+", lambda found: self._derived.get(found[0], found[0]), text)
        return text.replace(self._namespace, "NAMESPACE")

    async def settled(self) -> list[str]:
        """The meaning of all objects once no version has changed for three seconds."""
        before: dict[str, str] = {}

        async def is_still() -> bool:
            nonlocal before
            last, before = before, await self.versions()
            return last == before

        await eventually("nothing changes any more", is_still, seconds=240, every=3)
        return await self.meaning()


def _is_ours(obj: Json) -> bool:
    return bool(obj["metadata"].get("labels", {}).get(MANAGED_BY_LABEL) == "mcs-controller")


class Controller:
    """`mcs controller` for both clusters, started and killed at will."""

    def __init__(self, planes: ControlPlanes, folder: Path, session: aiohttp.ClientSession) -> None:
        (port,) = free_ports(1)
        self._url = f"http://127.0.0.1:{port}"
        self._session = session
        options = ("--kubeconfig", str(planes.kubeconfig()), "--cluster", "east", "--cluster", "west")
        command = (*MCS, "controller", *options, "--metrics-listen", f"127.0.0.1:{port}")
        self.process = LabProcess("controller", command, folder / "controller.log")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The controller, once it has seen both clusters; killed when the block ends."""
        await self.process.start()
        try:
            await eventually("the controller is ready", self._is_ready, seconds=60)
            yield
        finally:
            await self.process.kill()

    async def writes(self) -> int:
        """How many requests of this process changed something, Events included."""
        async with self._session.get(f"{self._url}/metrics") as response:
            text = await response.text()
        found = re.findall(
            r'^mcs_api_requests_total\{.*verb="(?:apply|create|patch|delete)".*\} (\S+)', text, re.MULTILINE
        )
        return int(sum(map(float, found)))

    async def _is_ready(self) -> bool:
        self.process.check_running()
        try:
            async with self._session.get(f"{self._url}/readyz") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False


@pytest.mark.timeout(900)
async def test_a_controller_that_is_killed_ends_where_an_undisturbed_one_ends(
    planes: ControlPlanes, installed_crds: None, tmp_path: Path
) -> None:
    kills = int(os.environ.get("MCS_KILLS", "2"))
    seed = os.environ.get("MCS_SEED") or secrets.token_hex(4)
    print(f"MCS_SEED={seed} MCS_KILLS={kills}")
    steps = churn(random.Random(seed))
    async with AsyncExitStack() as stack:
        users = {}
        for cluster in CLUSTERS:
            tls = ssl.create_default_context(cafile=str(planes[cluster].ca_file))
            connector = aiohttp.TCPConnector(ssl=tls)
            session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
            users[cluster] = User(planes[cluster], session)
        controller = Controller(
            planes, tmp_path, session=await stack.enter_async_context(aiohttp.ClientSession())
        )
        quiet, disturbed = (World(users, f"churn-{each}-{seed}") for each in ("quiet", "killed"))

        await quiet.prepare()
        async with controller.running():
            await quiet.does(steps)
            expected = await quiet.settled()
            assert await controller.writes() > COUNT, "the counter of writes counts"

        await disturbed.prepare()
        strangers = await disturbed.foreign()
        chance = random.Random(f"kills of {seed}")
        cuts = sorted(chance.sample(range(1, len(steps)), kills))
        for begin, end in pairwise((0, *cuts)):
            killed_at = chance.randint(begin, end)
            async with controller.running():
                await disturbed.does(steps[begin:killed_at])
            await disturbed.does(steps[killed_at:end])
        async with controller.running():
            await disturbed.does(steps[cuts[-1] :])
            ended = await disturbed.settled()

        assert sorted(set(ended) ^ set(expected)) == []
        assert ended == expected
        assert sum('"kind": "ServiceImport"' in line for line in expected) >= COUNT
        untouched = await disturbed.foreign()
        edited = {f"east {step.kind} {step.name}" for step in steps}
        assert {each for each in strangers if untouched.get(each) != strangers[each]} <= edited
        assert "west Service bystander" in untouched

        async with controller.running():
            await disturbed.settled()
            assert await controller.writes() == 0
