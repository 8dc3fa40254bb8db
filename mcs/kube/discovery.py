"""Asks an API server which kinds it serves, and whether a kind has replicas.

Source: Kubernetes API concepts, "API discovery" and "OpenAPI interface definition". What is done with the kinds is left
to others.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from mcs.kube.connection import Connection
from mcs.kube.errors import ApiError, Forbidden, NotFound, ResourceMissing, ServerError, Unauthorized
from mcs.model.discovery import ServedKind
from mcs.model.meta import Wire

T = TypeVar("T")


class _Resource(Wire, frozen=True):
    name: str
    kind: str
    namespaced: bool
    singular_name: str = ""
    short_names: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()


class _Resources(Wire, frozen=True):
    group_version: str
    resources: tuple[_Resource, ...] = ()


class _GroupVersion(Wire, frozen=True):
    group_version: str


class _Group(Wire, frozen=True):
    versions: tuple[_GroupVersion, ...] = ()
    preferred_version: _GroupVersion = _GroupVersion(group_version="")


class _Groups(Wire, frozen=True):
    groups: tuple[_Group, ...] = ()


class Discovered(Struct, frozen=True):
    """What is served, of each group the preferred version first, and the group versions whose own server is down."""

    kinds: tuple[ServedKind, ...]
    silent: tuple[str, ...] = ()


async def discovered(connection: Connection) -> Discovered:
    """All kinds. Raises ApiError or Unreachable; a group that is served by another server may be down by itself."""
    groups = await _read(connection, "/apis", _Groups)
    versions = ["v1", *(version for group in groups.groups for version in _by_preference(group))]
    found = await asyncio.gather(*(_resources(connection, version) for version in versions))
    kinds = tuple(kind for each in found if each is not None for kind in _kinds(each))
    silent = (version for version, each in zip(versions, found, strict=True) if each is None)
    return Discovered(kinds, tuple(silent))


def _by_preference(group: _Group) -> list[str]:
    versions = [each.group_version for each in group.versions]
    return sorted(versions, key=lambda each: each != group.preferred_version.group_version)


async def _resources(connection: Connection, group_version: str) -> _Resources | None:
    try:
        return await _read(connection, _root(group_version), _Resources)
    except (Unauthorized, Forbidden):
        raise
    except ApiError:
        return None


def _root(group_version: str) -> str:
    return f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"


def _kinds(listed: _Resources) -> Iterator[ServedKind]:
    group, _, version = listed.group_version.rpartition("/")
    for each in listed.resources:
        if "/" not in each.name:
            yield ServedKind(
                group=group,
                version=version,
                kind=each.kind,
                plural=each.name,
                singular=each.singular_name,
                short_names=each.short_names,
                namespaced=each.namespaced,
                verbs=frozenset(each.verbs),
                subresources=frozenset(_below(each.name, listed)),
            )


def _below(plural: str, listed: _Resources) -> Iterator[str]:
    for each in listed.resources:
        above, slash, name = each.name.partition("/")
        if slash and above == plural:
            yield name


async def has_replicas(connection: Connection, kind: ServedKind) -> bool:
    """Whether its objects have an int32 `spec.replicas`, by the schema that the server tells.

    Where it tells none, by whether they can be scaled.
    """
    path = f"/openapi/v3{_root(kind.resource.api_version)}"
    try:
        document = await _read(connection, path, dict[str, Any])
    except (NotFound, ResourceMissing):
        return "scale" in kind.subresources
    schemas = (document.get("components") or {}).get("schemas") or {}
    meant = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    for schema in schemas.values():
        if meant in schema.get("x-kubernetes-group-version-kind", ()):
            replicas = _property(_property(schema, "spec", schemas), "replicas", schemas)
            return (replicas.get("type"), replicas.get("format")) == ("integer", "int32")
    return "scale" in kind.subresources


def _property(schema: Mapping[str, Any], name: str, schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a property; one that is referred to is looked up."""
    found: Mapping[str, Any] = (schema.get("properties") or {}).get(name) or {}
    parts = [found, *found.get("allOf", ())]
    references = [part["$ref"].rpartition("/")[2] for part in parts if "$ref" in part]
    return schemas.get(references[0]) or {} if references else found


async def _read(connection: Connection, path: str, type_: type[T]) -> T:
    answer = await connection.request("GET", path)
    try:
        return msgspec.json.decode(answer.body, type=type_)
    except msgspec.MsgspecError as error:
        raise ServerError(200, "Unreadable", f"{path}: {error}") from error
