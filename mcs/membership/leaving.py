"""What a leave removes, and in which order. What stays are the definitions, and everything that is not ours.

Deciding is here; reading, deleting and waiting are left to others.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from mcs.membership.access import HOME, HUB, READER
from mcs.membership.cluster_dns import DNS_NAME
from mcs.membership.identity import Identity
from mcs.model.clusters import CLUSTER_ID_PROPERTY, CLUSTERSET_PROPERTY
from mcs.model.installed import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    DEPLOYMENTS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
)
from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.registration import CLUSTER_UID_ANNOTATION, KubeFedCluster
from mcs.model.resources import (
    CLUSTER_PROPERTIES,
    ENDPOINT_SLICES,
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
    SERVICES,
    Resource,
)
from mcs.model.slices import EndpointSlice

Named = tuple[Resource[KubernetesObject], str]
"""A resource and the name of one object of it, in the system namespace where it has one."""

IMPORTED: tuple[Resource[KubernetesObject], ...] = (
    SERVICE_IMPORTS,
    SERVICES,
    ENDPOINT_SLICES,
    SERVICE_EXPORTS,
)
"""What the controller writes into a member; of these kinds, all that is ours goes."""

_ACCOUNTS = tuple(account.name for account in (HUB, READER, HOME))


def access_left() -> Iterator[Named]:
    """What let controllers work in the member: the rights first, so that nothing is written any more."""
    for name in _ACCOUNTS:
        yield CLUSTER_ROLE_BINDINGS, name
        yield CLUSTER_ROLE_BINDINGS, f"{name}-federation"
        yield ROLE_BINDINGS, name
        yield SERVICE_ACCOUNTS, name
        yield CLUSTER_ROLES, name
        yield CLUSTER_ROLES, f"{name}-federation"
        yield ROLES, name


def dns_left() -> Iterator[Named]:
    """What ran `mcs dns` in the member; nobody asks it any more when this goes."""
    yield DEPLOYMENTS, DNS_NAME
    yield SERVICES, DNS_NAME
    yield SERVICES, f"{DNS_NAME}-metrics"
    yield CLUSTER_ROLE_BINDINGS, DNS_NAME
    yield CLUSTER_ROLES, DNS_NAME
    yield SERVICE_ACCOUNTS, DNS_NAME


def properties_left() -> Iterator[Named]:
    """Who the member was: last of all, so that a leave that was broken off can be taken up again."""
    yield CLUSTER_PROPERTIES, CLUSTERSET_PROPERTY
    yield CLUSTER_PROPERTIES, CLUSTER_ID_PROPERTY


def leaving_problem(cluster: ClusterId, registered: KubeFedCluster | None, uid: str, said: Identity) -> str:
    """Why nothing may be removed from the cluster that a context leads to, and what to do; empty when it is the member.

    `uid` is that of its kube-system.
    """
    known = "" if registered is None else registered.metadata.annotations.get(CLUSTER_UID_ANNOTATION, "")
    if known and known != uid:
        return (
            f'it is another cluster than "{cluster}" was (uid of kube-system {uid}, then {known}); give the context of '
            "that one, or --force if it is gone"
        )
    if said.cluster is not None and said.cluster != cluster:
        return f'its ClusterProperty says that it is "{said.cluster}", not "{cluster}"; give another context'
    return ""


def is_member(registered: KubeFedCluster | None, said: Identity) -> bool:
    """Whether there is anything to leave: a registration, or a cluster that says it is the member."""
    return registered is not None or said.cluster is not None


def still_used(cluster: ClusterId, slices: Iterable[EndpointSlice]) -> int:
    """How many ready endpoints of this cluster there are among the mirrors of another, in services that others
    serve too.

    The last ready endpoints of a service are never withdrawn while their cluster is a member, so nobody waits for that.
    """
    ready: dict[ServiceKey, Counter[str]] = {}
    for each in slices:
        if each.is_ours and each.is_mirror:
            count = sum(endpoint.is_ready for endpoint in each.endpoints or ())
            ready.setdefault(each.service, Counter())[each.source_cluster] += count
    return sum(counts[cluster] for counts in ready.values() if counts.total() > counts[cluster])


def strangers(present: Iterable[tuple[str, KubernetesObject]]) -> list[str]:
    """What is not ours among the objects (kind and object) of the system namespace, and so keeps it from being deleted.

    What Kubernetes itself puts into every namespace does not count.
    """
    of_kubernetes = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
    return sorted(
        f"{kind} {each.metadata.name}"
        for kind, each in present
        if not each.is_ours and (kind, each.metadata.name) not in of_kubernetes
    )
