"""KubeFed's API for federated objects: which kinds are federated, the objects, and what is remembered of them.

Source: the API of KubeFed 0.10; what was written for it is read unchanged. Fields that are ours say so. Which cluster
gets what, and what is told of it, is decided in `mcs.federation`.
"""

from typing import Any, Literal, TypeVar

from mcs.model.meta import ConditionStatus, KubernetesObject, Wire
from mcs.model.names import ClusterId
from mcs.model.resources import Resource
from mcs.model.targets import TargetObject

CORE_GROUP = "core.kubefed.io"
TYPES_GROUP = "types.kubefed.io"
SCHEDULING_GROUP = "scheduling.kubefed.io"
FEDERATED_VERSION = "v1beta1"
"""Version of the kinds of TYPES_GROUP, unless a type configuration names another."""
FEDERATED_PREFIX = "Federated"
"""What the kind of a federated object begins with; the kind of its target follows."""

MANAGED_LABEL = "kubefed.io/managed"
MANAGED = "true"
UNMANAGED = "false"
"""Values of MANAGED_LABEL on an object in a member: ours, and by its owner's wish never to be touched."""
ORPHAN_ANNOTATION = "kubefed.io/orphan"
""" "true" on a federated object: what it made stays in the members when it is deleted."""
DELETE_OPTION_ANNOTATION = "kubefed.io/deleteoption"
"""On a federated object: metav1.DeleteOptions as JSON, for deletes in the members."""
SYNC_FINALIZER = "kubefed.io/sync-controller"
"""Keeps a deleted federated object until what it made is gone."""
TYPE_CONFIG_FINALIZER = "core.kubefed.io/federated-type-config"
CONFIG_NAME = "kubefed"
"""The one name that a KubeFedConfig may have."""
NAMESPACES_TYPE = "namespaces"
"""Name of the type configuration without which no namespaced type is propagated."""

TARGET_VERBS = ("get", "list", "watch", "create", "patch", "delete")
"""What is asked of the members for objects of a kind that is federated."""

PROPAGATION = "Propagation"
"""The one type of condition of a federated object."""
CHECK_CLUSTERS = "CheckClusters"
CLUSTER_RETRIEVAL_FAILED = "ClusterRetrievalFailed"
COMPUTE_PLACEMENT_FAILED = "ComputePlacementFailed"
NAMESPACE_NOT_FEDERATED = "NamespaceNotFederated"
PROPAGATION_REASONS = (
    CHECK_CLUSTERS,
    CLUSTER_RETRIEVAL_FAILED,
    COMPUTE_PLACEMENT_FAILED,
    NAMESPACE_NOT_FEDERATED,
)

OK = ""
"""What is told of a cluster where everything is as wanted."""
WAITING_FOR_REMOVAL = "WaitingForRemoval"
CLUSTER_NOT_READY = "ClusterNotReady"
CACHED_RETRIEVAL_FAILED = "CachedRetrievalFailed"
COMPUTE_RESOURCE_FAILED = "ComputeResourceFailed"
APPLY_OVERRIDES_FAILED = "ApplyOverridesFailed"
CREATION_FAILED = "CreationFailed"
UPDATE_FAILED = "UpdateFailed"
DELETION_FAILED = "DeletionFailed"
LABEL_REMOVAL_FAILED = "LabelRemovalFailed"
RETRIEVAL_FAILED = "RetrievalFailed"
ALREADY_EXISTS = "AlreadyExists"
FIELD_RETENTION_FAILED = "FieldRetentionFailed"
VERSION_RETRIEVAL_FAILED = "VersionRetrievalFailed"
CLIENT_RETRIEVAL_FAILED = "ClientRetrievalFailed"
MANAGED_LABEL_FALSE = "ManagedLabelFalse"
CREATION_TIMED_OUT = "CreationTimedOut"
UPDATE_TIMED_OUT = "UpdateTimedOut"
DELETION_TIMED_OUT = "DeletionTimedOut"
LABEL_REMOVAL_TIMED_OUT = "LabelRemovalTimedOut"

T = TypeVar("T", bound=KubernetesObject)
Switch = Literal["Enabled", "Disabled"]
Scope = Literal["Cluster", "Namespaced"]
Running = Literal["Running", "NotRunning"]


class APIResource(Wire, frozen=True):
    """A kind and how it is named on an API server. `group` is empty for the core group."""

    version: str
    kind: str
    plural_name: str
    scope: Scope
    group: str = ""


