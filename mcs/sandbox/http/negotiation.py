"""Bodies in and out: which content types are read, and in which form the answer is written.

Source: Kubernetes API concepts, "Resource representations", "Receiving resources as Tables", metadata-only
fetches. Forms: the object itself, `PartialObjectMetadata`, or a Table made by `tables`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
import yaml

from mcs.sandbox.errors import not_acceptable, unsupported_media_type
from mcs.sandbox.http import go_json, protobuf
from mcs.sandbox.printing import tables
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.rules.fields import seen_through
from mcs.sandbox.store import Object

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
META = "meta.k8s.io/v1"


class Form(StrEnum):
    """What the client wants to see of an object."""

    OBJECT = ""
    PARTIAL = "PartialObjectMetadata"
    TABLE = "Table"


def media_types(header: str) -> list[tuple[str, dict[str, str]]]:
    """Each alternative of an Accept header in order: its type and its parameters."""
    found = []
    for alternative in header.split(","):
        kind, *parameters = (part.strip() for part in alternative.split(";"))
        found.append((kind.lower(), dict(p.partition("=")[::2] for p in parameters)))
    return found


def wanted_form(accept: str) -> Form:
    """The first alternative this server can write; raises NotAcceptable."""
    for kind, parameters in media_types(accept or "*/*"):
        if kind not in (JSON, "*/*", "application/*"):
            continue
        word = parameters.get("as", "")
        if not word:
            return Form.OBJECT
        if parameters.get("g") != "meta.k8s.io" or parameters.get("v") != "v1":
            continue
        if word in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList"):
            return Form(word.removesuffix("List"))
    raise not_acceptable()


def media_type(content_type: str) -> str:
    """The type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


class UnreadableError(ValueError):
    """The body is neither JSON nor, where that is accepted, YAML; the text says why."""


def read_body(body: bytes, content_type: str, accepted: Sequence[str]) -> Any:
    """The decoded body; raises `UnreadableError`, or UnsupportedMediaType. YAML is read where it is accepted.

    Of protobuf only what `kubectl create` sends is read.
    """
    kind = media_type(content_type) or JSON
    if kind not in accepted:
        raise unsupported_media_type(accepted)
    if kind == PROTOBUF:
        try:
            return protobuf.decoded(body)
        except protobuf.UndecodableError as error:
            raise unsupported_media_type(accepted) from error
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if not kind.endswith("yaml"):
            raise UnreadableError(go_json.json_complaint(body) or str(error)) from error
    try:
        return yaml.load(body, Loader=_PlainLoader)
    except yaml.YAMLError as error:
        told = f"error converting YAML to JSON: {go_json.yaml_complaint(error)}"
        raise UnreadableError(told) from error


class _PlainLoader(yaml.SafeLoader):
    """YAML without timestamps: the API knows only JSON's types."""


_PlainLoader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class View:
    """How one request sees objects: in which version of their resource, in which form, ages as of when."""

    resource: ResourceType
    version: str
    form: Form
    now: datetime
    include: tables.IncludeObject = "Metadata"

    def of(self, obj: Object) -> Object:
        """One object."""
        obj = self.in_version(obj)
        match self.form:
            case Form.TABLE:
                metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
                return self._table([obj], metadata)
            case Form.PARTIAL:
                return partial(obj)
            case Form.OBJECT:
                return obj

    def event(self, obj: Object, *, first: bool) -> Object:
        """One object of a watch: column definitions come with the first only."""
        if self.form is not Form.TABLE:
            return self.of(obj)
        obj = self.in_version(obj)
        metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        return self._table([obj], metadata, with_columns=first)

    def of_list(self, objects: Iterable[Object], metadata: Object) -> Object:
        """A list with its metadata."""
        seen = [self.in_version(obj) for obj in objects]
        match self.form:
            case Form.TABLE:
                return self._table(seen, metadata)
            case Form.PARTIAL:
                items = [partial(obj) for obj in seen]
                kind = "PartialObjectMetadataList"
                return {"kind": kind, "apiVersion": META, "metadata": metadata, "items": items}
            case Form.OBJECT:
                if self.resource.custom:
                    metadata = {"continue": "", **metadata}
                else:
                    seen = [{k: v for k, v in o.items() if k not in ("apiVersion", "kind")} for o in seen]
                return {
                    "kind": self.resource.list_kind,
                    "apiVersion": self.resource.api_version_of(self.version),
                    "metadata": metadata,
                    "items": seen,
                }

    def in_version(self, obj: Object) -> Object:
        """The object in the version of the request (conversion strategy None)."""
        if self.resource.custom or obj.get("apiVersion") != self.resource.api_version_of(self.version):
            return seen_through(self.resource, self.version, obj)
        return obj

    def _table(self, objects: list[Object], metadata: Object, *, with_columns: bool = True) -> Object:
        return tables.table(
            self.resource,
            self.version,
            objects,
            self.now,
            metadata=metadata,
            include=self.include,
            with_columns=with_columns,
        )


def partial(obj: Object) -> Object:
    """The metadata of an object alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": obj["metadata"]}
