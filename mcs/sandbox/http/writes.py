"""Create, update, patch, apply, delete and scale as HTTP asks for them, carried out on the `Api`.

From decoded query parameters and body bytes to the object and the code of the answer. Source:
Kubernetes API concepts, "API verbs", "Patches and updates", "Dry-run"; API reference, DeleteOptions.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcs.sandbox.api import Api, WriteOptions
from mcs.sandbox.apply.go_text import go_text
from mcs.sandbox.errors import (
    Cause,
    Details,
    StatusError,
    bad_request,
    internal,
    invalid,
    invalid_option,
    nameless,
    unsupported_patch,
)
from mcs.sandbox.http import go_json, negotiation
from mcs.sandbox.http.scale import scale_of, scaled
from mcs.sandbox.http.selectors import selection
from mcs.sandbox.http.targets import Target, dry_run, write_query
from mcs.sandbox.resources import Registry, ResourceType
from mcs.sandbox.rules import strategies
from mcs.sandbox.rules.deletion import DeleteOptions
from mcs.sandbox.rules.fields import Refuse, schema_for
from mcs.sandbox.rules.meta import Preconditions
from mcs.sandbox.rules.openapi_schema import type_name
from mcs.sandbox.rules.patches import PatchType, accepted_patches, patched
from mcs.sandbox.store import Object, Objects

BUILTIN_BODIES = (negotiation.JSON, negotiation.YAML, negotiation.PROTOBUF)
CUSTOM_BODIES = (negotiation.JSON, negotiation.YAML)


@dataclass(frozen=True, slots=True)
class Asked:
    """One write request: what it is about and what came with it."""

    target: Target
    query: Mapping[str, str]
    body: bytes
    content_type: str
    user_agent: str
    warn: Callable[[str], None]
    registry: Registry

    @property
    def namespace(self) -> str:
        """Of the object; "" at cluster scope."""
        return self.target.namespace or ""

    def options(self, kind: str, *, applies: bool = False) -> WriteOptions:
        """For the `Api`; raises Invalid."""
        asked = write_query(self.query, self.user_agent, kind, applies=applies)
        return WriteOptions(
            manager=asked.manager,
            dry_run=asked.dry_run,
            force=asked.force,
            field_validation=asked.field_validation,
            warn=self.warn,
            version=self.target.version,
            doubled_fields=tuple(go_json.duplicate_fields(self.body)),
        )

    def decoded(self) -> Object:
        """The object in the body; raises UnsupportedMediaType or BadRequest."""
        resource = self.target.resource
        accepted = CUSTOM_BODIES if resource.custom else BUILTIN_BODIES
        try:
            body = negotiation.read_body(self.body, self.content_type, accepted)
        except negotiation.UnreadableError as error:
            raise self._unparsable(str(error)) from error
        if body is None:
            body = {}
        if not isinstance(body, dict):
            told = f"json: cannot unmarshal {type_name(body)} into Go value of type {go_json.TYPE_META}"
            raise self._unparsable(told)
        if self.target.subresource != "scale":
            _check_kind(self, body)
        return body

    def unrecognized(self, why: str) -> StatusError:
        """400 about a body whose kind cannot be told."""
        told = f"the object provided is unrecognized (must be of type {self.target.resource.kind}): {why}"
        return bad_request(f"{told} ({go_json.summary(self.body)})")

    def _unparsable(self, why: str) -> StatusError:
        return self.unrecognized(f"couldn't get version/kind; json parse error: {why}")


def _check_kind(asked: Asked, body: Object) -> None:
    resource = asked.target.resource
    expected = resource.api_version_of(asked.target.version)
    kind, api_version = body.get("kind") or "", body.get("apiVersion") or ""
    if not resource.custom:
        kind, api_version = kind or resource.kind, api_version or expected
    for word, value in (("Kind", kind), ("apiVersion", api_version)):
        if not value:
            raise asked.unrecognized(f"Object '{word}' is missing in '{asked.body.decode(errors='replace')}'")
    if not resource.custom and (kind, api_version) != (resource.kind, expected):
        raise _other_kind(resource, kind, api_version, asked.registry)
    if api_version != expected:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )
    if kind != resource.kind:
        cause = Cause("FieldValueInvalid", f'Invalid value: "{kind}": must be {resource.kind}', "kind")
        raise invalid(replace(resource, kind=kind), (body.get("metadata") or {}).get("name", ""), [cause])


def _other_kind(resource: ResourceType, kind: str, api_version: str, registry: Registry) -> StatusError:
    """400, in words that depend on whether the server has such a kind."""
    version = api_version.rpartition("/")[2]
    found = registry.of_kind(api_version, kind)
    if found is None or found.custom:
        why = unregistered(kind, api_version)
    else:
        wanted = f"{_internal_package(resource)}.{resource.kind}"
        why = f"converting ({version}.{kind}) to ({wanted}): unknown conversion"
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {why}')


def unregistered(kind: str, api_version: str) -> str:
    """That nobody knows a kind."""
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:110"'


def _internal_package(resource: ResourceType) -> str:
    return resource.group.partition(".")[0] or "core"


Answer = tuple[int, Object]
"""Status code and object."""


def create(api: Api, asked: Asked) -> Answer:
    """POST."""
    options = asked.options("CreateOptions")
    return 201, api.create(asked.target.resource, asked.decoded(), namespace=asked.namespace, options=options)


def update(api: Api, asked: Asked) -> Answer:
    """PUT of an object or a subresource."""
    target = asked.target
    options = asked.options("UpdateOptions")
    obj = asked.decoded()
    if target.subresource == "scale":
        return 200, _scale(api, asked, options, lambda seen: obj)
    metadata = obj.get("metadata") or {}
    if not metadata.get("name"):
        raise nameless(target.name)
    if target.resource.namespaced and metadata.get("namespace", asked.namespace) != asked.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the URL")
    if metadata.get("name", target.name) != target.name:
        told = (
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({target.name})"
        )
        raise bad_request(told)
    place = {"namespace": asked.namespace} if target.resource.namespaced else {}
    obj = {**obj, "metadata": {**metadata, "name": target.name, **place}}
    existed = api.store.get(target.resource, asked.namespace, target.name) is not None
    stored = api.update(target.resource, obj, subresource=target.subresource, options=options)
    return (200 if existed else 201), stored


def patch(api: Api, asked: Asked) -> Answer:
    """PATCH of any of the four kinds."""
    target = asked.target
    kind, body = _patch_body(asked)
    options = asked.options("PatchOptions", applies=kind is PatchType.APPLY)
    if kind is PatchType.APPLY:
        return _apply(api, asked, body, options)
    if target.subresource == "scale":
        return 200, _scale(api, asked, options, lambda seen: patched(seen, body, kind, None))
    schema = schema_for(target.resource, target.version)
    stored = api.patch(
        target.resource,
        asked.namespace,
        target.name,
        lambda live: patched(live, body, kind, schema),
        subresource=target.subresource,
        options=options,
        refuse=lambda result: _undecodable_patch(body if kind is PatchType.STRATEGIC else result, kind),
    )
    return 200, stored


def _patch_body(asked: Asked) -> tuple[PatchType, Any]:
    accepted = accepted_patches(asked.target.resource)
    media_type = negotiation.media_type(asked.content_type)
    if media_type not in accepted and not asked.target.resource.custom:
        raise unsupported_patch()
    try:
        body = negotiation.read_body(asked.body, asked.content_type or "none", accepted)
    except negotiation.UnreadableError as error:
        what = "YAML" if media_type == PatchType.APPLY else "patch"
        raise bad_request(f"error decoding {what}: {error}") from error
    return PatchType(media_type), body


_METADATA_FIRST = ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp")


def _in_wire_order(obj: Object) -> Object:
    metadata = obj["metadata"]
    first = {key: metadata[key] for key in _METADATA_FIRST if key in metadata}
    return {**{key: obj[key] for key in sorted(obj)}, "metadata": {**first, **dict(sorted(metadata.items()))}}


def _undecodable_patch(shown_object: Object, kind: PatchType) -> Refuse:
    """422: a strategic merge patch is shown itself, of the others the object they led to."""
    if kind is PatchType.STRATEGIC:
        shown = json.dumps(go_text(shown_object))
    else:
        shown = json.dumps(json.dumps(_in_wire_order(shown_object), separators=(",", ":")))

    def refuse(why: str) -> StatusError:
        cause = Cause("FieldValueInvalid", f"Invalid value: {shown}: {why}", "patch")
        told = f' "" is invalid: patch: {cause.message}'
        return StatusError(422, "Invalid", told, Details(causes=(cause,)))

    return refuse


def _apply(api: Api, asked: Asked, body: Any, options: WriteOptions) -> Answer:
    target = asked.target
    if not isinstance(body, dict):
        raise bad_request(f"error decoding YAML: cannot unmarshal {type_name(body)} into an object")
    metadata = body.get("metadata") or {}
    if target.subresource == "scale":
        return 200, _scale(
            api, asked, options, lambda seen: {**seen, "spec": {**seen["spec"], **(body.get("spec") or {})}}
        )
    wanted = (target.resource.api_version_of(target.version), target.resource.kind)
    if (body.get("apiVersion"), body.get("kind")) != wanted:
        group, _, version = str(body.get("apiVersion") or "").rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={body.get('kind') or ''}")
    if metadata.get("name") not in (None, target.name):
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({target.name})"
        )
    config = {**body, "metadata": {**metadata, "name": target.name}}
    if metadata.get("namespace", asked.namespace) != asked.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    existed = api.store.get(target.resource, asked.namespace, target.name) is not None
    stored = api.apply(
        target.resource, config, namespace=asked.namespace, subresource=target.subresource, options=options
    )
    return (200 if existed else 201), stored


def _scale(api: Api, asked: Asked, options: WriteOptions, change: Callable[[Object], Object]) -> Object:
    target = asked.target
    stored = api.patch(
        target.resource,
        asked.namespace,
        target.name,
        lambda live: scaled(
            target.resource, target.version, live, change(scale_of(target.resource, target.version, live))
        ),
        subresource="scale",
        options=options,
    )
    return scale_of(target.resource, target.version, stored)


def _delete_options(asked: Asked) -> DeleteOptions:
    """From the body; the query counts only when there is none, as on a real server."""
    body: Any = dict(asked.query)
    if asked.body.strip():
        body = _delete_body(asked)
    wanted, grace = body.get("preconditions") or {}, body.get("gracePeriodSeconds")
    orphan, propagation = body.get("orphanDependents"), body.get("propagationPolicy") or ""
    if propagation not in ("", "Foreground", "Background", "Orphan"):
        told = f'Unsupported value: "{propagation}": '
        told += 'supported values: "Foreground", "Background", "Orphan", "nil"'
        raise invalid_option("DeleteOptions", "propagationPolicy", told, "FieldValueNotSupported")
    if orphan is not None and propagation:
        told = f'Invalid value: "{propagation}": orphanDependents and deletionPropagation cannot be both set'
        raise invalid_option("DeleteOptions", "propagationPolicy", told, "FieldValueInvalid")
    if orphan is not None:
        propagation = "Orphan" if orphan in (True, "true") else "Background"
    dry = body.get("dryRun") or ""
    return DeleteOptions(
        dry_run=dry_run(dry if isinstance(dry, str) else dry[0], "DeleteOptions"),
        preconditions=Preconditions(wanted.get("uid") or "", wanted.get("resourceVersion") or ""),
        propagation=propagation,
        grace_period=int(grace) if str(grace).lstrip("-").isdigit() else None,
    )


def _delete_body(asked: Asked) -> Object:
    try:
        body = negotiation.read_body(asked.body, asked.content_type, BUILTIN_BODIES)
    except negotiation.UnreadableError as error:
        raise internal(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(body, dict):
        told = f"json: cannot unmarshal {type_name(body)} into Go value of type {go_json.TYPE_META}"
        raise internal(f"couldn't get version/kind; json parse error: {told}")
    if body.get("kind", "DeleteOptions") != "DeleteOptions":
        raise internal(unregistered(body["kind"], body.get("apiVersion") or ""))
    return body


def delete(api: Api, asked: Asked) -> Answer:
    """DELETE of one object: a Status, or the object where the kind answers so or it is not gone yet."""
    target = asked.target
    options = _delete_options(asked)
    deleted = api.delete(target.resource, asked.namespace, target.name, options)
    if not deleted.gone:
        return 200, deleted.obj
    if strategies.returns_the_deleted(target.resource):
        return 200, deleted.obj
    details = Details(
        target.name, target.resource.group, target.resource.plural, deleted.obj["metadata"]["uid"]
    )
    return 200, {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details.as_json(),
    }


def delete_collection(api: Api, asked: Asked) -> Objects:
    """DELETE of what the selectors match; returns the objects as they were."""
    target = asked.target
    options = _delete_options(asked)
    query = asked.query
    wanted = selection(
        target.resource, target.namespace, query.get("labelSelector", ""), query.get("fieldSelector", "")
    )
    found = [obj for obj in api.list(target.resource, target.namespace) if obj in wanted]
    for obj in found:
        metadata = obj["metadata"]
        api.delete(target.resource, metadata.get("namespace", ""), metadata["name"], options)
    return found
