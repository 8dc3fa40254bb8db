"""The ledger: what is remembered of an object, where, and when it is to be written again."""

from __future__ import annotations

from typing import Any

import pytest

from mcs.federation.ledger import (
    after_write,
    applied_hash,
    before_writes,
    joined,
    ledger_place,
    needs_update,
    new_ledger,
    object_version,
    recorded,
    says,
    tombstone,
    without,
    written,
)
from mcs.model.federated import ClusterObjectVersion, FederatedObject, TargetReference
from mcs.model.installed import DEPLOYMENTS
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.resources import NAMESPACES

A, B, C = (ClusterId(each) for each in "abc")
WEB = FederatedObject(
    metadata=ObjectMeta(
        namespace="shop", name="web", annotations={"kubefed.io/orphan": "true", "other": "said"}
    )
)
DESIRED: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"a": "b"}},
    "spec": {"replicas": 3, "args": ["x"]},
}


def entry(cluster: str, version: str = "", applied: str = "") -> ClusterObjectVersion:
    return ClusterObjectVersion(cluster_name=ClusterId(cluster), version=version, applied=applied)


def test_an_entry_comes_before_the_write_and_stays_as_it_is_where_there_is_one() -> None:
    entries = before_writes((entry("b", "gen:1"),), [C, A, B])
    assert entries == (entry("a"), entry("b", "gen:1"), entry("c"))
    assert before_writes(entries, [A, B]) is entries


def test_what_was_written_takes_the_place_of_what_was_known() -> None:
    entries = (entry("a"), entry("b", "gen:1"))
    assert after_write(entries, entry("b", "gen:2", "x")) == (entry("a"), entry("b", "gen:2", "x"))
    assert after_write(entries, entry("c", "gen:1")) == (*entries, entry("c", "gen:1"))


def test_only_what_is_gone_is_forgotten() -> None:
    assert without((entry("a"), entry("b")), {A, C}) == (entry("b"),)


def test_the_ledger_of_an_object_that_is_federated_again_keeps_what_was_left() -> None:
    entries = joined((entry("b", "new"),), (entry("a", "old"), entry("b", "old")))
    assert entries == (entry("a", "old"), entry("b", "new"))
    assert recorded(entries) == {A, B}


def test_a_ledger_is_named_as_that_of_kubefed_and_owned_by_nobody() -> None:
    place = ledger_place(DEPLOYMENTS, WEB)
    assert (place.resource.plural, place.namespace, place.name) == (
        "propagatedversions",
        "shop",
        "deployment-web",
    )
    place = ledger_place(NAMESPACES, WEB)
    assert (place.resource.plural, place.namespace, place.name) == (
        "clusterpropagatedversions",
        "",
        "namespace-web",
    )
    ledger = new_ledger(DEPLOYMENTS, WEB)
    assert ledger.metadata == ObjectMeta(namespace="shop", name="deployment-web")
    assert ledger.spec.target == TargetReference(
        group="apps", version="v1", kind="Deployment", plural_name="deployments", namespace="shop", name="web"
    )
    assert ledger.status.cluster_versions == ()
    target = new_ledger(NAMESPACES, WEB).spec.target
    assert target is not None
    assert target.namespace == ""


def test_a_tombstone_tells_what_is_left_of_what_and_how_it_is_to_be_deleted() -> None:
    stone = tombstone(DEPLOYMENTS, WEB, (entry("a", "gen:1"),), "system")
    assert stone.metadata.namespace == "system"
    assert stone.metadata.annotations == {"kubefed.io/orphan": "true"}
    assert stone.spec == new_ledger(DEPLOYMENTS, WEB).spec
    assert stone.status.cluster_versions == (entry("a", "gen:1"),)
    elsewhere = FederatedObject(metadata=ObjectMeta(namespace="other", name="web"))
    assert tombstone(DEPLOYMENTS, elsewhere, (), "system").metadata.name != stone.metadata.name
    assert stone.metadata.name.startswith("deployment-")
    assert tombstone(NAMESPACES, WEB, (), "system").metadata.namespace == ""


@pytest.mark.parametrize(
    ("metadata", "version"),
    [
        (ObjectMeta(generation=4, resource_version="9"), "gen:4"),
        (ObjectMeta(resource_version="9"), "rv:9"),
    ],
)
def test_the_version_of_an_object_is_written_as_by_kubefed(metadata: ObjectMeta, version: str) -> None:
    assert object_version(metadata) == version


def test_equal_documents_have_equal_hashes() -> None:
    assert applied_hash({"a": 1, "b": {"c": 1, "d": 2}}) == applied_hash({"b": {"d": 2, "c": 1}, "a": 1})
    assert applied_hash({"a": 1}) != applied_hash({"a": 2})


def present(
    generation: int | None = 4, version: str = "9", labels: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "resourceVersion": version,
        "labels": {"a": "b", "of": "others"} if labels is None else labels,
    }
    if generation is not None:
        metadata["generation"] = generation
    return {
        "metadata": metadata,
        "spec": {"replicas": 3, "args": ["x", "injected"], "paused": False, **spec},
        "status": {},
    }


@pytest.mark.parametrize(
    ("case", "there", "is_needed"),
    [
        ("as it was written", present(), False),
        ("its status moved", present(version="77"), False),
        ("a label of ours is gone", present(labels={}), True),
        ("a label of ours is another", present(labels={"a": "c"}), True),
        ("somebody else changed what is theirs", present(generation=5, paused=True), False),
        ("somebody else changed what is ours", present(generation=5, replicas=7), True),
        ("an item of ours is gone from a list", present(generation=5, args=["injected"]), True),
        ("no generation, and it was not touched", present(generation=None, version="4"), False),
    ],
)
def test_an_object_is_written_again_only_when_it_says_something_else(
    case: str, there: dict[str, Any], is_needed: bool
) -> None:
    metadata = ObjectMeta(
        generation=there["metadata"].get("generation", 0) and 4,
        resource_version="4",
    )
    assert needs_update(written(A, metadata, DESIRED), DESIRED, there) is is_needed, case


def test_an_object_is_written_when_another_is_desired_or_nothing_is_known_of_the_last_write() -> None:
    last = written(A, ObjectMeta(generation=4), DESIRED)
    other = {**DESIRED, "spec": {"replicas": 3}}
    assert needs_update(last, other, present())
    assert needs_update(None, DESIRED, present())
    assert needs_update(entry("a"), DESIRED, present())


def test_a_value_that_a_server_writes_in_another_way_is_not_written_for_ever() -> None:
    desired = {"metadata": {}, "spec": {"cpu": "1000m"}}
    last = written(A, ObjectMeta(generation=4), desired)
    assert not needs_update(last, desired, present(cpu="1"))
    assert needs_update(last, desired, present(generation=5, cpu="1"))


@pytest.mark.parametrize(
    ("there", "said", "is_said"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({}, {"a": 1}, False),
        ({}, {"a": None}, True),
        ([{"name": "x", "more": 1}], [{"name": "x"}], True),
        (["a", "b"], ["b"], True),
        (["a"], ["b"], False),
        ("x", {"a": 1}, False),
        ("x", ["x"], False),
        ("x", "x", True),
    ],
)
def test_what_an_object_says(there: Any, said: Any, is_said: bool) -> None:
    assert says(there, said) is is_said
