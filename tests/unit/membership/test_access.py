"""The rights of a member's accounts are those of the chart, and no more."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.membership.access import (
    DNS,
    EVERYTHING,
    HOME,
    HUB,
    READER,
    READING,
    WRITING,
    Rule,
    access_objects,
    type_role,
)

TEMPLATES = Path(__file__).parents[3] / "charts" / "mcs" / "templates"


def rules_of(file: str, name: str) -> list[dict[str, Any]]:
    """The rules that a template has whatever its values."""
    text = (TEMPLATES / file).read_text()
    if name:
        (text,) = re.findall(rf'define "{re.escape(name)}" -}}}}(.*?){{{{- end -}}}}', text, re.DOTALL)
    text = re.sub(r"{{- if .*?{{- end }}", "", text, flags=re.DOTALL)
    rules: list[dict[str, Any]] = yaml.safe_load(
        "".join(re.findall(r"^- {apiGroups.*\n", text, re.MULTILINE))
    )
    return rules


@pytest.mark.parametrize(
    ("file", "name", "rules"),
    [
        ("_rights.tpl", "mcs.readingRules", READING),
        ("_rights.tpl", "mcs.writingRules", WRITING),
        ("_rights.tpl", "mcs.federationEverything", EVERYTHING),
    ],
)
def test_the_rules_are_those_of_the_chart(file: str, name: str, rules: tuple[Rule, ...]) -> None:
    assert rules_of(file, name) == list(rules)


def test_the_rules_of_dns_are_those_of_the_chart() -> None:
    text = (TEMPLATES / "dns-rights.yaml").read_text()
    assert yaml.safe_load("".join(re.findall(r"^- {apiGroups.*\n", text, re.MULTILINE))) == list(DNS)


@pytest.mark.parametrize("account", [HUB, READER, HOME], ids=lambda each: each.name)
def test_an_account_may_ask_for_tokens_of_its_own_and_of_nobody_else(account: Any) -> None:
    documents = [each.document for each in access_objects(account, "ns")]
    (role,) = (each for each in documents if each["kind"] == "Role")
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["serviceaccounts/token"],
            "resourceNames": [account.name],
            "verbs": ["create"],
        }
    ]
    assert role["metadata"]["namespace"] == "ns"
    verbs = {verb for rule in account.rules for verb in rule["verbs"]}
    assert verbs <= {"get", "list", "watch"} or account is not READER
    assert "*" not in str(documents)


def test_the_role_for_federation_is_there_only_when_it_is_asked_for() -> None:
    names = {each.name for each in access_objects(HUB, "ns", federation="types")}
    assert names - {each.name for each in access_objects(HUB, "ns")} == {"mcs-hub-federation"}
    (role,) = (
        each.document
        for each in access_objects(HUB, "ns", federation="types")
        if each.name == "mcs-hub-federation" and each.resource.kind == "ClusterRole"
    )
    selector = {"matchLabels": {"mcs-controller/aggregate-to-federation": "true"}}
    assert role["aggregationRule"] == {"clusterRoleSelectors": [selector]}
    assert "rules" not in role


def test_only_the_explicit_wide_choice_lets_federation_do_everything_and_write_roles() -> None:
    found = {each.name: each.document for each in access_objects(HUB, "ns", federation="all")}
    roles = [
        each.document
        for each in access_objects(HUB, "ns", federation="all")
        if each.resource.kind == "ClusterRole" and each.name == "mcs-hub-federation"
    ]
    assert [each["rules"] for each in roles] == [list(EVERYTHING)]
    assert "aggregationRule" not in roles[0]
    assert {"bind", "escalate"} <= {verb for rule in EVERYTHING for verb in rule["verbs"]}
    narrow = str([each.document for each in access_objects(HUB, "ns", federation="types")])
    assert not any(verb in narrow for verb in ("*", "bind", "escalate"))
    assert found["mcs-hub-federation"]["subjects"][0]["name"] == "mcs-hub"


@pytest.mark.parametrize(
    ("group", "plural", "reads_pods"),
    [("apps", "deployments", True), ("apps", "replicasets", True), ("", "configmaps", False)],
)
def test_where_replicas_are_divided_pods_are_read_too(group: str, plural: str, reads_pods: bool) -> None:
    rules = type_role(group, plural).document["rules"]
    assert [each["resources"] for each in rules] == [[plural], *[["pods"]] * reads_pods]


def test_where_services_are_federated_exports_may_follow_replicas() -> None:
    rules = type_role("", "services").document["rules"]
    assert [each["resources"] for each in rules] == [["services"], ["serviceexports"]]
    assert rules[1]["verbs"] == ["get", "create", "patch", "delete"]
