"""Complaints about JSON and YAML that does not parse, in the words of the Go libraries of an API server.

Clients show these sentences, so they are kept; the parsing itself is Python's. Positions are not told,
because Go does not tell them either.
"""

import json
from typing import Any

import yaml

TYPE_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
LONGEST_SUMMARY = 30


def json_complaint(body: bytes) -> str:
    """Why a text is no JSON; empty when it is."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = body.decode("latin-1")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return _sentence(error, text)
    except RecursionError:
        return "exceeded max depth"
    return ""


def _sentence(error: json.JSONDecodeError, text: str) -> str:
    at = error.pos
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    if at >= len(text) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    return f"invalid character {_quoted(text[at])} {_where(error.msg, text, at)}"


def _where(complaint: str, text: str, at: int) -> str:
    before = text[:at].rstrip()[-1:]
    match complaint:
        case "Extra data":
            return "after top-level value"
        case "Expecting ':' delimiter":
            return "after object key"
        case "Expecting ',' delimiter":
            inside_object = text[:at].count("{") > text[:at].count("}") and text[at] != "}"
            return "after object key:value pair" if inside_object else "after array element"
        case _ if complaint.startswith(("Expecting property name", "Illegal trailing comma")):
            return "looking for beginning of object key string"
        case _ if complaint.startswith("Invalid"):
            return "in string literal"
        case _:
            return "looking for beginning of value" if before != "," or text[at] != "}" else "in object"


def _quoted(character: str) -> str:
    if character == "'":
        return r"'\''"
    if character == '"':
        return "'\"'"
    return f"'{character}'" if character.isprintable() else f"'\\u{ord(character):04x}'"


def summary(body: bytes) -> str:
    """The beginning of a body, as a complaint about it repeats it."""
    if not body:
        return "<empty>"
    start = body[:LONGEST_SUMMARY]
    text = start.decode(errors="replace") if body.startswith(b"{") else start.hex()
    return text if len(body) <= LONGEST_SUMMARY else f"{text} ..."


def yaml_complaint(error: yaml.YAMLError) -> str:
    """Why a text is no YAML."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or problem is None:
        return f"yaml: {error}"
    expected = str(problem).partition(", but ")[0]
    told = f"did not find {expected}"
    return f"yaml: line {mark.line + 1}: {told}"


def duplicate_fields(body: bytes) -> list[str]:
    """The dotted paths of keys that stand twice in one object of a JSON text; empty for other texts."""
    try:
        pairs = json.loads(body, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    _collect(pairs, "", found)
    return found


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its duplicates."""


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, child in value:
            below = f"{path}.{key}" if path else key
            if key in seen:
                found.append(below)
            seen.add(key)
            _collect(child, below, found)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            _collect(child, f"{path}[{index}]", found)
