"""Pods and the Nodes that they run on, as far as it takes to say how many more fit.

Nodes as they tell zones and pod ranges are in `registration`. Which Pod fits where is decided in
`mcs.federation.capacity`.
"""

from typing import Any

from mcs.model.meta import ConditionStatus, KubernetesObject, Wire
from mcs.model.resources import Resource
from mcs.model.taints import Taint, Toleration

Quantity = str | int | float
"""As it is written (`mcs.model.quantities`)."""

UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"
"""What a cordoned Node is tainted with."""
POD_SCHEDULED = "PodScheduled"
UNSCHEDULABLE = "Unschedulable"
READY = "Ready"
FINISHED = ("Succeeded", "Failed")
"""Phases of a Pod that takes up nothing any more."""


class NodeSelectorRequirement(Wire, frozen=True):
    """In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Wire, frozen=True):
    """All of these must be met; a term without any is never."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Wire, frozen=True):
    """One of the terms must be met."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class NodeAffinity(Wire, frozen=True):
    """What the scheduler keeps to, without what it merely prefers."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class Affinity(Wire, frozen=True):
    """Which Nodes a Pod needs."""

    node_affinity: NodeAffinity | None = None


class Resources(Wire, frozen=True):
    """What is asked for; what has only a limit asks for that."""

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}


class ContainerPort(Wire, frozen=True):
    """A port; with `host_port` no other Pod of the Node may have that."""

    container_port: int = 0
    host_port: int = 0
    protocol: str = "TCP"


class Container(Wire, frozen=True):
    """A container. An init container that always restarts is a sidecar."""

    resources: Resources | None = None
    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str = ""


class PodSpec(Wire, frozen=True):
    """What a Pod asks of a Node; also that of a template."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    overhead: dict[str, Quantity] | None = None
    resources: Resources | None = None
    node_name: str = ""
    host_network: bool = False
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None


class PodCondition(Wire, frozen=True):
    """One aspect of a Pod."""

    type: str
    status: ConditionStatus
    reason: str = ""
    last_transition_time: str | None = None


class PodStatus(Wire, frozen=True):
    """How far a Pod is."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()


class Pod(KubernetesObject, frozen=True):
    """core/v1 Pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def condition(self, type_: str) -> PodCondition | None:
        """The condition of this type."""
        return next((each for each in self.status.conditions if each.type == type_), None)


class HostSpec(Wire, frozen=True):
    """Whom a Node keeps away."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class HostStatus(Wire, frozen=True):
    """What a Node has for Pods, `pods` of them included."""

    allocatable: dict[str, Quantity] = {}


class Host(KubernetesObject, frozen=True):
    """core/v1 Node as a place for Pods."""

    spec: HostSpec = HostSpec()
    status: HostStatus = HostStatus()


PODS = Resource(group="", version="v1", plural="pods", kind="Pod", type=Pod)
HOSTS: Resource[Any] = Resource(
    group="", version="v1", plural="nodes", kind="Node", type=Host, namespaced=False
)
