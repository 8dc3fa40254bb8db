"""Fixtures of the MCS conformance specifications, and the reports that the official suite would write of them.

All specifications are judged with one controller for both clusters, the hub shape, and again with one in each,
the mesh shape. There is a report of each, build/conformance/report.yaml and report-mesh.yaml of the project. It
covers every specification that was collected; one that was not run counts as skipped.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast

import aiohttp
import pytest
import pytest_asyncio

from tests.lab.cluster import DnsMode
from tests.lab.clusters import Clusters
from tests.lab.clusterset import Clusterset, Shape
from tests.lab.control_planes import ADMIN
from tests.real.conformance import report
from tests.real.conformance.api import Api
from tests.real.conformance.suite import Driver, Member, new_namespace_name

_FOLDER = Path(__file__).parents[3] / "build" / "conformance"
_REPORTS: Mapping[Shape, str] = {"hub": "report.yaml", "mesh": "report-mesh.yaml"}
# The plugin of CoreDNS, which users may keep, reads what the controllers write: the same in either shape.
_SHAPES_AND_ZONES = (
    ("hub", "mcs-dns"),
    pytest.param("hub", "core-dns", marks=pytest.mark.core_dns),
    ("mesh", "mcs-dns"),
)
_Outcomes = dict[Shape, dict[str, report.Specification]]
_outcomes = pytest.StashKey[_Outcomes]()


def pytest_configure(config: pytest.Config) -> None:
    outcomes: _Outcomes = {shape: {} for shape in _REPORTS}
    config.stash[_outcomes] = outcomes


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    is_specification = any(mark.name == "spec" for mark in metafunc.definition.iter_markers())
    if "zone" in metafunc.fixturenames:
        metafunc.parametrize(("shape", "zone"), _SHAPES_AND_ZONES, indirect=True, scope="session")
    elif "shape" in metafunc.fixturenames:
        shapes = tuple(_REPORTS) if is_specification else ("hub",)
        metafunc.parametrize("shape", shapes, indirect=True, scope="session")


def pytest_itemcollected(item: pytest.Item) -> None:
    # What other answerers of the zone say is tested, and not reported: the implementation is ours.
    is_other = "core_dns" in item.keywords
    if item.get_closest_marker("spec") is not None and not is_other:
        item.config.stash[_outcomes][_shape_of(item)][item.nodeid] = _specification(item)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The last shape stays until the end of the run, and nobody else is to meet it.
    items.sort(key=lambda item: item.path.is_relative_to(Path(__file__).parent))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    result = yield
    for found in (each[item.nodeid] for each in item.config.stash[_outcomes].values() if item.nodeid in each):
        error = call.excinfo.value if call.excinfo is not None and not result.skipped else None
        if error is not None:
            found.outcome = report.verdict(error)
        elif call.when == "call" and result.passed:
            found.outcome = report.Passed()
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    for shape, found in session.config.stash[_outcomes].items():
        if any(each.outcome is not None for each in found.values()):
            _FOLDER.mkdir(parents=True, exist_ok=True)
            (_FOLDER / _REPORTS[shape]).write_text(report.as_yaml(list(found.values())))


def _shape_of(item: pytest.Item) -> Shape:
    assert isinstance(item, pytest.Function)
    return cast("Shape", item.callspec.params["shape"])


def _specification(item: pytest.Item) -> report.Specification:
    spec, labels = item.get_closest_marker("spec"), item.get_closest_marker("labels")
    assert spec is not None
    assert labels is not None, f"{item.nodeid} has no labels"
    sentence, group = spec.args
    return report.Specification(
        text=sentence.partition(": ")[2], group=group, labels=labels.args, ref=labels.kwargs["ref"]
    )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shape(clusterset: Clusterset, request: pytest.FixtureRequest) -> AsyncIterator[Shape]:
    """The shape of the controllers; the clusters and what is in them stay the same ones."""
    await clusterset.change_shape(request.param)
    yield clusterset.shape
    await clusterset.change_shape("hub")


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


@pytest_asyncio.fixture(scope="session", loop_scope="session")
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
async def driver(members: tuple[Member, ...], shape: Shape) -> AsyncIterator[Driver]:
    """A namespace of this specification alone; `set_up` begins it."""
    made = Driver(members, new_namespace_name())
    yield made
    await made.tear_down()