_NO_RESOURCE = APIResource(version="", kind="", plural_name="", scope="Namespaced")


class FederatedTypeConfigSpec(Wire, frozen=True):
    """Which kind is federated by which."""

    target_type: APIResource
    federated_type: APIResource
    propagation: Switch
    status_type: APIResource | None = None
    status_collection: Switch | None = None


class FederatedTypeConfigStatus(Wire, frozen=True):
    """What runs for the type."""

    observed_generation: int = 0
    propagation_controller: Running | None = None
    status_controller: Running | None = None


class FederatedTypeConfig(KubernetesObject, frozen=True):
    """One type that is federated, in the system namespace of the host cluster."""

    spec: FederatedTypeConfigSpec = FederatedTypeConfigSpec(
        target_type=_NO_RESOURCE, federated_type=_NO_RESOURCE, propagation="Disabled"
    )
    status: FederatedTypeConfigStatus = FederatedTypeConfigStatus()

    @property
    def is_enabled(self) -> bool:
        """True while objects of the type are to be propagated."""
        return self.spec.propagation == "Enabled" and not self.is_terminating


class ClusterReference(Wire, frozen=True):
    """A cluster by its name."""

    name: str


class LabelSelectorRequirement(Wire, frozen=True):
    """One of the expressions of a metav1.LabelSelector: In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True):
    """metav1.LabelSelector: without any requirement it selects everything."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class Placement(Wire, frozen=True):
    """Where an object goes: to the listed clusters, else to those selected, else nowhere.

    `clusters` is None when there is no list; an empty list is one, and places nothing.
    """

    clusters: tuple[ClusterReference, ...] | None = None
    cluster_selector: LabelSelector | None = None


class Override(Wire, frozen=True):
    """One operation of a JSON patch; an empty `op` replaces. A value that is not given is null."""

    path: str
    op: str = ""
    value: Any = None


class ClusterOverrides(Wire, frozen=True):
    """What differs in one cluster, in order."""

    cluster_name: str
    cluster_overrides: tuple[Override, ...] = ()


class FederatedSpec(Wire, frozen=True):
    """What (`template`), where (`placement`), and the differences of each cluster (`overrides`)."""

    template: dict[str, Any] = {}
    placement: Placement = Placement()
    overrides: tuple[ClusterOverrides, ...] = ()
    retain_replicas: bool = False


class PropagationCondition(Wire, frozen=True):
    """The condition of a federated object. `message` is ours."""

    type: str
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    last_update_time: str = ""
    last_transition_time: str = ""


class WorkloadCounts(Wire, frozen=True):
    """Pods of a workload: how many are wanted, and how many of them are how far. Ours."""

    wanted: int
    ready: int
    updated: int
    available: int


class FederatedClusterStatus(Wire, frozen=True):
    """How one cluster does. An empty `status` is OK; `message` and `workload` are ours."""

    name: str
    status: str = OK
    message: str = ""
    remote_status: Any = None
    workload: WorkloadCounts | None = None


class FederatedStatus(Wire, frozen=True):
    """How all clusters do. `workload` is their sum; `percent_converged` is None until it is known; both are ours."""

    observed_generation: int = 0
    conditions: tuple[PropagationCondition, ...] = ()
    clusters: tuple[FederatedClusterStatus, ...] = ()
    workload: WorkloadCounts | None = None
    percent_converged: int | None = None


class FederatedObject(KubernetesObject, frozen=True):
    """Federated<Kind>, whichever kind."""

    spec: FederatedSpec = FederatedSpec()
    status: FederatedStatus = FederatedStatus()

    @property
    def is_orphaning(self) -> bool:
        """True when what it made is to stay in the members after its deletion."""
        return self.metadata.annotations.get(ORPHAN_ANNOTATION) == "true"


class TargetReference(Wire, frozen=True):
    """The object, the same in every member, that a ledger is of."""

    version: str
    kind: str
    plural_name: str
    name: str
    group: str = ""
    namespace: str = ""


class PropagatedVersionSpec(Wire, frozen=True):
    """Whose ledger it is, where name and namespace do not tell it. Ours."""

    target: TargetReference | None = None


class ClusterObjectVersion(Wire, frozen=True):
    """An entry of the ledger: the cluster may hold the object.

    `version` is that of the object after the last write, empty before the first has ended. `applied` is a hash of what
    was written; it is ours.
    """

    cluster_name: ClusterId
    version: str = ""
    applied: str = ""


