"""ServiceExport and ServiceImport (multicluster.x-k8s.io/v1beta1) and the words of their conditions.

Source: KEP-1645 and the API comments of its types.
"""

from typing import Literal

from msgspec import field

from mcs.model.meta import Condition, KubernetesObject, Wire
from mcs.model.services import SessionAffinityConfig

ImportType = Literal["ClusterSetIP", "Headless"]

VALID = "Valid"
READY = "Ready"
CONFLICT = "Conflict"


class ServiceExportSpec(Wire, frozen=True):
    """Labels and annotations that go to the ServiceImport; nothing else of the export does."""

    exported_labels: dict[str, str] = {}
    exported_annotations: dict[str, str] = {}


class ServiceExportStatus(Wire, frozen=True):
    """Conditions, a list-map keyed by type."""

    conditions: tuple[Condition, ...] = ()


class ServiceExport(KubernetesObject, frozen=True):
    """Asks to export the Service of the same namespace and name in its own cluster."""

    spec: ServiceExportSpec = ServiceExportSpec()
    status: ServiceExportStatus = ServiceExportStatus()


class ImportPort(Wire, frozen=True):
    """ServiceImport.spec.ports[]; there is no targetPort and no nodePort."""

    port: int
    protocol: str
    name: str = ""
    app_protocol: str | None = None


class ServiceImportSpec(Wire, frozen=True):
    """What the clusterset offers under this name. `ports` is required on the wire, also when it is empty."""

    type: ImportType
    ports: tuple[ImportPort, ...]
    ips: tuple[str, ...] = ()
    ip_families: tuple[str, ...] = field(name="ipFamilies", default=())
    session_affinity: str = ""
    session_affinity_config: SessionAffinityConfig | None = None
    internal_traffic_policy: str | None = None
    traffic_distribution: str | None = None


class ImportCluster(Wire, frozen=True):
    """A cluster that exports the service."""

    cluster: str


class ServiceImportStatus(Wire, frozen=True):
    """Who exports, and whether the import can be used here."""

    clusters: tuple[ImportCluster, ...] = ()
    conditions: tuple[Condition, ...] = ()
    endpoint_slice_objects: str | None = None


class ServiceImport(KubernetesObject, frozen=True):
    """The merged service, in one importing cluster."""

    spec: ServiceImportSpec = ServiceImportSpec(type="ClusterSetIP", ports=())
    status: ServiceImportStatus = ServiceImportStatus()
