"""Our own client against the sandbox: kubeconfig, lists, watches, applies, and every refusal as its typed error."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import yaml

from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.decode import Deleted, Stored
from mcs.kube.errors import Conflict, Expired, Invalid, NotFound, ResourceMissing
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ServiceExport
from mcs.model.resources import NAMESPACES, SERVICE_EXPORTS
from mcs.sandbox.api import WriteOptions
from mcs.sandbox.http.server import ApiServer
from mcs.sandbox.resources import CRDS

DEFINITIONS = Path(__file__).parents[2] / "crds"
THEM = WriteOptions(manager="them")


def export(name: str = "web", **labels: str) -> ServiceExport:
    return ServiceExport(metadata=ObjectMeta(namespace="default", name=name, labels=labels))


@pytest.fixture
async def client(server: ApiServer, tmp_path: Path) -> AsyncIterator[Client]:
    file = tmp_path / "kubeconfig"
    file.write_text(server.kubeconfig())
    made = Client(await connect([file], "east"))
    yield made
    await made.close()


@pytest.fixture
def definitions(server: ApiServer) -> None:
    for path in DEFINITIONS.glob("*.yaml"):
        server.api.create(CRDS, yaml.safe_load(path.read_text()))


async def _version(client: Client) -> str:
    async with aclosing(client.list_pages(SERVICE_EXPORTS)) as pages:
        return [page async for page in pages][-1].resource_version


async def test_lists_in_pages(client: Client) -> None:
    async with aclosing(client.list_pages(NAMESPACES, limit=3)) as pages:
        found = [page async for page in pages]
    assert [len(page.items) for page in found] == [3, 1]
    assert found[0].resource_version == found[1].resource_version


async def test_a_missing_definition_is_a_missing_resource(client: Client) -> None:
    with pytest.raises(ResourceMissing):
        await _version(client)


@pytest.mark.usefixtures("definitions")
async def test_what_is_applied_is_watched_and_deleted(client: Client) -> None:
    start = await _version(client)
    applied = await client.apply(SERVICE_EXPORTS, export())
    assert applied.metadata.uid
    async with aclosing(client.watch(SERVICE_EXPORTS, start)) as events:
        first = await anext(events)
        assert isinstance(first, Stored)
        assert first.object.metadata.uid == applied.metadata.uid
        await client.delete(SERVICE_EXPORTS, "default", "web", uid=applied.metadata.uid)
        assert isinstance(await anext(events), Deleted)
    with pytest.raises(NotFound):
        await client.get(SERVICE_EXPORTS, "default", "web")


@pytest.mark.usefixtures("definitions")
async def test_applying_the_same_again_writes_nothing(server: ApiServer, client: Client) -> None:
    await client.apply(SERVICE_EXPORTS, export(app="web"))
    revision = server.api.store.revision
    await client.apply(SERVICE_EXPORTS, export(app="web"))
    assert server.api.store.revision == revision


@pytest.mark.usefixtures("definitions")
async def test_refusals_are_typed(server: ApiServer, client: Client) -> None:
    start = await _version(client)
    applied = await client.apply(SERVICE_EXPORTS, export(app="web"))
    stale = {"metadata": {"resourceVersion": "1", "labels": {"x": "y"}}}
    wrong = {"metadata": {"labels": {"x": "not a label"}}}
    elsewhere = ServiceExport(metadata=ObjectMeta(namespace="nowhere", name="web"))
    with pytest.raises(Conflict):
        await client.delete(SERVICE_EXPORTS, "default", "web", uid="another")
    with pytest.raises(Conflict):
        await client.patch(SERVICE_EXPORTS, "default", "web", stale)
    with pytest.raises(Invalid):
        await client.patch(SERVICE_EXPORTS, "default", "web", wrong)
    with pytest.raises(NotFound):
        await client.apply(SERVICE_EXPORTS, elsewhere)
    assert (
        applied.metadata.resource_version
        == (await client.get(SERVICE_EXPORTS, "default", "web")).metadata.resource_version
    )
    server.compact()
    with pytest.raises(Expired):
        async with aclosing(client.watch(SERVICE_EXPORTS, start)) as events:
            await anext(events)


@pytest.mark.usefixtures("definitions")
async def test_a_field_of_others_is_a_conflict_unless_forced(server: ApiServer, client: Client) -> None:
    resource = server.api.registry.find("multicluster.x-k8s.io", "v1beta1", "serviceexports")
    assert resource is not None
    theirs = {"metadata": {"name": "web", "namespace": "default", "labels": {"app": "theirs"}}}
    server.api.create(resource, theirs, options=THEM)
    with pytest.raises(Conflict):
        await client.apply(SERVICE_EXPORTS, export(app="ours"), force=False)
    taken = await client.apply(SERVICE_EXPORTS, export(app="ours"))
    assert taken.metadata.labels == {"app": "ours"}


@pytest.mark.usefixtures("definitions")
async def test_a_restarted_server_is_found_again(server: ApiServer, client: Client) -> None:
    await client.apply(SERVICE_EXPORTS, export())
    await server.restart()
    assert (await client.get(SERVICE_EXPORTS, "default", "web")).metadata.name == "web"
