"""Clusters that are registered by their kubeconfigs: in labelled Secrets, and in files."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from structlog.testing import capture_logs

from mcs.model.resources import SECRETS
from mcs.sandbox.http.server import kubeconfig
from mcs.testing.virtual_time import run_virtual
from tests.e2e.registry_world import READY, SYSTEM, Registry, running_registry, settled


async def write_kubeconfig(registry: Registry, name: str, text: str, label: str = "true") -> None:
    """A Secret as other tools write it, with a kubeconfig in `value`."""
    await registry.host.apply(
        SECRETS,
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "namespace": SYSTEM,
                "name": name,
                "labels": {"mcs-controller/kubeconfig": label} if label else {},
            },
            "data": {"value": base64.b64encode(text.encode()).decode()},
        },
    )


def of(registry: Registry, name: str, **user: Any) -> str:
    """The kubeconfig of a member, with another user if there is one."""
    document = yaml.safe_load(kubeconfig([registry.world.servers[name]]))
    if user:
        document["users"][0]["user"] = user
    return yaml.safe_dump(document)


def test_a_labelled_secret_with_a_kubeconfig_becomes_a_registration(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry, registry.controlled() as process:
            await registry.export("a", "web")
            await write_kubeconfig(registry, "a-kubeconfig", of(registry, "a"))
            await write_kubeconfig(registry, "b", of(registry, "b"))
            await write_kubeconfig(registry, "unlabelled", of(registry, "b"), label="")
            await settled()
            assert sorted(process.fleet.members) == ["a", "b"]
            assert await registry.conditions("a") == await registry.conditions("b") == READY
            assert await registry.sources("b") == {"web": ["a"]}
            # That the kubeconfig is gone is no leave, and no reason to let go what was registered.
            await registry.host.delete(SECRETS, SYSTEM, "a-kubeconfig")
            await settled()
            assert await registry.sources("b") == {"web": ["a"]}
            assert (await registry.conditions("a"))["Refused"] == ("True", "ConfigurationMalformed")
            writes = registry.world.writes()
            await settled(300)
            assert registry.world.writes() == writes

    run_virtual(run())


def test_a_token_that_rotates_in_a_kubeconfig_is_used(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry, registry.controlled():
            server = registry.world.servers["a"]
            server.tokens["first"] = "a-admin"
            await write_kubeconfig(registry, "a", of(registry, "a", token="first"))
            await write_kubeconfig(registry, "b", of(registry, "b"))
            await settled()
            lists = server.requests["list", "services"]
            del server.tokens["first"]
            server.tokens["second"] = "a-admin"
            await write_kubeconfig(registry, "a", of(registry, "a", token="second"))
            await registry.export("b", "web")
            await settled(90)
            assert await registry.sources("a") == {"web": ["b"]}
            assert server.requests["list", "services"] == lists
            assert await registry.conditions("a") == READY

    run_virtual(run())


@pytest.mark.parametrize(
    ("user", "problem"),
    [
        (
            {"exec": {"command": "steal", "apiVersion": "client.authentication.k8s.io/v1"}},
            "--allow-exec steal",
        ),
        ({"tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}, "tokenFile names a file"),
    ],
)
def test_a_kubeconfig_that_would_run_programs_or_read_files_is_refused_and_hurts_no_other(
    tmp_path: Path, user: dict[str, Any], problem: str
) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry:
            with capture_logs() as logs:
                async with registry.controlled() as process:
                    await write_kubeconfig(registry, "a", of(registry, "a", **user))
                    await write_kubeconfig(registry, "b", of(registry, "b"))
                    await settled(60)
                    assert sorted(process.fleet.members) == ["b"]
            assert await registry.registration("a") is None
            assert ("a", "KubeconfigRefused") in await registry.events()
            refused = [each["problem"] for each in logs if each["event"] == "kubeconfig refused"]
            assert len(refused) == 1
            assert problem in refused[0]

    run_virtual(run())


def test_what_somebody_else_registered_under_the_name_is_not_touched(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_registry(["a", "b"], tmp_path) as registry, registry.controlled():
            await registry.register("a")
            await settled()
            before = (await registry.registration("a") or {})["spec"]
            with capture_logs() as logs:
                await write_kubeconfig(registry, "a-kubeconfig", of(registry, "b"))
                await settled(60)
            assert (await registry.registration("a") or {})["spec"] == before
            assert [each for each in logs if each["log_level"] in ("warning", "error")] == []

    run_virtual(run())


def test_kubeconfigs_of_a_folder_are_registered_also_those_that_come_later(tmp_path: Path) -> None:
    async def run() -> None:
        folder = tmp_path / "kubeconfigs"
        folder.mkdir()
        async with running_registry(["a", "b"], tmp_path) as registry:
            token = tmp_path / "token"
            token.write_text(registry.world.servers["a"].token)
            (folder / "a.yaml").write_text(of(registry, "a", tokenFile=str(token)))
            (folder / "broken.yaml").write_text("[")
            async with registry.controlled(kubeconfigs=(folder,)) as process:
                await registry.export("a", "web")
                await settled()
                assert sorted(process.fleet.members) == ["a"]
                (folder / "b.kubeconfig").write_text(of(registry, "b"))
                await settled(30)
                assert sorted(process.fleet.members) == ["a", "b"]
                assert await registry.conditions("a") == await registry.conditions("b") == READY
                assert await registry.sources("b") == {"web": ["a"]}
                writes = registry.world.writes()
                await settled(120)
                assert registry.world.writes() == writes
            async with registry.controlled(kubeconfigs=(folder,)):
                await settled(60)
                assert registry.world.writes() == writes

    with capture_logs() as logs:
        run_virtual(run())
    refused = [each["problem"] for each in logs if each["event"] == "kubeconfig refused"]
    assert len(refused) == 2, "once by each of two controllers"
    assert "broken.yaml" in refused[0]
