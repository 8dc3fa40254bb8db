"""Stock kubectl on the sandbox: what it prints is what Kubernetes lets it print, and names follow what it does.

The first test is the newcomer's story from start to Ctrl-C; the others share one sandbox and keep apart by
namespaces of their own.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shlex
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.lab.mcs import eventually
from tests.lab.sandbox import Sandbox, running_sandbox
from tests.real.kubectl_reads import READS
from tests.real.sandbox_manifests import shopfront

CLUSTERS = ("east", "west", "south")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def sandbox(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sandbox]:
    """A sandbox that several tests share; its sample is left as it is."""
    async with running_sandbox(tmp_path_factory.mktemp("sandbox")) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(sandbox: Sandbox) -> AsyncIterator[str]:
    """A namespace of this test alone, in every cluster."""
    name = f"test-{secrets.token_hex(4)}"
    await create_namespace(sandbox, name)
    yield name
    for cluster in CLUSTERS:
        await sandbox.kubectl(cluster, "delete", "namespace", name, "--wait=false")


@pytest_asyncio.fixture(loop_scope="session")
async def shop(sandbox: Sandbox, namespace: str) -> str:
    """A namespace with two ready shopfronts in east, exported, and answered in west."""
    await sandbox.kubectl("east", "apply", "-n", namespace, "-f", "-", stdin=shopfront())
    await sandbox.kubectl("east", "rollout", "status", "deployment/shopfront", "-n", namespace)
    await sandbox.answers("west", f"shopfront.{namespace}", 1)
    return namespace


async def create_namespace(sandbox: Sandbox, name: str) -> None:
    for cluster in CLUSTERS:
        manifest = await sandbox.kubectl(
            cluster, "create", "namespace", name, "--dry-run=client", "-o", "yaml"
        )
        assert (
            await sandbox.kubectl(cluster, "apply", "-f", "-", stdin=manifest)
            == f"namespace/{name} created\n"
        )


async def clusterset_ip(sandbox: Sandbox, cluster: str, namespace: str) -> str:
    return await sandbox.kubectl(
        cluster, "get", "svcim", "shopfront", "-n", namespace, "-o", "jsonpath={.spec.ips[0]}"
    )


async def mirrors(sandbox: Sandbox, namespace: str, service: str, source: str, count: int) -> list[str]:
    """The addresses that west mirrors, once there are so many of them."""

    async def has_count() -> bool:
        return len(await sandbox.mirrored("west", namespace, service, source)) == count

    await eventually(f"west mirrors {count} of {service}", has_count)
    return await sandbox.mirrored("west", namespace, service, source)


async def test_the_story_of_a_newcomer_from_the_start_to_control_c(tmp_path: Path) -> None:
    async with running_sandbox(tmp_path) as sandbox:
        kubectl = sandbox.kubectl
        await sandbox.answers("west", "db.shop", 6)

        await create_namespace(sandbox, "demo")
        for words in (["created"] * 3, ["unchanged"] * 3):
            said = await kubectl("east", "apply", "-n", "demo", "-f", "-", stdin=shopfront())
            assert [line.split()[-1] for line in said.splitlines()] == words
        await sandbox.answers("west", "shopfront.demo", 1)
        assert await sandbox.addresses("west", "shopfront.demo") == [
            await clusterset_ip(sandbox, "west", "demo")
        ]

        scaled = await kubectl("east", "scale", "deployment", "shopfront", "-n", "demo", "--replicas=5")
        assert scaled == "deployment.apps/shopfront scaled\n"
        before = await mirrors(sandbox, "demo", "shopfront", "east", 5)
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


async def test_sigterm_ends_the_sandbox_as_well(tmp_path: Path) -> None:
    async with running_sandbox(tmp_path) as sandbox:
        await ends_cleanly(sandbox, signal.SIGTERM)


@pytest.mark.parametrize("command", READS)
async def test_kubectl_reads_as_it_reads_any_cluster(sandbox: Sandbox, command: str) -> None:
    output = await sandbox.kubectl("west", *shlex.split(command))
    for expected in READS[command]:
        assert re.search(expected, output, re.MULTILINE), f"{expected} in:\n{output}"


async def test_client_side_apply_says_what_changed(sandbox: Sandbox, namespace: str) -> None:
    said = [
        await sandbox.kubectl("east", "apply", "-n", namespace, "-f", "-", stdin=manifest)
        for manifest in (shopfront(), shopfront(), shopfront(port=81))
    ]
    words = [[line.split()[-1] for line in lines.splitlines()] for lines in said]
    assert words == [["created"] * 3, ["unchanged"] * 3, ["unchanged", "configured", "unchanged"]]
    await answers_port(sandbox, namespace, "81")


async def answers_port(sandbox: Sandbox, namespace: str, port: str) -> None:
    name = f"_http._tcp.shopfront.{namespace}"

    async def has_port() -> bool:
        return port in await sandbox.addresses("west", name, "SRV")

    await eventually(f"the SRV record names port {port}", has_port)


async def test_server_side_apply_repeats_and_meets_conflicts(sandbox: Sandbox, namespace: str) -> None:
    apply = ("apply", "--server-side", "-n", namespace, "-f", "-")
    for manifest in (shopfront(), shopfront(), shopfront(port=81)):
        said = await sandbox.kubectl("east", *apply, stdin=manifest)
        assert [line.split()[-1] for line in said.splitlines()] == ["serverside-applied"] * 3
    await answers_port(sandbox, namespace, "81")
    other = await sandbox.kubectl_said(
        "east", *apply, "--field-manager=other", stdin=shopfront(replicas=4, port=81)
    )
    assert other.status == 1
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas' in other.errors
    taken = await sandbox.kubectl(
        "east", *apply, "--field-manager=other", "--force-conflicts", stdin=shopfront(replicas=4, port=81)
    )
    assert taken.splitlines()[0] == "deployment.apps/shopfront serverside-applied"
    await mirrors(sandbox, namespace, "shopfront", "east", 4)


async def test_server_side_apply_takes_over_what_was_applied_by_the_client(
    sandbox: Sandbox, shop: str
) -> None:
    await sandbox.kubectl(
        "east", "apply", "--server-side", "-n", shop, "-f", "-", stdin=shopfront(replicas=3)
    )
    managers = await sandbox.kubectl(
        "east",
        "get",
        "deploy",
        "shopfront",
        "-n",
        shop,
        "-o",
        "jsonpath={.metadata.managedFields[*].manager}",
    )
    assert "kubectl-client-side-apply" not in managers.split()
    await mirrors(sandbox, shop, "shopfront", "east", 3)


@pytest.mark.parametrize("way", [(), ("--server-side",)], ids=["client-side", "server-side"])
async def test_diff_shows_a_change_and_makes_none(
    sandbox: Sandbox, namespace: str, way: tuple[str, ...]
) -> None:
    diff = ("diff", *way, "-n", namespace, "-f", "-")
    await sandbox.kubectl("east", "apply", *way, "-n", namespace, "-f", "-", stdin=shopfront())
    await sandbox.kubectl("east", "rollout", "status", "deployment/shopfront", "-n", namespace)
    assert await sandbox.kubectl("east", *diff, stdin=shopfront()) == ""
    changed = await sandbox.kubectl_said("east", *diff, stdin=shopfront(port=82))
    assert (changed.status, changed.errors) == (1, "")
    assert "-    port: 80\n+    port: 82\n" in changed.output
    assert await sandbox.kubectl("east", *diff, stdin=shopfront()) == ""


EDITS = {
    "patch": [
        "patch",
        "svc",
        "shopfront",
        "-p",
        '{"spec": {"ports": [{"port": 80, "$patch": "delete"}, {"name": "http", "port": 83}]}}',
    ],
    "json patch": [
        "patch",
        "svc",
        "shopfront",
        "--type=json",
        "-p",
        '[{"op": "replace", "path": "/spec/ports/0/port", "value": 83}]',
    ],
    "merge patch": [
        "patch",
        "svc",
        "shopfront",
        "--type=merge",
        "-p",
        '{"spec": {"ports": [{"name": "http", "port": 83}]}}',
    ],
    "edit": ["edit", "svc", "shopfront"],
}


@pytest.mark.parametrize("way", EDITS)
async def test_a_port_changed_in_one_cluster_is_the_port_of_the_others(
    sandbox: Sandbox, shop: str, way: str
) -> None:
    editor = "sed -i 's/port: 80$/port: 83/'"
    said = await sandbox.kubectl("east", *EDITS[way], "-n", shop, editor=editor)
    assert said == f"service/shopfront {'edited' if way == 'edit' else 'patched'}\n"
    await answers_port(sandbox, shop, "83")


async def test_labels_and_annotations(sandbox: Sandbox, shop: str) -> None:
    async def said(*arguments: str) -> str:
        return (await sandbox.kubectl("east", *arguments, "-n", shop)).split()[-1]

    for kind in ("svcex", "svc", "deploy"):
        assert await said("label", kind, "shopfront", "tier=front") == "labeled"
        assert await said("annotate", kind, "shopfront", "note=seen") == "annotated"
        assert await said("annotate", kind, "shopfront", "note-") == "annotated"
    taken = await sandbox.kubectl_said("east", "label", "svcex", "shopfront", "tier=back", "-n", shop)
    assert taken.errors == "error: 'tier' already has a value (front), and --overwrite is false\n"
    found = await sandbox.kubectl(
        "east", "get", "svcex,svc,deploy", "-n", shop, "-l", "tier=front", "-o", "name"
    )
    assert [line.split("/")[0] for line in found.splitlines()] == [
        "serviceexport.multicluster.x-k8s.io",
        "service",
        "deployment.apps",
    ]


@pytest.mark.parametrize("what", ["svcex", "svcex shopfront"], ids=["list", "one object"])
async def test_a_watch_shows_a_change_and_a_deletion(sandbox: Sandbox, shop: str, what: str) -> None:
    watch = await sandbox.kubectl_process(
        "east", "get", *what.split(), "-n", shop, "--watch", "--output-watch-events", "-L", "tier"
    )
    assert watch.stdout is not None
    assert watch.stderr is not None
    try:
        async with asyncio.timeout(20):
            heading = await watch.stdout.readline()
            assert heading.split() == [b"EVENT", b"NAME", b"AGE", b"TIER"]
            assert (await watch.stdout.readline()).split()[:2] == [b"ADDED", b"shopfront"]
            await sandbox.kubectl("east", "label", "svcex", "shopfront", "tier=front", "-n", shop)
            assert (changed := (await watch.stdout.readline()).split())[:2] == [b"MODIFIED", b"shopfront"]
            assert changed[-1] == b"front"
            await sandbox.kubectl("east", "delete", "svcex", "shopfront", "-n", shop)
            assert (await watch.stdout.readline()).split()[:2] == [b"DELETED", b"shopfront"]
    finally:
        watch.terminate()
        _, errors = await watch.communicate()
    assert errors == b""
    await sandbox.vanishes("west", f"shopfront.{shop}")


async def test_a_watch_of_pods_follows_a_scaled_deployment(sandbox: Sandbox, shop: str) -> None:
    watch = await sandbox.kubectl_process(
        "east", "get", "deploy", "shopfront", "-n", shop, "-w", "--no-headers"
    )
    assert watch.stdout is not None
    try:
        async with asyncio.timeout(20):
            await watch.stdout.readline()
            await sandbox.kubectl("east", "scale", "deploy", "shopfront", "-n", shop, "--replicas=3")
            seen = b""
            while seen.split()[1:4] != [b"3/3", b"3", b"3"]:
                seen = await watch.stdout.readline()
    finally:
        watch.terminate()
        await watch.communicate()
    assert len(await mirrors(sandbox, shop, "shopfront", "east", 3)) == 3


async def test_scale_to_nothing_keeps_the_clusterset_ip(sandbox: Sandbox, shop: str) -> None:
    await sandbox.kubectl("east", "scale", "deploy/shopfront", "-n", shop, "--replicas=0")
    await mirrors(sandbox, shop, "shopfront", "east", 0)
    assert await sandbox.addresses("west", f"shopfront.{shop}") == [
        await clusterset_ip(sandbox, "west", shop)
    ]


async def test_what_is_deleted_with_its_manifest_is_gone_everywhere(sandbox: Sandbox, shop: str) -> None:
    deleted = await sandbox.kubectl("east", "delete", "-n", shop, "-f", "-", stdin=shopfront())
    assert deleted == "".join(
        f'{kind} "shopfront" deleted from {shop} namespace\n'
        for kind in ("deployment.apps", "service", "serviceexport.multicluster.x-k8s.io")
    )
    await sandbox.vanishes("west", f"shopfront.{shop}")
    for cluster in CLUSTERS:
        left = await sandbox.kubectl_said(
            cluster, "get", "svcim,svc,endpointslices,pods", "-n", shop, "-o", "name", "--ignore-not-found"
        )
        assert (cluster, left.output, left.errors) == (cluster, "", "")


async def test_a_refusal_is_worded_as_kubernetes_words_it(sandbox: Sandbox, namespace: str) -> None:
    for command, errors in {
        "get pod nope -n shop": 'Error from server (NotFound): pods "nope" not found\n',
        "get wonders": 'error: the server doesn\'t have a resource type "wonders"\n',
        "delete svc nope -n shop": 'Error from server (NotFound): services "nope" not found\n',
    }.items():
        said = await sandbox.kubectl_said("west", *command.split())
        assert (said.status, said.errors) == (1, errors)
    bad = await sandbox.kubectl_said(
        "west", "apply", "-n", namespace, "-f", "-", stdin=shopfront().replace("port: 80,", "port: 80000,")
    )
    assert bad.status == 1
    assert (
        'The Service "shopfront" is invalid: spec.ports[0].port: Invalid value: 80000: '
        "must be between 1 and 65535, inclusive"
    ) in bad.errors


async def test_the_metrics_address_that_is_shown_answers(sandbox: Sandbox) -> None:
    async with aiohttp.ClientSession() as session, session.get(sandbox.metrics_url) as response:
        assert response.status == 200
        assert "mcs_" in await response.text()
