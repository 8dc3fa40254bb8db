"""Formats and canonical values that the recorded refusals do not reach."""

from typing import Any

import pytest

from mcs.sandbox.apply.formats import (
    config_key_errors,
    environment_name_errors,
    label_1035_errors,
    label_errors,
    label_value_errors,
    not_a_network,
    not_an_address,
    port_name_errors,
    qualified_name_errors,
    subdomain_errors,
    unreachable,
)
from mcs.sandbox.apply.go_text import go_text
from mcs.sandbox.apply.stored import canonical_quantity


@pytest.mark.parametrize(
    ("errors", "good", "bad"),
    [
        (label_errors, ["a", "0", "a-b", "a" * 63], ["", "-a", "a-", "A", "a_b", "a.b", "a" * 64]),
        (label_1035_errors, ["a", "a-1", "a" * 63], ["", "1a", "a.b", "A", "a" * 64]),
        (subdomain_errors, ["a", "a.b", "1.2", "a" * 253], ["", ".", "a..b", "a_", "A.b", "a" * 254]),
        (
            qualified_name_errors,
            ["a", "A_b.c", "example.com/A", "x" * 63, "a/" + "x" * 63],
            ["", "/", "/a", "a/", "a/b/c", "A/b", "-a", "x" * 64],
        ),
        (label_value_errors, ["", "a", "A_1.b", "x" * 63], ["-", "a-", "a b", "x" * 64]),
        (config_key_errors, ["a", ".a", "A_b-c.d"], ["", ".", "..", "..a", "a/b", "x" * 254]),
        (port_name_errors, ["http", "a1", "1a", "x" * 15], ["", "1", "-a", "a-", "a--b", "A", "x" * 16]),
        (environment_name_errors, ["A", "a.b-c", "1 2"], ["", "a=b", "a\n", "é"]),
        (
            not_an_address,
            ["10.0.0.1", "010.0.0.1", "::1", "fd00::1"],
            ["", "10.0.0", "x", "fe80::1%eth0", "1.2.3.256"],
        ),
        (
            unreachable,
            ["10.0.0.1", "fd00::1", "239.1.1.1"],
            ["127.9.9.9", "0.0.0.0", "::", "169.254.0.1", "ff02::5"],
        ),
        (not_a_network, ["10.0.0.0/8", "10.1.2.3/8", "fd00::/8"], ["10.0.0.0", "x/8", "10.0.0.0/33"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_format_tells_good_from_bad(errors: Any, good: list[str], bad: list[str]) -> None:
    assert {text: list(errors(text)) for text in good} == {text: [] for text in good}
    assert [text for text in bad if not list(errors(text))] == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1", "1"),
        (1, "1"),
        (0.5, "500m"),
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1536Mi", "1536Mi"),
        ("100Ki", "100Ki"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("0", "0"),
        ("0Gi", "0"),
        ("-1", "-1"),
        ("8Gi", "8Gi"),
        ("junk", "junk"),
    ],
)
def test_quantities_have_one_spelling(value: Any, expected: str) -> None:
    assert canonical_quantity(value) == expected


def test_values_are_printed_as_go_prints_them() -> None:
    assert go_text({"b": [1, True, None], "a": {"c": "d"}}) == "map[a:map[c:d] b:[1 true <nil>]]"
