"""Whether a cluster may join under a name, and what its registration in the host is.

Ids are frozen for the length of a membership, and so is which cluster is meant by one: the uid of kube-system tells a
cluster apart from another that took its name. Source: KEP-2149; KubeFed's join. Reading and writing is left to others.
"""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from mcs.membership.access import labels
from mcs.membership.connecting import Endpoint
from mcs.membership.identity import Identity
from mcs.model.clusters import CLUSTER_ID_PROPERTY, CLUSTERSET_PROPERTY
from mcs.model.installed import Manifest, manifest
from mcs.model.names import ANNOTATION_PREFIX, ClusterId
from mcs.model.registration import (
    CLUSTER_UID_ANNOTATION,
    LEAVE_FINALIZER,
    TOKEN_KEY,
    KubeFedCluster,
)
from mcs.model.resources import CLUSTER_PROPERTIES, KUBEFED_CLUSTERS, SECRETS

CLUSTERSET_ANNOTATION = f"{ANNOTATION_PREFIX}/clusterset"
"""On a registration: the clusterset that its cluster is a member of."""


class Newcomer(Struct, frozen=True, kw_only=True):
    """A cluster that asks to join: who it is, what it says of itself, and how it is reached."""

    cluster: ClusterId
    uid: str
    said: Identity
    endpoint: Endpoint


def clusterset_of(registered: Sequence[KubeFedCluster]) -> str:
    """The clusterset that the members of a registry are in, as their joins recorded it; empty when none did."""
    recorded = sorted(each.metadata.annotations.get(CLUSTERSET_ANNOTATION, "") for each in registered)
    return next(filter(None, recorded), "")


def joining_problem(newcomer: Newcomer, clusterset: str, registered: Sequence[KubeFedCluster]) -> str:
    """Why the cluster cannot join, and what to do; empty when it can, or is joining again."""
    cluster, said = newcomer.cluster, newcomer.said
    if (there := clusterset_of(registered)) not in ("", clusterset):
        return f'the members of this registry are in the clusterset "{there}"; leave --clusterset away, or give that'
    for each in registered:
        if problem := _registration_problem(newcomer, each):
            return problem
    if said.cluster is not None and said.cluster != cluster:
        return (
            f'its ClusterProperty "{CLUSTER_ID_PROPERTY}" says that it is "{said.cluster}"; join it under that name, '
            "or delete the property if it is a member of nothing any more"
        )
    if said.clusterset is not None and said.clusterset != clusterset:
        return (
            f'its ClusterProperty "{CLUSTERSET_PROPERTY}" puts it in "{said.clusterset}", not in '
            f'"{clusterset}"; let it '
            f"leave that one first, or give --clusterset {said.clusterset}"
        )
    return ""


def _registration_problem(newcomer: Newcomer, present: KubeFedCluster) -> str:
    """Why one registration is in the way."""
    cluster, name = newcomer.cluster, present.metadata.name
    uid = present.metadata.annotations.get(CLUSTER_UID_ANNOTATION, "")
    if uid == newcomer.uid and present.cluster != cluster:
        return f'it is a member already, as "{present.cluster}", and a member keeps its id; run mcs leave {name} first'
    if present.cluster != cluster:
        return ""
    if name != cluster:
        return f'the id "{cluster}" is taken by the KubeFedCluster "{name}"; choose another'
    if present.is_terminating:
        return f'"{cluster}" is just leaving; run mcs leave {cluster} --wait, then join again'
    if not present.is_ours:
        return (
            f'there is a KubeFedCluster "{cluster}" that mcs join did not make; delete it first, '
            "or choose another name"
        )
    if uid and uid != newcomer.uid:
        return (
            f'"{cluster}" is another cluster: its kube-system had the uid {uid}, that of this one is '
            f"{newcomer.uid}; if it "
            f"was built anew, run mcs leave {cluster} --force and join again, else choose another name"
        )
    return ""


def registration_objects(
    newcomer: Newcomer, clusterset: str, namespace: str, token: str
) -> Iterator[Manifest]:
    """The Secret with the token, and the KubeFedCluster that refers to it, in the namespace of the registry."""
    cluster, endpoint = newcomer.cluster, newcomer.endpoint
    encoded = base64.b64encode(token.encode()).decode()
    yield manifest(
        SECRETS,
        secret_name(cluster),
        namespace,
        metadata={"labels": labels()},
        type="Opaque",
        data={TOKEN_KEY: encoded},
    )
    spec: dict[str, Any] = {"apiEndpoint": endpoint.server, "secretRef": {"name": secret_name(cluster)}}
    if endpoint.ca:
        spec["caBundle"] = base64.b64encode(endpoint.ca).decode()
    if endpoint.disabled_validations:
        spec["disabledTLSValidations"] = sorted(endpoint.disabled_validations)
    if endpoint.proxy:
        spec["proxyURL"] = endpoint.proxy
    if endpoint.server_name:
        spec["tlsServerName"] = endpoint.server_name
    yield manifest(
        KUBEFED_CLUSTERS,
        cluster,
        namespace,
        metadata={
            "labels": labels(),
            "annotations": {CLUSTER_UID_ANNOTATION: newcomer.uid, CLUSTERSET_ANNOTATION: clusterset},
            "finalizers": [LEAVE_FINALIZER],
        },
        spec=spec,
    )


def secret_name(cluster: ClusterId) -> str:
    """Name of the Secret with the token of a member."""
    return f"{cluster}-token"


def properties(cluster: ClusterId, clusterset: str, said: Identity) -> Iterator[Manifest]:
    """The ClusterProperties that the cluster does not have yet."""
    wanted = (
        (CLUSTER_ID_PROPERTY, str(cluster), said.cluster),
        (CLUSTERSET_PROPERTY, clusterset, said.clusterset),
    )
    for name, value, present in wanted:
        if present is None:
            yield manifest(CLUSTER_PROPERTIES, name, metadata={"labels": labels()}, spec={"value": value})
