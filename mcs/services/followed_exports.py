"""Exports that follow replicas: a cluster that gets replicas behind an exported Service exports it, too.

Who divides replicas among clusters says where they are; that a Service is exported is said by somebody, in one cluster
at least. Only exports that carry our mark are taken back; those of users, and automatic ones, stay.
"""

from collections.abc import Collection, Mapping

from msgspec import Struct

from mcs.model.actions import Action, Apply, Delete
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ServiceExport
from mcs.model.names import FOLLOWS_ANNOTATION, MANAGED_BY, MANAGED_BY_LABEL, ClusterId, ServiceKey
from mcs.model.resources import SERVICE_EXPORTS


class ObservedReplicas(Struct, frozen=True, kw_only=True):
    """Where a Service is exported, and where replicas of it are.

    `present` are the clusters that have the Service and replicas of it, `absent` those that are known to have, and to
    get, no replicas, since they are elsewhere; of the others neither is known. `unseen` are clusters whose exports
    cannot be told just now: nothing is changed there, and as long as there is one, nobody knows that a Service is
    exported no more.
    """

    key: ServiceKey
    exports: Mapping[ClusterId, ServiceExport]
    present: Collection[ClusterId]
    absent: Collection[ClusterId] = ()
    unseen: Collection[ClusterId] = ()


def plan_followed_exports(observed: ObservedReplicas) -> dict[ClusterId, Action]:
    """The export to make or to take back in each cluster; nothing where all is as it should be.

    It says what the oldest export of somebody else says, so that the two do not contradict each other.
    """
    own = [each for each in observed.exports.values() if not follows(each) and not each.is_terminating]
    actions: dict[ClusterId, Action] = {}
    if own:
        first = min(own, key=lambda each: (each.metadata.creation_timestamp or "", each.metadata.uid))
        for cluster in sorted(set(observed.present) - observed.exports.keys() - set(observed.unseen)):
            actions[cluster] = _creation(cluster, observed.key, first)
    for cluster, export in sorted(observed.exports.items()):
        is_over = cluster in observed.absent or not (own or observed.unseen)
        if follows(export) and is_over and not export.is_terminating and cluster not in observed.unseen:
            actions[cluster] = Delete.of(cluster, SERVICE_EXPORTS, export)
    return actions


def follows(export: ServiceExport) -> bool:
    """True for an export that was made because replicas came."""
    return export.is_ours and export.metadata.annotations.get(FOLLOWS_ANNOTATION) == "true"


def _creation(cluster: ClusterId, key: ServiceKey, like: ServiceExport) -> Apply:
    metadata = ObjectMeta(
        name=key.name,
        namespace=key.namespace,
        labels={MANAGED_BY_LABEL: MANAGED_BY},
        annotations={FOLLOWS_ANNOTATION: "true"},
    )
    return Apply(
        cluster=cluster,
        resource=SERVICE_EXPORTS,
        object=ServiceExport(metadata=metadata, spec=like.spec),
    )
