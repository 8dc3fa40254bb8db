"""The alerts of the chart, judged by Prometheus' own promtool: when each begins, and that a healthy fleet has none."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.binaries import built
from tests.lab.debian import unpacked
from tests.lab.helm import Helm
from tests.real.chart_roles import ROLES, chosen

CASES = Path(__file__).with_name("alerts.yaml")


@pytest.fixture
async def groups(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The groups of rules, as Helm renders them."""
    helm = Helm(built("helm"), tmp_path_factory.mktemp("helm"))
    manifests = await helm.template("mcs", "mcs-system", ROLES["both, with every option"])
    found: list[dict[str, Any]] = chosen(manifests, "PrometheusRule", "mcs")["spec"]["groups"]
    return found


def promtool(*arguments: str) -> str:
    """What promtool says; AssertionError when it does not agree."""
    program = unpacked("prometheus") / "usr/bin/promtool"
    done = subprocess.run((str(program), *arguments), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def begun() -> list[tuple[str, set[str]]]:
    """Each alert that a case expects, with the labels that it has then."""
    return [
        (case["alertname"], set(alert["exp_labels"]))
        for test in yaml.safe_load(CASES.read_text())["tests"]
        for case in test["alert_rule_test"]
        for alert in case.get("exp_alerts", ())
    ]


def test_each_alert_begins_when_it_should_and_none_while_all_is_well(
    groups: list[dict[str, Any]], tmp_path: Path
) -> None:
    # What they say to people is looked at below.
    rules = [rule | {"annotations": {}} for group in groups for rule in group["rules"]]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}))
    shutil.copy(CASES, tmp_path)
    promtool("check", "rules", str(tmp_path / "rules.yaml"))
    promtool("test", "rules", str(tmp_path / CASES.name))
    assert sorted(alert for alert, _ in begun()) == sorted(rule["alert"] for rule in rules)


def test_an_alert_speaks_only_of_labels_that_it_has(groups: list[dict[str, Any]]) -> None:
    labels = dict(begun())
    for group in groups:
        for rule in group["rules"]:
            named = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
            assert named <= labels[rule["alert"]], rule["alert"]
