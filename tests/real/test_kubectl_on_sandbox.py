"""Stock kubectl on the sandbox: what it prints is what Kubernetes lets it print, and names follow what it does.

The tests share one sandbox and keep apart by namespaces of their own.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio

from tests.lab.mcs import eventually
from tests.lab.sandbox import Sandbox, running_sandbox
from tests.real.kubectl_reads import READS
from tests.real.sandbox_manifests import export_of, in_namespace, shopfront


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def sandbox(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sandbox]:
    """A sandbox that several tests share; its sample is left as it is."""
    async with running_sandbox(tmp_path_factory.mktemp("sandbox")) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(sandbox: Sandbox) -> AsyncIterator[str]:
    """A namespace of this test alone, in every cluster."""
    name = f"test-{secrets.token_hex(4)}"
    await sandbox.create_namespace(name)
    yield name
    for cluster in sandbox.dns_ports:
        await sandbox.kubectl(cluster, "delete", "namespace", name, "--wait=false")


@pytest_asyncio.fixture(loop_scope="session")
async def shop(sandbox: Sandbox, namespace: str) -> str:
    """A namespace with two ready shopfronts in east, exported, and answered in west."""
    await sandbox.kubectl("east", "apply", "-n", namespace, "-f", "-", stdin=shopfront())
    await sandbox.kubectl("east", "rollout", "status", "deployment/shopfront", "-n", namespace)
    await sandbox.answers("west", f"shopfront.{namespace}", 1)
    return namespace


# A kubectl of another minor warns that it is one.
_READS = [
    pytest.param(command, marks=pytest.mark.recorded if command == "version" else ()) for command in READS
]


@pytest.mark.parametrize("command", _READS)
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
    await sandbox.mirrors("west", namespace, "shopfront", "east", 4)


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
    await sandbox.mirrors("west", shop, "shopfront", "east", 3)


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
    assert len(await sandbox.mirrors("west", shop, "shopfront", "east", 3)) == 3


async def test_scale_to_nothing_keeps_the_clusterset_ip(sandbox: Sandbox, shop: str) -> None:
    await sandbox.kubectl("east", "scale", "deploy/shopfront", "-n", shop, "--replicas=0")
    await sandbox.mirrors("west", shop, "shopfront", "east", 0)
    assert await sandbox.addresses("west", f"shopfront.{shop}") == [
        await sandbox.clusterset_ip("west", shop, "shopfront")
    ]


async def test_what_is_deleted_with_its_manifest_is_gone_everywhere(sandbox: Sandbox, shop: str) -> None:
    deleted = await sandbox.kubectl("east", "delete", "-n", shop, "-f", "-", stdin=shopfront())
    assert deleted == "".join(
        f'{kind} "shopfront" deleted from {shop} namespace\n'
        for kind in ("deployment.apps", "service", "serviceexport.multicluster.x-k8s.io")
    )
    await sandbox.vanishes("west", f"shopfront.{shop}")

    async def nothing_is_left() -> bool:
        found = [
            await sandbox.kubectl(
                cluster,
                "get",
                "svcim,svc,endpointslices,rs,pods",
                "-n",
                shop,
                "-o",
                "name",
                "--ignore-not-found",
            )
            for cluster in sandbox.dns_ports
        ]
        return not any(found)

    await eventually("imports, derived Services, mirrors and pods are gone", nothing_is_left)


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


CREATES = {
    "configmap told --from-literal=a=b --from-literal=empty=": "configmap/told created",
    "secret generic hidden --from-literal=a=b": "secret/hidden created",
    "serviceaccount someone": "serviceaccount/someone created",
    "deployment again --image=registry.k8s.io/pause:3.10 --replicas=3 --port=8080": "deployment.apps/again created",
    "service clusterip again --tcp=80:8080": "service/again created",
    "service externalname outside --external-name=example.com": "service/outside created",
}


async def test_kubectl_create_is_understood(sandbox: Sandbox, namespace: str) -> None:
    for command, said in CREATES.items():
        assert await sandbox.kubectl("east", "create", *command.split(), "-n", namespace) == f"{said}\n"
    await sandbox.kubectl("east", "apply", "-n", namespace, "-f", "-", stdin=export_of("again"))
    await sandbox.mirrors("west", namespace, "again", "east", 3)
    ip = await sandbox.clusterset_ip("west", namespace, "again")
    assert await sandbox.addresses("west", f"again.{namespace}") == [ip]
    told = await sandbox.kubectl("east", "get", "cm", "told", "-n", namespace, "-o", "jsonpath={.data}")
    assert told == '{"a":"b","empty":""}'


async def test_a_namespace_is_deleted_together_with_what_its_manifest_holds(sandbox: Sandbox) -> None:
    name = f"test-{secrets.token_hex(4)}"
    assert await sandbox.kubectl("east", "create", "namespace", name) == f"namespace/{name} created\n"
    namespace = await sandbox.kubectl("east", "create", "namespace", name, "--dry-run=client", "-o", "yaml")
    manifest = "---\n".join([namespace, in_namespace(shopfront(), name)])
    await sandbox.kubectl("east", "apply", "--server-side", "-f", "-", stdin=manifest)
    deleted = await sandbox.kubectl("east", "delete", "-f", "-", stdin=manifest)
    assert [line.split()[0] for line in deleted.splitlines()] == [
        "namespace",
        "deployment.apps",
        "service",
        "serviceexport.multicluster.x-k8s.io",
    ]
    gone = await sandbox.kubectl_said("east", "get", "namespace", name)
    assert gone.errors == f'Error from server (NotFound): namespaces "{name}" not found\n'
