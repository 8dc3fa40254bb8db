"""The part of Kubernetes' JSONPath that CRD printer columns use: fields, indexes, `[*]` and equality filters.

Source: Kubernetes reference, "JSONPath Support", and "Create a CustomResourceDefinition", Additional printer
columns ("simple JSON paths with array notation").
"""

import re
from collections.abc import Iterable
from typing import Any

_STEP = re.compile(
    r"""\.?(?:
        (?P<field>(?:\\.|[^.\[\]\\])+)
      | \['(?P<quoted>[^']*)'\]
      | \[(?P<index>-?\d+)\]
      | \[(?P<all>\*)\]
      | \[\?\(@\.(?P<key>[^=\s]+)\s*==\s*(?P<quote>['"])(?P<value>.*?)(?P=quote)\)\]
    )""",
    re.VERBOSE,
)


def found_values(path: str, document: Any) -> list[Any]:
    """Every value at the path, none when a step leads nowhere; raises ValueError for other syntax."""
    values, position = [document], 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise ValueError(f"unsupported JSONPath {path!r} at {position}")
        values = [found for value in values for found in _taken(step, value)]
        position = step.end()
    return values


def _taken(step: re.Match[str], value: Any) -> Iterable[Any]:
    if step["all"]:
        return value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    if step["index"]:
        index = int(step["index"])
        inside = isinstance(value, list) and -len(value) <= index < len(value)
        return (value[index],) if inside else ()
    if step["key"]:
        elements = value if isinstance(value, list) else ()
        return [e for e in elements if isinstance(e, dict) and str(e.get(step["key"])) == step["value"]]
    field = step["quoted"] if step["quoted"] is not None else re.sub(r"\\(.)", r"\1", step["field"])
    return (value[field],) if isinstance(value, dict) and field in value else ()
