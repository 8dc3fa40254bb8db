"""Decoding: which fields of a body are kept, defaulted and complained about, whatever the kind.

Source: Kubernetes API concepts, "Field validation" (strict, warn, ignore), "Field pruning". Shapes of
built-in kinds come from `apply.schemas`; those of custom kinds from their CRD.
"""

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from enum import StrEnum
from functools import lru_cache
from typing import Any

from mcs.sandbox.apply import defaults, schemas, validation, validation_metadata
from mcs.sandbox.errors import Cause, StatusError, bad_request
from mcs.sandbox.http.scale import unreadable_replicas
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.rules import openapi_schema
from mcs.sandbox.rules.typed_decoding import decoding_error
from mcs.sandbox.store import Object


class FieldValidation(StrEnum):
    """What becomes of unknown fields besides being dropped."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


Warn = Callable[[str], None]
Refuse = Callable[[str], StatusError]


def no_warning(message: str) -> None:
    """For callers that want none."""


def openapi_of(resource: ResourceType, version: str) -> openapi_schema.Schema:
    """The structural schema of a custom resource in one version; empty for built-in kinds."""
    return resource.schemas.get(version) or {}


@lru_cache(maxsize=256)
def schema_for(resource: ResourceType, version: str) -> schemas.Schema | None:
    """The shape of a kind for merging and field ownership."""
    if not resource.custom:
        return schemas.schema_of(resource.group, resource.kind)
    return schemas.schema_of_crd(openapi_of(resource, version), status="status" in resource.subresources)


def cannot_be_handled(resource: ResourceType, version: str) -> Refuse:
    """How a POST or PUT is refused when its body does not decode."""
    kind = resource.kind
    return lambda why: bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')


def decoded(
    resource: ResourceType,
    version: str,
    obj: Object,
    how: FieldValidation,
    warn: Warn,
    refuse: Refuse,
    doubled: Sequence[str] = (),
) -> Object:
    """The object with defaults and without unknown fields; these are refused or warned about as asked for.

    So are the `doubled` fields, which the body held twice. A value of a wrong type is always refused.
    """
    unknown: Sequence[str]
    if resource.custom:
        openapi = openapi_of(resource, version)
        obj, unknown = openapi_schema.pruned(obj, openapi)
        unknown = sorted(unknown)
        obj = openapi_schema.with_schema_defaults(obj, openapi)
    else:
        schema = schemas.schema_of(resource.group, resource.kind)
        if schema is not None and (error := decoding_error(obj, schema)):
            raise refuse(error)
        unknown = schemas.unknown_fields(obj, schema) if schema is not None else ()
        obj = _without(obj, unknown)
    tell_unknown(unknown, doubled, how, warn, refuse)
    return obj if resource.custom else defaults.with_defaults(resource.group, resource.kind, obj)


def seen_through(resource: ResourceType, version: str, obj: Object) -> Object:
    """A stored object in one served version (conversion strategy None).

    Custom objects show only what the schema of that version knows, with its defaults.
    """
    if resource.custom:
        openapi = openapi_of(resource, version)
        obj = openapi_schema.with_schema_defaults(openapi_schema.pruned(obj, openapi)[0], openapi)
    return {**obj, "apiVersion": resource.api_version_of(version)}


def tell_unknown(
    unknown: Sequence[str], doubled: Sequence[str], how: FieldValidation, warn: Warn, refuse: Refuse
) -> None:
    """Refuse, warn or say nothing about doubled and unknown fields."""
    complaints = [f'duplicate field "{path}"' for path in doubled]
    complaints += [f'unknown field "{path}"' for path in unknown]
    if complaints and how is FieldValidation.STRICT:
        raise refuse("strict decoding error: " + ", ".join(complaints))
    if how is FieldValidation.WARN:
        for complaint in complaints:
            warn(complaint)


def invalid_in(resource: ResourceType, obj: Object, old: Object | None, subresource: str = "") -> list[Cause]:
    """What is wrong with the values of an object about to be stored."""
    if not resource.custom:
        return list(validation.invalid_fields(resource.group, resource.kind, obj, old))
    before = old["metadata"] if old is not None else None
    causes = list(validation_metadata.invalid_metadata(obj["metadata"], before, plain_finalizers=True))
    openapi = openapi_of(resource, resource.version)
    if subresource != "status":
        causes += openapi_schema.invalid_values(obj, openapi)
        return causes + unreadable_replicas(resource, resource.version, obj)
    status = (openapi.get("properties") or {}).get("status") or {}
    found = openapi_schema.invalid_values(obj.get("status"), status)
    return causes + [Cause(c.reason, c.message, f"status.{c.field}".rstrip(".")) for c in found]


_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def _without(obj: Object, paths: Sequence[str]) -> Object:
    if not paths:
        return obj
    obj = deepcopy(obj)
    for path in paths:
        *steps, last = [name or int(number) for name, number in _STEP.findall(path)]
        at: Any = obj
        for step in steps:
            at = at.get(step) if isinstance(at, dict) else at[step]
            if at is None:
                break
        if isinstance(at, dict):
            at.pop(last, None)
    return obj
