"""Fixtures of the MCS conformance specifications, and the report that the official suite would write of them.

The report covers every specification that was collected; one that was not run counts as skipped. It goes to
build/conformance/report.yaml of the project.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Generator
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.lab.cluster import DnsMode
from tests.lab.clusters import Clusters
from tests.lab.control_planes import ADMIN
from tests.real.conformance import report
from tests.real.conformance.api import Api
from tests.real.conformance.suite import Driver, Member, new_namespace_name

_REPORT = Path(__file__).parents[3] / "build" / "conformance" / "report.yaml"
_CORE_DNS = pytest.param("core-dns", marks=pytest.mark.core_dns)
_outcomes = pytest.StashKey[dict[str, report.Specification]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_outcomes] = {}


def pytest_itemcollected(item: pytest.Item) -> None:
    # What other answerers of the zone say is tested, and not reported: the implementation is ours.
    is_other = "core_dns" in item.keywords
    if item.get_closest_marker("spec") is not None and not is_other:
        item.config.stash[_outcomes][item.nodeid] = _specification(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    result = yield
    found = item.config.stash[_outcomes].get(item.nodeid)
    if found is not None:
        error = call.excinfo.value if call.excinfo is not None and not result.skipped else None
        if error is not None:
            found.outcome = report.verdict(error)
        elif call.when == "call" and result.passed:
            found.outcome = report.Passed()
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    found = list(session.config.stash[_outcomes].values())
    if any(each.outcome is not None for each in found):
        _REPORT.parent.mkdir(parents=True, exist_ok=True)
        _REPORT.write_text(report.as_yaml(found))


def _specification(item: pytest.Item) -> report.Specification:
    spec, labels = item.get_closest_marker("spec"), item.get_closest_marker("labels")
    assert spec is not None
    assert labels is not None, f"{item.nodeid} has no labels"
    sentence, group = spec.args
    return report.Specification(
        text=sentence.partition(": ")[2], group=group, labels=labels.args, ref=labels.kwargs["ref"]
    )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def members(clusters: Clusters) -> AsyncIterator[tuple[Member, ...]]:
    """The two whole clusters with our programs, the exporting one first."""
    async with AsyncExitStack() as stack:
        found = []
        for cluster in clusters:
            trusted = ssl.create_default_context(cafile=str(clusters.folder / "ca.crt"))
            session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted))
            await stack.enter_async_context(session)
            found.append(Member(cluster, Api(session, cluster.url, cluster.tokens[ADMIN])))
        yield tuple(found)


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["mcs-dns", _CORE_DNS])
async def zone(clusters: Clusters, request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """clusterset.local answered by `mcs dns`, and then by the plugin of CoreDNS, which users may keep."""
    if request.param == "mcs-dns":
        yield
        return
    try:
        await _answer_with(clusters, "multicluster")
        yield
    finally:
        await _answer_with(clusters, "forward")


async def _answer_with(clusters: Clusters, dns: DnsMode) -> None:
    async with asyncio.TaskGroup() as starts:
        for cluster in clusters:
            starts.create_task(cluster.answer_clusterset_with(dns), name=f"CoreDNS of {cluster.name}")


@pytest_asyncio.fixture(loop_scope="session")
async def driver(members: tuple[Member, ...]) -> AsyncIterator[Driver]:
    """A namespace of this specification alone; `set_up` begins it."""
    made = Driver(members, new_namespace_name())
    yield made
    await made.tear_down()
