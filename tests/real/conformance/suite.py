"""The driver of the MCS conformance specifications: what they deploy, what they wait for, and for how long.

As the suite of sigs.k8s.io/mcs-api has it, each specification gets a namespace of its own in every cluster, the
first cluster exports `hello`, and a Pod `request` in each cluster asks. A specification that is not met raises
NonConformantError; whatever else fails leaves open whether the implementation conforms.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.lab.cluster import Cluster
from tests.real.conformance.api import Api, Object
from tests.real.conformance.objects import HELLO, deployment, export, request_pod, service

T = TypeVar("T")

DOMAIN = "clusterset.local"
MCS_GROUP = "apis/multicluster.x-k8s.io/v1beta1"
EXPORTS, IMPORTS = f"{MCS_GROUP}/serviceexports", f"{MCS_GROUP}/serviceimports"
SLICES = "apis/discovery.k8s.io/v1/endpointslices"
DEPLOYMENTS, STATEFUL_SETS = "apis/apps/v1/deployments", "apis/apps/v1/statefulsets"
NAMESPACES, PODS, SERVICES = "api/v1/namespaces", "api/v1/pods", "api/v1/services"
SERVICE_NAME_LABEL = "multicluster.kubernetes.io/service-name"
SOURCE_CLUSTER_LABEL = "multicluster.kubernetes.io/source-cluster"
MANAGED_BY_LABEL = "endpointslice.kubernetes.io/managed-by"

_POD_SECONDS = 60
_API_SECONDS, _API_EVERY = 20, 0.1
_ENDPOINT_SECONDS = 60
_WINDOW_SECONDS = 5
_COMMAND_SECONDS = 4
_COMMAND_EVERY = 1.0
# Creation timestamps have seconds; more than one apart, the first export is the older one.
_AGE_SECONDS = 1.1


class NonConformantError(AssertionError):
    """The implementation does not do what the specification says; the message is what the report shows."""


class ExecError(Exception):
    """A command could not be run in the request pod, so nothing is known about what it would have said."""


def require(holds: object, message: str) -> None:
    """Raise NonConformantError unless `holds` is true."""
    if not holds:
        raise NonConformantError(message)


async def within(seconds: float, attempt: Callable[[], Awaitable[T]], *, every: float = _API_EVERY) -> T:
    """What `attempt` returns once it raises no AssertionError. Raises the last one after `seconds`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        try:
            return await attempt()
        except AssertionError:
            if loop.time() > end:
                raise
        await asyncio.sleep(every)


@dataclass(frozen=True)
class Member:
    """One cluster under test."""

    cluster: Cluster
    api: Api

    @property
    def name(self) -> str:
        """The name of the kubeconfig context, which is also the cluster id."""
        return self.cluster.name


