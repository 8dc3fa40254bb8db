"""JSON merge patches (RFC 7386) and JSON patches (RFC 6902), with the errors that an API server words.

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
    """`live` after the JSON patch (RFC 6902); raises PatchError with the message of an API server."""
    document = copy.deepcopy(live)
    for operation in operations:
        try:
            document = jsonpatch.JsonPatch([operation]).apply(document)
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
            raise PatchError(_refusal(operation, document)) from error
    return document


def _refusal(operation: Object, document: Any) -> str:
    kind, path = str(operation.get("op", "unknown")), str(operation.get("path", ""))
    source = str(operation.get("from", ""))
    if kind in ("move", "copy") and _container(document, source) is None:
        return f"{kind} operation does not apply: doc is missing from path: {source}: missing value"
    match kind, _container(document, path):
        case "add" | "remove", None:
            return f'{kind} operation does not apply: doc is missing path: "{path}": missing value'
        case "replace", None:
            return f"replace operation does not apply: doc is missing path: {path}: missing value"
        case "test", None:
            return f"test operation does not apply: is missing path: {path}: missing value"
        case "move" | "copy", None:
            return f"{kind} operation does not apply: doc is missing destination path: {path}: missing value"
        case "replace", _:
            return f"replace operation does not apply: doc is missing key: {path}: missing value"
        case "test", _:
            return f"testing value {path} failed: test failed"
        case "add" | "remove" | "move" | "copy", container:
            where = source if kind in ("move", "copy") else path
            return f"error in {kind} for path: '{where}': {_index_or_key(container, where)}"
        case _:
            return f"Unexpected kind: {kind}"


def _container(document: Any, path: str) -> Any:
    try:
        return jsonpointer.resolve_pointer(document, path.rpartition("/")[0])
    except jsonpointer.JsonPointerException:
        return None


def _index_or_key(container: Any, path: str) -> str:
    key = path.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    if isinstance(container, list):
        return f"Unable to access invalid index: {key}: invalid index referenced"
    return f"Unable to remove nonexistent key: {key}: missing value"
