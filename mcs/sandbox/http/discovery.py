"""The discovery documents: which groups, versions and resources a sandbox serves, plain and aggregated.

Source: Kubernetes API concepts, "API discovery"; `apidiscovery.k8s.io/v2`.
"""

from typing import Any

from mcs.sandbox.resources import Registry, ResourceType

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
VERSION = {
    "major": "1",
    "minor": "34",
    "emulationMajor": "1",
    "emulationMinor": "34",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "33",
    "gitVersion": "v1.34.4+sandbox",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "python",
    "platform": "linux/amd64",
}
_SCALE_KIND = {"group": "autoscaling", "version": "v1", "kind": "Scale"}


def api_versions(address: str) -> dict[str, Any]:
    """`GET /api`; `address` is host:port of the server."""
    by_client = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": by_client}


def api_group_list(registry: Registry) -> dict[str, Any]:
    """`GET /apis`."""
    groups = [_group(name, versions) for name, versions in _ordered_groups(registry) if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(registry: Registry, name: str) -> dict[str, Any] | None:
    """`GET /apis/GROUP`; None when nobody serves the group."""
    versions = registry.groups().get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if name and versions else None


_FIRST_GROUPS = ("", "apps", "apiextensions.k8s.io", "coordination.k8s.io", "discovery.k8s.io")


def _ordered_groups(registry: Registry) -> list[tuple[str, tuple[str, ...]]]:
    """Built-in groups in the order of a real server, then the others by name."""
    rank = {name: number for number, name in enumerate(_FIRST_GROUPS)}
    return sorted(registry.groups().items(), key=lambda found: (rank.get(found[0], len(rank)), found[0]))


def _group(name: str, versions: tuple[str, ...]) -> dict[str, Any]:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def api_resource_list(registry: Registry, group: str, version: str) -> dict[str, Any] | None:
    """`GET /api/v1` or `/apis/GROUP/VERSION`; None when nobody serves it."""
    served = [resource for resource in registry if resource.group == group and version in resource.served]
    if not served:
        return None
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": served[0].api_version_of(version),
        "resources": [entry for resource in served for entry in _resource_entries(resource, version)],
    }


def _resource_entries(resource: ResourceType, version: str) -> list[dict[str, Any]]:
    main: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    entries = [main]
    for name in _subresources(resource):
        entry: dict[str, Any] = {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
        }
        entry |= _SCALE_KIND if name == "scale" else {"kind": resource.kind}
        entries.append({**entry, "verbs": _subresource_verbs(name)})
    return entries


def _subresources(resource: ResourceType) -> tuple[str, ...]:
    """In the order of a real server: by name, but of custom resources status first."""
    return tuple(sorted(resource.subresources, reverse=resource.custom))


def _subresource_verbs(name: str) -> list[str]:
    return ["update"] if name == "finalize" else ["get", "patch", "update"]


def aggregated(registry: Registry, *, core: bool) -> dict[str, Any]:
    """`GET /api` (core) or `/apis` as an APIGroupDiscoveryList of apidiscovery.k8s.io/v2."""
    items = []
    for name, versions in _ordered_groups(registry):
        if bool(name) is core:
            continue
        listed = [
            {
                "version": version,
                "resources": [
                    _aggregated_entry(resource, version)
                    for resource in registry
                    if resource.group == name and version in resource.served
                ],
                "freshness": "Current",
            }
            for version in versions
        ]
        metadata = {"name": name} if name else {}
        items.append({"metadata": metadata, "versions": listed})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated_entry(resource: ResourceType, version: str) -> dict[str, Any]:
    kind = {"group": "", "version": "", "kind": resource.kind}
    if resource.custom:
        kind |= {"group": resource.group, "version": version}
    entry: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    below = [
        {
            "subresource": name,
            "responseKind": _SCALE_KIND if name == "scale" else kind,
            "verbs": _subresource_verbs(name),
        }
        for name in _subresources(resource)
    ]
    return {**entry, "subresources": below} if below else entry
