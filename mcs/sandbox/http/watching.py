"""Watches: which events a request sees, and from where on. Pure but for the queue that the store fills.

Source: Kubernetes API concepts, "Efficient detection of changes", "Watch bookmarks", "Streaming lists" and
"Semantics for watch". Sending the events is left to `streams`.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcs.sandbox.errors import StatusError, bad_request, expired, internal, invalid_option
from mcs.sandbox.http.listing import resource_version
from mcs.sandbox.http.negotiation import Form, View
from mcs.sandbox.http.selectors import Selection
from mcs.sandbox.resources import CRDS, ResourceType
from mcs.sandbox.store import Change, ChangeType, CompactedError, Object, Store

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_EMPTY_BODIES: dict[str, Object] = {
    "EndpointSlice": {"addressType": "", "endpoints": None, "ports": None},
    "Service": {"spec": {}, "status": {"loadBalancer": {}}},
    "Namespace": {"spec": {}, "status": {}},
    "Node": {"spec": {}, "status": {}},
    "Lease": {"spec": {}},
}


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What a watch asks for. `revision` 0 means: start with what is present."""

    revision: int
    bookmarks: bool
    initial_events: bool
    """Whether the present objects come first and a bookmark marks their end (sendInitialEvents)."""


def watch_options(query: Mapping[str, str]) -> WatchOptions:
    """The options of a watch request; raises Invalid."""
    initial = query.get("sendInitialEvents", "")
    match = query.get("resourceVersionMatch", "")
    if initial and match != "NotOlderThan":
        raise _invalid_match(
            "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        )
    if match and not initial:
        raise _invalid_match(
            "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        )
    text = query.get("timeoutSeconds") or "0"
    if not text.lstrip("-").isdigit():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    try:
        revision = resource_version(query.get("resourceVersion", ""))
    except ValueError as error:
        raise internal(str(error)) from error
    return WatchOptions(
        revision=0 if initial == "true" else revision,
        bookmarks=query.get("allowWatchBookmarks") in ("true", "1"),
        initial_events=initial == "true",
    )


def _invalid_match(told: str) -> StatusError:
    return invalid_option("ListOptions", "resourceVersionMatch", told, "FieldValueForbidden")


Event = dict[str, Any]


def _is_end_of(change: Change, resource: ResourceType) -> bool:
    removed = change.resource is CRDS and change.type is ChangeType.DELETED
    return removed and change.new["metadata"]["name"] == resource.group_resource


class Watch:
    """The events of one watch:

    first `opening`, then `following` for each change that arrives in `changes`.
    """

    def __init__(
        self, store: Store, resource: ResourceType, wanted: Selection, view: View, options: WatchOptions
    ) -> None:
        self.changes: asyncio.Queue[Change | None] = asyncio.Queue()
        """None: the resource is no longer served."""
        self._store = store
        self._resource = resource
        self._wanted = wanted
        self._view = view
        self._options = options
        self._seen = options.revision or store.revision
        self._first = True

    def start(self) -> Callable[[], None]:
        """Begin to collect changes; returns the way to stop."""

        def collect(change: Change) -> None:
            if change.resource.group_resource == self._resource.group_resource:
                self.changes.put_nowait(change)
            elif _is_end_of(change, self._resource):
                self.changes.put_nowait(None)

        return self._store.listen(collect)

    def opening(self) -> Iterator[Event]:
        """What was there or happened before now; an ERROR event, 410, when that is forgotten."""
        if self._options.revision:
            try:
                past = self._store.changes_after(self._options.revision)
            except CompactedError as error:
                told = f"too old resource version: {error.wanted} ({error.oldest})"
                yield {"type": "ERROR", "object": expired(told).as_status()}
                return
            for change in past:
                if change.resource.group_resource == self._resource.group_resource:
                    yield from self.following(change)
            return
        for obj in self._store.list(self._resource, self._wanted.namespace):
            if obj in self._wanted:
                yield self._event("ADDED", obj)
        if self._options.initial_events and self._options.bookmarks:
            yield self.bookmark({INITIAL_EVENTS_END: "true"})

    def following(self, change: Change) -> Iterator[Event]:
        """The event of one change: entering the selection looks like ADDED, leaving it like DELETED."""
        if change.revision <= self._seen:
            return
        self._seen = change.revision
        was = change.old is not None and change.old in self._wanted
        is_now = change.type is not ChangeType.DELETED and change.new in self._wanted
        if is_now:
            yield self._event("MODIFIED" if was else "ADDED", change.new)
        elif was and change.old is not None:
            version = {"resourceVersion": change.new["metadata"]["resourceVersion"]}
            last = {**change.old, "metadata": {**change.old["metadata"], **version}}
            yield self._event("DELETED", last)

    def bookmark(self, annotations: Mapping[str, str] | None = None) -> Event:
        """That everything up to the store's revision was seen."""
        self._seen = max(self._seen, self._store.revision)
        metadata: Object = {"resourceVersion": str(self._seen)}
        if annotations:
            metadata["annotations"] = dict(annotations)
        obj: Object = {
            "kind": self._resource.kind,
            "apiVersion": self._resource.api_version_of(self._view.version),
            "metadata": metadata,
        }
        if self._view.form is Form.OBJECT and not self._resource.custom:
            obj |= _EMPTY_BODIES.get(self._resource.kind, {})
        if self._view.form is Form.TABLE:
            obj = {**obj, "metadata": {**metadata, "name": "", "creationTimestamp": None}}
        return self._event("BOOKMARK", obj)

    def _event(self, kind: str, obj: Object) -> Event:
        event = {"type": kind, "object": self._view.event(obj, first=self._first)}
        self._first = False
        return event
