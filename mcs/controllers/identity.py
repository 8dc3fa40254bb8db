"""Reads what clusters say of themselves, and refuses one that is another than it was given for."""

from collections.abc import AsyncGenerator, Mapping
from typing import Protocol, TypeVar

import structlog

from mcs.kube.decode import Page
from mcs.kube.errors import Forbidden, NotFound, ResourceMissing
from mcs.membership.identity import Identity, change_problem, clusterset_problem, identity_problem
from mcs.model.clusters import CLUSTER_ID_PROPERTY, CLUSTERSET_PROPERTY
from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId
from mcs.model.resources import CLUSTER_PROPERTIES, NAMESPACES, Resource
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


class Lister(Protocol):
    """What finding a uid takes of a client (`mcs.kube.client.Client` is one)."""

    def list_pages(
        self, resource: Resource[T], *, field_selector: str = ""
    ) -> AsyncGenerator[Page[T], None]: ...


class ClusterUids:
    """Which cluster is behind each id: known by the uid of its kube-system, which a cluster built anew has not."""

    def __init__(self) -> None:
        self._uids: dict[ClusterId, str] = {}

    def known(self, cluster: ClusterId) -> str:
        """The uid, empty while it is not known."""
        return self._uids.get(cluster, "")

    def forget(self, cluster: ClusterId) -> None:
        """Which cluster was meant while it was a member binds nobody any longer."""
        self._uids.pop(cluster, None)

    async def admit(self, cluster: ClusterId, client: Lister, recorded: Mapping[ClusterId, str]) -> bool:
        """True when it was not known before which cluster is behind the id; `recorded` are the uids that joined.

        Raises NotAdmittedError for another cluster than before, or one that is a member already, and KubeError.
        """
        uid = await _uid_of(client)
        known = {each: noted for each, noted in recorded.items() if noted} | self._uids
        before = known.get(cluster)
        if not uid:
            return False
        if before and before != uid:
            raise NotAdmittedError(
                f"it is another cluster than the one that joined: its kube-system has the uid {uid}, not {before}; "
                f"if it was built anew, run mcs leave {cluster} --force and join it again"
            )
        same = sorted(each for each, other in known.items() if other == uid and each != cluster)
        if same:
            raise NotAdmittedError(
                f'it is a member as "{same[0]}" already; delete one of the two registrations'
            )
        is_new = cluster not in self._uids
        self._uids[cluster] = uid
        return is_new


async def _uid_of(client: Lister) -> str:
    """By a list, for a member lets its namespaces be listed only. Raises KubeError."""
    pages = client.list_pages(NAMESPACES, field_selector="metadata.name=kube-system")
    uids = [each.metadata.uid async for page in pages for each in page.items]
    return uids[0] if uids else ""
