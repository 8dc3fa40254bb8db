"""JSON merge patches (RFC 7386) and JSON patches (RFC 6902).

Strategic merge patches and server-side apply, which need to know the kind, are in `strategic` and `managed`.
"""

import copy
from collections.abc import Sequence
from typing import Any

import jsonpatch
import jsonpointer

from mcs.sandbox.apply.schemas import Object


class PatchError(ValueError):
    """A patch that cannot be applied; `code` is the HTTP status an API server answers with, the text its
    message.
    """

    def __init__(self, message: str, *, code: int = 422) -> None:
        super().__init__(message)
        self.code = code


def merge_patch(live: Any, patch: Any) -> Any:
    """`live` after the JSON merge patch: objects merge, null deletes, anything else replaces (RFC 7386,
    section 2).
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(live) if isinstance(live, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def json_patch(live: Any, operations: Sequence[Object]) -> Any:
    """`live` after the JSON patch (RFC 6902); raises PatchError when an operation does not fit the document.

    An API server keeps the reason to itself, so the text of the error is for logs only.
    """
    try:
        return jsonpatch.JsonPatch(list(operations)).apply(copy.deepcopy(live))
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
        raise PatchError(str(error)) from error
