"""The client against the sandbox's API server: whole conversations, as a reflector and an executor hold them."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from mcs.kube import errors
from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.decode import Bookmark, Deleted, Stored
from mcs.membership.tokens import token_life
from mcs.model.installed import SERVICE_ACCOUNTS, manifest
from mcs.model.meta import Condition, ObjectMeta, timestamp
from mcs.model.multicluster import ServiceExport, ServiceExportStatus
from mcs.model.resources import (
    ENDPOINT_SLICES,
    NAMESPACES,
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
    Resource,
)
from mcs.model.services import Namespace, Service, ServicePort, ServiceSpec
from mcs.model.slices import IPV4, Endpoint, EndpointPort, EndpointSlice
from mcs.sandbox.http.server import ApiServer
from mcs.testing.virtual_time import run_virtual


def slice_named(name: str, *addresses: str, namespace: str = "default", **labels: str) -> EndpointSlice:
    return EndpointSlice(
        metadata=ObjectMeta(name=name, namespace=namespace, labels=labels),
        address_type=IPV4,
        endpoints=tuple(Endpoint(addresses=(address,)) for address in addresses),
        ports=(EndpointPort(name="http", port=80, protocol="TCP"),),
    )


async def names_of(client: Client, **query: Any) -> list[str]:
    return [o.metadata.name async for p in client.list_pages(ENDPOINT_SLICES, **query) for o in p.items]


async def converse(client: Client) -> None:
    """Holds on every API server, real ones included."""
    first = await client.apply(ENDPOINT_SLICES, slice_named("one", "10.1.0.1"))
    same = await client.apply(ENDPOINT_SLICES, slice_named("one", "10.1.0.1"))
    assert same.metadata.resource_version == first.metadata.resource_version
    for name in ("three", "two"):
        await client.apply(ENDPOINT_SLICES, slice_named(name, "10.1.0.2", app=name))
    pages = [page async for page in client.list_pages(ENDPOINT_SLICES, limit=2)]
    assert [len(page.items) for page in pages] == [2, 1]
    assert len({page.resource_version for page in pages}) == 1
    assert await names_of(client, label_selector="app in (two, four)") == ["two"]
    assert await names_of(client, field_selector="metadata.name=one") == ["one"]

    watch = client.watch(ENDPOINT_SLICES, pages[-1].resource_version, timeout_seconds=3)
    changed = await client.apply(ENDPOINT_SLICES, slice_named("one", "10.1.0.1", "10.1.0.9"))
    with pytest.raises(errors.Conflict):
        await client.delete(ENDPOINT_SLICES, "default", "one", uid="another")
    with pytest.raises(errors.Conflict):
        await client.delete(
            ENDPOINT_SLICES, "default", "one", resource_version=first.metadata.resource_version
        )
    assert changed.metadata.uid == first.metadata.uid
    await client.delete(
        ENDPOINT_SLICES,
        "default",
        "one",
        uid=changed.metadata.uid,
        resource_version=changed.metadata.resource_version,
    )
    await client.delete(ENDPOINT_SLICES, "default", "one")
    events = [event async for event in watch if not isinstance(event, Bookmark)]
    assert events[0] == Stored(changed)
    assert [event.name for event in events[1:] if isinstance(event, Deleted)] == ["one"]
    with pytest.raises(errors.NotFound):
        await client.get(ENDPOINT_SLICES, "default", "one")
    with pytest.raises(errors.NotFound, match="nowhere"):
        await client.apply(ENDPOINT_SLICES, slice_named("one", namespace="nowhere"))
    for name in ("two", "three"):
        await client.delete(ENDPOINT_SLICES, "default", name)


async def refused(client: Client) -> None:
    """Refusals that every API server words alike."""
    web = Service(
        metadata=ObjectMeta(name="web", namespace="default"), spec=ServiceSpec(ports=(ServicePort(port=80),))
    )
    created = await client.create(SERVICES, web)
    assert created.spec.cluster_ip
    with pytest.raises(errors.AlreadyExists):
        await client.create(SERVICES, web)
    bad = Service(
        metadata=ObjectMeta(name="bad", namespace="default"),
        spec=ServiceSpec(ports=(ServicePort(port=80, name="A_B"),)),
    )
    with pytest.raises(errors.Invalid) as raised:
        await client.apply(SERVICES, bad)
    assert [cause[1] for cause in raised.value.causes] == ["spec.ports[0].name"]
    patched = await client.patch(SERVICES, "default", "web", {"metadata": {"labels": {"a": "b"}}})
    assert patched.metadata.labels == {"a": "b"}
    old = {"resourceVersion": created.metadata.resource_version, "labels": {"a": "c"}}
    with pytest.raises(errors.Conflict):
        await client.patch(SERVICES, "default", "web", {"metadata": old})
    await client.delete(SERVICES, "default", "web")
    leaving = Namespace(metadata=ObjectMeta(name="leaving", finalizers=("example.com/wait",)))
    await client.create(NAMESPACES, leaving)
    await client.delete(NAMESPACES, "", "leaving")
    with pytest.raises(errors.NamespaceTerminating):
        await client.apply(ENDPOINT_SLICES, slice_named("one", namespace="leaving"))


async def is_served(client: Client, resource: Resource[Any]) -> bool:
    try:
        await client.get(resource, "default", "none")
    except errors.NotFound:
        return True
    except errors.ResourceMissing:
        return False
    raise AssertionError("there is none")


async def export(client: Client) -> None:
    """Custom resources: missing, then served; metadata, spec and status are applied apart."""
    export = ServiceExport(metadata=ObjectMeta(name="web", namespace="default", labels={"a": "b"}))
    with pytest.raises(errors.ResourceMissing):
        await client.apply(SERVICE_EXPORTS, export)
    for file in sorted((Path(__file__).parents[2] / "crds").glob("*.yaml")):
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{file.stem}"
        query, kind = {"fieldManager": "test"}, "application/apply-patch+yaml"
        await client.connection.request("PATCH", path, query=query, body=file.read_bytes(), content_type=kind)
    # A real API server serves a new definition a moment later.
    async with asyncio.timeout(30):
        while not (  # noqa: ASYNC110
            await is_served(client, SERVICE_EXPORTS) and await is_served(client, SERVICE_IMPORTS)
        ):
            await asyncio.sleep(0.1)

    applied = await client.apply(SERVICE_EXPORTS, export)
    now = timestamp(datetime.now(UTC))
    valid = Condition(type="Valid", status="True", reason="Valid", message="", last_transition_time=now)
    with_status = structs.replace(applied, status=ServiceExportStatus(conditions=(valid,)))
    once = await client.apply(SERVICE_EXPORTS, with_status, subresource="status")
    assert (once.status.conditions, once.metadata.labels) == ((valid,), {"a": "b"})
    again = await client.apply(SERVICE_EXPORTS, with_status, subresource="status")
    assert again.metadata.resource_version == once.metadata.resource_version
    # An apply of the rest leaves the status alone.
    assert (await client.apply(SERVICE_EXPORTS, export)).status.conditions == (valid,)


async def install(client: Client) -> None:
    """Objects as documents, and tokens of a ServiceAccount that the server then accepts."""
    account = manifest(SERVICE_ACCOUNTS, "mcs-hub", "default", metadata={"labels": {"a": "b"}})
    for _ in range(2):
        first = await client.apply_document(account.resource, account.document)
        assert first.metadata.labels == {"a": "b"}
    same = await client.apply_document(account.resource, account.document)
    assert same.metadata.resource_version == first.metadata.resource_version
    bare = manifest(SERVICE_ACCOUNTS, "mcs-hub", "default")
    assert (await client.apply_document(bare.resource, bare.document)).metadata.labels == {}
    token = await client.create_token("default", "mcs-hub", 3600)
    life = token_life(token.encode())
    assert life is not None
    assert (life.namespace, life.account, life.seconds) == ("default", "mcs-hub", 3600)
    assert await client.create_token("default", "mcs-hub", 3600) != token
    with pytest.raises(errors.NotFound):
        await client.create_token("default", "nobody", 3600)
    with pytest.raises(errors.Invalid):
        await client.create_token("default", "mcs-hub", 60)
    with pytest.raises(errors.Invalid):
        await client.create_token("default", "../secrets", 3600)


async def with_client(folder: Path, server: ApiServer) -> Client:
    file = folder / "config"
    file.write_text(server.kubeconfig())
    return Client(await connect([file]))


@pytest.mark.parametrize("conversation", [converse, refused, export, install])
def test_a_conversation(tmp_path: Path, conversation: Any) -> None:
    async def main() -> None:
        async with ApiServer("east") as server:
            client = await with_client(tmp_path, server)
            try:
                await conversation(client)
            finally:
                await client.close()

    run_virtual(main())


def test_compacted_history_is_expired(tmp_path: Path) -> None:
    async def main() -> None:
        async with ApiServer("east") as server:
            client = await with_client(tmp_path, server)
            old = (
                await client.apply(ENDPOINT_SLICES, slice_named("one", "10.1.0.1"))
            ).metadata.resource_version
            for address in ("10.1.0.2", "10.1.0.3"):
                await client.apply(ENDPOINT_SLICES, slice_named("one", address))
            server.compact()
            with pytest.raises(errors.Expired):
                await anext(client.watch(ENDPOINT_SLICES, old))
            await client.close()

    run_virtual(main())


def test_a_restarted_server_ends_the_watch_and_answers_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with ApiServer("east") as server:
            client = await with_client(tmp_path, server)
            version = (await client.apply(ENDPOINT_SLICES, slice_named("one"))).metadata.resource_version
            async with aclosing(client.watch(ENDPOINT_SLICES, version)) as watch:
                waiting = asyncio.ensure_future(anext(watch, None))
                await asyncio.sleep(1)
                assert server.open_watches == 1
                await server.stop()
                with pytest.raises(errors.Unreachable):
                    await waiting
            with pytest.raises(errors.Unreachable):
                await client.get(ENDPOINT_SLICES, "default", "one")
            await server.start()
            assert (await client.get(ENDPOINT_SLICES, "default", "one")).metadata.resource_version == version
            await client.close()

    run_virtual(main())


def test_a_wrong_token_is_unauthorized(tmp_path: Path) -> None:
    async def main() -> None:
        async with ApiServer("east") as server:
            file = tmp_path / "config"
            file.write_text(server.kubeconfig().replace(server.token, "wrong"))
            async with await connect([file]) as connection:
                with pytest.raises(errors.Unauthorized):
                    await Client(connection).version()

    run_virtual(main())
