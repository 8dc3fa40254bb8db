"""The conformance report has the shape in which implementations publish theirs."""

from __future__ import annotations

from typing import Any

import yaml

from tests.real.conformance.report import Failed, NonConformant, Passed, Specification, as_yaml, verdict
from tests.real.conformance.suite import NonConformantError


def specification(text: str, outcome: Passed | NonConformant | Failed | None, group: str = "Required") -> Any:
    return Specification(text=text, group=group, labels=("ClusterIP",), ref="service-port", outcome=outcome)


def test_each_outcome_is_told_and_all_count_in_the_total() -> None:
    written = yaml.safe_load(
        as_yaml(
            [
                specification("d", None),
                specification("c", Failed("no route\nto the server")),
                specification("b", NonConformant("wrong port")),
                specification("a", Passed()),
                specification("e", Passed(), group="Optional"),
            ]
        )
    )
    required, optional = written["groups"]
    assert (required["name"], optional["name"]) == ("Required", "Optional")
    fields = ("desc", "passed", "failed", "skipped", "conformant", "message")
    assert [tuple(test[field] for field in fields) for test in required["tests"]] == [
        ("a", True, False, False, True, ""),
        ("b", False, False, False, False, "wrong port"),
        ("c", False, True, False, True, "no route"),
        ("d", False, False, True, True, ""),
    ]
    assert (written["passed"], written["total"], written["suitefailure"]) == (2, 5, "")
    assert written["dnsdomain"] == "clusterset.local"
    assert written["implementation"].keys() == {"organization", "project", "version", "url"}


def test_a_test_names_its_labels_and_the_section_of_the_kep() -> None:
    ((test,), _) = (
        group["tests"] for group in yaml.safe_load(as_yaml([specification("a", Passed())]))["groups"]
    )
    assert test["labels"] == ["ClusterIP"]
    assert test["ref"].endswith("1645-multi-cluster-services-api#service-port")


def test_only_a_broken_promise_is_non_conformant() -> None:
    broken = NonConformantError("wrong port")
    lost = OSError("no route")
    assert verdict(broken) == NonConformant("wrong port")
    assert verdict(ExceptionGroup("requests", [lost, ExceptionGroup("more", [broken])])) == NonConformant(
        "wrong port"
    )
    assert verdict(ExceptionGroup("requests", [lost])) == Failed("no route")
