"""Label selectors, as kubectl takes them: `tier=web,env in (prod,stage),!internal`.

Source: Kubernetes, "Labels and Selectors". Unlike there, an empty selector matches nothing: who forgets to write one
should not have everything selected.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal, assert_never

from msgspec import Struct

Operator = Literal["in", "notin", "exists", "does not exist"]

_KEY = r"[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_EQUALITY = re.compile(rf"(?P<key>{_KEY})\s*(?P<operator>==|=|!=)\s*(?P<value>{_VALUE})")
_SET = re.compile(rf"(?P<key>{_KEY})\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
_EXISTENCE = re.compile(rf"(?P<not>!?)\s*(?P<key>{_KEY})")
_COMMA_OUTSIDE_PARENTHESES = re.compile(r",(?![^()]*\))")


class Requirement(Struct, frozen=True):
    """One of the conditions of a selector."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def is_met(self, labels: Mapping[str, str]) -> bool:
        """As for Kubernetes, an absent label is not in any set, hence meets `notin` and `!=`."""
        match self.operator:
            case "in":
                return labels.get(self.key) in self.values
            case "notin":
                return labels.get(self.key) not in self.values
            case "exists":
                return self.key in labels
            case "does not exist":
                return self.key not in labels
            case _:
                assert_never(self.operator)


class Selector(Struct, frozen=True):
    """All requirements must be met; without any nothing is selected."""

    requirements: tuple[Requirement, ...] = ()

    def selects(self, labels: Mapping[str, str]) -> bool:
        """True when an object with these labels is meant."""
        return bool(self.requirements) and all(each.is_met(labels) for each in self.requirements)


def parse_selector(text: str) -> Selector:
    """The selector that `text` writes. Raises ValueError naming the part that is none."""
    if not text.strip():
        return Selector()
    return Selector(tuple(_requirements(_COMMA_OUTSIDE_PARENTHESES.split(text))))


def _requirements(parts: Iterable[str]) -> Iterable[Requirement]:
    for part in (part.strip() for part in parts):
        if found := _EQUALITY.fullmatch(part):
            operator: Operator = "notin" if found["operator"] == "!=" else "in"
            yield Requirement(found["key"], operator, frozenset({found["value"]}))
        elif found := _SET.fullmatch(part):
            values = [value.strip() for value in found["values"].split(",")]
            if not all(re.fullmatch(_VALUE, value) for value in values):
                raise ValueError(f"{part!r} is no label requirement")
            yield Requirement(found["key"], "in" if found["operator"] == "in" else "notin", frozenset(values))
        elif found := _EXISTENCE.fullmatch(part):
            yield Requirement(found["key"], "does not exist" if found["not"] else "exists")
        else:
            raise ValueError(f"{part!r} is no label requirement")
