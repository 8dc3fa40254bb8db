"""Where the sample is found, and how manifests get into a cluster: server-side apply over HTTP.

The sample is one folder for each cluster, in the form `kubectl apply -f FOLDER` takes.
"""

import asyncio
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

import aiohttp
import msgspec

from mcs.kube.packaged import documents_in
from mcs.sandbox.http.server import ApiServer
from mcs.sandbox.store import Object, Objects

FIELD_MANAGER = "kubectl"
"""As `kubectl apply --server-side`, so that whoever goes on with kubectl meets no conflict."""


class ApplyFailedError(Exception):
    """A manifest was refused; the message names the object and the server's reason."""


def sample_folder(cluster: str) -> Traversable:
    """Where the sample manifests of a cluster are."""
    return files("mcs.sandbox") / "sample" / cluster


def sample_objects(cluster: str) -> Objects:
    """The sample of a cluster in the order to apply it; nothing for a cluster the sample does not know."""
    folder = sample_folder(cluster)
    return list(documents_in(folder)) if folder.is_dir() else []


async def apply_objects(server: ApiServer, objects: Iterable[Object]) -> None:
    """Apply the objects one after the other; raises `ApplyFailedError` at the first refusal."""
    connector = aiohttp.TCPConnector(ssl=server.client_tls())
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/apply-patch+yaml",
        "Accept": "application/json",
    }
    async with aiohttp.ClientSession(server.url, connector=connector, headers=headers) as session:
        for obj in objects:
            await _apply(session, _path(server, obj), obj)
    # TLS connections close a turn after the session.
    await asyncio.sleep(0)


async def _apply(session: aiohttp.ClientSession, path: str, obj: Object) -> None:
    query = {"fieldManager": FIELD_MANAGER, "force": "true"}
    # JSON is YAML.
    async with session.patch(path, params=query, data=msgspec.json.encode(obj)) as response:
        if response.status >= 300:
            told = await response.text()
            named = f"{obj['kind']} {obj['metadata']['name']}"
            raise ApplyFailedError(f"{named} was refused with {response.status}: {told}")


def _path(server: ApiServer, obj: Object) -> str:
    version, metadata = obj["apiVersion"], obj["metadata"]
    resource = server.api.registry.of_kind(version, obj["kind"])
    if resource is None:
        raise ApplyFailedError(f"{server.name} serves no {obj['kind']} in {version}")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = f"/namespaces/{metadata.get('namespace', 'default')}" if resource.namespaced else ""
    return f"{root}{namespace}/{resource.plural}/{metadata['name']}"
