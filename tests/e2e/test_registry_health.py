"""How registered members are doing: one that fails hurts no other, and what is told of it does not change by itself."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from mcs.model.names import ClusterId
from mcs.model.resources import KUBEFED_CLUSTERS, NAMESPACES
from mcs.testing.virtual_time import run_virtual
from tests.e2e.registry_world import READY, SYSTEM, joined, running_registry, settled
from tests.e2e.scraping import scraped


@pytest.mark.parametrize("what", ["status", "annotation"])
def test_what_says_nothing_of_how_a_cluster_is_reached_restarts_nothing(tmp_path: Path, what: str) -> None:
    """E9: also when it changes a hundred times."""

    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry, registry.controlled() as process:
            await joined(registry, "a", "b")
            before = {name: dict(registry.world.servers[name].requests) for name in "ab"}
            member = process.fleet.members[ClusterId("a")]
            for number in range(100):
                if what == "status":
                    await registry.write_status("a", {"kubernetesVersion": f"v1.{number}.0"})
                else:
                    noted = {"metadata": {"annotations": {"example.com/seen": str(number)}}}
                    await registry.host.merge(KUBEFED_CLUSTERS, SYSTEM, "a", noted)
            await settled(1)
            after = {name: dict(registry.world.servers[name].requests) for name in "ab"}
            for name in "ab":
                for verb in ("list", "watch"):
                    changed = {
                        key: count - before[name].get(key, 0)
                        for key, count in after[name].items()
                        if key[0] == verb and count != before[name].get(key, 0)
                    }
                    assert changed == {}
            assert process.fleet.members[ClusterId("a")] is member

    run_virtual(run())


def test_the_steady_state_writes_no_status(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry, registry.controlled():
            await joined(registry, "a", "b")
            first = await registry.registration("a")
            writes = registry.world.writes()
            await settled(600)
            assert registry.world.writes() == writes
            assert await registry.registration("a") == first

    run_virtual(run())


@pytest.mark.parametrize("silent", ["stopped", "black hole"])
def test_one_member_that_does_not_answer_delays_no_other(tmp_path: Path, silent: str) -> None:
    """E10: at the start as well as later."""

    async def run() -> None:
        async with running_registry(["a", "b", "c"], tmp_path) as registry:
            # Connections are accepted by the kernel, and nobody ever reads from them.
            hole = socket.create_server(("127.0.0.1", 0))
            port = hole.getsockname()[1]
            await registry.export("a", "web")
            for name in "ab":
                await registry.register(name)
            if silent == "stopped":
                await registry.world.servers["c"].stop()
                await registry.register("c")
            else:
                await registry.register("c", apiEndpoint=f"http://127.0.0.1:{port}")
            async with registry.controlled() as process:
                await settled(3)
                assert await registry.sources("b") == {"web": ["a"]}
                assert await registry.conditions("a") == READY
                await settled(60)
                assert await registry.conditions("c") == {"Offline": ("True", "ClusterNotReachable")}
                assert process.registry is not None
                health = process.registry.healths[ClusterId("c")]
                assert ("refused" if silent == "stopped" else "timeout") in health.reason
                assert health.unreachable_since
                await registry.export("a", "more")
                await settled(1)
                assert await registry.sources("b") == {"more": ["a"], "web": ["a"]}
            hole.close()

    run_virtual(run())


def test_since_when_a_member_is_unreachable_is_remembered_over_a_restart(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry:
            async with registry.controlled() as process:
                await joined(registry, "a", "b")
                await registry.world.servers["b"].stop()
                await settled(60)
                assert process.registry is not None
                since = process.registry.healths[ClusterId("b")].unreachable_since
                assert since
            async with registry.controlled() as process:
                await settled(60)
                assert process.registry is not None
                assert process.registry.healths[ClusterId("b")].unreachable_since == since

    run_virtual(run())


def test_a_cluster_built_anew_is_told_apart_from_the_one_thatjoined(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            running_registry(["a", "b", "new"], tmp_path) as registry,
            registry.controlled() as process,
        ):
            await registry.export("a", "web")
            await registry.export("new", "intruder")
            await joined(registry, "a", "b")
            recorded = (await registry.registration("a") or {})["metadata"]["annotations"][
                "mcs-controller/cluster-uid"
            ]
            kube_system = await registry.world.apis["a"].get(NAMESPACES, "", "kube-system")
            assert recorded == (kube_system or {})["metadata"]["uid"]
            await registry.register("a", of="new")
            await settled()
            assert (await registry.conditions("a"))["Refused"] == ("True", "NotAdmitted")
            assert await registry.sources("b") == {"web": ["a"]}
            assert str(process.fleet.members[ClusterId("a")].reachability) == "refused"
            await registry.register("a")
            await settled(60)
            assert await registry.conditions("a") == READY

    run_virtual(run())


def test_no_token_is_written_anywhere_but_into_its_secret(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry:
            with capture_logs() as logs:
                async with registry.controlled() as process:
                    await joined(registry, "a", "b")
                    await registry.write_token("b", "planted-and-refused")
                    await settled(60)
                    metrics = (await scraped(process)).text
            assert (await registry.conditions("b"))["Offline"] == ("True", "ClusterNotReachable")
            token = registry.world.servers["a"].token
            told = f"{logs}{metrics}{await registry.events()}{await registry.registration('b')}"
            assert "401" in told
            for planted in (token, "planted-and-refused"):
                assert planted not in told

    run_virtual(run())
