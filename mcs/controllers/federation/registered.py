"""The clusters that federation works with: those of the registry, as it takes them in and lets them go.

A cluster whose registration has vanished, which is no leave, is kept with what was last read of it: without its labels
everything that was placed there would be deleted.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from mcs.controllers.federation.clusters import OpenClient
from mcs.controllers.registry import RegistryController
from mcs.federation.placement import Registered
from mcs.membership.registry import MALFORMED, RegistryPlan
from mcs.model.names import ClusterId
from mcs.model.registration import READY, KubeFedCluster
from mcs.model.resources import KUBEFED_CLUSTERS
from mcs.runtime.cache import Cache
from mcs.runtime.fleet import Fleet, Member


class _Follower(Struct, frozen=True, eq=False):
    engaged: Callable[[ClusterId], None]
    disengaged: Callable[[ClusterId], None]
    reconnected: Callable[[ClusterId], None]
    changed: Callable[[], None]


class RegisteredClusters:
    """`FederatedClusters` of a registry, whose members `fleet` holds."""

    def __init__(self, registry: RegistryController, fleet: Fleet[Any]) -> None:
        self.is_known = False
        """True once it has been decided for the first time who is a member."""
        self._registry = registry
        self._clusters: dict[ClusterId, KubeFedCluster] = {}
        """The members, with their registrations as they were read last."""
        self._unusable: dict[ClusterId, KubeFedCluster] = {}
        """Registered, but no members: their registrations cannot be worked with as they stand."""
        self._followers: list[_Follower] = []
        fleet.follow(self._engaged, self._disengaged)
        registry.on_members(self._taken_over)

    @property
    def registered(self) -> Registered:
        """All of them, with the labels of their registrations; those that are not ready included."""
        both = self._unusable | self._clusters
        return {cluster: each.metadata.labels for cluster, each in sorted(both.items())}

    def is_ready(self, cluster: ClusterId) -> bool:
        """Whether its API server answered when it was asked last, as its condition Ready tells."""
        registration = self._clusters.get(cluster)
        ready = registration.condition(READY) if registration is not None else None
        return ready is not None and ready.status == "True"

    def registration(self, cluster: ClusterId) -> KubeFedCluster | None:
        """Its registration as it was read last; None for a cluster that is not registered."""
        return self._clusters.get(cluster) or self._unusable.get(cluster)

    def opener(self, cluster: ClusterId) -> OpenClient:
        """What opens a connection to it in the way of the moment."""
        return self._registry.opener(cluster)

    def follow(
        self,
        engaged: Callable[[ClusterId], None],
        disengaged: Callable[[ClusterId], None],
        reconnected: Callable[[ClusterId], None],
        changed: Callable[[], None],
    ) -> Callable[[], None]:
        """Call `engaged` with every member, those to come included, and the others as their names tell.

        `changed` is called when the registration of any may have changed. What is returned ends it all.
        """
        follower = _Follower(engaged, disengaged, reconnected, changed)
        self._followers.append(follower)
        for cluster in sorted(self._clusters):
            engaged(cluster)

        def end() -> None:
            if follower in self._followers:
                self._followers.remove(follower)

        return end

    def _engaged(self, member: Member[Any]) -> None:
        registration = self._registry.registration(member.cluster)
        if registration is None:
            # Given on the command line: it is no cluster of the registry.
            return
        self._clusters[member.cluster] = registration
        for each in tuple(self._followers):
            each.engaged(member.cluster)

    def _disengaged(self, member: Member[Any]) -> None:
        if self._clusters.pop(member.cluster, None) is not None:
            for each in tuple(self._followers):
                each.disengaged(member.cluster)

    def _taken_over(self, plan: RegistryPlan) -> None:
        before = (self.is_known, self._told())
        self._clusters |= {
            cluster: each
            for cluster, each in self._registry.registrations.items()
            if cluster in self._clusters
        }
        self._unusable = self._not_usable(plan)
        self.is_known = True
        for registered in plan.reconnect:
            for each in tuple(self._followers):
                each.reconnected(registered.cluster)
        if before != (self.is_known, self._told()):
            for each in tuple(self._followers):
                each.changed()

    def _not_usable(self, plan: RegistryPlan) -> dict[ClusterId, KubeFedCluster]:
        names = {each.name for each in plan.refusals if each.reason == MALFORMED}
        cache: Cache[KubeFedCluster] = self._registry.host.caches[KUBEFED_CLUSTERS.plural]
        found = {each.cluster: each for each in cache if each.metadata.name in names}
        return {cluster: each for cluster, each in found.items() if cluster not in self._clusters}

    def _told(self) -> dict[ClusterId, Any]:
        """What of the registrations matters here; when a cluster was probed last does not."""
        return {cluster: _meaning(each) for cluster, each in (self._unusable | self._clusters).items()}


def _meaning(registration: KubeFedCluster) -> tuple[Any, ...]:
    metadata, ready = registration.metadata, registration.condition(READY)
    is_ready = ready is not None and ready.status == "True"
    return metadata.labels, metadata.annotations, registration.spec.taints, is_ready
