"""Refusals as Kubernetes words them: an exception that carries a `Status` (API concepts, "Response codes").

The sentences follow those a Kubernetes 1.34 API server answers, because clients and people read them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mcs.sandbox.apply.causes import Cause as Cause  # noqa: PLC0414 - raised with the errors of this module
from mcs.sandbox.resources import ResourceType


@dataclass(frozen=True, slots=True)
class Details:
    """`status.details`: `kind` is a plural resource, or a kind in an Invalid answer."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after: int = 0

    def as_json(self) -> dict[str, Any]:
        """Only what is set."""
        found: dict[str, Any] = {"name": self.name, "group": self.group, "kind": self.kind, "uid": self.uid}
        found["causes"] = [_cause_json(cause) for cause in self.causes]
        found["retryAfterSeconds"] = self.retry_after
        return {key: value for key, value in found.items() if value}


def _cause_json(cause: Cause) -> dict[str, str]:
    found = {"reason": cause.reason, "message": cause.message, "field": cause.field}
    return {key: value for key, value in found.items() if value}


@dataclass(slots=True, eq=False)
class StatusError(Exception):
    """A request was refused; `as_status` is the answer."""

    code: int
    reason: str
    message: str
    details: Details | None = None
    headers: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.code} {self.reason}: {self.message}"

    def as_status(self) -> dict[str, Any]:
        """The Status object."""
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata}
        status |= {"status": "Failure", "message": self.message}
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details.as_json()
        return {**status, "code": self.code}


def _about(resource: ResourceType, name: str = "", uid: str = "") -> Details:
    return Details(name=name, group=resource.group, kind=resource.plural, uid=uid)


def not_found(resource: ResourceType, name: str) -> StatusError:
    """404."""
    return StatusError(
        404, "NotFound", f'{resource.group_resource} "{name}" not found', _about(resource, name)
    )


def already_exists(resource: ResourceType, name: str) -> StatusError:
    """409 to a create."""
    message = f'{resource.group_resource} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _about(resource, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: ResourceType, name: str, why: str = MODIFIED) -> StatusError:
    """409: the optimistic lock, or a precondition, did not hold."""
    message = f'Operation cannot be fulfilled on {resource.group_resource} "{name}": {why}'
    return StatusError(409, "Conflict", message, _about(resource, name))


def precondition_failed(resource: ResourceType, name: str, why: str) -> StatusError:
    """409 to a delete whose preconditions name another object; it names the kind, not the resource."""
    message = f'Operation cannot be fulfilled on {resource.group_kind} "{name}": {why}'
    details = Details(name=name, group=resource.group, kind=resource.kind)
    return StatusError(409, "Conflict", message, details)


def apply_conflict(message: str, causes: Sequence[Cause]) -> StatusError:
    """409: other field managers own what an apply wants to set (Server-Side Apply, Conflicts)."""
    return StatusError(409, "Conflict", message, Details(causes=tuple(causes)))


def version_required(resource: ResourceType, name: str) -> StatusError:
    """422 to an update without the version it is based on; it names the resource where others name the kind."""
    cause = Cause(
        "FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion"
    )
    details = Details(name=name, group=resource.group, kind=resource.plural, causes=(cause,))
    message = f'{resource.group_resource} "{name}" is invalid: {cause.field}: {cause.message}'
    return StatusError(422, "Invalid", message, details)


def invalid(resource: ResourceType, name: str, causes: Sequence[Cause]) -> StatusError:
    """422 with one cause for each bad field."""
    each = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    told = each[0] if len(each) == 1 else f"[{', '.join(each)}]"
    details = Details(name=name, group=resource.group, kind=resource.kind, causes=tuple(causes))
    return StatusError(422, "Invalid", f'{resource.group_kind} "{name}" is invalid: {told}', details)


def bad_request(message: str) -> StatusError:
    """400."""
    return StatusError(400, "BadRequest", message)


def invalid_option(kind: str, field: str, message: str, reason: str) -> StatusError:
    """422 about a query parameter or a DeleteOptions body; `kind` is ListOptions, PatchOptions and so on."""
    details = Details(group="meta.k8s.io", kind=kind, causes=(Cause(reason, message, field),))
    told = f'{kind}.meta.k8s.io "" is invalid: {field}: {message}'
    return StatusError(422, "Invalid", told, details)


def nameless(name: str) -> StatusError:
    """400: the path names an object, and the body none."""
    told = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
    return bad_request(told)


def expired(message: str, continue_token: str = "") -> StatusError:
    """410: the wanted version was compacted; a list can go on, inconsistently, from the token."""
    metadata = {"continue": continue_token} if continue_token else {}
    return StatusError(410, "Expired", message, metadata=metadata)


def too_large_resource_version(wanted: int, present: int) -> StatusError:
    """504: the client has seen a later version than this server holds."""
    cause = Cause("ResourceVersionTooLarge", "Too large resource version", "")
    message = f"Timeout: Too large resource version: {wanted}, current: {present}"
    details = Details(causes=(cause,), retry_after=1)
    return StatusError(504, "Timeout", message, details, headers={"Retry-After": "1"})


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """415."""
    message = "the body of the request was in an unknown format - accepted media types include: "
    return StatusError(415, "UnsupportedMediaType", message + ", ".join(accepted))


def unsupported_patch() -> StatusError:
    """415 to a PATCH of a built-in kind."""
    return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", Details())


def not_acceptable() -> StatusError:
    """406."""
    json, proto = "application/json", "application/vnd.kubernetes.protobuf"
    offered = f"{json}, application/yaml, {proto}, {json};stream=watch, {proto};stream=watch"
    message = f"406: Not Acceptable\n\nAvailable representations: {offered}"
    return StatusError(406, "NotAcceptable", message, Details())


def no_such_resource() -> StatusError:
    """404 for a resource or version that a known group does not have."""
    message = "the server could not find the requested resource"
    return StatusError(404, "NotFound", message, Details())


def method_not_allowed() -> StatusError:
    """405."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, Details())


def unauthorized() -> StatusError:
    """401: a token nobody issued."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: ResourceType, name: str, why: str, causes: Sequence[Cause] = ()) -> StatusError:
    """403 about one resource or object."""
    named = f'{resource.group_resource} "{name}"' if name else resource.group_resource
    details = Details(name=name, group=resource.group, kind=resource.plural, causes=tuple(causes))
    return StatusError(403, "Forbidden", f"{named} is forbidden: {why}", details)


def forbidden_path(path: str, verb: str) -> StatusError:
    """403 for a path that is no resource, asked without a token."""
    message = f'forbidden: User "system:anonymous" cannot {verb} path "{path}"'
    return StatusError(403, "Forbidden", message, Details())


def namespace_terminating(resource: ResourceType, name: str, namespace: str) -> StatusError:
    """403 to a create in a namespace that is being deleted."""
    cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    return forbidden(resource, name, why, (cause,))


def internal(message: str) -> StatusError:
    """500, which Kubernetes answers to an apply with an unknown field and without a reason."""
    return StatusError(500, "", message)
