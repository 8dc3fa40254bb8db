"""The resource types a sandbox serves: the built-in ones as a table, and those that CRDs add at run time.

Source: Kubernetes API concepts, "Resource types", and the discovery documents of Kubernetes 1.34. What the
objects may contain is left to `apply.schemas` and `apply.validation`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """One entry of a CRD's `additionalPrinterColumns`."""

    name: str
    type: str
    json_path: str
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ResourceType:
    """One resource. `versions` are those served, most preferred first; `version` is the stored one."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    has_generation: bool = False
    list_kind: str = ""
    versions: tuple[str, ...] = ()
    custom: bool = False
    """Whether a CRD defines it."""
    schemas: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)
    """For a custom resource: openAPIV3Schema by version."""
    printer_columns: dict[str, tuple[PrinterColumn, ...]] = field(default_factory=dict, repr=False)
    scale_paths: dict[str, dict[str, str]] = field(default_factory=dict)
    """For a custom resource with a scale subresource: specReplicasPath and so on, by version."""
    deprecation_warnings: dict[str, str] = field(default_factory=dict)
    """What every request of a served version is answered with as a warning."""

    @property
    def group_resource(self) -> str:
        """As error messages write it: `services`, `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def group_kind(self) -> str:
        """As error messages write it: `Service`, `Deployment.apps`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def api_version(self) -> str:
        """`apiVersion` of the stored objects."""
        return self.api_version_of(self.version)

    @property
    def served(self) -> tuple[str, ...]:
        """Served versions, most preferred first."""
        return self.versions or (self.version,)

    def api_version_of(self, version: str) -> str:
        """`apiVersion` of the objects in one served version."""
        return f"{self.group}/{version}" if self.group else version


def _core(plural: str, kind: str, *short: str, namespaced: bool = True, **more: Any) -> ResourceType:
    return _builtin("", plural, kind, *short, namespaced=namespaced, **more)


def _builtin(
    group: str, plural: str, kind: str, *short: str, namespaced: bool = True, **more: Any
) -> ResourceType:
    return ResourceType(
        group=group, version="v1", plural=plural, singular=kind.lower(), kind=kind, namespaced=namespaced,
        short_names=short, list_kind=f"{kind}List", **more,
    )  # fmt: skip


_ALL = ("all",)
_NO_COLLECTION_DELETE = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")

CONFIGMAPS = _core("configmaps", "ConfigMap", "cm")
ENDPOINTS = _core(
    "endpoints", "Endpoints", "ep",
    deprecation_warnings={
        "v1": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    },
)  # fmt: skip
EVENTS = _core("events", "Event", "ev")
NAMESPACES = _core(
    "namespaces", "Namespace", "ns",
    namespaced=False, verbs=_NO_COLLECTION_DELETE, subresources=("finalize", "status"),
)  # fmt: skip
NODES = _core("nodes", "Node", "no", namespaced=False, subresources=("status",))
PODS = _core("pods", "Pod", "po", categories=_ALL, subresources=("status",), has_generation=True)
SECRETS = _core("secrets", "Secret")
SERVICE_ACCOUNTS = _core("serviceaccounts", "ServiceAccount", "sa", subresources=("token",))
SERVICES = _core("services", "Service", "svc", categories=_ALL, subresources=("status",))
CRDS = _builtin(
    "apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", "crd", "crds",
    namespaced=False, categories=("api-extensions",), subresources=("status",), has_generation=True,
)  # fmt: skip
DEPLOYMENTS = _builtin(
    "apps", "deployments", "Deployment", "deploy",
    categories=_ALL, subresources=("scale", "status"), has_generation=True,
)  # fmt: skip
REPLICA_SETS = _builtin(
    "apps", "replicasets", "ReplicaSet", "rs",
    categories=_ALL, subresources=("scale", "status"), has_generation=True,
)  # fmt: skip
STATEFUL_SETS = _builtin(
    "apps", "statefulsets", "StatefulSet", "sts",
    categories=_ALL, subresources=("scale", "status"), has_generation=True,
)  # fmt: skip
LEASES = _builtin("coordination.k8s.io", "leases", "Lease")
ENDPOINT_SLICES = _builtin("discovery.k8s.io", "endpointslices", "EndpointSlice", has_generation=True)

_RBAC = "rbac.authorization.k8s.io"
RBAC = (
    _builtin(_RBAC, "roles", "Role"),
    _builtin(_RBAC, "rolebindings", "RoleBinding"),
    _builtin(_RBAC, "clusterroles", "ClusterRole", namespaced=False),
    _builtin(_RBAC, "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
)

BUILTINS = (
    CONFIGMAPS, ENDPOINTS, EVENTS, NAMESPACES, NODES, PODS, SECRETS, SERVICE_ACCOUNTS, SERVICES,
    CRDS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, LEASES, ENDPOINT_SLICES, *RBAC,
)  # fmt: skip


class Registry:
    """The resource types served at this moment, by group and plural."""

    def __init__(self) -> None:
        self._types: dict[tuple[str, str], ResourceType] = {(t.group, t.plural): t for t in BUILTINS}

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """The type, when it is served in that version."""
        found = self._types.get((group, plural))
        return found if found is not None and version in found.served else None

    def of_kind(self, api_version: str, kind: str) -> ResourceType | None:
        """The type of objects with this apiVersion and kind."""
        group, _, version = api_version.rpartition("/")
        return next((t for t in self if t.group == group and t.kind == kind and version in t.served), None)

    def add(self, resource: ResourceType) -> None:
        """Serve a type, in place of an older one of the same name."""
        self._types[resource.group, resource.plural] = resource

    def drop(self, group: str, plural: str) -> None:
        """Serve the type no longer; unknown ones are ignored."""
        self._types.pop((group, plural), None)

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Served versions by group, core first and then by name, the preferred version first."""
        found: dict[str, list[str]] = {}
        for resource in self:
            versions = found.setdefault(resource.group, [])
            versions += [version for version in resource.served if version not in versions]
        return {group: tuple(sorted(found[group], key=version_priority)) for group in sorted(found)}

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(tuple(self._types[key] for key in sorted(self._types)))


def version_priority(version: str) -> tuple[int, int, int, str]:
    """A sort key: v2, v1, v1beta2, v1beta1, v1alpha1, then the others by name.

    Source: Kubernetes, "Versions in CustomResourceDefinitions", Version priority.
    """
    digits = version.removeprefix("v")
    for rank, word in enumerate(("", "beta", "alpha")):
        major, found, minor = digits.partition(word) if word else (digits, "", "0")
        if version.startswith("v") and major.isdigit() and minor.isdigit() and (found or not word):
            return rank, -int(major), -int(minor), ""
    return 3, 0, 0, version
