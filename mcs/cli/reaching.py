"""How commands that work on the membership itself reach clusters, and what they find out about them first."""

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from mcs.cli.answers import state_and_problem
from mcs.cli.problems import UserMistakeError
from mcs.controllers.identity import read_identity
from mcs.kube.client import Client
from mcs.kube.config import connect
from mcs.kube.errors import ConfigError, KubeError, NotFound, ResourceMissing
from mcs.kube.kubeconfig import choose_context, default_files
from mcs.membership.connecting import Endpoint
from mcs.membership.identity import Identity
from mcs.membership.joining import Newcomer
from mcs.model.names import ClusterId
from mcs.model.registration import ANY_VALIDATION, KubeFedCluster
from mcs.model.resources import KUBEFED_CLUSTERS, NAMESPACES, Resource

SYSTEM = "kube-system"


class Reached(Struct, frozen=True, kw_only=True):
    """A cluster that answers: who it is by its kube-system, and what it says of itself."""

    name: str
    context: str | None
    client: Client
    uid: str
    said: Identity

    def newcomer(self, cluster: ClusterId, endpoint: Endpoint) -> Newcomer:
        """This cluster, to be registered."""
        return Newcomer(cluster=cluster, uid=self.uid, said=self.said, endpoint=endpoint)


@asynccontextmanager
async def reached(
    name: str, kubeconfig: Sequence[Path] | None, context: str | None
) -> AsyncIterator[Reached]:
    """The cluster of a context. Raises KubeError when it does not answer, UserMistakeError for a bad context."""
    try:
        connection = await connect(kubeconfig, context, name=name)
    except ConfigError as error:
        raise UserMistakeError(str(error)) from error
    async with connection:
        client = Client(connection)
        system = await client.get(NAMESPACES, "", SYSTEM)
        said = await read_identity(client)
        yield Reached(name=name, context=context, client=client, uid=system.metadata.uid, said=said)


def endpoint_of(kubeconfig: Sequence[Path] | None, context: str | None) -> Endpoint:
    """How the API server of a context is reached, from its kubeconfig. Raises UserMistakeError."""
    try:
        files = tuple(kubeconfig) if kubeconfig else default_files(os.environ, Path.home(), os.pathsep)
        cluster: dict[str, Any] = choose_context(files, context).cluster
    except ConfigError as error:
        raise UserMistakeError(str(error)) from error
    disabled = frozenset({ANY_VALIDATION} if cluster.get("insecure-skip-tls-verify") else ())
    return Endpoint(
        server=cluster["server"],
        ca=_authority(cluster),
        server_name=cluster.get("tls-server-name") or "",
        proxy=cluster.get("proxy-url") or "",
        disabled_validations=disabled,
    )


def _authority(cluster: dict[str, Any]) -> bytes:
    if data := cluster.get("certificate-authority-data"):
        return base64.b64decode(data)
    file = cluster.get("certificate-authority")
    return Path(file).read_bytes() if file else b""


async def registrations(client: Client, namespace: str) -> list[KubeFedCluster]:
    """The members that a registry names, sorted; none where there is no such definition."""
    try:
        found = await all_of(client, KUBEFED_CLUSTERS)
    except (NotFound, ResourceMissing):
        return []
    return sorted(
        (each for each in found if each.metadata.namespace == namespace), key=lambda each: each.metadata.name
    )


async def all_of(client: Client, resource: Resource[Any], selector: str = "") -> list[Any]:
    """All objects of a resource that a label selector selects, in all namespaces."""
    pages = client.list_pages(resource, label_selector=selector)
    return [item async for page in pages for item in page.items]


def mistake(name: str, context: str | None, error: KubeError | TimeoutError) -> UserMistakeError:
    """What is said of a cluster that did not answer as asked."""
    _, problem = state_and_problem(error, context or "the current one")
    return UserMistakeError(f"{name}: {problem}")


async def until_gone(
    client: Client, resource: Resource[Any], namespace: str, name: str, seconds: float
) -> bool:
    """Whether an object is gone within so many seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        try:
            await client.get(resource, namespace, name)
        except NotFound:
            return True
        if loop.time() > end:
            return False
        await asyncio.sleep(POLL)


POLL = 0.2
"""Seconds between two looks at what is waited for."""
