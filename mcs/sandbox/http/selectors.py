"""Label and field selectors, as `labelSelector` and `fieldSelector` carry them, parsed into predicates.

Source: Kubernetes, "Labels and Selectors" (equality- and set-based requirements); "Field Selectors".
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mcs.sandbox.apply.formats import label_value_errors, qualified_name_errors
from mcs.sandbox.errors import StatusError, bad_request
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.store import Object

Predicate = Callable[[Object], bool]

_TOKEN = re.compile(r"\s*(?:(?P<word>[A-Za-z0-9_./-]+)|(?P<sign>==|!=|=|!|,|\(|\)|<|>))")
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_COMMON_FIELDS = frozenset({"metadata.name", "metadata.namespace"})
FIELDS: dict[str, frozenset[str]] = {
    "pods": frozenset(
        {
            *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
            *("spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"),
        }
    ),
    "nodes": frozenset({"spec.unschedulable"}),
    "namespaces": frozenset({"status.phase"}),
    "secrets": frozenset({"type"}),
    "services": frozenset({"spec.clusterIP", "spec.type"}),
    "events": frozenset(
        {*(f"involvedObject.{name}" for name in _INVOLVED), "reason", "reportingComponent", "source", "type"}
    ),
}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects a request is about; `everything` is true when no selector was given."""

    namespace: str | None
    matches: Predicate
    everything: bool

    def __contains__(self, obj: object) -> bool:
        if not isinstance(obj, dict):
            return False
        return self.namespace in (None, obj["metadata"].get("namespace")) and self.matches(obj)


def selection(resource: ResourceType, namespace: str | None, labels: str, fields: str) -> Selection:
    """The objects of a namespace (None: of all) that both selectors match; raises BadRequest."""
    tests = [*_label_tests(labels), *_field_tests(resource, fields)]
    return Selection(namespace, lambda obj: all(test(obj) for test in tests), everything=not tests)


def _label_tests(text: str) -> Iterator[Predicate]:
    tokens = _tokens(text)
    while tokens:
        yield _requirement(tokens)
        if tokens and tokens.pop(0) != ",":
            raise _unparsable("expected: ',' or 'end of string'")


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    text = text.strip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise _unparsable(f"unexpected character in {text!r}")
        tokens.append(found["word"] or found["sign"])
        position = found.end()
    return tokens


def _unparsable(why: str) -> StatusError:
    return bad_request(f"unable to parse requirement: {why}")


def _requirement(tokens: list[str]) -> Predicate:
    first = tokens.pop(0)
    if first == "!":
        key = _key(tokens)
        return lambda obj: key not in _labels(obj)
    tokens.insert(0, first)
    key = _key(tokens)
    if not tokens or tokens[0] == ",":
        return lambda obj: key in _labels(obj)
    match tokens.pop(0):
        case "=" | "==":
            value = _value(key, tokens)
            return lambda obj: _labels(obj).get(key) == value
        case "!=":
            value = _value(key, tokens)
            return lambda obj: _labels(obj).get(key) != value
        case "in":
            values = _values(key, tokens)
            return lambda obj: _labels(obj).get(key) in values
        case "notin":
            values = _values(key, tokens)
            return lambda obj: _labels(obj).get(key) not in values
        case ("<" | ">") as sign:
            return _comparison(key, sign, _word(tokens))
        case other:
            raise _unparsable(f"found '{other}', expected: in, notin, =, ==, !=, gt, lt")


def _comparison(key: str, sign: str, bound: str) -> Predicate:
    if not bound.lstrip("-").isdigit():
        raise _unparsable("for 'Gt', 'Lt' operators, the value must be an integer")

    def compares(obj: Object) -> bool:
        found = _labels(obj).get(key, "")
        if not found.lstrip("-").isdigit():
            return False
        return int(found) > int(bound) if sign == ">" else int(found) < int(bound)

    return compares


def _word(tokens: list[str]) -> str:
    if not tokens or not re.fullmatch(r"[A-Za-z0-9_./-]+", tokens[0]):
        found = tokens[0] if tokens else ""
        raise _unparsable(f"found '{found}', expected: identifier")
    return tokens.pop(0)


def _key(tokens: list[str]) -> str:
    key = _word(tokens)
    for why in qualified_name_errors(key):
        raise _unparsable(f'<nil>: Invalid value: "{key}": {why}')
    return key


def _value(key: str, tokens: list[str]) -> str:
    value = "" if not tokens or tokens[0] == "," else _word(tokens)
    _check_values(key, [value])
    return value


def _check_values(key: str, values: list[str]) -> None:
    for index, value in enumerate(values):
        for why in label_value_errors(value):
            raise _unparsable(f'values[{index}][{key}]: Invalid value: "{value}": {why}')


def _values(key: str, tokens: list[str]) -> frozenset[str]:
    if not tokens or tokens.pop(0) != "(":
        raise _unparsable("found '', expected: '('")
    found: list[str] = []
    while tokens:
        match tokens.pop(0):
            case ")":
                _check_values(key, found)
                return frozenset(found)
            case ",":
                continue
            case word:
                found.append(word)
    raise _unparsable("found '', expected: ',' or ')'")


def _labels(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def _field_tests(resource: ResourceType, text: str) -> Iterator[Predicate]:
    for term in re.split(r"(?<!\\),", text) if text else ():
        found = re.fullmatch(r"([^=!]+)(!=|==|=)(.*)", term)
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        path, sign, value = found.groups()
        own = FIELDS.get(resource.group_resource, frozenset())
        if path not in _COMMON_FIELDS | own:
            if own or resource.custom:
                raise bad_request(f"field label not supported: {path}")
            known = '"metadata.name", "metadata.namespace"'
            raise bad_request(f'"{path}" is not a known field selector: only {known}')
        yield _field_test(path, re.sub(r"\\(.)", r"\1", value), wanted=sign != "!=")


def _field_test(path: str, value: str, *, wanted: bool) -> Predicate:
    steps = path.split(".")
    return lambda obj: (_text(_at(obj, steps)) == value) is wanted


def _at(obj: Any, steps: list[str]) -> Any:
    for step in steps:
        obj = obj.get(step) if isinstance(obj, dict) else None
    if isinstance(obj, dict):
        return obj.get("component")
    return obj


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)
