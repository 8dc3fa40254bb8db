"""Which definition is installed over which: an older one is replaced, a newer one never."""

from __future__ import annotations

from typing import Any

import pytest

from mcs.kube.packaged import definition_documents
from mcs.membership.definitions import verdict_on
from mcs.model.installed import Definition, DefinitionSpec, DefinitionStatus, DefinitionVersion
from mcs.model.meta import ObjectMeta

OURS: dict[str, Any] = {
    "metadata": {
        "name": "serviceexports.multicluster.x-k8s.io",
        "labels": {
            "multicluster.x-k8s.io/release-version": "v0.5.2",
            "multicluster.x-k8s.io/crd-schema-revision": "3",
        },
    },
    "spec": {"versions": [{"name": "v1alpha1", "storage": False}, {"name": "v1beta1", "storage": True}]},
}


def present(
    revision: str = "", release: str = "", served: str = "v1beta1", stored: str = "v1beta1"
) -> Definition:
    labels = {
        "multicluster.x-k8s.io/crd-schema-revision": revision,
        "multicluster.x-k8s.io/release-version": release,
    }
    return Definition(
        metadata=ObjectMeta(labels={key: value for key, value in labels.items() if value}),
        spec=DefinitionSpec(versions=(DefinitionVersion(name=served, served=True, storage=True),)),
        status=DefinitionStatus(stored_versions=tuple(stored.split())),
    )


@pytest.mark.parametrize(
    ("there", "action", "told"),
    [
        pytest.param(None, "install", "", id="none"),
        pytest.param(present("3", "v0.5.2"), "keep", "", id="the same"),
        pytest.param(present("2", "v0.5.2"), "replace", "in an older revision", id="an older revision"),
        pytest.param(
            present("2", "v0.9.0"), "replace", "in an older revision", id="the revision counts first"
        ),
        pytest.param(present("3", "v0.5.1"), "replace", "in an older revision", id="an older release"),
        pytest.param(
            present("3", "v0.10.0"), "keep", "newer revision and was left", id="releases are numbers"
        ),
        pytest.param(
            present("10", "v0.1.0"), "keep", "newer revision and was left", id="revisions are numbers"
        ),
        pytest.param(present("4", "v1.0.0", "v1"), "keep", "does not serve v1beta1", id="too new for us"),
        pytest.param(present(), "keep", "", id="tells no revision and serves ours"),
        pytest.param(
            present(served="v1alpha1", stored="v1alpha1"), "replace", "older", id="before ours was served"
        ),
        pytest.param(present("x", "latest"), "keep", "", id="tells something else"),
        pytest.param(
            present("1", "v0.1.0", stored="v0 v1beta1"),
            "keep",
            "stores objects in v0",
            id="would lose objects",
        ),
    ],
)
def test_a_definition_is_replaced_only_by_a_newer_one(
    there: Definition | None, action: str, told: str
) -> None:
    found = verdict_on(OURS, there)
    assert found.action == action
    assert told in found.remark
    assert bool(told) == bool(found.remark)


def test_all_definitions_of_this_project_are_told_apart() -> None:
    documents = definition_documents()
    assert len({each["metadata"]["name"] for each in documents}) == len(documents) > 0
    assert {verdict_on(each, None).action for each in documents} == {"install"}
