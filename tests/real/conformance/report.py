"""The conformance report in the shape of the official suite's report.yaml, which implementations publish.

A specification that failed by what it asserts is not conformant; one that failed otherwise leaves that open and
is `failed`; one that was not run is `skipped`. All of them count in `total`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import yaml

from tests.real.conformance.suite import DOMAIN, NonConformantError

_GROUPS = ("Required", "Optional")
_KEP = (
    "https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/"
    "1645-multi-cluster-services-api#"
)


@dataclass(frozen=True)
class Passed:
    """What was asserted holds."""


@dataclass(frozen=True)
class NonConformant:
    """What was asserted does not hold."""

    message: str


@dataclass(frozen=True)
class Failed:
    """Something else went wrong, so nobody knows."""

    message: str


@dataclass
class Specification:
    """One specification; `outcome` is None until it was run, `ref` an anchor in KEP-1645."""

    text: str
    group: str
    labels: tuple[str, ...]
    ref: str
    outcome: Passed | NonConformant | Failed | None = None


def verdict(error: BaseException) -> NonConformant | Failed:
    """What the report says of a specification that ended with this error."""
    causes = list(_causes(error))
    said = [str(cause) for cause in causes if isinstance(cause, NonConformantError)]
    return NonConformant(said[0]) if said else Failed(str(causes[0]))


def _causes(error: BaseException) -> Iterator[BaseException]:
    # Requests from several clusters at once fail as a group.
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _causes(each)
    else:
        yield error


def as_yaml(specifications: Sequence[Specification]) -> str:
    """The whole report."""
    groups = [
        {"name": name, "tests": _tests(each for each in specifications if each.group == name)}
        for name in _GROUPS
    ]
    written = {
        "groups": groups,
        "suitefailure": "",
        "dnsdomain": DOMAIN,
        "passed": sum(isinstance(each.outcome, Passed) for each in specifications),
        "total": len(specifications),
        "implementation": {
            "organization": "",
            "project": "mcs-controller",
            "version": version("mcs-controller"),
            "url": "",
        },
    }
    return yaml.safe_dump(written, sort_keys=False, width=1000)


def _tests(specifications: Iterable[Specification]) -> list[dict[str, Any]]:
    ordered = sorted(specifications, key=lambda each: (each.labels, each.text))
    return [_test(each) for each in ordered]


def _test(each: Specification) -> dict[str, Any]:
    message = each.outcome.message if isinstance(each.outcome, NonConformant | Failed) else ""
    return {
        "desc": each.text,
        "ref": _KEP + each.ref,
        "labels": list(each.labels),
        "passed": isinstance(each.outcome, Passed),
        "failed": isinstance(each.outcome, Failed),
        "skipped": each.outcome is None,
        "conformant": not isinstance(each.outcome, NonConformant),
        "message": message.partition("\n")[0],
    }
