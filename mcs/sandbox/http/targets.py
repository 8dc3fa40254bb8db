"""From a path, a method and a query to what the request is about.

Source: Kubernetes API concepts, "Resource URIs", "API verbs". Carrying it out is left to `handlers`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mcs.sandbox.errors import invalid_option
from mcs.sandbox.resources import BUILTINS, Registry, ResourceType
from mcs.sandbox.rules.fields import FieldValidation

LONGEST_MANAGER = 128
_OF_A_NAMESPACE = {"status", "finalize"}


@dataclass(frozen=True, slots=True)
class Target:
    """A collection (`name` empty), an object or a subresource. `namespace` None: all of them, or none."""

    resource: ResourceType
    version: str
    namespace: str | None
    name: str
    subresource: str

    @property
    def exists(self) -> bool:
        """Whether the resource is served at such a path at all."""
        if self.name and self.resource.namespaced and self.namespace is None:
            return False
        if not self.resource.namespaced and self.namespace is not None:
            return False
        return self.resource.custom or not self.subresource or self.subresource in self.resource.subresources


def target_of(path: str, registry: Registry) -> Target | None:
    """What a path below /api or /apis names; None for paths that nobody serves."""
    match path.strip("/").split("/"):
        case ["api", version, *rest] if rest:
            group = ""
        case ["apis", group, version, *rest] if rest:
            pass
        case _:
            return None
    namespace: str | None = None
    if rest[0] == "namespaces" and len(rest) > 2 and not (not group and rest[2] in _OF_A_NAMESPACE):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    plural, name, subresource = [*rest, "", ""][:3]
    resource = registry.find(group, version, plural)
    if resource is None:
        return None
    found = Target(resource, version, namespace, name, subresource)
    return found if found.exists else None


def is_of_a_builtin_group(path: str) -> bool:
    """Whether a path lies within a group whose absence is told by a Status, not by a bare 404."""
    match path.strip("/").split("/"):
        case ["api", _, *_]:
            return True
        case ["apis", group, _, *_]:
            return any(resource.group == group for resource in BUILTINS)
        case _:
            return False


def is_watch(query: Mapping[str, str]) -> bool:
    """Whether a GET asks for a watch."""
    return query.get("watch", "") in ("true", "1")


def verb_of(method: str, target: Target, query: Mapping[str, str]) -> str:
    """The API verb, as RBAC and discovery name it; empty for a method that has none here."""
    match method, bool(target.name):
        case "GET" | "HEAD", False:
            return "watch" if is_watch(query) else "list"
        case "GET" | "HEAD", True:
            return "get"
        case "POST", False:
            return "create" if target.namespace or not target.resource.namespaced else ""
        case "POST", True:
            return "create" if target.subresource == "token" else ""
        case "PUT", True:
            return "update"
        case "PATCH", True:
            return "patch"
        case "DELETE", True:
            return "" if target.subresource else "delete"
        case "DELETE", False:
            return "deletecollection" if target.namespace or not target.resource.namespaced else ""
        case _:
            return ""


@dataclass(frozen=True, slots=True)
class WriteQuery:
    """The query parameters of a write."""

    manager: str
    dry_run: bool
    force: bool
    field_validation: FieldValidation


def write_query(query: Mapping[str, str], user_agent: str, kind: str, *, applies: bool) -> WriteQuery:
    """The options of a create, update or patch; raises Invalid. `kind` is CreateOptions and the like."""
    manager = query.get("fieldManager", "")
    if applies and not manager:
        told = "Required value: is required for apply patch"
        raise invalid_option(kind, "fieldManager", told, "FieldValueRequired")
    if len(manager.encode()) > LONGEST_MANAGER:
        told = f"Too long: may not be more than {LONGEST_MANAGER} bytes"
        raise invalid_option(kind, "fieldManager", told, "FieldValueTooLong")
    force = query.get("force", "")
    if force and kind == "PatchOptions" and not applies:
        told = "Forbidden: may not be specified for non-apply patch"
        raise invalid_option(kind, "force", told, "FieldValueForbidden")
    return WriteQuery(
        manager=manager or user_agent.partition("/")[0] or "unknown",
        dry_run=dry_run(query.get("dryRun", ""), kind),
        force=force in ("true", "1"),
        field_validation=_field_validation(query.get("fieldValidation", ""), kind),
    )


def dry_run(text: str, kind: str) -> bool:
    """Whether nothing may be stored; raises Invalid."""
    if text not in ("", "All"):
        told = f'Unsupported value: ["{text}"]: supported values: "All"'
        raise invalid_option(kind, "dryRun", told, "FieldValueNotSupported")
    return text == "All"


def _field_validation(text: str, kind: str) -> FieldValidation:
    if text and text not in set(FieldValidation):
        told = f'Unsupported value: "{text}": supported values: "", "Ignore", "Strict", "Warn"'
        raise invalid_option(kind, "fieldValidation", told, "FieldValueNotSupported")
    return FieldValidation(text or FieldValidation.WARN)
