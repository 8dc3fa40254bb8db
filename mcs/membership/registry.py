"""Who is a member, decided from the registrations: whom to engage, to reach in another way, to let go and to refuse.

Unknown is not empty: a registration that is merely not there any more lets nobody go. Only one whose deletion was seen
with our finalizer is a recorded leave. What came from a cluster that has neither a registration nor a recorded leave
stays where it is; such a cluster is an orphan, and told of.

An id is frozen for the length of a membership: neither may another cluster take it, nor may a member change it.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from mcs.membership.connecting import (
    Credentials,
    Endpoint,
    NotUsableError,
    credentials_of,
    endpoint_of,
    secret_of,
)
from mcs.model.names import ClusterId, cluster_id_error
from mcs.model.registration import (
    CLUSTER_ID_ANNOTATION,
    CLUSTER_UID_ANNOTATION,
    LEAVE_FINALIZER,
    KubeFedCluster,
    Secret,
)

DUPLICATE = "DuplicateCluster"
MALFORMED = "ConfigurationMalformed"
ID_CHANGED = "ClusterIdChanged"
ID_NOT_VALID = "ClusterIdNotValid"
"""Why a registration is refused."""


class Registered(Struct, frozen=True):
    """A registration that can be worked with: the cluster, the object that registers it, and how it is reached.

    `cluster_uid` is the uid of its namespace kube-system as recorded, empty when it is not recorded yet.
    """

    cluster: ClusterId
    name: str
    uid: str
    endpoint: Endpoint
    credentials: Credentials
    cluster_uid: str = ""


class Refusal(Struct, frozen=True):
    """Why a registration is not worked with as it stands; `problem` says what to do."""

    name: str
    reason: str
    problem: str


class ObservedRegistry(Struct, frozen=True):
    """All registrations and Secrets of the system namespace, and what is known of clusters otherwise.

    `engaged` are the members by these registrations; `given` those that were given in another way; `sources` the
    clusters that objects of ours in any member came from.
    """

    registrations: tuple[KubeFedCluster, ...]
    secrets: Mapping[str, Secret]
    engaged: Mapping[ClusterId, Registered] = {}
    given: frozenset[ClusterId] = frozenset()
    left: frozenset[ClusterId] = frozenset()
    sources: frozenset[ClusterId] = frozenset()


class RegistryPlan(Struct, frozen=True):
    """What to do with whom, each in the order of ids or names.

    `engage` are new members; `reconnect` those reached in another way from now on; `renew` those with other
    credentials alone. `leaving` are the registrations of clusters that leave, `orphans` the clusters that nobody
    registers although something came from them.
    """

    engage: tuple[Registered, ...] = ()
    reconnect: tuple[Registered, ...] = ()
    renew: tuple[Registered, ...] = ()
    leaving: tuple[tuple[ClusterId, str], ...] = ()
    refusals: tuple[Refusal, ...] = ()
    orphans: tuple[ClusterId, ...] = ()


def plan_registry(observed: ObservedRegistry) -> RegistryPlan:
    """Decide on every registration by itself: none that is refused keeps another one waiting."""
    engage: list[Registered] = []
    reconnect: list[Registered] = []
    renew: list[Registered] = []
    leaving: list[tuple[ClusterId, str]] = []
    refusals: list[Refusal] = []
    taken: dict[ClusterId, str] = {}
    uids: dict[str, ClusterId] = {}
    for registration in _by_precedence(observed):
        name, cluster = registration.metadata.name, _frozen_id(registration, observed.engaged)
        try:
            _check_id(registration, cluster, taken, uids, observed.given)
        except _RefusedError as refused:
            refusals.append(Refusal(name, refused.reason, str(refused)))
            continue
        taken[cluster] = name
        if uid := registration.metadata.annotations.get(CLUSTER_UID_ANNOTATION):
            uids[uid] = cluster
        if is_leaving(registration):
            leaving.append((cluster, name))
            continue
        if cluster != registration.cluster:
            refusals.append(_id_changed(registration, cluster))
        try:
            registered = _registered(registration, cluster, observed.secrets)
        except NotUsableError as error:
            refusals.append(Refusal(name, MALFORMED, str(error)))
            continue
        before = observed.engaged.get(cluster)
        if before is None:
            if not registration.is_terminating:
                engage.append(registered)
        elif before.endpoint != registered.endpoint:
            reconnect.append(registered)
        elif before != registered:
            renew.append(registered)
    known = taken.keys() | {each.cluster for each in observed.registrations}
    orphans = (observed.sources | observed.engaged.keys()) - known - observed.given - observed.left
    return RegistryPlan(
        engage=_sorted(engage),
        reconnect=_sorted(reconnect),
        renew=_sorted(renew),
        leaving=tuple(sorted(leaving)),
        refusals=tuple(sorted(refusals, key=lambda each: (each.name, each.reason))),
        orphans=tuple(sorted(orphans)),
    )


def is_leaving(registration: KubeFedCluster) -> bool:
    """True for a recorded leave: its deletion was asked for while our finalizer held it."""
    return registration.is_terminating and LEAVE_FINALIZER in registration.metadata.finalizers


class _RefusedError(Exception):
    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason


def _by_precedence(observed: ObservedRegistry) -> list[KubeFedCluster]:
    """Who is a member keeps its id; then the oldest has it, and by name if they are of one age."""
    members = {registered.uid for registered in observed.engaged.values()}

    def precedence(registration: KubeFedCluster) -> tuple[bool, str, str]:
        metadata = registration.metadata
        return metadata.uid not in members, metadata.creation_timestamp, metadata.name

    return sorted(observed.registrations, key=precedence)


def _frozen_id(registration: KubeFedCluster, engaged: Mapping[ClusterId, Registered]) -> ClusterId:
    """The id that this registration is a member by, else the one that it asks for."""
    uid = registration.metadata.uid
    return next((cluster for cluster, each in engaged.items() if each.uid == uid), registration.cluster)


def _check_id(
    registration: KubeFedCluster,
    cluster: ClusterId,
    taken: Mapping[ClusterId, str],
    uids: Mapping[str, ClusterId],
    given: frozenset[ClusterId],
) -> None:
    if problem := cluster_id_error(cluster):
        raise _RefusedError(ID_NOT_VALID, f"{problem}; set the annotation {CLUSTER_ID_ANNOTATION}")
    if cluster in given:
        raise _RefusedError(
            DUPLICATE, f'"{cluster}" is given by --cluster; remove that, or this registration'
        )
    if cluster in taken:
        raise _RefusedError(
            DUPLICATE,
            f'"{cluster}" is registered by KubeFedCluster "{taken[cluster]}" already; give this one another id, or '
            "delete one of the two",
        )
    uid = registration.metadata.annotations.get(CLUSTER_UID_ANNOTATION, "")
    if uid and uid in uids:
        raise _RefusedError(
            DUPLICATE,
            f'the same cluster is a member as "{uids[uid]}" already; delete one of the two registrations',
        )


def _id_changed(registration: KubeFedCluster, cluster: ClusterId) -> Refusal:
    return Refusal(
        registration.metadata.name,
        ID_CHANGED,
        f'it is a member as "{cluster}" and cannot become "{registration.cluster}"; set the annotation '
        f"{CLUSTER_ID_ANNOTATION} back, or let it leave and join anew",
    )


def _registered(
    registration: KubeFedCluster, cluster: ClusterId, secrets: Mapping[str, Secret]
) -> Registered:
    secret = secret_of(registration, secrets)
    return Registered(
        cluster=cluster,
        name=registration.metadata.name,
        uid=registration.metadata.uid,
        endpoint=endpoint_of(registration, secret),
        credentials=credentials_of(secret),
        cluster_uid=registration.metadata.annotations.get(CLUSTER_UID_ANNOTATION, ""),
    )


def _sorted(registered: Iterable[Registered]) -> tuple[Registered, ...]:
    return tuple(sorted(registered, key=lambda each: each.cluster))
