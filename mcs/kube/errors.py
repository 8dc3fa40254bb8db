"""What can go wrong between us and an API server, as types; what to do about each is decided above.

Source of the distinctions: metav1.Status, its `reason` and the reasons of its `details.causes`
(k8s.io/apimachinery/pkg/apis/meta/v1).
"""

# ruff: noqa: N818 (the names are those of Kubernetes' reasons)

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from mcs.kube.secrecy import redacted

CAUSE_TOO_LARGE = "ResourceVersionTooLarge"
CAUSE_NAMESPACE_TERMINATING = "NamespaceTerminating"

_NOT_TYPED = ("field not declared in schema", "failed to create typed patch object")
"""What an apply of something that does not fit the schema is answered with."""

LONGEST_RETRY_AFTER = 300.0
"""Seconds. API servers ask for one or so; a proxy in front of them that asks for a day is not waited for."""


class KubeError(Exception):
    """Base of everything that `mcs.kube` raises on purpose."""


class ConfigError(KubeError):
    """The user's configuration cannot be used. The message names file and context and says what to do."""

    def __init__(self, problem: str, *, file: Path | None = None, context: str | None = None) -> None:
        where = ", ".join(
            part
            for part in (f"file {file}" if file else "", f"context {context!r}" if context else "")
            if part
        )
        problem = redacted(problem)
        super().__init__(f"{where}: {problem}" if where else problem)


class Failure(StrEnum):
    """What keeps an API server from being worked with, told apart by what is to be done about it."""

    DNS = "DNS"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    TLS = "TLS"
    PROXY = "proxy"
    NETWORK = "network"
    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    SERVER_ERROR = "5xx"
    OTHER = "other"


class Unreachable(KubeError):
    """No answer; `failure` tells network, TLS and timeouts apart, `detail` is the message without the cluster."""

    def __init__(self, message: str, failure: Failure = Failure.NETWORK, detail: str = "") -> None:
        super().__init__(redacted(message))
        self.failure = failure
        self.detail = redacted(detail)


class NotLeading(KubeError):
    """A write that was not sent: this process does not hold the Lease that allows it."""


class WatchSilent(Unreachable):
    """A watch brought not even a bookmark within its read timeout: the server is gone or went back in time."""


class ApiError(KubeError):
    """The API server refused; `code` is the HTTP status and the rest is read from its Status.

    `retry_after` is in seconds, at most LONGEST_RETRY_AFTER, None when the server named none.
    `causes` are (reason, field, message).
    """

    def __init__(
        self,
        code: int,
        reason: str = "",
        message: str = "",
        retry_after: float | None = None,
        causes: tuple[tuple[str, str, str], ...] = (),
    ) -> None:
        super().__init__(f"{code} {reason}: {message}" if reason else f"{code}: {message}")
        self.code = code
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.causes = causes


class NotFound(ApiError):
    """The object, or the namespace it should live in, does not exist (a 404 that is a Status)."""


class ResourceMissing(ApiError):
    """The server does not serve this resource: its CRD is missing (a 404 that is no Status)."""


class Conflict(ApiError):
    """Our picture was old, or another manager owns a field (409)."""


class AlreadyExists(ApiError):
    """An object of this name exists (409 of a create)."""


class Expired(ApiError):
    """The resourceVersion or continue token is older than the history that is kept (410)."""


class ResourceVersionTooLarge(ApiError):
    """The server has not reached this resourceVersion (504 Timeout with that cause)."""


class Unauthorized(ApiError):
    """The credentials are not accepted, or no credentials could be had (401)."""


class Forbidden(ApiError):
    """The credentials do not allow this (403)."""


class NamespaceTerminating(Forbidden):
    """Nothing can be created in a namespace that is being deleted (403 with that cause)."""


class Invalid(ApiError):
    """The object or the request is not valid (422, 400; 500 for an apply that does not fit the schema)."""


class TooManyRequests(ApiError):
    """The server asks for patience (429)."""


class ServerError(ApiError):
    """The server failed (5xx), or its answer cannot be read."""


class TooLarge(ServerError):
    """The server sends more than what is held of one member: a member that floods must not take the others' memory."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(200, "TooLarge", f"{what} is larger than {limit >> 20} MiB, and is not read further")


_LONGEST_MESSAGE = 1024
"""Characters of a server's own words that are passed on, to logs, conditions and terminals."""


