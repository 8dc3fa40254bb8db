"""What the chart promises on paper: its CRDs are those of record, and values, schema and README tell one story."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs import __version__
from mcs.cli.options import LOG_LEVELS
from mcs.model.names import cluster_id_error

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "mcs"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
# Helm puts it among the values of every chart.
OF_HELM = "global"
TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "null": type(None),
}


def values_in(tree: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that can be set, by its path; an object without defaults of its own is one value."""
    for name, value in tree.items():
        if isinstance(value, dict) and value and name != "resources":
            yield from values_in(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def described(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema of every value that can be set, by its path."""
    for name, each in schema["properties"].items():
        if "properties" in each:
            yield from described(each, f"{path}{name}.")
        else:
            yield f"{path}{name}", each


def objects_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every schema that names properties, the whole included."""
    if "properties" in schema:
        yield schema
    for each in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else ())):
        yield from objects_of(each)


def at(path: str) -> dict[str, Any]:
    return dict(described(SCHEMA))[path]


def test_the_crds_of_the_chart_are_those_of_record_byte_for_byte() -> None:
    of_record = {path.name: path.read_bytes() for path in (ROOT / "crds").iterdir()}
    of_the_chart = {path.name: path.read_bytes() for path in (CHART / "crds").iterdir()}
    assert not [path for path in (CHART / "crds").iterdir() if path.is_symlink()]
    assert of_the_chart == of_record, "run `make sync-chart`"


def test_the_chart_installs_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["apiVersion"], chart["name"]) == ("v2", CHART.name)
    assert chart["version"] == chart["appVersion"] == __version__


def test_every_value_has_a_schema_and_every_schema_a_default() -> None:
    assert dict(described(SCHEMA)).keys() - {OF_HELM} == dict(values_in(VALUES)).keys()


@pytest.mark.parametrize("path", dict(values_in(VALUES)))
def test_a_default_is_what_its_schema_allows(path: str) -> None:
    schema, value = at(path), dict(values_in(VALUES))[path]
    if "enum" in schema:
        assert value in schema["enum"]
    else:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(isinstance(value, TYPES[name]) for name in names)
    if "pattern" in schema:
        assert re.search(schema["pattern"], value)
    if "minimum" in schema:
        assert value >= schema["minimum"]


def test_a_misspelt_value_is_never_taken_in_silence() -> None:
    assert [each for each in objects_of(SCHEMA) if each.get("additionalProperties") is not False] == []


@pytest.mark.parametrize(
    "text",
    ["eu", "eu-1", "1", "prod.eu", "a.b.c", "Eu", "-eu", "eu-", "eu_1", "", ".", "eu.", "a" * 63, "a" * 64],
)
def test_a_cluster_id_is_accepted_by_the_schema_where_the_controller_accepts_it(text: str) -> None:
    schema = at("controller.clusters")["items"]["properties"]["id"]
    is_accepted = bool(re.search(schema["pattern"], text)) and len(text) <= schema["maxLength"]
    assert is_accepted == (cluster_id_error(text) is None)


def test_the_levels_of_the_log_are_those_of_the_program() -> None:
    assert tuple(at("log.level")["enum"]) == LOG_LEVELS


def test_the_readme_of_the_chart_explains_every_value_with_its_default_and_no_other() -> None:
    readme = (CHART / "README.md").read_text()
    rows = re.findall(r"^\| `([\w.]+)` \| (?:`([^`]*)` )?\|", readme, re.MULTILINE)
    told = {path: yaml.safe_load(default) if default else "" for path, default in rows}
    assert told == dict(values_in(VALUES))


ALERTS = (CHART / "templates" / "prometheus-rule.yaml").read_text()


def test_every_metric_that_an_alert_looks_at_exists() -> None:
    metrics = "".join(path.read_text() for path in (ROOT / "mcs" / "web").glob("*.py"))
    expressions = " ".join(re.findall(r"^ +expr: (.*)$", ALERTS, re.MULTILINE))
    named = set(re.findall(r"\bmcs_\w+", expressions))
    assert named
    assert [name for name in sorted(named) if f'"{name.removesuffix("_total")}"' not in metrics] == []


def test_the_document_for_operators_lists_every_alert_with_its_severity() -> None:
    of_chart = re.findall(r"alert: (\w+)\n(?:.*\n)*? +severity: (\w+)", ALERTS)
    document = (ROOT / "docs" / "operations.md").read_text()
    assert re.findall(r"^\| `(Mcs\w+)` \| (\w+) \|", document, re.MULTILINE) == of_chart