@dataclass(frozen=True)
class Driver:
    """One namespace in all clusters; the first cluster is the exporting one."""

    members: tuple[Member, ...]
    namespace: str
    request: str = "request"

    async def set_up(
        self, hello: Object | None = None, workload: Object | None = None, exported: Object | None = None
    ) -> None:
        """Create what every specification begins with. `exported` is the first cluster's ServiceExport, if any."""
        for member in self.members:
            body = {"metadata": {"name": self.namespace}}
            await member.api.create(NAMESPACES, "", body)
        async with asyncio.TaskGroup() as starts:
            for member in self.members:
                starts.create_task(self._default_account(member), name=f"account in {member.name}")
        await self.deploy(self.members[0], hello, workload)
        for member in self.members:
            await member.api.create(PODS, self.namespace, request_pod(self.request))
        async with asyncio.TaskGroup() as starts:
            for member in self.members:
                starts.create_task(self._running(member), name=f"request pod in {member.name}")
        if exported is not None:
            await self.export(self.members[0], exported)

    async def tear_down(self) -> None:
        """Delete the namespaces, without waiting for their end."""
        for member in self.members:
            await member.api.delete(NAMESPACES, "", self.namespace)

    async def deploy(
        self, member: Member, hello: Object | None = None, workload: Object | None = None
    ) -> None:
        """Create the Service `hello`, by default as `service()` has it, and the Deployment behind it."""
        workload = deployment() if workload is None else workload
        kind = DEPLOYMENTS if workload["kind"] == "Deployment" else STATEFUL_SETS
        await member.api.create(kind, self.namespace, workload)
        await member.api.create(SERVICES, self.namespace, service() if hello is None else hello)

    async def also_from_second(self, hello: Object | None = None, exported: Object | None = None) -> None:
        """Export from the second cluster too, later than from the first."""
        await self.imported(self.members[0])
        await asyncio.sleep(_AGE_SECONDS)
        await self.deploy(self.members[1], hello)
        await self.export(self.members[1], exported)

    async def export(self, member: Member, exported: Object | None = None) -> None:
        """Create the ServiceExport `hello`."""
        await member.api.create(EXPORTS, self.namespace, export() if exported is None else exported)

    async def unexport(self, member: Member) -> None:
        """Delete the ServiceExport `hello`."""
        await member.api.delete(EXPORTS, self.namespace, HELLO)

    async def imported(
        self, member: Member, verify: Callable[[Object], None] = lambda _: None, *, is_required: bool = False
    ) -> Object:
        """The ServiceImport `hello` once `verify` raises nothing. Its absence is non-conformant if required."""

        async def attempt() -> Object:
            found = await self.service_import(member)
            missing = f"ServiceImport was not found on cluster {member.name!r}"
            require(found is not None or not is_required, missing)
            assert found is not None, missing
            verify(found)
            return found

        return await within(_API_SECONDS, attempt)

    async def service_import(self, member: Member) -> Object | None:
        """The ServiceImport `hello` as it is now."""
        return await member.api.get(IMPORTS, self.namespace, HELLO)

    async def import_ends(self, member: Member, message: str) -> None:
        """Return when there is no ServiceImport `hello` any more."""

        async def attempt() -> None:
            require(await self.service_import(member) is None, message)

        await within(_API_SECONDS, attempt)

    async def during_the_window(
        self, member: Member, verify: Callable[[Object | None], None], *, every: float = _API_EVERY
    ) -> None:
        """See `verify` raise nothing about the ServiceImport, or its absence, for five seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _WINDOW_SECONDS
        while loop.time() < end:
            verify(await self.service_import(member))
            await asyncio.sleep(every)

    async def import_stays(self, member: Member, message: str) -> None:
        """See the ServiceImport exist for five seconds."""
        await self.during_the_window(member, lambda found: require(found is not None, message))

    async def condition_becomes(self, member: Member, kind: str, status: str) -> None:
        """Return when the ServiceExport `hello` has the condition with this status."""

        async def attempt() -> None:
            found = await member.api.get(EXPORTS, self.namespace, HELLO)
            assert found is not None, "the ServiceExport is gone"
            conditions = found.get("status", {}).get("conditions", ())
            statuses = {each["type"]: each["status"] for each in conditions}
            require(statuses.get(kind) == status, f"The {kind} condition was not set to {status}")

        await within(_API_SECONDS, attempt)

    async def families(self, member: Member) -> list[str]:
        """The ipFamilies of the ServiceImport `hello`, once it has any."""

        def verify(found: Object) -> None:
            assert found["spec"].get("ipFamilies"), "the ServiceImport has no ipFamilies"

        found: list[str] = (await self.imported(member, verify))["spec"]["ipFamilies"]
        return found

    async def mcs_slice(
        self, member: Member, family: str, verify: Callable[[Object], None] = lambda _: None
    ) -> Object:
        """An EndpointSlice of this family that has endpoints and at least one of the labels of MCS."""

        async def attempt() -> Object:
            for found in await member.api.list(SLICES, self.namespace):
                labels = found["metadata"].get("labels", {})
                is_ours = SERVICE_NAME_LABEL in labels or SOURCE_CLUSTER_LABEL in labels
                if is_ours and found["addressType"] == family and found.get("endpoints"):
                    verify(found)
                    return found
            raise NonConformantError(f"no {family} MCS EndpointSlice was found on cluster {member.name!r}")

        return await within(_ENDPOINT_SECONDS, attempt)

    async def slice_ends(self, member: Member, name: str) -> None:
        """Return when the EndpointSlice is deleted."""

        async def attempt() -> None:
            found = await member.api.get(SLICES, self.namespace, name)
            require(found is None, f"the EndpointSlice was not deleted on unexport from {member.name!r}")

        await within(_API_SECONDS, attempt)

    async def endpoints(self, member: Member, families: Sequence[str], count: int) -> dict[str, str]:
        """Hostname, or what stands for it in DNS, by address of the ready endpoints of the Service `hello`."""

        async def attempt() -> dict[str, str]:
            selector = f"kubernetes.io/service-name={HELLO}"
            found: dict[str, str] = {}
            for each in await member.api.list(SLICES, self.namespace, selector):
                if each["addressType"] not in families:
                    continue
                for endpoint in each.get("endpoints") or ():
                    assert endpoint["conditions"].get("ready", True), "an endpoint is not ready"
                    for address in endpoint["addresses"]:
                        dashed = address.replace(".", "-").replace(":", "-")
                        found[address] = endpoint.get("hostname") or dashed
            assert len(found) == count * len(families), f"not all endpoints are there: {found}"
            return found

        return await within(_ENDPOINT_SECONDS, attempt)

    async def run(self, member: Member, command: str) -> str:
        """What a shell command writes in the request pod, whatever code it ends with. Raises ExecError."""
        # The code is printed, so that a command that failed differs from one that was never run.
        bounded = f"timeout {_COMMAND_SECONDS} sh -c '{command}'; echo; echo ended with $?"
        try:
            output = await member.cluster.exec(self.namespace, self.request, "sh", "-c", bounded)
        except Exception as error:
            raise ExecError(f"in {member.name}: {command}: {error}") from error
        said, marker, code = output.rpartition("\nended with ")
        if not marker or code.strip() in {"126", "127"}:
            raise ExecError(f"in {member.name}: {command}: {output!r}")
        return said

    async def says(self, member: Member, command: str, verify: Callable[[str], T], *, times: int = 1) -> T:
        """What `verify` makes of the output once it raised nothing so many times in a row."""
        in_a_row = 0

        async def attempt() -> T:
            nonlocal in_a_row
            try:
                output = await self.run(member, command)
            except ExecError:
                output = ""
            try:
                result = verify(output)
            except AssertionError:
                in_a_row = 0
                raise
            in_a_row += 1
            assert in_a_row >= times, f"only {in_a_row} of {times} in a row"
            return result

        return await within(_API_SECONDS * times, attempt, every=_COMMAND_EVERY if times == 1 else 0)

    async def _default_account(self, member: Member) -> None:
        async def attempt() -> None:
            assert await member.api.get("api/v1/serviceaccounts", self.namespace, "default") is not None

        await within(_POD_SECONDS, attempt)

    async def _running(self, member: Member) -> None:
        async def attempt() -> None:
            found = await member.api.get(PODS, self.namespace, self.request)
            phase = (found or {}).get("status", {}).get("phase")
            assert phase == "Running", f"pod is not running yet, current phase {phase}"

        await within(_POD_SECONDS, attempt)


def new_namespace_name() -> str:
    """A namespace name as the suite makes them."""
    return f"mcs-conformance-{secrets.randbelow(2**32)}"


def same_values(found: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    """Whether all of `wanted` is in `found`."""
    return wanted.items() <= (found or {}).items()
