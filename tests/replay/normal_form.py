"""Answers without what no two servers share: uids, versions, times, generated names, allocated addresses.

Leaves sending requests to `replayer`. All is decided over the whole sequence, so that the same uid keeps the
same placeholder and the order of resource versions stays visible: `rv#1` is the oldest object version that
any answer of the sequence shows. The version of a list is `>=rv#N`, N being the newest shown version that it
covers. Whatever the sequence's own file says literally is never replaced.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
_AGE = re.compile(r"\d+(ms|s|m\d*s?)")
_VERSION_IN_TEXT = re.compile(
    r"(resource version: |ResourceVersion in (?:record|the precondition) \(|, current: "
    r"|\\\"resourceVersion\\\":\\\")\d+( \(\d+\))?"
)
_STORAGE_KEY = re.compile(r"(, Key: )\S+(?=,)")
_ADDRESS_FIELDS = ("clusterIP", "clusterIPs")
_PORT_FIELDS = ("nodePort", "healthCheckNodePort")


@dataclass(frozen=True)
class RawAnswer:
    """What came back: `body` is decoded JSON, text, or the list of a watch's events."""

    name: str
    code: int
    content_type: str
    warnings: tuple[str, ...]
    body: Any


@dataclass
class _Placeholders:
    literals: str
    versions: list[int] = field(default_factory=list)
    strings: dict[str, str] = field(default_factory=dict)
    ports: dict[int, str] = field(default_factory=dict)

    def is_literal(self, found: str) -> bool:
        bounded = rf"(?<![\w.:]){re.escape(found)}(?![\w.]|:\w)"
        return found in self.literals and re.search(bounded, self.literals) is not None

    def uid(self, found: str) -> str:
        if self.is_literal(found):
            return found
        taken = sum(1 for value in self.strings.values() if value.startswith("uid#"))
        return self.strings.setdefault(found, f"uid#{taken + 1}")

    def address(self, found: str) -> None:
        if found in ("", "None") or found in self.strings or self.is_literal(found):
            return
        family = "ipv6" if ":" in found else "ipv4"
        taken = sum(1 for value in self.strings.values() if value.startswith(family))
        self.strings[found] = f"{family}#{taken + 1}"

    def generated(self, prefix: str, name: str) -> None:
        if name.startswith(prefix) and name not in self.literals and name not in self.strings:
            taken = sum(1 for value in self.strings.values() if "<generated#" in value)
            self.strings[name] = f"{prefix}<generated#{taken + 1}>"

    def text(self, value: str) -> str:
        value = _UID.sub(lambda found: self.uid(found[0]), value)
        value = _TIME.sub(lambda found: found[0] if self.is_literal(found[0]) else "<time>", value)
        value = _VERSION_IN_TEXT.sub(lambda found: f"{found[1]}<version>", value)
        value = _STORAGE_KEY.sub(lambda found: f"{found[1]}<key>", value)
        for found, placeholder in self.strings.items():
            if found in value:
                value = re.sub(
                    rf"(?<![\w.:]){re.escape(found)}(?![\w.:])", placeholder.replace("\\", ""), value
                )
        return value

    def object_version(self, value: str) -> str:
        return f"rv#{self.versions.index(int(value)) + 1}" if value.isdigit() else value

    def list_version(self, value: str) -> str:
        if not value.isdigit():
            return value
        return f">=rv#{sum(1 for version in self.versions if version <= int(value))}"


def without_ages(body: Any) -> Any:
    """The body, changed in place, with `<age>` in the Age column of its tables.

    Only the first table of a watch names its columns; the ages of the others are found by its names.
    """
    ages: set[int] = set()
    for found in _objects(body):
        if found.get("kind") == "Table":
            if columns := found.get("columnDefinitions"):
                ages = {index for index, column in enumerate(columns) if column.get("name") == "Age"}
            for row in found.get("rows") or ():
                row["cells"] = [
                    "<age>" if index in ages and _AGE.fullmatch(str(cell)) else cell
                    for index, cell in enumerate(row["cells"])
                ]
    return body


def normal_form(answers: list[RawAnswer], literals: str) -> list[dict[str, Any]]:
    """The answers of one sequence as JSON values that two runs, and two servers, can be compared by."""
    placeholders = _Placeholders(literals)
    for answer in answers:
        _collect(answer.body, placeholders)
    placeholders.versions = sorted(set(placeholders.versions))
    return [
        {
            "name": answer.name,
            "code": answer.code,
            "type": answer.content_type,
            "warnings": [placeholders.text(warning) for warning in answer.warnings],
            "body": _normal(answer.body, placeholders),
        }
        for answer in answers
    ]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for child in value.values():
            yield from _objects(child)
    elif isinstance(value, list):
        for child in value:
            yield from _objects(child)


def _collect(body: Any, placeholders: _Placeholders) -> None:
    for found in _objects(body):
        version = found.get("resourceVersion")
        if isinstance(version, str) and version.isdigit() and "name" in found:
            placeholders.versions.append(int(version))
        if isinstance(found.get("generateName"), str) and isinstance(found.get("name"), str):
            placeholders.generated(found["generateName"], found["name"])
        for key in _ADDRESS_FIELDS:
            given = found.get(key)
            for address in given if isinstance(given, list) else [given]:
                if isinstance(address, str):
                    placeholders.address(address)
        for key in _PORT_FIELDS:
            port = found.get(key)
            if isinstance(port, int) and port and not placeholders.is_literal(str(port)):
                placeholders.ports.setdefault(port, f"port#{len(placeholders.ports) + 1}")


def _normal(value: Any, placeholders: _Placeholders) -> Any:
    match value:
        case dict():
            return {
                placeholders.text(key): _field(key, child, value, placeholders)
                for key, child in value.items()
            }
        case list():
            return [_normal(child, placeholders) for child in value]
        case str():
            return placeholders.text(value)
        case _:
            return value


def _field(key: str, value: Any, owner: dict[str, Any], placeholders: _Placeholders) -> Any:
    match key, value:
        case "managedFields", list():
            return sorted(
                (_normal({k: v for k, v in entry.items() if k != "time"}, placeholders) for entry in value),
                key=lambda entry: [
                    str(entry.get(k, "")) for k in ("manager", "operation", "subresource", "apiVersion")
                ],
            )
        case "causes", [{"reason": "FieldManagerConflict"}, *_]:
            return sorted((_normal(cause, placeholders) for cause in value), key=str)
        case "resources", list():
            return sorted((_normal(resource, placeholders) for resource in value), key=_resource_name)
        case "resourceVersion", str() if "name" in owner:
            return placeholders.object_version(value)
        case "resourceVersion", str():
            return placeholders.list_version(value)
        case "continue", str() if value:
            return "<continue>"
        case (("nodePort" | "healthCheckNodePort"), int()) if value in placeholders.ports:
            return placeholders.ports[value]
        case _:
            return _normal(value, placeholders)


def _resource_name(resource: Any) -> str:
    return str(resource.get("name") or resource.get("resource")) if isinstance(resource, dict) else ""