def _cleaned(text: str) -> str:
    """What a server says, on one line and without what a terminal would obey."""
    shown = "".join(each if each.isprintable() else " " for each in text[: 4 * _LONGEST_MESSAGE])
    shown = " ".join(shown.split())
    shown = redacted(shown)
    return shown if len(shown) <= _LONGEST_MESSAGE else f"{shown[: _LONGEST_MESSAGE - 1]}…"


class _Cause(msgspec.Struct):
    reason: str = ""
    field: str = ""
    message: str = ""


class _Details(msgspec.Struct, rename="camel"):
    causes: tuple[_Cause, ...] | None = None
    retry_after_seconds: float = 0


class _Status(msgspec.Struct):
    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


_STATUS = msgspec.json.Decoder(_Status)


def error_of(status: int, headers: Mapping[str, str], body: bytes | memoryview | msgspec.Raw) -> ApiError:
    """The error that an answer with this HTTP status, these headers and this body stands for.

    An ERROR line of a watch is such an answer too: its object is the body, its code goes before `status`.
    """
    try:
        parsed = _STATUS.decode(body)
    except msgspec.MsgspecError:
        parsed = _Status()
    is_status = parsed.kind == "Status"
    if not is_status:
        text = bytes(body[:500] if not isinstance(body, msgspec.Raw) else body).decode("utf-8", "replace")[
            :500
        ]
        parsed = _Status(message=text.strip() or "no body")
    details = parsed.details or _Details()
    causes = tuple((cause.reason, cause.field, cause.message) for cause in details.causes or ())
    code = parsed.code if 100 <= parsed.code <= 599 else status
    error = _type_of(code, parsed.reason, parsed.message, {cause[0] for cause in causes}, is_status)
    asked = _seconds(headers.get("Retry-After", "")) or details.retry_after_seconds
    retry_after = min(asked, LONGEST_RETRY_AFTER) if asked > 0 else None
    return error(code, _cleaned(parsed.reason), _cleaned(parsed.message), retry_after, causes)


def _type_of(code: int, reason: str, message: str, causes: set[str], is_status: bool) -> type[ApiError]:
    match code:
        case 404:
            return NotFound if is_status else ResourceMissing
        case 409:
            return AlreadyExists if reason == "AlreadyExists" else Conflict
        case 403:
            return NamespaceTerminating if CAUSE_NAMESPACE_TERMINATING in causes else Forbidden
        case 504 if CAUSE_TOO_LARGE in causes:
            return ResourceVersionTooLarge
        case 500 if any(each in message for each in _NOT_TYPED):
            return Invalid
        case _ if code >= 500:
            return ServerError
        case _:
            return _BY_CODE.get(code, ApiError)


_BY_CODE: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
}


def failure_of(error: KubeError) -> Failure:
    """Which of the failures an error is."""
    match error:
        case Unreachable():
            return error.failure
        case Unauthorized():
            return Failure.UNAUTHORIZED
        case Forbidden():
            return Failure.FORBIDDEN
        case ApiError(code=code) if code >= 500:
            return Failure.SERVER_ERROR
        case _:
            return Failure.OTHER


def why_not_reachable(error: KubeError) -> str:
    """Why an API server cannot be worked with, and what to look at: the same words for as long as it is the same."""
    failure = failure_of(error)
    match failure:
        case Failure.DNS:
            return f"{failure}: the name of its API server cannot be resolved; correct it, or the DNS that answers here"
        case Failure.REFUSED:
            return (
                f"{failure}: nothing listens at its address; check that its API server runs, and the address"
            )
        case Failure.UNAUTHORIZED:
            return f"{failure}: it does not accept the credentials; renew them"
        case Failure.FORBIDDEN:
            return f"{failure}: the credentials do not allow this; give them the rights of a member"
        case Failure.SERVER_ERROR if isinstance(error, ApiError):
            return f"{failure}: it answers {error.code}; check its API server, or what stands before it"
        case Failure.TIMEOUT | Failure.TLS | Failure.PROXY | Failure.NETWORK if isinstance(
            error, Unreachable
        ):
            return f"{failure}: {error.detail or 'no answer'}"
        case _ if isinstance(error, ApiError):
            return f"{failure}: it answers {error.code}"
        case _:
            return f"{failure}: {error}"


def _seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() else 0.0
