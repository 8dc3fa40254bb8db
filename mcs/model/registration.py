"""KubeFedCluster (core.kubefed.io/v1beta1), the one registration of a member, with what it refers to or lacks.

Source: the API of KubeFed 0.10; what was written for it is read unchanged. tlsServerName, zones, region and
taints in the spec are ours. What a registration means is decided in `mcs.membership`.
"""

from typing import Any

from msgspec import field

from mcs.model.meta import ConditionStatus, KubernetesObject, Wire
from mcs.model.names import ANNOTATION_PREFIX, ClusterId
from mcs.model.taints import Taint

DEFAULT_SYSTEM_NAMESPACE = "kube-federation-system"
"""Where registrations and their Secrets are, unless another namespace is asked for."""

CORDONED_ANNOTATION = f"{ANNOTATION_PREFIX}/cordoned"
""" "true": nothing new is placed there."""
DRAINED_ANNOTATION = f"{ANNOTATION_PREFIX}/drained"
""" "true": its endpoints are withdrawn everywhere."""
UNREACHABLE_ANNOTATION = f"{ANNOTATION_PREFIX}/unreachable"
""" "drain" or "keep": what becomes of its endpoints when it cannot be reached."""
UNREACHABLE_GRACE_ANNOTATION = f"{ANNOTATION_PREFIX}/unreachable-grace"
"""How long they stay in any case, as a Go duration."""
CLUSTER_UID_ANNOTATION = f"{ANNOTATION_PREFIX}/cluster-uid"
"""The uid of its namespace kube-system: a cluster that is built anew under the same name has another."""
CLUSTER_ID_ANNOTATION = f"{ANNOTATION_PREFIX}/cluster-id"
"""The cluster id, where it is not the name of the registration."""
LEAVE_FINALIZER = f"{ANNOTATION_PREFIX}/leave"
"""Keeps a deleted registration until what came from its cluster is gone: a recorded leave."""
KUBECONFIG_LABEL = f"{ANNOTATION_PREFIX}/kubeconfig"
""" "true" on a Secret whose kubeconfig is to become a registration."""

READY = "Ready"
OFFLINE = "Offline"
CONFIG_MALFORMED = "ConfigMalformed"
DRAINED = "Drained"
"""Ours: how far the drain of a cluster is that federation empties; True at its end."""

ANY_VALIDATION = "*"
SUBJECT_NAME = "SubjectName"
VALIDITY_PERIOD = "ValidityPeriod"
TLS_VALIDATIONS = (ANY_VALIDATION, SUBJECT_NAME, VALIDITY_PERIOD)
"""What disabledTLSValidations may name; the first only alone."""

TOKEN_KEY = "token"
CA_KEY = "ca.crt"
CERTIFICATE_KEY = "tls.crt"
PRIVATE_KEY_KEY = "tls.key"
KUBECONFIG_KEY = "kubeconfig"
"""Keys of the Secret that a registration refers to: a token, a client certificate with its key, or a kubeconfig."""
KUBECONFIG_VALUE_KEY = "value"
"""Key of the kubeconfig in a Secret with KUBECONFIG_LABEL."""


class SecretReference(Wire, frozen=True):
    """A Secret in the namespace of the registration."""

    name: str = ""


class KubeFedClusterSpec(Wire, frozen=True):
    """How the API server of a member is reached. `ca_bundle` is PEM."""

    api_endpoint: str = ""
    ca_bundle: bytes = b""
    secret_ref: SecretReference = SecretReference()
    disabled_tls_validations: tuple[str, ...] = field(name="disabledTLSValidations", default=())
    proxy_url: str = field(name="proxyURL", default="")
    tls_server_name: str = ""
    zones: tuple[str, ...] = ()
    region: str = ""
    taints: tuple[Taint, ...] = ()


class ClusterCondition(Wire, frozen=True):
    """One aspect of a member. Unlike metav1.Condition it tells when it was probed, and may lack a reason."""

    type: str
    status: ConditionStatus
    last_probe_time: str = ""
    last_transition_time: str | None = None
    reason: str | None = None
    message: str | None = None


class KubeFedClusterStatus(Wire, frozen=True):
    """What was found out about a member."""

    conditions: tuple[ClusterCondition, ...] = ()
    kubernetes_version: str | None = None
    zones: tuple[str, ...] = ()
    region: str | None = None


class KubeFedCluster(KubernetesObject, frozen=True):
    """The registration of one member in the system namespace of the host cluster."""

    spec: KubeFedClusterSpec = KubeFedClusterSpec()
    status: KubeFedClusterStatus = KubeFedClusterStatus()

    @property
    def cluster(self) -> ClusterId:
        """The id of the member, acceptable or not: that of the annotation, else the name."""
        return ClusterId(self.metadata.annotations.get(CLUSTER_ID_ANNOTATION) or self.metadata.name)

    @property
    def is_cordoned(self) -> bool:
        """True while an operator wants nothing new to be placed there."""
        return self.metadata.annotations.get(CORDONED_ANNOTATION) == "true"

    @property
    def is_drained(self) -> bool:
        """True while an operator wants it to be drained."""
        return self.metadata.annotations.get(DRAINED_ANNOTATION) == "true"

    def condition(self, type_: str) -> ClusterCondition | None:
        """The condition of this type."""
        return next((each for each in self.status.conditions if each.type == type_), None)


class Secret(KubernetesObject, frozen=True):
    """core/v1 Secret. `data` is what it holds, decoded from base64; no text of this object shows it."""

    type: str = ""
    data: dict[str, bytes] = {}

    def __repr__(self) -> str:
        keys = ", ".join(sorted(self.data))
        return f"Secret({self.metadata.namespace}/{self.metadata.name}, type={self.type!r}, keys=[{keys}])"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("name", f"{self.metadata.namespace}/{self.metadata.name}"), ("keys", sorted(self.data))]


ZONE_LABEL = "topology.kubernetes.io/zone"
"""On a Node, the zone that it is in."""


class NodeSpec(Wire, frozen=True):
    """The pod ranges of a node, CIDRs, at most one of each family."""

    pod_cidr: str = field(name="podCIDR", default="")
    pod_cidrs: tuple[str, ...] = field(name="podCIDRs", default=())


class Node(KubernetesObject, frozen=True):
    """core/v1 Node: its labels tell zone and region."""

    spec: NodeSpec = NodeSpec()
