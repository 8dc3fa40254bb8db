"""Identifiers, labels and annotations: what things are called, and whether a name is acceptable.

Sources: KEP-1645 (constants of the MCS API), KEP-2149 (cluster id), RFC 1123 as Kubernetes applies it.
"""

import base64
import hashlib
import re
from functools import lru_cache
from typing import NamedTuple, NewType

ClusterId = NewType("ClusterId", str)
"""Identity of a member cluster: one RFC 1123 label, or two joined by a dot, at most 63 characters."""


class ServiceKey(NamedTuple):
    """Namespace and name of a Service; the same in every cluster of the set (namespace sameness)."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


API_SERVER = ServiceKey("default", "kubernetes")
"""The Service that every API server makes for itself: it means another thing in every cluster."""

FIELD_MANAGER = "mcs-controller"
"""The one field manager of everything we apply."""

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "mcs-controller"
"""Value of MANAGED_BY_LABEL on every object that is ours; what lacks it is never overwritten or deleted."""

SERVICE_NAME_LABEL = "multicluster.kubernetes.io/service-name"
SOURCE_CLUSTER_LABEL = "multicluster.kubernetes.io/source-cluster"
DERIVED_SERVICE_ANNOTATION = "multicluster.kubernetes.io/derived-service"
SLICE_SERVICE_LABEL = "kubernetes.io/service-name"
SLICE_MANAGED_BY_LABEL = "endpointslice.kubernetes.io/managed-by"
KUBERNETES_SLICE_CONTROLLER = "endpointslice-controller.k8s.io"
"""Value of SLICE_MANAGED_BY_LABEL on what Kubernetes makes for Services with a selector."""
CHANGE_TIME_ANNOTATION = "endpoints.kubernetes.io/last-change-trigger-time"
"""When the change that a slice reflects happened, RFC 3339; Kubernetes writes it, mirrors carry it on."""
ANNOTATION_PREFIX = "mcs-controller"
"""Prefix of the annotations and labels that are this controller's own, and no part of any API."""
EXPORTED_KEYS_ANNOTATION = f"{ANNOTATION_PREFIX}/exported-keys"
"""Which labels and annotations of a ServiceImport come from its exports: "label,label;annotation,annotation"."""
PRECEDENCE_ANNOTATION = f"{ANNOTATION_PREFIX}/precedence"
"""On a ServiceImport, under the policy "first-seen": the ids of its exporters, the one that decides first."""
EXPORT_TO_ANNOTATION = f"{ANNOTATION_PREFIX}/export-to"
"""On a ServiceExport: the ids of the clusters that it exports to besides its own, separated by commas."""
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
"""What `kubectl apply` without --server-side keeps of what it applied."""
FOLLOWS_ANNOTATION = f"{ANNOTATION_PREFIX}/follows-replicas"
""" "true" on an export that was made because replicas of its Service came to the cluster."""
WITHDRAWN_ANNOTATION = f"{ANNOTATION_PREFIX}/withdrawn"
"""On a mirror whose endpoints are withdrawn: why."""

SYSTEM_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease"})
"""Neither exported nor imported: they belong to each cluster alone."""

_DERIVED = "derived-"
_MIRROR = re.compile(r".+-[0-9a-v]{16}")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def is_dns_label(text: str) -> bool:
    """True for an RFC 1123 label as Kubernetes checks it: 1 to 63 of [a-z0-9-], alphanumeric at both ends."""
    return len(text) <= 63 and _LABEL.fullmatch(text) is not None


def cluster_id_error(text: str) -> str | None:
    """What is wrong with a cluster id and what to do, or None when it is acceptable.

    KEP-1645: the id is the cluster name (one label) or two labels joined by a dot. It becomes the value of
    the source-cluster label, hence at most 63 characters.
    """
    parts = text.split(".")
    if len(text) > 63:
        return f"cluster id {text!r} has {len(text)} characters; choose one of at most 63"
    if len(parts) > 2 or not all(is_dns_label(part) for part in parts):
        return (
            f"cluster id {text!r} is not valid; use one DNS label (lower-case letters, digits and '-', "
            "alphanumeric at both ends), or two joined by a dot"
        )
    return None


@lru_cache(maxsize=1 << 15)
def name_hash(*parts: str, length: int = 16) -> str:
    """The `text_hash` of `parts` joined by '/', which is remembered."""
    return text_hash("/".join(parts), length)


def text_hash(text: str, length: int) -> str:
    """The first `length` characters of base32hex(SHA-256) in lower case."""
    digest = hashlib.sha256(text.encode()).digest()
    return base64.b32hexencode(digest).decode().lower()[:length]


def derived_service_name(key: ServiceKey) -> str:
    """Name of the Service that holds the clusterset IPs of `key`, as the reference controller names it."""
    return f"{_DERIVED}{name_hash(key.namespace, key.name, length=10)}"


def is_derived_name(name: str) -> bool:
    """True for names that may be those of derived Services."""
    return name.startswith(_DERIVED)


def mirror_name(cluster: ClusterId, key: ServiceKey, source_slice: str, address_type: str) -> str:
    """Name of the mirror of one source EndpointSlice; the same in every target and after every restart."""
    return f"{key.name}-{name_hash(cluster, key.namespace, source_slice, address_type)}"


def is_mirror_name(name: str) -> bool:
    """True for names that may be those of mirrors."""
    return _MIRROR.fullmatch(name) is not None
