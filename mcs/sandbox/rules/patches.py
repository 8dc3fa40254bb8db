"""The four kinds of PATCH by content type, and how a patch that cannot be carried out is refused.

Source: Kubernetes API concepts, "Patches and updates". The merging itself is done in `apply`.
"""

from enum import StrEnum
from typing import Any

from mcs.sandbox.apply import merge, strategic
from mcs.sandbox.apply.schemas import Schema
from mcs.sandbox.errors import Details, StatusError, bad_request, internal, nameless
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.store import Object

MAP = "map[string]interface {}"


class PatchType(StrEnum):
    """Content types of a PATCH."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


def accepted_patches(resource: ResourceType) -> tuple[PatchType, ...]:
    """What a resource takes: strategic merge is for built-in kinds only."""
    if resource.custom:
        return PatchType.JSON, PatchType.MERGE, PatchType.APPLY
    return PatchType.JSON, PatchType.MERGE, PatchType.STRATEGIC, PatchType.APPLY


def rejected_patch() -> StatusError:
    """422 for a patch that is well formed but does not fit the object."""
    told = "the server rejected our request due to an error in our request"
    return StatusError(422, "Invalid", told, Details())


def refused_patch(error: merge.PatchError) -> StatusError:
    """The answer to a patch that `apply` could not carry out."""
    match error.code:
        case 400:
            return bad_request(str(error))
        case 500:
            return internal(str(error))
        case _:
            return rejected_patch()


def patched(live: Object, patch: Any, kind: PatchType, schema: Schema | None) -> Object:
    """The object after a JSON, merge or strategic merge patch; raises `StatusError`."""
    wanted, into = (list, "[]handlers.jsonPatchOp") if kind is PatchType.JSON else (dict, MAP)
    if patch is None and kind is PatchType.MERGE:
        raise bad_request("Invalid JSON Patch")
    if patch is not None and not isinstance(patch, wanted):
        told = f"json: cannot unmarshal {_found(patch)} into Go value of type {into}"
        raise bad_request(told if kind is PatchType.STRATEGIC else f"error decoding patch: {told}")
    patch = patch or wanted()
    try:
        result = _result(live, patch, kind, schema)
    except merge.PatchError as error:
        raise refused_patch(error) from error
    if not isinstance(result, dict):
        raise rejected_patch()
    if not (result.get("metadata") or {}).get("name"):
        raise nameless(live["metadata"]["name"])
    return result


def _found(patch: Any) -> str:
    match patch:
        case dict():
            return "object"
        case list():
            return "array"
        case bool():
            return "bool"
        case str():
            return "string"
        case _:
            return "number"


def _result(live: Object, patch: Any, kind: PatchType, schema: Schema | None) -> Any:
    if kind is PatchType.JSON:
        return merge.json_patch(live, patch)
    if kind is PatchType.STRATEGIC and schema is not None:
        return strategic.strategic_merge(live, patch, schema)
    return merge.merge_patch(live, patch)