class PropagatedVersionStatus(Wire, frozen=True):
    """The ledger. Entries are in the order of their clusters' names."""

    template_version: str = ""
    overrides_version: str = ""
    cluster_versions: tuple[ClusterObjectVersion, ...] = ()


class PropagatedVersion(KubernetesObject, frozen=True):
    """Remembers every cluster that one object was written to until it is verified gone there.

    ClusterPropagatedVersion, for targets of cluster scope, has the same fields.
    """

    spec: PropagatedVersionSpec = PropagatedVersionSpec()
    status: PropagatedVersionStatus = PropagatedVersionStatus()


class ControllerDuration(Wire, frozen=True):
    """Go durations: how long a change of a member's health must last, and how long caches may take to fill."""

    available_delay: str = "20s"
    unavailable_delay: str = "60s"
    cache_sync_timeout: str = "5m"


class LeaderElect(Wire, frozen=True):
    """Go durations, and the kind of the lock."""

    lease_duration: str = "15s"
    renew_deadline: str = "10s"
    retry_period: str = "5s"
    resource_lock: str = "configmaps"


class FeatureGate(Wire, frozen=True):
    """A feature that is switched on or off."""

    name: str
    configuration: Switch


class ClusterHealthCheck(Wire, frozen=True):
    """How members are probed; Go durations and counts of consecutive probes."""

    period: str = "10s"
    failure_threshold: int = 3
    success_threshold: int = 1
    timeout: str = "3s"


class SyncController(Wire, frozen=True):
    """How many objects of a type are worked on at once, and whether what exists in members is taken over."""

    max_concurrent_reconciles: int = 1
    adopt_resources: Switch = "Enabled"


class StatusController(Wire, frozen=True):
    """How many objects of a type are worked on at once."""

    max_concurrent_reconciles: int = 1


class KubeFedConfigSpec(Wire, frozen=True):
    """Settings of the control plane; what is not set has KubeFed's default."""

    scope: Scope = "Cluster"
    controller_duration: ControllerDuration = ControllerDuration()
    leader_elect: LeaderElect = LeaderElect()
    feature_gates: tuple[FeatureGate, ...] = ()
    cluster_health_check: ClusterHealthCheck = ClusterHealthCheck()
    sync_controller: SyncController = SyncController()
    status_controller: StatusController = StatusController()


class KubeFedConfig(KubernetesObject, frozen=True):
    """The one configuration, CONFIG_NAME in the system namespace of the host cluster."""

    spec: KubeFedConfigSpec = KubeFedConfigSpec()


FEDERATED_TYPE_CONFIGS = Resource(
    group=CORE_GROUP,
    version="v1beta1",
    plural="federatedtypeconfigs",
    kind="FederatedTypeConfig",
    type=FederatedTypeConfig,
)
KUBEFED_CONFIGS = Resource(
    group=CORE_GROUP, version="v1beta1", plural="kubefedconfigs", kind="KubeFedConfig", type=KubeFedConfig
)
PROPAGATED_VERSIONS = Resource(
    group=CORE_GROUP,
    version="v1alpha1",
    plural="propagatedversions",
    kind="PropagatedVersion",
    type=PropagatedVersion,
)
CLUSTER_PROPAGATED_VERSIONS = Resource(
    group=CORE_GROUP,
    version="v1alpha1",
    plural="clusterpropagatedversions",
    kind="ClusterPropagatedVersion",
    type=PropagatedVersion,
    namespaced=False,
)


def type_config_name(group: str, plural: str) -> str:
    """The name that the type configuration of a target must have: "services", "deployments.apps"."""
    return f"{plural}.{group}" if group else plural


def federated_resource(config: FederatedTypeConfig) -> Resource[FederatedObject]:
    """The federated kind of a type, as its configuration names it."""
    return _resource(config.spec.federated_type, FederatedObject)


def target_resource(config: FederatedTypeConfig) -> Resource[TargetObject]:
    """The kind that a type makes in the members, whose objects are kept whole."""
    return _resource(config.spec.target_type, TargetObject)


def _resource(of: APIResource, type_: type[T]) -> Resource[T]:
    return Resource(
        group=of.group,
        version=of.version,
        plural=of.plural_name,
        kind=of.kind,
        type=type_,
        namespaced=of.scope == "Namespaced",
    )
