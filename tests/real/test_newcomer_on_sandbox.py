"""The newcomer's story on the sandbox, from its start to Ctrl-C, told with kubectl and dig."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from tests.lab.mcs import eventually
from tests.lab.sandbox import Sandbox, running_sandbox
from tests.real.sandbox_manifests import shopfront


async def test_the_story_of_a_newcomer_from_the_start_to_control_c(tmp_path: Path) -> None:
    async with running_sandbox(tmp_path) as sandbox:
        kubectl = sandbox.kubectl
        await sandbox.answers("west", "db.shop", 6)

        await sandbox.create_namespace("demo")
        for words in (["created"] * 3, ["unchanged"] * 3):
            said = await kubectl("east", "apply", "-n", "demo", "-f", "-", stdin=shopfront())
            assert [line.split()[-1] for line in said.splitlines()] == words
        await sandbox.answers("west", "shopfront.demo", 1)
        assert await sandbox.addresses("west", "shopfront.demo") == [
            await sandbox.clusterset_ip("west", "demo", "shopfront")
        ]

        scaled = await kubectl("east", "scale", "deployment", "shopfront", "-n", "demo", "--replicas=5")
        assert scaled == "deployment.apps/shopfront scaled\n"
        before = await sandbox.mirrors("west", "demo", "shopfront", "east", 5)
        await kubectl("east", "rollout", "restart", "deployment/shopfront", "-n", "demo")
        status = await kubectl("east", "rollout", "status", "deployment/shopfront", "-n", "demo")
        assert status.endswith('deployment "shopfront" successfully rolled out\n')

        async def all_are_new() -> bool:
            now = await sandbox.mirrored("west", "demo", "shopfront", "east")
            return len(now) == 5 and not set(now) & set(before)

        await eventually("west mirrors the new pods and none of the old", all_are_new)

        await kubectl("east", "scale", "statefulset", "db", "-n", "shop", "--replicas=5")
        await sandbox.answers("west", "db.shop", 8)
        await sandbox.answers("west", "db-4.east.db.shop", 1)
        await kubectl("east", "scale", "statefulset", "db", "-n", "shop", "--replicas=1")
        await sandbox.answers("west", "db.shop", 4)
        assert await sandbox.is_absent("west", "db-1.east.db.shop")

        await kubectl("east", "delete", "svcex", "db", "-n", "shop")
        await sandbox.vanishes("south", "db-0.east.db.shop")
        assert len(await sandbox.addresses("south", "db.shop")) == 3, "the members of west stay"
        await kubectl("west", "delete", "svcex", "db", "-n", "shop")
        await sandbox.vanishes("south", "db.shop")
        await kubectl("east", "delete", "namespace", "demo")
        await sandbox.vanishes("west", "shopfront.demo")

        async def are_told() -> bool:
            return "db.shop.svc.clusterset.local A answers NXDOMAIN" in sandbox.printed()

        await eventually("the sandbox shows what became of the name", are_told)
        for told in (
            "east: export demo/shopfront exported",
            "import demo/shopfront has endpoints: 5 of east",
            "east: export shop/db is gone",
        ):
            assert told in sandbox.printed()
        await ends_cleanly(sandbox, signal.SIGINT)


async def ends_cleanly(sandbox: Sandbox, number: signal.Signals) -> None:
    pid = sandbox.process.pid
    assert pid is not None
    os.kill(pid, number)

    async def has_ended() -> bool:
        return sandbox.process.pid is None

    await eventually("the sandbox ends", has_ended, seconds=5)
    assert "Traceback" not in sandbox.printed()
    assert not sandbox.kubeconfig.parent.exists()
    for port in sandbox.dns_ports.values():
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(socket.AF_INET, kind) as free:
                free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                free.bind(("127.0.0.1", port))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
async def test_a_stopped_service_or_a_closed_terminal_ends_the_sandbox_as_well(
    number: signal.Signals, tmp_path: Path
) -> None:
    # Tests that run under nohup ignore SIGHUP, and so would the sandbox that they start.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        async with running_sandbox(tmp_path) as sandbox:
            await ends_cleanly(sandbox, number)
    finally:
        signal.signal(number, before)
