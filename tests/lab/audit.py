"""Which rights a user made use of, read from the audit log of a real API server.

A right is what a rule of RBAC grants: verb, API group, resource with its subresource. What was asked for without
an API group, as discovery is, belongs to no rule of ours and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct


class Right(NamedTuple):
    """One verb on one resource; `resource` is written as in a rule, with its subresource behind a slash."""

    verb: str
    group: str
    resource: str


class _User(Struct):
    username: str


class _Object(Struct, rename="camel"):
    resource: str = ""
    api_group: str = ""
    subresource: str = ""


class _Response(Struct):
    code: int = 0


class Request(Struct, rename="camel"):
    """One audit event (audit.k8s.io/v1, Event), as far as rights go."""

    verb: str
    request_uri: str = msgspec.field(name="requestURI")
    user: _User
    object_ref: _Object | None = None
    response_status: _Response = msgspec.field(default_factory=_Response)
    request_object: dict[str, Any] | None = None


def requests_of(user: str, log: Path) -> list[Request]:
    """Everything that `user` asked for so far, in the order of the answers."""
    # The last line may still be in the writing.
    *lines, _ = log.read_bytes().split(b"\n")
    events = (msgspec.json.decode(line, type=Request) for line in lines)
    return [event for event in events if event.user.username == user]


def rights_used(requests: Iterable[Request]) -> set[Right]:
    """The rights without which these requests would have been refused.

    A server-side apply that creates its object is a patch that also needs the right to create.
    """
    used: set[Right] = set()
    for request in requests:
        if (target := request.object_ref) is None or not target.resource:
            continue
        resource = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
        used.add(Right(request.verb, target.api_group, resource))
        if request.verb == "patch" and request.response_status.code == 201:
            used.add(Right("create", target.api_group, resource))
    return used


def rights_granted(rules: Iterable[dict[str, Any]]) -> Iterator[Right]:
    """What the rules of a role grant, one by one."""
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield Right(verb, group, resource)
