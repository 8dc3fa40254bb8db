"""ReplicaSchedulingPreference: how the replicas of a federated workload of the same name are divided over clusters.

Source: the API of KubeFed 0.10, where it has no status; the status is ours. What a spec asks for is read in
`mcs.federation.scheduling_preference`.
"""

from typing import Any

from mcs.model.federated import SCHEDULING_GROUP
from mcs.model.meta import Condition, KubernetesObject, Wire
from mcs.model.names import ClusterId
from mcs.model.resources import Resource

PLANNED = "Planned"
"""Whether the plan is that of the present spec; the message of a False one says what to do."""
ALL_PLACED = "AllPlaced"
"""Whether every replica of the total has a cluster."""
CONSISTENT = "Consistent"
"""False when the spec says two different things of which one wins; absent otherwise."""


class FullCluster(Wire, frozen=True):
    """Replicas waited for a place in a cluster: how many had one, and when that was seen last, roughly."""

    replicas: int
    since: str


class PreferenceClusterStatus(Wire, frozen=True):
    """The plan for one cluster and the reason for it.

    `current` is how many are ready there, None when that is not seen. `capacity` is told only where it limits the plan:
    it changes with every pod of the cluster.
    """

    name: ClusterId
    replicas: int
    reason: str
    message: str = ""
    overflow: int = 0
    current: int | None = None
    capacity: int | None = None
    full: FullCluster | None = None


class PreferenceStatus(Wire, frozen=True):
    """The plan: of how many replicas, how many of them no cluster takes, and which cluster gets how many."""

    observed_generation: int = 0
    total_replicas: int | None = None
    unplaced_replicas: int | None = None
    clusters: tuple[PreferenceClusterStatus, ...] = ()
    conditions: tuple[Condition, ...] = ()


class ReplicaSchedulingPreference(KubernetesObject, frozen=True):
    """The preference; its spec is kept as it was written, so that one that is wrong can be told so."""

    spec: Any = None
    status: PreferenceStatus = PreferenceStatus()


REPLICA_SCHEDULING_PREFERENCES = Resource(
    group=SCHEDULING_GROUP,
    version="v1alpha1",
    plural="replicaschedulingpreferences",
    kind="ReplicaSchedulingPreference",
    type=ReplicaSchedulingPreference,
)
