"""Federated workloads whose replicas a preference divides: what is planned of each, and what members have.

Whoever looks at all of them uses it: drains, and exports that follow replicas.
"""

from collections.abc import Callable, Collection, Iterable

from mcs.controllers.federation.clusters import FederatedType
from mcs.federation.draining import DrainedWorkload
from mcs.model.documents import map_in, number_in
from mcs.model.federated import FederatedObject
from mcs.model.names import ClusterId, ServiceKey
from mcs.model.scheduling import PreferenceStatus
from mcs.model.services import Service

PLANNED_WITHOUT = frozenset({"Draining", "Drained"})
"""Reasons of a cluster in the status of a preference that was planned without it."""

PreferenceOf = Callable[[FederatedType, ServiceKey], PreferenceStatus | None]
"""The status of the preference that plans a federated object; None where none does."""


def planned_workloads(
    types: Iterable[FederatedType], preference_of: PreferenceOf, namespace: str | None = None
) -> list["PlannedWorkload"]:
    """All that are planned now, or those of a namespace."""
    return [
        PlannedWorkload(type_, federated, status)
        for type_ in types
        for federated in (
            type_.federated if namespace is None else type_.federated.by("namespace", namespace)
        )
        if (status := preference_of(type_, federated.key)) is not None
    ]


class PlannedWorkload:
    """A federated workload that a preference plans."""

    def __init__(self, type_: FederatedType, federated: FederatedObject, status: PreferenceStatus) -> None:
        self._type = type_
        self._federated = federated
        self._status = status
        self._replicas = {each.name: each.replicas for each in status.clusters}

    @property
    def key(self) -> ServiceKey:
        """Its namespace and name."""
        return self._federated.key

    def planned_in(self, clusters: Collection[ClusterId]) -> int:
        """How many replicas these clusters are to have together."""
        return sum(count for cluster, count in self._replicas.items() if cluster in clusters)

    def is_seen(self, cluster: ClusterId) -> bool:
        """Whether it is known what a cluster has of it."""
        return self._type.is_seen(cluster)

    @property
    def clusters(self) -> frozenset[ClusterId]:
        """Where it has replicas, or is to have some."""
        planned = {cluster for cluster, count in self._replicas.items() if count > 0}
        return frozenset(
            planned | {each for each in self._replicas if self._number(each, "spec", "replicas") > 0}
        )

    def without(self, cluster: ClusterId, gone: Collection[ClusterId]) -> DrainedWorkload:
        """How it stands when the cluster goes, and others that are `gone` cannot stand in."""
        others = self._replicas.keys() - gone
        return DrainedWorkload(
            name=str(self._federated.key),
            wanted=self.planned_in(others),
            ready=sum(self._number(each, "status", "readyReplicas") for each in others),
            here=self._number(cluster, "spec", "replicas"),
            are_planned=self.is_planned_without(cluster),
        )

    def is_planned_without(self, cluster: ClusterId) -> bool:
        """Whether the plan is one in which the cluster has no part because it is drained, or has none at all."""
        reasons = {each.reason for each in self._status.clusters if each.name == cluster}
        return not reasons or reasons <= PLANNED_WITHOUT

    def is_behind(self, service: Service | None) -> bool:
        """Whether the Service selects its pods."""
        if service is None or not service.spec.selector:
            return False
        metadata = self._federated.metadata
        if metadata.namespace != service.metadata.namespace:
            return False
        labels = map_in(self._federated.spec.template, "spec", "template", "metadata", "labels")
        return all(labels.get(key) == value for key, value in service.spec.selector.items())

    def _number(self, cluster: ClusterId, part: str, name: str) -> int:
        cache = self._type.present(cluster)
        found = cache.get(self._federated.key) if cache is not None else None
        return number_in(found.document, part, name) if found is not None else 0
