"""What federation needs to know of the clusters and of a type that is federated, whoever gives it.

The registry gives the clusters, so that tests and the sandbox can give others.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

from mcs.federation.placement import Registered
from mcs.model.federated import FederatedObject, FederatedTypeConfig
from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId
from mcs.model.registration import KubeFedCluster
from mcs.model.resources import Resource
from mcs.runtime.cache import Cache
from mcs.runtime.fleet import Client, Member

T = TypeVar("T", bound=KubernetesObject)


class TargetClient(Client, Protocol):
    """A connection to a member, in which objects of any kind are written (`mcs.kube.client.Client` is one)."""

    async def apply_document(self, resource: Resource[T], document: Mapping[str, Any]) -> T: ...

    async def delete(
        self,
        resource: Resource[Any],
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str,
        options: Mapping[str, Any] | None = None,
    ) -> None: ...


OpenClient = Callable[[], AbstractAsyncContextManager[TargetClient]]


class FederatedClusters(Protocol):
    """The registered clusters, which come, go, and are reached in another way at any time."""

    @property
    def registered(self) -> Registered:
        """All of them, with the labels of their registrations; those that are not ready included."""

    def is_ready(self, cluster: ClusterId) -> bool:
        """Whether its API server answered when it was asked last, as its condition Ready tells."""

    def registration(self, cluster: ClusterId) -> KubeFedCluster | None:
        """Its registration as it was read last: since when it is ready or not, whether it is cordoned, its taints.

        None for a cluster that is given without one.
        """

    def opener(self, cluster: ClusterId) -> OpenClient:
        """What opens a connection to it in the way of the moment."""

    def follow(
        self,
        engaged: Callable[[ClusterId], None],
        disengaged: Callable[[ClusterId], None],
        reconnected: Callable[[ClusterId], None],
        changed: Callable[[], None],
    ) -> Callable[[], None]:
        """Call `engaged` with every cluster, those to come included, and the others as their names tell.

        `changed` is called when the registration of any may have changed: its labels, readiness, cordon or taints.
        What is returned ends it all: a type may be disabled.
        """


class FederatedType(Protocol):
    """One type that is propagated, as seen by who divides replicas, explains or sums up."""

    @property
    def config(self) -> FederatedTypeConfig:
        """Its configuration."""

    @property
    def host(self) -> Member[Any]:
        """The host cluster, with the caches of this type and the executor that writes there."""

    @property
    def federated(self) -> Cache[FederatedObject]:
        """The federated objects."""

    def present(self, cluster: ClusterId) -> Cache[Any] | None:
        """Our objects in a member, as they were seen last (`mcs.model.targets.TargetObject`); None when never."""

    def is_seen(self, cluster: ClusterId) -> bool:
        """Whether what `present` lacks is not there: its first list was complete."""
