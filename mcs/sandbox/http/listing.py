"""Lists: which revision a client may ask for, and chunks of one consistent snapshot.

Source: Kubernetes API concepts, "Semantics for get and list" (resourceVersionMatch), "Retrieving large
results sets in chunks".
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from mcs.sandbox.errors import (
    StatusError,
    bad_request,
    expired,
    invalid_option,
    too_large_resource_version,
)
from mcs.sandbox.http import go_json
from mcs.sandbox.http.selectors import Selection
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.store import CompactedError, Object, Objects, Store, key_of

CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)
LIST_EXPIRED = "The resourceVersion for the provided list is too old."
LATEST = -1
"""In a continue token: go on from the key with whatever is present now."""


class ContinueToken(msgspec.Struct, frozen=True):
    """Where the next chunk starts, and of which revision."""

    v: str
    rv: int
    start: str

    def encoded(self) -> str:
        """As the client sees it."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def decoded_token(text: str) -> ContinueToken:
    """The token; raises BadRequest for one this server did not make."""
    content = b""
    try:
        content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(content, type=ContinueToken)
    except ValueError as error:
        why = go_json.json_complaint(content) or str(error)
        raise bad_request(f"invalid continue token: continue key is not valid: {why}") from error


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some objects of a list, and its metadata."""

    objects: Objects
    metadata: Object


def resource_version(text: str) -> int:
    """The number, 0 for none; raises ValueError with a sentence for anything else."""
    if text and not text.isdigit():
        syntax = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise ValueError(f'resourceVersion: Invalid value: "{text}": {syntax}')
    return int(text or 0)


def known_version(store: Store, text: str) -> int:
    """The number; raises BadRequest, or Timeout when this server has not got so far."""
    try:
        revision = resource_version(text)
    except ValueError as error:
        raise bad_request(f"invalid resource version: {error}") from error
    if revision > store.revision:
        raise too_large_resource_version(revision, store.revision)
    return revision


def _limit(text: str) -> int:
    if text and not text.lstrip("-").isdigit():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return max(0, int(text or 0))


def chunk(store: Store, resource: ResourceType, wanted: Selection, query: Mapping[str, str]) -> Chunk:
    """What a list request gets; raises `StatusError`."""
    limit = _limit(query.get("limit", ""))
    revision, after = _start(store, query, limit)
    try:
        present = store.revision if revision == LATEST else revision
        objects = store.list_at(resource, present, wanted.namespace)
    except CompactedError as error:
        raise _too_old(store, query) from error
    objects = [obj for obj in objects if _position(obj) > after and obj in wanted]
    metadata: Object = {"resourceVersion": str(present)}
    if limit and len(objects) > limit:
        token = ContinueToken("meta.k8s.io/v1", present, _position(objects[limit - 1]))
        metadata["continue"] = token.encoded()
        if wanted.everything:
            metadata["remainingItemCount"] = len(objects) - limit
        objects = objects[:limit]
    return Chunk(objects, metadata)


def _position(obj: Object) -> str:
    return "/".join(key_of(obj)) + "\x00"


def _start(store: Store, query: Mapping[str, str], limit: int) -> tuple[int, str]:
    """The revision to read (`LATEST`: whatever is present) and the position after which to go on."""
    asked, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    text = query.get("continue", "")
    if match:
        _check_match(asked, match, text)
    if text:
        if asked not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        token = decoded_token(text)
        return (LATEST if token.rv <= 0 else token.rv), token.start
    revision = known_version(store, asked)
    if match == "Exact" or (limit and revision and not match):
        return revision, ""
    return LATEST, ""


def _invalid_match(told: str, reason: str = "FieldValueForbidden") -> StatusError:
    return invalid_option("ListOptions", "resourceVersionMatch", told, reason)


def _check_match(asked: str, match: str, text: str) -> None:
    if text:
        raise _invalid_match("Forbidden: resourceVersionMatch is forbidden when continue is provided")
    if not asked:
        raise _invalid_match(
            "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        )
    if match not in ("Exact", "NotOlderThan"):
        supported = 'supported values: "Exact", "NotOlderThan", ""'
        told = f'Unsupported value: "{match}": {supported}'
        raise _invalid_match(told, "FieldValueNotSupported")
    if match == "Exact" and asked == "0":
        raise _invalid_match(
            'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        )


def _too_old(store: Store, query: Mapping[str, str]) -> StatusError:
    text = query.get("continue", "")
    if not text:
        return expired(LIST_EXPIRED)
    token = msgspec.structs.replace(decoded_token(text), rv=LATEST)
    return expired(CONTINUE_EXPIRED, token.encoded())
