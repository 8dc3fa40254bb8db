"""A clusterset as its users see it: over HTTPS, with the sample and running workloads, in virtual time."""

import asyncio
import stat
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.sandbox.demo.clusterset import Clusterset, ClusterShape, dual_stack
from mcs.sandbox.demo.manifests import ApplyFailedError, apply_objects, sample_folder, sample_objects
from mcs.sandbox.workloads.pods import Pace
from mcs.testing.virtual_time import run_virtual
from tests.e2e.sandbox_client import MERGE, STRATEGIC, Client, Json

NAMESPACES = "/api/v1/namespaces"
CORE = f"{NAMESPACES}/shop"
APPS = "/apis/apps/v1/namespaces/shop"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"
EXPORTS = "/apis/multicluster.x-k8s.io/v1beta1/serviceexports"
PACE = Pace(start=1, ready=2, stop=4, load_balancer=3)

Scene = Callable[[Client], Coroutine[Any, Any, None]]


def in_one_cluster(tmp_path: Path, scene: Scene) -> None:
    """Play a scene in cluster east once the sample runs."""

    async def play() -> None:
        shapes: tuple[ClusterShape, ...] = (dual_stack("east", 0),)
        path = tmp_path / "kubeconfig"
        async with (
            Clusterset(path, shapes=shapes, pace=PACE) as clusterset,
            Client(clusterset["east"].server) as client,
        ):
            await asyncio.sleep(30)
            await scene(client)
        await asyncio.sleep(0.1)

    run_virtual(play())


async def endpoints(client: Client, service: str, family: str = "IPv4") -> list[Json]:
    found = await client.get(f"{SLICES}?labelSelector=kubernetes.io/service-name={service}")
    slices = [s for s in found["items"] if s["addressType"] == family]
    return [endpoint for each in slices for endpoint in each["endpoints"] or ()]


async def ready(client: Client, service: str, family: str = "IPv4") -> list[str]:
    found = await endpoints(client, service, family)
    return [e["addresses"][0] for e in found if e["conditions"]["ready"]]


