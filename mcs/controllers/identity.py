"""Reads what clusters say of themselves, and refuses one that is another than it was given for."""

from typing import Protocol, TypeVar

import structlog

from mcs.kube.errors import Forbidden, NotFound, ResourceMissing
from mcs.membership.identity import Identity, change_problem, clusterset_problem, identity_problem
from mcs.model.clusters import CLUSTER_ID_PROPERTY, CLUSTERSET_PROPERTY
from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId
from mcs.model.resources import CLUSTER_PROPERTIES, Resource
from mcs.runtime.fleet import NotAdmittedError

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=KubernetesObject)


class Getter(Protocol):
    """What reading takes of a client (`mcs.kube.client.Client` is one)."""

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T: ...


async def read_identity(client: Getter) -> Identity:
    """What the cluster says of itself: nothing, where it has no such CRD or forbids to read. Raises KubeError."""
    return Identity(await _value(client, CLUSTER_ID_PROPERTY), await _value(client, CLUSTERSET_PROPERTY))


async def _value(client: Getter, name: str) -> str | None:
    try:
        return (await client.get(CLUSTER_PROPERTIES, "", name)).spec.value
    except (NotFound, ResourceMissing, Forbidden):
        return None


class Identities:
    """What the members have said of themselves so far; `admit` is for members that are, or are to be, worked with."""

    def __init__(self) -> None:
        self._said: dict[ClusterId, Identity] = {}

    async def admit(self, cluster: ClusterId, client: Getter) -> None:
        """Raises NotAdmittedError for a cluster that must not be worked with, KubeError when it cannot be asked.

        It must not if it says that it is another one, or is in another clusterset than when it was admitted. Of members
        that name different clustersets from the start is warned: which of them is right cannot be told from here.
        """
        said = await read_identity(client)
        before = self._said.get(cluster, Identity())
        if problem := identity_problem(cluster, said) or change_problem(before, said):
            raise NotAdmittedError(problem)
        self._said[cluster] = said
        if said != before and (problem := clusterset_problem(cluster, self._said)):
            log.warning("members of different clustersets", cluster=cluster, problem=problem)

    def forget(self, cluster: ClusterId) -> None:
        """What a cluster said of itself while it was a member binds it no longer."""
        self._said.pop(cluster, None)
