"""What a cluster is given when it becomes a member: objects of many kinds, written whole and hardly read.

A Manifest is such an object as a document. Which ones a member gets is decided in `mcs.membership`.
"""

from typing import Any

from msgspec import Struct

from mcs.model.meta import KubernetesObject, Wire
from mcs.model.resources import Resource


class ConfigMap(KubernetesObject, frozen=True):
    """core/v1 ConfigMap."""

    data: dict[str, str] = {}


class DefinitionVersion(Wire, frozen=True):
    """A version of a CustomResourceDefinition."""

    name: str
    served: bool = False
    storage: bool = False


class DefinitionSpec(Wire, frozen=True):
    """As much of it as tells which versions there are."""

    versions: tuple[DefinitionVersion, ...] = ()


class DefinitionCondition(Wire, frozen=True):
    """A condition of it."""

    type: str
    status: str = ""


class DefinitionStatus(Wire, frozen=True):
    """The versions that objects may be stored in, and whether they are served; null until the server has looked."""

    conditions: tuple[DefinitionCondition, ...] | None = None
    stored_versions: tuple[str, ...] | None = None


class Definition(KubernetesObject, frozen=True):
    """apiextensions.k8s.io/v1 CustomResourceDefinition."""

    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()

    @property
    def is_established(self) -> bool:
        """Whether its objects can be written."""
        return any(
            each.type == "Established" and each.status == "True" for each in self.status.conditions or ()
        )


def _of(group: str, plural: str, kind: str, *, namespaced: bool = True) -> Resource[KubernetesObject]:
    return Resource(
        group=group, version="v1", plural=plural, kind=kind, type=KubernetesObject, namespaced=namespaced
    )


_RBAC = "rbac.authorization.k8s.io"
SERVICE_ACCOUNTS = _of("", "serviceaccounts", "ServiceAccount")
ROLES = _of(_RBAC, "roles", "Role")
ROLE_BINDINGS = _of(_RBAC, "rolebindings", "RoleBinding")
CLUSTER_ROLES = _of(_RBAC, "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = _of(_RBAC, "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
DEPLOYMENTS = _of("apps", "deployments", "Deployment")
CONFIG_MAPS = Resource(group="", version="v1", plural="configmaps", kind="ConfigMap", type=ConfigMap)
DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    type=Definition,
    namespaced=False,
)


class Manifest(Struct, frozen=True):
    """An object to be applied, whole: `document` has apiVersion, kind and metadata."""

    resource: Resource[Any]
    document: dict[str, Any]

    @property
    def namespace(self) -> str:
        """Empty at cluster scope."""
        return str(self.document["metadata"].get("namespace", ""))

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.document["metadata"]["name"])

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.resource.kind} {where}"


def manifest(
    resource: Resource[Any],
    name: str,
    namespace: str = "",
    *,
    metadata: dict[str, Any] | None = None,
    **fields: Any,
) -> Manifest:
    """The object of this name with `fields` beside its metadata, as a document."""
    where = {"namespace": namespace} if namespace else {}
    return Manifest(
        resource,
        {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, **where, **(metadata or {})},
            **fields,
        },
    )
