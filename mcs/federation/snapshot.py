"""All that federation looks at, at one instant, as one value: clusters, types, federated objects and preferences.

It is read from manifests (`manifests`), planned (`plans`), changed by a question (`what_if`) and explained
(`explanation`). Where it comes from, files or API servers, is left to others.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from mcs.federation.placement import Gate
from mcs.federation.planned import ObjectPlan
from mcs.federation.scheduling_preference import SchedulingPreference
from mcs.model.federated import FEDERATED_PREFIX, FederatedObject, FederatedTypeConfig
from mcs.model.names import ClusterId
from mcs.model.registration import DEFAULT_SYSTEM_NAMESPACE
from mcs.model.taints import Taint

FEDERATED_NAMESPACE = f"{FEDERATED_PREFIX}Namespace"


class ObjectKey(NamedTuple):
    """Which federated object; `kind` is its own, as FederatedDeployment. The namespace may be empty."""

    kind: str
    namespace: str
    name: str

    @property
    def workload(self) -> str:
        """`namespace/name`, or the name alone at cluster scope."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.workload}"


class RegisteredCluster(Struct, frozen=True, kw_only=True):
    """A registered cluster, as far as placement and division look at it.

    Where a registration says nothing of how the cluster is, it is not `is_probed`, and `is_ready` is supposed.
    """

    labels: Mapping[str, str] = {}
    is_ready: bool = True
    is_probed: bool = True
    is_drained: bool = False
    taints: tuple[Taint, ...] = ()
    is_cordoned: bool = False


class Preferred(Struct, frozen=True, kw_only=True):
    """A ReplicaSchedulingPreference; `asked` is None when it is wrong, and `problem` then says why.

    `current` and `capacity` are what was seen of each cluster when it was last divided; `asked_of` is what the object
    asks of each.
    """

    asked: SchedulingPreference | None
    problem: str = ""
    current: Mapping[ClusterId, int] = {}
    capacity: Mapping[ClusterId, int] = {}
    asked_of: Mapping[ClusterId, int] = {}


class Snapshot(Struct, frozen=True, kw_only=True):
    """The set. `types` are by the kind of the federated object, `preferences` by the object whose replicas they divide.

    With `needs_federated_namespace`, as in a control plane for all namespaces, nothing is placed in a namespace that is
    not federated. `carried_out` has the plans that are taken to be carried out where nothing was seen. `problems`
    are sentences about what could not be read.
    """

    clusters: Mapping[ClusterId, RegisteredCluster] = {}
    types: Mapping[str, FederatedTypeConfig] = {}
    objects: Mapping[ObjectKey, FederatedObject] = {}
    preferences: Mapping[ObjectKey, Preferred] = {}
    carried_out: Mapping[ObjectKey, ObjectPlan] = {}
    needs_federated_namespace: bool = True
    system_namespace: str = DEFAULT_SYSTEM_NAMESPACE
    problems: tuple[str, ...] = ()

    def gate_of(self, key: ObjectKey) -> Gate | None:
        """The placement of the namespace around an object; None where there is nothing around it."""
        if key.kind == FEDERATED_NAMESPACE or not key.namespace:
            return None
        around = self.objects.get(ObjectKey(FEDERATED_NAMESPACE, key.namespace, key.namespace))
        return Gate(None if around is None else around.spec.placement, self.needs_federated_namespace)


def target_kind(key: ObjectKey, types: Mapping[str, FederatedTypeConfig]) -> str:
    """The kind that a federated object makes in the members: as its type says, else by its name."""
    config = types.get(key.kind)
    return key.kind.removeprefix(FEDERATED_PREFIX) if config is None else config.spec.target_type.kind
