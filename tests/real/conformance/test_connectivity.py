"""Specifications 17 to 21 of MCS conformance: who answers when pods connect. They are those of connectivity.go.

Specification 17 looks for silence, so it also sees that each command was run: where none can be, the official
suite passes it.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

from tests.real.conformance.objects import HELLO, PORT, export, port, service
from tests.real.conformance.suite import DOMAIN, Driver, ExecError, Member, require

pytestmark = pytest.mark.nodes

TRIES = 20
IN_A_ROW = 10
OTHER_PORT = 4242


@pytest.mark.spec(
    "MCS-conformance#17: Connectivity to a service that is not exported should be inaccessible", "Required"
)
@pytest.mark.labels(ref="exporting-services")
async def test_a_service_that_is_not_exported_is_silent(driver: Driver) -> None:
    await driver.set_up()
    await is_silent(driver)


async def test_silence_is_not_believed_where_no_command_can_be_run(driver: Driver) -> None:
    await driver.set_up()
    with pytest.raises(ExceptionGroup) as caught:
        await is_silent(replace(driver, request="no-such-pod"))
    assert caught.group_contains(ExecError, match="no-such-pod")


@pytest.mark.spec(
    "MCS-conformance#18: Connectivity to an exported ClusterIP service should be accessible through DNS",
    "Optional",
)
@pytest.mark.labels("Connectivity", "ClusterIP", ref="dns")
async def test_an_exported_service_answers(driver: Driver) -> None:
    await driver.set_up(exported=export())
    await answers(driver, PORT, r"pod ip \S+", times=1)


@pytest.mark.spec(
    "MCS-conformance#19: Connectivity to a ClusterIP service existing in two clusters but exported from one should "
    "only access the exporting cluster",
    "Optional",
)
@pytest.mark.labels("Connectivity", "ClusterIP", ref="exporting-services")
async def test_only_the_exporting_cluster_answers(driver: Driver) -> None:
    await driver.set_up()
    await driver.deploy(driver.members[1])
    await driver.export(driver.members[0])
    await answers(driver, PORT, await pod_said(driver, driver.members[0]))


@pytest.mark.spec(
    "MCS-conformance#20: Connectivity to exported services with same port name but different port numbers on each "
    "cluster should only route traffic to the cluster that exposes the port",
    "Optional",
)
@pytest.mark.labels("Connectivity", "ClusterIP", "StrictPortConflict", ref="service-port")
async def test_a_contested_port_is_answered_where_it_is_exposed(driver: Driver) -> None:
    await driver.set_up(exported=export())
    await driver.also_from_second(service(ports=[port("tcp", OTHER_PORT)]))
    await answers(driver, PORT, await pod_said(driver, driver.members[0]))


@pytest.mark.spec(
    "MCS-conformance#21: Connectivity to exported services with different port name on each cluster should route "
    "traffic to each port only to the cluster that exposes it",
    "Optional",
)
@pytest.mark.labels("Connectivity", "ClusterIP", "StrictPortConflict", ref="service-port")
async def test_each_port_is_answered_where_it_is_exposed(driver: Driver) -> None:
    await driver.set_up(exported=export())
    await driver.also_from_second(service(ports=[port("tcp2", OTHER_PORT)]))
    first, second = driver.members
    await answers(driver, PORT, await pod_said(driver, first))
    await answers(driver, OTHER_PORT, await pod_said(driver, second))


def request_to(driver: Driver, number: int) -> str:
    return f"echo hi | nc {HELLO}.{driver.namespace}.svc.{DOMAIN} {number}"


async def is_silent(driver: Driver) -> None:
    async def from_one(member: Member) -> None:
        for _ in range(TRIES):
            output = await driver.run(member, request_to(driver, PORT))
            require("pod ip" not in output, f"a service that is not exported answered: {output}")

    async with asyncio.TaskGroup() as requests:
        for member in driver.members:
            requests.create_task(from_one(member), name=f"requests from {member.name}")


async def answers(driver: Driver, number: int, wanted: str, *, times: int = IN_A_ROW) -> None:
    """See requests from every cluster be answered by a line that is the pattern `wanted`."""

    def verify(output: str) -> None:
        is_heard = re.search(f"^{wanted}$", output, re.MULTILINE)
        require(is_heard, f"port {number} was answered with {output!r}, not {wanted!r}")

    for member in driver.members:
        await driver.says(member, request_to(driver, number), verify, times=times)


async def pod_said(driver: Driver, member: Member) -> str:
    """What the one pod of `hello` in this cluster answers, as a pattern."""
    (address,) = await driver.endpoints(member, ("IPv4",), 1)
    return f"pod ip {re.escape(address)}"
