"""What may not stand in a CustomResourceDefinition, and what may not change there.

Source: Kubernetes, "Create a CustomResourceDefinition" (Specifying a structural schema), "Versions in
CustomResourceDefinitions". What a definition brings about is the business of `crds`.
"""

from collections.abc import Iterator
from typing import Any

from mcs.sandbox.apply.causes import Cause, immutable, invalid, required
from mcs.sandbox.rules.openapi_schema import INT_OR_STRING, PRESERVE
from mcs.sandbox.store import Object


def invalid_definition(new: Object, old: Object | None) -> list[Cause]:
    """The causes for a 422; `old` is None in a create."""
    return [*_misnamed(new), *_invalid_versions(new["spec"]), *_changed(new, old)]


def _misnamed(crd: Object) -> Iterator[Cause]:
    spec, name = crd["spec"], crd["metadata"].get("name", "")
    if name != f"{spec['names']['plural']}.{spec['group']}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _changed(new: Object, old: Object | None) -> Iterator[Cause]:
    if old is not None:
        yield from immutable("spec.scope", new["spec"].get("scope"), old["spec"].get("scope"))


def _invalid_versions(spec: Object) -> Iterator[Cause]:
    versions = spec["versions"]
    for index, version in enumerate(versions):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        path = f"spec.versions[{index}].schema.openAPIV3Schema"
        if schema is None:
            yield required(path)
        else:
            yield from _untyped(schema, "spec.validation.openAPIV3Schema" if len(versions) == 1 else path)
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("spec.versions", versions, "must have exactly one version marked as storage version")


def _untyped(schema: Any, path: str, what: str = "at the root") -> Iterator[Cause]:
    """Where a structural schema lacks a type."""
    if not isinstance(schema, dict):
        return
    if not schema.get("type") and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        yield required(f"{path}.type", f"must not be empty {what}")
    for name, child in (schema.get("properties") or {}).items():
        yield from _untyped(child, f"{path}.properties[{name}]", "for specified object fields")
    if "items" in schema:
        yield from _untyped(schema["items"], f"{path}.items", "for specified array items")
    extra = schema.get("additionalProperties")
    yield from _untyped(extra, f"{path}.additionalProperties", "for specified object fields")