def test_an_applied_deployment_and_service_become_ready_slices(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        assert len(await ready(client, "web")) == len(await ready(client, "web", "IPv6")) == 3
        deployment = await client.get(f"{APPS}/deployments/web")
        assert deployment["status"]["readyReplicas"] == 3
        service = await client.get(f"{CORE}/services/web")
        assert service["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
        pods = await client.get(f"{CORE}/pods?labelSelector=app=web")
        found = {entry["ip"] for pod in pods["items"] for entry in pod["status"]["podIPs"]}
        assert found == {*await ready(client, "web"), *await ready(client, "web", "IPv6")}

    in_one_cluster(tmp_path, scene)


def test_the_scale_subresource_changes_the_addresses(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        before = await ready(client, "web")
        for replicas in (5, 1, 0, 2):
            await client.patch(f"{APPS}/deployments/web/scale", {"spec": {"replicas": replicas}}, MERGE)
            await asyncio.sleep(30)
            now = await ready(client, "web")
            assert len(now) == replicas
            if replicas == 5:
                assert set(before) < set(now)

    in_one_cluster(tmp_path, scene)


def test_a_rolling_update_never_has_fewer_than_one_address_less(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        before, seen = set(await ready(client, "web")), []
        container = {"name": "web", "image": "pause:3.11"}
        change = {"spec": {"template": {"spec": {"containers": [container]}}}}
        await client.patch(f"{APPS}/deployments/web", change, STRATEGIC)
        for _ in range(120):
            await asyncio.sleep(0.5)
            seen.append(len(await ready(client, "web")))
        assert min(seen) >= 2
        after = set(await ready(client, "web"))
        assert len(after) == 3
        assert not before & after

    in_one_cluster(tmp_path, scene)


def test_members_of_a_stateful_set_keep_their_hostnames(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        expected = ["db-0", "db-1", "db-2"]
        for family in ("IPv4", "IPv6"):
            assert sorted(e["hostname"] for e in await endpoints(client, "db", family)) == expected
        (before,) = [e for e in await endpoints(client, "db") if e["hostname"] == "db-1"]
        answer = await client.ask("DELETE", f"{CORE}/pods/db-1")
        assert answer.code == 200
        leaving = [e["conditions"] for e in await endpoints(client, "db") if e["hostname"] == "db-1"]
        assert leaving == [{"ready": False, "serving": True, "terminating": True}]
        await asyncio.sleep(30)
        (after,) = [e for e in await endpoints(client, "db") if e["hostname"] == "db-1"]
        assert after["addresses"] != before["addresses"]
        assert after["conditions"]["ready"]

    in_one_cluster(tmp_path, scene)


PROPAGATION = [("Background", set()), ("Foreground", set()), ("Orphan", {"replicasets", "pods"})]


@pytest.mark.parametrize(("policy", "left"), PROPAGATION)
def test_a_delete_cascades_as_it_is_asked_to(tmp_path: Path, policy: str, left: set[str]) -> None:
    async def scene(client: Client) -> None:
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
        answer = await client.ask("DELETE", f"{APPS}/deployments/web", options)
        assert answer.code == 200
        await asyncio.sleep(30)
        paths = {"deployments": APPS, "replicasets": APPS, "pods": CORE}
        query = "?labelSelector=app=web"
        found = {each: (await client.get(f"{path}/{each}{query}"))["items"] for each, path in paths.items()}
        assert {each for each, items in found.items() if items} == left

    in_one_cluster(tmp_path, scene)


def test_a_deleted_namespace_takes_its_contents_along_and_is_gone(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        assert (await client.ask("DELETE", CORE)).code == 200
        await asyncio.sleep(1)
        refused = await client.ask("POST", f"{CORE}/configmaps", {"metadata": {"name": "late"}})
        assert refused.reason == (403, "Forbidden")
        await asyncio.sleep(30)
        assert (await client.ask("GET", CORE)).reason == (404, "NotFound")
        exports = await client.get(EXPORTS)
        assert {e["metadata"]["namespace"] for e in exports["items"]} == {"infra"}

    in_one_cluster(tmp_path, scene)


def test_an_idle_cluster_is_quiet(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        before = (await client.get(f"{CORE}/pods"))["metadata"]["resourceVersion"]
        await asyncio.sleep(600)
        assert (await client.get(f"{CORE}/pods"))["metadata"]["resourceVersion"] == before

    in_one_cluster(tmp_path, scene)


@asynccontextmanager
async def three_clusters(path: Path) -> AsyncIterator[tuple[Clusterset, dict[str, Client]]]:
    async with AsyncExitStack() as stack:
        clusterset = await stack.enter_async_context(Clusterset(path, pace=PACE))
        clients = {
            cluster.name: await stack.enter_async_context(Client(cluster.server))
            for cluster in clusterset.clusters
        }
        await asyncio.sleep(30)
        yield clusterset, clients
    await asyncio.sleep(0.1)


async def exported(client: Client) -> dict[str, str]:
    """Exported Services by namespace/name, with what kind of Service they are."""
    found = {}
    for export in (await client.get(EXPORTS))["items"]:
        metadata = export["metadata"]
        path = f"{NAMESPACES}/{metadata['namespace']}/services/{metadata['name']}"
        spec = (await client.get(path))["spec"]
        kind = "Headless" if spec.get("clusterIP") == "None" else spec["type"]
        found[f"{metadata['namespace']}/{metadata['name']}"] = (
            f"{kind} {'+'.join(spec.get('ipFamilies', ()))}"
        )
    return found


def test_three_clusters_with_the_sample(tmp_path: Path) -> None:
    async def play() -> None:
        path = tmp_path / "folder" / "kubeconfig"
        async with three_clusters(path) as (clusterset, clients):
            assert {name: await exported(client) for name, client in clients.items()} == {
                "east": {
                    "infra/gateway": "LoadBalancer IPv4",
                    "shop/db": "Headless IPv4+IPv6",
                    "shop/web": "ClusterIP IPv4+IPv6",
                },
                "west": {
                    "infra/resolver": "ClusterIP IPv4",
                    "shop/db": "Headless IPv4+IPv6",
                    "shop/web": "ClusterIP IPv4+IPv6",
                },
                "south": {"infra/resolver": "ClusterIP IPv4", "shop/payments": "ExternalName "},
            }
            gateway = await clients["east"].get(f"{NAMESPACES}/infra/services/gateway")
            assert gateway["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.17", "ipMode": "VIP"}]
            pods = [
                entry["ip"]
                for client in clients.values()
                for pod in (await client.get("/api/v1/pods"))["items"]
                for entry in pod["status"]["podIPs"]
            ]
            assert len(pods) == len(set(pods)) == 8 * 2 + 7 * 2 + 2
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            config = yaml.safe_load(path.read_text())
            assert [context["name"] for context in config["contexts"]] == ["east", "west", "south"]
            urls = [cluster["cluster"]["server"] for cluster in config["clusters"]]
            assert urls == [cluster.url for cluster in clusterset.clusters]

    run_virtual(play())


def test_an_error_inside_the_block_comes_out_as_it_is(tmp_path: Path) -> None:
    async def play() -> None:
        async with Clusterset(tmp_path / "kubeconfig", shapes=(dual_stack("east", 0),), with_sample=False):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        run_virtual(play())


REFUSED = [
    ({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}, "east serves no Thing"),
    (
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": []}},
        "Service s was refused with 422.*spec.ports: Required value",
    ),
]


@pytest.mark.parametrize(("obj", "message"), REFUSED)
def test_a_manifest_that_is_refused_is_named_with_the_reason(tmp_path: Path, obj: Json, message: str) -> None:
    async def play() -> None:
        path, shapes = tmp_path / "kubeconfig", (dual_stack("east", 0),)
        async with Clusterset(path, shapes=shapes, with_sample=False) as clusterset:
            await apply_objects(clusterset["east"].server, [obj])

    with pytest.raises(ApplyFailedError, match=message):
        run_virtual(play())


def test_sample_folders_are_plain_manifests_in_an_order_that_can_be_applied() -> None:
    for cluster in ("east", "west", "south"):
        objects = sample_objects(cluster)
        kinds = [obj["kind"] for obj in objects]
        assert kinds.count("Namespace") == 2
        assert kinds[:2] == ["Namespace", "Namespace"]
        assert {obj["metadata"]["namespace"] for obj in objects[2:]} <= {"shop", "infra"}
        assert all(entry.name.endswith(".yaml") for entry in sample_folder(cluster).iterdir())
    assert sample_objects("nowhere") == []
