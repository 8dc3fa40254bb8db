"""Fixtures of the tests that need real Kubernetes programs, and the line that says how many of them ran.

The clusters live as long as the test run; tests keep apart by namespaces of their own.
"""

from __future__ import annotations

import asyncio
import functools
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from tests.lab.binaries import (
    API_TIER,
    DEFAULT_MINOR,
    MINOR,
    NODE_TIER,
    MissingBinaryError,
    built,
    official_crds,
)
from tests.lab.clusters import Clusters
from tests.lab.clusterset import Clusterset
from tests.lab.control_planes import ControlPlanes
from tests.lab.kubectl import Kubectl, kubectl_binary
from tests.lab.machine import unmet
from tests.lab.node_files import ProxyMode

_HERE = Path(__file__).parent
CRDS = _HERE.parents[1] / "crds"
CLUSTERS = ("east", "west")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker("real")
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(300))
            if pytest_asyncio.is_async_test(item):
                # The servers' processes belong to the loop that started them, so every test shares that loop.
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
    if MINOR != DEFAULT_MINOR:
        # Another minor may well answer otherwise, and what it answers was not recorded.
        left_out = [item for item in items if item.get_closest_marker("recorded") is not None]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


_collected = pytest.StashKey[int]()


def pytest_collection_finish(session: pytest.Session) -> None:
    session.config.stash[_collected] = sum("real" in item.keywords for item in session.items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    def tests_that(outcome: str) -> set[str]:
        reports = terminalreporter.stats.get(outcome, ())
        return {report.nodeid for report in reports if "real" in getattr(report, "keywords", ())}

    failed = tests_that("failed") | tests_that("error")
    passed, skipped = tests_that("passed") - failed, tests_that("skipped")
    terminalreporter.write_line(
        f"real tier: {config.stash.get(_collected, 0)} collected, {len(passed)} passed, "
        f"{len(skipped)} skipped, {len(failed)} failed"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    # Skipped here and not in a fixture, so that the report folds all of them into one line.
    missing = _missing_for_nodes() if item.get_closest_marker("nodes") else _missing_for_api_servers()
    if missing and os.environ.get("MCS_REQUIRE_REAL") == "1":
        pytest.exit(f"MCS_REQUIRE_REAL=1, but {missing}", returncode=1)
    if missing:
        pytest.skip(f"no real Kubernetes: {missing}")


@functools.cache
def _missing_for_api_servers() -> str:
    try:
        for program in API_TIER:
            if program != "kubectl":
                built(program)
        kubectl_binary()
        official_crds()
    except MissingBinaryError as missing:
        return str(missing)
    return ""


@functools.cache
def _missing_for_nodes() -> str:
    try:
        for program in NODE_TIER:
            built(program)
    except MissingBinaryError as missing:
        return str(missing)
    return unmet()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def planes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlanes]:
    """Real control planes `east` and `west`, without CRDs; they end with the test run."""
    async with ControlPlanes(CLUSTERS, folder=tmp_path_factory.mktemp("planes")) as running:
        yield running


@pytest.fixture(scope="session")
def kubectl_for(planes: ControlPlanes, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Kubectl]:
    """kubectl as the administrator of the named cluster."""
    home = tmp_path_factory.mktemp("home")
    binary = kubectl_binary()
    return lambda cluster: Kubectl(binary, planes[cluster].kubeconfig(), home)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def installed_crds(planes: ControlPlanes, kubectl_for: Callable[[str], Kubectl]) -> None:
    """Our CRDs, established in both clusters."""
    await _in_each_cluster(kubectl_for, "apply", "--server-side", "-f", str(CRDS))
    await _in_each_cluster(
        kubectl_for, "wait", "--for=condition=Established", "-f", str(CRDS), "--timeout=30s"
    )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def clusterset(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clusterset]:
    """Whole clusters `cluster1` and `cluster2`, with our controller and DNS behind CoreDNS."""
    async with _running_clusterset("iptables", tmp_path_factory) as running:
        yield running


@pytest.fixture(scope="session")
def clusters(clusterset: Clusterset) -> Clusters:
    """The clusters of `clusterset`."""
    return clusterset.clusters


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def clusterset_with(
    clusterset: Clusterset, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Callable[[ProxyMode], Awaitable[Clusterset]]]:
    """`clusterset`, or one like it whose kube-proxy works in another mode, which ends with the module."""
    async with AsyncExitStack() as stack:
        started: dict[ProxyMode, Clusterset] = {"iptables": clusterset}

        async def start(mode: ProxyMode) -> Clusterset:
            if mode not in started:
                started[mode] = await stack.enter_async_context(_running_clusterset(mode, tmp_path_factory))
            return started[mode]

        yield start


@asynccontextmanager
async def _running_clusterset(
    mode: ProxyMode, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Clusterset]:
    folder = tmp_path_factory.mktemp(f"clusters-{mode}")
    async with Clusters(proxy_mode=mode, folder=folder) as clusters, Clusterset(clusters) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(installed_crds: None, kubectl_for: Callable[[str], Kubectl]) -> AsyncIterator[str]:
    """A namespace of this test alone, in both clusters, emptied afterwards.

    It stays behind, empty: without kube-controller-manager nobody would finish its deletion.
    """
    name = f"test-{secrets.token_hex(4)}"
    await _in_each_cluster(kubectl_for, "create", "namespace", name)
    yield name
    kinds = "serviceexports,serviceimports,services,endpointslices,pods,configmaps"
    await _in_each_cluster(kubectl_for, "delete", kinds, "--all", "--namespace", name, "--wait=false")


async def _in_each_cluster(kubectl_for: Callable[[str], Kubectl], *arguments: str) -> None:
    async with asyncio.TaskGroup() as calls:
        for cluster in CLUSTERS:
            calls.create_task(kubectl_for(cluster)(*arguments), name=f"kubectl {arguments[0]} in {cluster}")
