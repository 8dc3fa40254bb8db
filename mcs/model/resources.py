"""The kinds we work with: how each is named on the API server, and the struct it decodes into."""

from typing import Generic, TypeVar

from msgspec import Struct

from mcs.model.clusters import ClusterProperty
from mcs.model.events import Event, ObjectReference
from mcs.model.leases import Lease
from mcs.model.meta import KubernetesObject, ObjectMeta
from mcs.model.multicluster import ServiceExport, ServiceImport
from mcs.model.registration import KubeFedCluster, Node, Secret
from mcs.model.services import Namespace, Service
from mcs.model.slices import EndpointSlice

T_co = TypeVar("T_co", bound=KubernetesObject, covariant=True)


class Resource(Struct, Generic[T_co], frozen=True, kw_only=True):
    """Group, version, plural and kind of a resource, and the type its objects decode into.

    `scope` is the one namespace that it is listed and watched in; empty for all.
    """

    group: str
    version: str
    plural: str
    kind: str
    type: type[T_co]
    namespaced: bool = True
    scope: str = ""

    @property
    def api_version(self) -> str:
        """apiVersion as objects write it: "v1" for the core group, else "group/version"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """URL path of the collection, of one object, or of its subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = namespace or self.scope
        scope = f"/namespaces/{within}" if within and self.namespaced else ""
        return "/".join(part for part in (f"{root}{scope}", self.plural, name, subresource) if part)

    def reference(self, metadata: ObjectMeta) -> ObjectReference:
        """Refers to the object with this metadata, as Events do."""
        return ObjectReference(
            api_version=self.api_version,
            kind=self.kind,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
        )

    def __str__(self) -> str:
        return self.plural


NAMESPACES = Resource(
    group="", version="v1", plural="namespaces", kind="Namespace", type=Namespace, namespaced=False
)
SERVICES = Resource(group="", version="v1", plural="services", kind="Service", type=Service)
EVENTS = Resource(group="", version="v1", plural="events", kind="Event", type=Event)
LEASES = Resource(group="coordination.k8s.io", version="v1", plural="leases", kind="Lease", type=Lease)
ENDPOINT_SLICES = Resource(
    group="discovery.k8s.io", version="v1", plural="endpointslices", kind="EndpointSlice", type=EndpointSlice
)
SERVICE_EXPORTS = Resource(
    group="multicluster.x-k8s.io",
    version="v1beta1",
    plural="serviceexports",
    kind="ServiceExport",
    type=ServiceExport,
)
SERVICE_IMPORTS = Resource(
    group="multicluster.x-k8s.io",
    version="v1beta1",
    plural="serviceimports",
    kind="ServiceImport",
    type=ServiceImport,
)
CLUSTER_PROPERTIES = Resource(
    group="about.k8s.io",
    version="v1beta1",
    plural="clusterproperties",
    kind="ClusterProperty",
    type=ClusterProperty,
    namespaced=False,
)
KUBEFED_CLUSTERS = Resource(
    group="core.kubefed.io",
    version="v1beta1",
    plural="kubefedclusters",
    kind="KubeFedCluster",
    type=KubeFedCluster,
)
SECRETS = Resource(group="", version="v1", plural="secrets", kind="Secret", type=Secret)
NODES = Resource(group="", version="v1", plural="nodes", kind="Node", type=Node, namespaced=False)
