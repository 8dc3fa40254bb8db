"""What a cluster says of itself: ClusterProperty (about.k8s.io/v1beta1).

Source: KEP-2149, which names the properties for the id of a cluster and for the clusterset that it belongs to.
"""

from mcs.model.meta import KubernetesObject, Wire

CLUSTER_ID_PROPERTY = "cluster.clusterset.k8s.io"
CLUSTERSET_PROPERTY = "clusterset.k8s.io"


class ClusterPropertySpec(Wire, frozen=True):
    """The value of the property."""

    value: str = ""


class ClusterProperty(KubernetesObject, frozen=True):
    """One property of the cluster that it is in; cluster-scoped."""

    spec: ClusterPropertySpec = ClusterPropertySpec()
