"""Members that are registered, and not given on the command line: they come, go, fail and are found again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from mcs.model.names import ClusterId
from mcs.model.resources import SERVICE_IMPORTS
from mcs.testing.virtual_time import run_virtual
from tests.e2e.registry_world import READY, SHOP, Registry, joined, running_registry, settled
from tests.e2e.scraping import fetched, scraped


def test_members_join_at_run_time_and_what_they_export_is_imported_everywhere(tmp_path: Path) -> None:
    """E7: a cluster that joins later gets all imports, and no source is touched for it."""

    async def run() -> None:
        async with running_registry(["a", "b", "c"], tmp_path) as registry, registry.controlled() as process:
            assert (await fetched(process, "/readyz")).status == 503
            await registry.export("a", "web")
            await joined(registry, "a", "b")
            assert await registry.sources("b") == {"web": ["a"]}
            assert await registry.sources("c") == {}
            assert await registry.conditions("a") == await registry.conditions("b") == READY
            status = (await registry.registration("a") or {})["status"]
            assert status["kubernetesVersion"].startswith("v1.")
            writes = registry.world.writes()
            await joined(registry, "c")
            assert await registry.sources("c") == {"web": ["a"]}
            after = registry.world.writes()
            assert [after[name] - writes[name] for name in ("a", "b")] == [0, 0]
            assert (await fetched(process, "/readyz")).status == 200

    run_virtual(run())


@pytest.mark.parametrize("is_gone", [False, True], ids=["while it runs", "when it is destroyed already"])
def test_what_came_from_a_member_that_leaves_goes_everywhere_and_nothing_else(
    tmp_path: Path, is_gone: bool
) -> None:
    """E4: also when the cluster does not exist any more; those that stay keep what is theirs."""

    async def run() -> None:
        async with running_registry(["a", "b", "c"], tmp_path) as registry, registry.controlled() as process:
            await registry.export("b", "alone")
            for number, name in enumerate("abc"):
                await registry.export(name, "shared", f"10.{number}.0.1")
            await joined(registry, "a", "b", "c")
            assert await registry.sources("c") == {"alone": ["b"], "shared": ["a", "b", "c"]}
            if is_gone:
                await registry.world.servers["b"].stop()
                await settled()
            await registry.leave("b")
            await settled()
            for name in "ac":
                assert await registry.sources(name) == {"shared": ["a", "c"]}
            assert await registry.registration("b") is None
            assert sorted(process.fleet.members) == ["a", "c"]
            assert (await scraped(process)).value("mcs_orphaned_clusters") == 0

    run_virtual(run())


def test_a_member_that_has_left_may_join_again(tmp_path: Path) -> None:
    """E7 after E4: whoever comes back is as good as new, also as an exporter."""

    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry, registry.controlled() as process:
            for name in "ab":
                await registry.export(name, f"of-{name}")
            await joined(registry, "a", "b")
            both = {"of-a": ["a"], "of-b": ["b"]}
            for _ in range(3):
                await registry.leave("b")
                await settled()
                assert await registry.sources("a") == {"of-a": ["a"]}
                assert process.fleet.left == {ClusterId("b")}
                await joined(registry, "b")
                assert await registry.sources("a") == await registry.sources("b") == both
                assert process.fleet.left == set()

    run_virtual(run())


def test_a_leave_that_was_asked_for_while_no_controller_ran_is_done_by_the_next(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry:
            async with registry.controlled():
                await registry.export("b", "web")
                await joined(registry, "a", "b")
            await registry.leave("b")
            assert await registry.registration("b") is not None
            async with registry.controlled():
                await settled()
                assert await registry.sources("a") == {}
                assert await registry.registration("b") is None

    run_virtual(run())


def test_a_leave_waits_for_a_member_that_cannot_be_reached(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b", "c"], tmp_path) as registry:
            async with registry.controlled():
                await registry.export("b", "web")
                await joined(registry, "a", "b", "c")
            await registry.world.servers["c"].stop()
            await registry.leave("b")
            async with registry.controlled():
                await settled(60)
                assert await registry.sources("a") == {}
                assert await registry.registration("b") is not None
                await registry.world.servers["c"].start()
                await settled(60)
                assert await registry.sources("c") == {}
                assert await registry.registration("b") is None

    run_virtual(run())


@pytest.mark.parametrize("is_running", [True, False], ids=["under the controller", "before it starts again"])
def test_an_empty_registry_deletes_nothing_and_the_orphans_are_told_of(
    tmp_path: Path, is_running: bool
) -> None:
    async def run() -> None:
        async with running_registry(["a", "b", "c"], tmp_path) as registry:
            async with registry.controlled(["c"]) as process:
                await registry.export("a", "web")
                await joined(registry, "a", "b")
                before = await registry.sources("c")
                if is_running:
                    await registry.lose("a")
                    await registry.lose("b")
                    await settled()
                    assert process.registry is not None
                    assert sorted(process.registry.orphans) == ["a", "b"]
                    assert process.registry.healths == {}
                    assert await registry.sources("b") == {"web": ["a"]}
                    # Whoever was there is worked with until the controller ends.
                    await registry.export("a", "more")
                    await settled()
                    assert await registry.sources("b") == {"more": ["a"], "web": ["a"]}
                    return
                await registry.lose("a")
                await registry.lose("b")
            await registry.world.order("host", "compact")
            with capture_logs() as logs:
                async with registry.controlled(["c"]) as process:
                    await settled(60)
                    assert list(process.fleet.members) == ["c"]
                    assert await registry.sources("c") == before == {"web": ["a"]}
                    assert (await scraped(process)).value("mcs_orphaned_clusters", cluster="a") == 1
            assert [each["cluster"] for each in logs if "orphan" in each["event"]] == ["a"]
            assert ("a", "ClusterOrphaned") in await registry.events()
            deletes = {
                name: sum(count for (verb, _), count in server.writes().items() if verb.startswith("delete"))
                for name, server in registry.world.servers.items()
            }
            assert set(deletes.values()) == {0}

    run_virtual(run())


def test_a_restored_registry_goes_on_with_the_members_it_had(tmp_path: Path) -> None:
    """A backup that lacks registrations for a while opens no window in which names go away."""

    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry, registry.controlled() as process:
            await registry.export("a", "web")
            await joined(registry, "a", "b")
            watches = {name: registry.world.servers[name].requests["watch", "services"] for name in "ab"}
            await registry.lose("a")
            await settled(60)
            assert process.registry is not None
            assert process.registry.orphans == {ClusterId("a")}
            await joined(registry, "a")
            assert process.registry.orphans == set()
            assert await registry.sources("b") == {"web": ["a"]}
            assert await registry.conditions("a") == READY
            after = {name: registry.world.servers[name].requests["watch", "services"] for name in "ab"}
            assert after == watches

    run_virtual(run())


def test_a_token_that_rotates_ends_no_watch(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry, registry.controlled() as process:
            await registry.export("a", "web")
            await joined(registry, "a", "b")
            server, member = registry.world.servers["a"], process.fleet.members[ClusterId("a")]
            lists = server.requests["list", "services"]
            tasks = sorted(
                each.get_name() for each in asyncio.all_tasks() if each.get_name().startswith("a/")
            )
            for number in range(20):
                server.tokens.clear()
                server.tokens[f"token-{number}"] = "a-admin"
                await registry.write_token("a", f"token-{number}")
                await settled(12)
                await registry.export("b", f"of-{number}")
            await settled()
            assert server.requests["list", "services"] == lists
            assert (
                sorted(each.get_name() for each in asyncio.all_tasks() if each.get_name().startswith("a/"))
                == tasks
            )
            assert process.fleet.members[ClusterId("a")] is member
            imported = {each["metadata"]["name"] for each in await registry_imports(registry, "a")}
            assert imported == {"web", *(f"of-{number}" for number in range(20))}
            assert await registry.conditions("a") == READY

    run_virtual(run())


async def registry_imports(registry: Registry, cluster: str) -> list[dict[str, dict[str, str]]]:
    server = registry.world.servers[cluster]
    kind = server.api.registry.find(SERVICE_IMPORTS.group, SERVICE_IMPORTS.version, SERVICE_IMPORTS.plural)
    assert kind is not None
    return list(server.api.list(kind, SHOP))


def test_an_address_that_rotates_keeps_what_was_seen(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry, registry.controlled() as process:
            await registry.export("a", "web")
            await joined(registry, "a", "b")
            server, member = registry.world.servers["a"], process.fleet.members[ClusterId("a")]
            await server.stop()
            server.port = 0
            await server.start()
            await settled(60)
            assert await registry.conditions("a") == {"Offline": ("True", "ClusterNotReachable")}
            assert await registry.sources("b") == {"web": ["a"]}
            await registry.register("a")
            await settled()
            assert await registry.conditions("a") == READY
            assert process.fleet.members[ClusterId("a")] is member
            assert await registry.sources("b") == {"web": ["a"]}

    run_virtual(run())


def test_a_hundred_rotations_of_the_address_leave_no_task_and_no_connection(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry, registry.controlled():
            await registry.export("a", "web")
            await joined(registry, "a", "b")
            url = registry.world.servers["a"].url
            port = url.rpartition(":")[2]
            before = sorted(each.get_name() for each in asyncio.all_tasks() if "/" in each.get_name())
            sockets = open_sockets()
            for number in range(100):
                host = "localhost" if number % 2 == 0 else "127.0.0.1"
                await registry.register("a", apiEndpoint=f"https://{host}:{port}")
                await settled(2)
            await settled()
            assert sorted(each.get_name() for each in asyncio.all_tasks() if "/" in each.get_name()) == before
            assert open_sockets() - sockets < 20, "each rotation opens more than six"
            assert await registry.conditions("a") == READY

    run_virtual(run())


def open_sockets() -> int:
    """Sockets of this process, those of the clusters in it included."""
    return sum(1 for each in Path("/proc/self/fd").iterdir() if is_socket(each))


def is_socket(descriptor: Path) -> bool:
    try:
        return str(descriptor.readlink()).startswith("socket:")
    except OSError:
        return False


def test_duplicates_are_refused_and_hurt_nobody(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b", "c"], tmp_path) as registry, registry.controlled() as process:
            await registry.export("a", "web")
            await joined(registry, "a", "b")
            # The same id for another cluster, and another id for the same cluster.
            await registry.register("thief", of="c", annotations={"mcs-controller/cluster-id": "a"})
            await registry.register("again", of="b")
            await settled()
            assert await registry.conditions("thief") == {"Refused": ("True", "DuplicateCluster")}
            assert (await registry.conditions("again"))["Refused"] == ("True", "NotAdmitted")
            assert await registry.conditions("a") == await registry.conditions("b") == READY
            assert await registry.sources("b") == {"web": ["a"]}
            assert ("thief", "DuplicateCluster") in await registry.events()
            refused = (await scraped(process)).value("mcs_refused_registrations", registration="thief")
            assert refused == 1
            await registry.leave("thief")
            await registry.leave("again")
            await settled()
            assert [await registry.registration(name) for name in ("thief", "again")] == [None, None]
            assert await registry.sources("b") == {"web": ["a"]}

    run_virtual(run())


def test_one_cluster_keeps_its_first_id_over_a_restart(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry:
            async with registry.controlled():
                await joined(registry, "a", "b")
            # In the order of names it would come first, and it is not known yet to be the same cluster.
            await registry.register("again", of="b")
            for _ in range(3):
                async with registry.controlled():
                    await settled()
                    assert await registry.conditions("b") == READY
                    assert (await registry.conditions("again"))["Refused"] == ("True", "NotAdmitted")

    run_virtual(run())


def test_one_malformed_registration_hurts_no_other(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b", "c"], tmp_path) as registry, registry.controlled():
            await registry.export("a", "web")
            await registry.register("c", proxyURL="ftp://x")
            await joined(registry, "a", "b")
            assert await registry.conditions("c") == {
                "ConfigMalformed": ("True", "ClusterConfigMalformed"),
                "Refused": ("True", "ConfigurationMalformed"),
            }
            assert await registry.sources("b") == {"web": ["a"]}
            await registry.register("c", proxyURL=None)
            await settled()
            assert await registry.conditions("c") == READY
            assert await registry.sources("c") == {"web": ["a"]}
            # A member that is registered wrongly later goes on as it did.
            await registry.register("a", apiEndpoint="::::")
            await registry.export("a", "more")
            await settled()
            assert await registry.sources("c") == {"more": ["a"], "web": ["a"]}
            assert (await registry.conditions("a"))["Refused"] == ("True", "ConfigurationMalformed")
            assert (await registry.conditions("a"))["Ready"] == ("True", "ClusterReady")

    run_virtual(run())
